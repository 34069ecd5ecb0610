"""How a database comes to this release's tables: a new one gets them all, an older one takes the missing steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, func, inspect, select, text, update

from api.access.accounts.email_address import identity
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.tables import (
    CREDITS,
    KEYS,
    METADATA,
    PREVIOUS_KEYS,
    REPEATS,
    SCANNED,
    SCHEMA,
    WEBHOOK_MESSAGES,
    WEBHOOKS,
)

Step = Callable[[Connection], None]
_MIGRATION_LOCK = 0x656D6473
"""`emds` in ASCII: PostgreSQL's advisory locks are numbers."""


class SchemaTooNew(AccountsUnavailable):
    """The database was opened by a later release, whose tables this one does not know."""


def migrate(engine: Engine, steps: Sequence[Step] | None = None) -> None:
    """Brings the tables to this release; workers that start at once wait for the first. Raises SchemaTooNew."""
    steps = STEPS if steps is None else steps
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if not inspect(connection).has_table(SCHEMA.name):
            METADATA.create_all(connection)
            connection.execute(SCHEMA.insert().values(step=len(steps)))
            return
        done: int = connection.execute(select(func.max(SCHEMA.c.step))).scalar_one()
        if done > len(steps):
            raise SchemaTooNew(f"the accounts database is at step {done}, this release knows {len(steps)}")
        for number, step in enumerate(steps[done:], done + 1):
            step(connection)
            connection.execute(SCHEMA.insert().values(step=number))


def _confirmed_and_reconciled(connection: Connection) -> None:
    """Addresses in normal form, confirmation, quotas and rotation of keys; payments tied to their transfers."""
    binary = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    for statement in (
        "ALTER TABLE keys ADD COLUMN identity TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE keys ADD COLUMN confirmed BIGINT",
        f"ALTER TABLE keys ADD COLUMN confirmation {binary}",
        "ALTER TABLE keys ADD COLUMN quota BIGINT",
        "UPDATE keys SET confirmed = created",
        "CREATE INDEX keys_by_identity ON keys (identity)",
        "CREATE INDEX keys_by_confirmation ON keys (confirmation)",
        "ALTER TABLE payments ADD COLUMN log_index BIGINT",
        "UPDATE payments SET state = 'claimed' WHERE state = 'verified'",
        "CREATE UNIQUE INDEX payments_by_transfer ON payments (network, tx, log_index)",
        # Another primary key, which SQLite cannot alter. A sign-up repeated across the upgrade makes another key.
        "DROP TABLE repeats",
    ):
        connection.execute(text(statement))
    METADATA.create_all(connection, [REPEATS, PREVIOUS_KEYS, CREDITS, SCANNED])
    for key, email in connection.execute(select(KEYS.c.id, KEYS.c.email)).all():
        connection.execute(update(KEYS).where(KEYS.c.id == key).values(identity=identity(email)))


def _webhooks(connection: Connection) -> None:
    """Subscriptions and the messages that wait for them."""
    METADATA.create_all(connection, [WEBHOOKS, WEBHOOK_MESSAGES])


STEPS: tuple[Step, ...] = (_confirmed_and_reconciled, _webhooks)
"""How a database of an earlier release becomes one of this; a new one counts as past all steps."""
