"""Define the tables of keys, usage and payments, and the steps that add them to a database of an earlier release.

Times are Unix seconds, and days are days since 1970-01-01 UTC. `api.access.migration.migrate` runs the steps.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
    text,
    update,
)

METADATA = MetaData()
PROMPT_DELIVERIES = 3
"""The number of prompt deliveries in a row after which a receiver of webhooks counts as prompt."""
_Big = BigInteger().with_variant(Integer, "sqlite")

KEYS = Table(
    "keys",
    METADATA,
    Column("id", _Big, primary_key=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),  # SHA-256 of the key, which is not stored
    Column("email", Text, nullable=False),
    Column("created", _Big, nullable=False),
    Column("revoked", _Big),
    Column("identity", Text, nullable=False, server_default=""),  # the address in normal form, which names a person
    Column("confirmed", _Big),  # when the link was opened; without e-mail, at once
    Column("confirmation", LargeBinary(32)),  # SHA-256 of the link's token
    Column("quota", _Big),  # responses per day, if the operator set another number than the default
    Index("keys_by_email", "email"),
    Index("keys_by_identity", "identity"),
    Index("keys_by_confirmation", "confirmation"),
)

_UNCONFIRMED = KEYS.c.confirmed.is_(None)
KEYS_UNCONFIRMED = Index("keys_unconfirmed", KEYS.c.created, sqlite_where=_UNCONFIRMED, postgresql_where=_UNCONFIRMED)
"""The index for sign-ups, which delete the few keys that were not confirmed in time."""

PREVIOUS_KEYS = Table(
    "previous_keys",
    METADATA,
    Column("digest", LargeBinary(32), primary_key=True),
    Column("key_id", _Big, ForeignKey("keys.id"), nullable=False),
    Column("until", _Big, nullable=False),
)
"""Rotated keys; until `until`, each works and counts as the key that replaced it."""

USAGE = Table(
    "usage",
    METADATA,
    Column("key_id", _Big, ForeignKey("keys.id"), primary_key=True),
    Column("day", _Big, primary_key=True),
    Column("calls", _Big, nullable=False),
    sqlite_with_rowid=False,
)

FILE_READS = Table(
    "file_reads",
    METADATA,
    Column("key_id", _Big, ForeignKey("keys.id"), primary_key=True),
    Column("day", _Big, primary_key=True),
    Column("file", LargeBinary(32), primary_key=True),  # SHA-256 of its bytes, or of the series and year of final files
    sqlite_with_rowid=False,
)
"""Monthly files that a key's day has paid for; reading them again that day is not counted."""

REPEATS = Table(
    "repeats",
    METADATA,
    Column("client", Text, primary_key=True),
    Column("token", LargeBinary(32), primary_key=True),  # SHA-256 of the Idempotency-Key
    Column("email", Text, primary_key=True),  # in normal form
    Column("salt", LargeBinary(32), nullable=False),  # with the Idempotency-Key it gives the API key again
    Column("at", _Big, nullable=False),
)
"""The sign-ups of the last day, which can be repeated."""

PAYMENTS = Table(
    "payments",
    METADATA,
    Column("id", _Big, primary_key=True),
    Column("network", Text, nullable=False),
    Column("payer", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),  # raised by every claim; older claims no longer match
    Column("version", Integer, nullable=False),
    Column("asset", Text, nullable=False),
    Column("pay_to", Text, nullable=False),
    Column("amount", _Big, nullable=False),
    Column("valid_before", _Big, nullable=False),
    Column("path", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("payment_hash", Text, nullable=False),
    Column("facilitator", Text, nullable=False),
    Column("tx", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("answer_headers", Text),
    Column("answer_body", LargeBinary),
    Column("answered", _Big),
    Column("replays", Integer, nullable=False),
    Column("created", _Big, nullable=False),
    Column("updated", _Big, nullable=False),
    Column("log_index", _Big),  # of the Transfer within its block; null if the chain was not read
    UniqueConstraint("network", "payer", "nonce"),
    Index("payments_by_state", "state", "updated"),
    Index("payments_by_transfer", "network", "tx", "log_index", unique=True),  # a transfer pays for a single response
)

CREDITS = Table(
    "credits",
    METADATA,
    Column("network", Text, primary_key=True),
    Column("tx", Text, primary_key=True),
    Column("log_index", _Big, primary_key=True),
    Column("payer", Text, nullable=False),
    Column("amount", _Big, nullable=False),
    Column("block", _Big, nullable=False),
    Column("noted", _Big, key="recorded", nullable=False),
)
"""Transfers to the operator that bought no response, because they came without a call or for an unknown call."""

SCANNED = Table(
    "scanned_blocks",
    METADATA,
    Column("network", Text, primary_key=True),
    Column("pay_to", Text, primary_key=True),
    Column("block", _Big, nullable=False),
)
"""The block up to which transfers to a receiver have been compared with the ledger."""

WEBHOOKS = Table(
    "webhooks",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("key_id", _Big, ForeignKey("keys.id"), nullable=False),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),  # JSON lists
    Column("zones", Text, nullable=False),
    Column("threshold", Text),
    Column("secret", Text, nullable=False),  # in plain text, because it signs messages
    Column("created", _Big, nullable=False),
    Column("change_cursor", Text, nullable=False),
    Column("states", Text, nullable=False, default="{}"),  # JSON: the state last reported for each event and zone
    Column("disabled", Text, nullable=False, default=""),
    Column("failing_since", _Big),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", _Big, nullable=False),
    Column("claimed_until", _Big, nullable=False, default=0),
    Column("slow", Integer, nullable=False, default=PROMPT_DELIVERIES),  # prompt deliveries that are still needed
    Column("slow_until", _Big, nullable=False, default=0),
    Column("delivered", _Big, nullable=False, default=0),
    Column("last_delivery", _Big),
    Column("last_error", Text, nullable=False, default=""),
    Index("webhooks_by_key", "key_id"),
)
"""Subscriptions, and the state of their deliveries."""

WEBHOOK_MESSAGES = Table(
    "webhook_messages",
    METADATA,
    Column("id", _Big, primary_key=True),  # ascending, which is the order of delivery within a subscription
    Column("webhook_id", Text, ForeignKey("webhooks.id"), nullable=False),
    Column("message_id", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created", _Big, nullable=False),
    Index("webhook_messages_by_webhook", "webhook_id", "id"),
)
"""Messages that have not arrived yet."""

SCHEMA = Table("schema_step", METADATA, Column("step", Integer, primary_key=True))


def identity(address: str) -> str:
    """Return the form in which addresses are compared: Unicode NFKC, lower case, without `+tag`."""
    local, _, domain = unicodedata.normalize("NFKC", address).lower().rpartition("@")
    return f"{local.partition('+')[0] or local}@{domain}"


def _confirmed_and_reconciled(connection: Connection) -> None:
    """Add normal addresses, confirmation, quotas and rotation to keys, and tie payments to their transfers."""
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
        # SQLite cannot alter a primary key. A sign-up that is repeated across the upgrade creates another key.
        "DROP TABLE repeats",
        "DROP TABLE sign_ups",
    ):
        connection.execute(text(statement))
    METADATA.create_all(connection, [REPEATS, PREVIOUS_KEYS, CREDITS, SCANNED])
    for key, email in connection.execute(select(KEYS.c.id, KEYS.c.email)).all():
        connection.execute(update(KEYS).where(KEYS.c.id == key).values(identity=identity(email)))


def _slow_until(connection: Connection) -> None:
    """Add `slow_until` to webhooks, unless an earlier step has just created the table with it."""
    if "slow_until" not in {column["name"] for column in inspect(connection).get_columns(WEBHOOKS.name)}:
        connection.execute(text("ALTER TABLE webhooks ADD COLUMN slow_until BIGINT NOT NULL DEFAULT 0"))


STEPS: tuple[Callable[[Connection], None], ...] = (
    _confirmed_and_reconciled,
    lambda connection: METADATA.create_all(connection, [WEBHOOKS, WEBHOOK_MESSAGES]),
    lambda connection: METADATA.create_all(connection, [FILE_READS]),
    _slow_until,
    lambda connection: KEYS_UNCONFIRMED.create(connection, checkfirst=True),
)
"""The steps from an earlier release to this release; a new database counts as past all steps."""
