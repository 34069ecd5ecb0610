"""Bring the accounts database to this release's tables, step by step, in the first worker that opens it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, func, inspect, select

from api.access.accounts_engine import AccountsUnavailable
from api.access.tables import METADATA, SCHEMA, STEPS

_MIGRATION_LOCK = 0x656D6473
"""`emds` in ASCII, because PostgreSQL's advisory locks are numbers."""


def migrate(engine: Engine, steps: Sequence[Callable[[Connection], None]] = STEPS) -> None:
    """Bring the tables to this release; other workers that start wait for the first. Raises AccountsUnavailable."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if not inspect(connection).has_table(SCHEMA.name):
            METADATA.create_all(connection)
            connection.execute(SCHEMA.insert().values(step=len(steps)))
            return
        done: int = connection.execute(select(func.max(SCHEMA.c.step))).scalar_one()
        if done > len(steps):
            raise AccountsUnavailable(
                f"The accounts database has schema version {done}; this release supports up to {len(steps)}. Install "
                "the release that last opened it, or a newer one."
            )
        if done < len(steps) and engine.dialect.name == "postgresql":  # a step on a large table may be slow
            vars(connection.connection.driver_connection).pop("wait", None)
        for number, step in enumerate(steps[done:], done + 1):
            step(connection)
            connection.execute(SCHEMA.insert().values(step=number))
