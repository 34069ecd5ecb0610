"""The tables behind keys, usage and payments, and how a database comes to have them. No statement on their rows.

Instants are Unix seconds, days are days since 1970-01-01 UTC.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    func,
    inspect,
    select,
)
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import InterfaceError, OperationalError

from warehouse.errors import MarketError

METADATA = MetaData()
_Big = BigInteger().with_variant(Integer, "sqlite")

KEYS = Table(
    "keys",
    METADATA,
    Column("id", _Big, primary_key=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),  # SHA-256 of the key, which itself is kept nowhere
    Column("email", Text, nullable=False),
    Column("created", _Big, nullable=False),
    Column("revoked", _Big),
    Index("keys_by_email", "email"),
)

USAGE = Table(
    "usage",
    METADATA,
    Column("key_id", _Big, ForeignKey("keys.id"), primary_key=True),
    Column("day", _Big, primary_key=True),
    Column("calls", _Big, nullable=False),
    sqlite_with_rowid=False,
)

SIGN_UPS = Table(
    "sign_ups",
    METADATA,
    Column("id", _Big, primary_key=True),
    Column("client", Text, nullable=False),
    Column("at", _Big, nullable=False),
    Index("sign_ups_by_client", "client", "at"),
)
"""Attempts of the last hour, for the limit; older rows are removed."""

REPEATS = Table(
    "repeats",
    METADATA,
    Column("client", Text, primary_key=True),
    Column("token", LargeBinary(32), primary_key=True),  # SHA-256 of the Idempotency-Key
    Column("email", Text, nullable=False),
    Column("salt", LargeBinary(32), nullable=False),  # with the Idempotency-Key itself it gives the API key again
    Column("at", _Big, nullable=False),
)
"""Sign-ups of the last day that can be asked for again."""

PAYMENTS = Table(
    "payments",
    METADATA,
    Column("id", _Big, primary_key=True),
    Column("network", Text, nullable=False),
    Column("payer", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),  # raised by every claim: an older claimant's end no longer matches
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
    UniqueConstraint("network", "payer", "nonce"),
    Index("payments_by_state", "state", "updated"),
)

_SCHEMA = Table("schema_step", METADATA, Column("step", Integer, primary_key=True))

Step = Callable[[Connection], None]
STEPS: tuple[Step, ...] = ()
"""How a database of an earlier release becomes one of this; a new one gets the tables above and counts as past all steps."""

_PATIENCE_S = 10
_MIGRATION_LOCK = 0x656D6473
"""`emds` in ASCII: PostgreSQL's advisory locks are numbers."""


class AccountsUnavailable(MarketError):
    """The database does not answer: nothing can be counted or written down, so nothing paid can be answered."""


class SchemaTooNew(RuntimeError):
    """The database was opened by a later release, whose tables this one does not know."""


def open_engine(url: str) -> Engine:
    """An engine of SQLite (WAL, every commit on disk) or PostgreSQL; its failures are AccountsUnavailable."""
    if url.startswith("sqlite"):
        _use_wal(Path(url.removeprefix("sqlite:///")))
        engine = create_engine(url, connect_args={"timeout": _PATIENCE_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    else:
        engine = create_engine(
            url, pool_pre_ping=True, pool_size=4, max_overflow=4, connect_args={"connect_timeout": 5}
        )
    event.listen(engine, "handle_error", _as_unavailable)
    return engine


def migrate(engine: Engine, steps: Sequence[Step] = STEPS) -> None:
    """Brings the tables to this release; workers that start at once wait for the first. Raises SchemaTooNew."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if not inspect(connection).has_table(_SCHEMA.name):
            METADATA.create_all(connection)
            connection.execute(_SCHEMA.insert().values(step=len(steps)))
            return
        done: int = connection.execute(select(func.max(_SCHEMA.c.step))).scalar_one()
        if done > len(steps):
            raise SchemaTooNew(f"the accounts database is at step {done}, this release knows {len(steps)}")
        for number, step in enumerate(steps[done:], done + 1):
            step(connection)
            connection.execute(_SCHEMA.insert().values(step=number))


def _use_wal(path: Path) -> None:
    """Turns a file to write-ahead logging, for good. SQLite does not wait for others who do the same: it is asked again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + _PATIENCE_S
    with closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # pysqlite's own BEGIN is deferred, and a read that turns into a write then fails at once instead of waiting.
    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#pysqlite-serializable
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _as_unavailable(context: ExceptionContext) -> None:
    fault = context.sqlalchemy_exception
    if isinstance(fault, OperationalError | InterfaceError) and not context.is_pre_ping:
        raise AccountsUnavailable(type(context.original_exception).__name__) from fault


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
