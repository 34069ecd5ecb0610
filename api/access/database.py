"""The accounts database, SQLite or PostgreSQL: opened when it is first needed, and brought to this release's tables.

Transactions go by SQLAlchemy. The one statement of a keyed call goes to the driver: SQLAlchemy would double its cost.
One error says that it does not answer. The SQLite file holds keys, counts and payments: it is readable by its owner
alone, and an empty file in its place is a loss that nobody may paper over with a new database.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, make_url, select
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, InterfaceError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from api.access.tables import METADATA, SCHEMA, STEPS
from warehouse.errors import MarketError
from warehouse.store import layout

WITHIN_S = 10.0
"""A statement takes milliseconds. A database that is silent for so long counts as unavailable."""
_LIBPQ_TIMEOUTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
}
"""A machine that vanished is noticed in seconds, where the kernel alone tries for a quarter of an hour."""
_READS = "emds_reads"
"""The execution option of a connection that only reads."""
_PARAMETER = re.compile(r":(\w+)")
_RETRY_AFTER_S = 5.0
_PRIVATE = 0o600
_OF_A_STATEMENT = (IntegrityError, DataError, ProgrammingError)
_REASON = re.compile(
    "Connection refused|timeout expired|Name or service not known|No route to host|authentication failed|"
    "no pg_hba.conf entry|does not exist|is starting up|is shutting down|too many (clients|connections)|"
    "remaining connection slots|server closed the connection|read-only transaction|No space left on device"
)
_MIGRATION_LOCK = 0x656D6473
"""`emds` in ASCII: PostgreSQL's advisory locks are numbers."""


class AccountsUnavailable(MarketError):
    """The database does not answer: nothing can be counted or written down, so nothing paid can be answered."""


class Database:
    """Transactions on a database with this release's tables. Every method raises AccountsUnavailable."""

    def __init__(self, address: str) -> None:
        """`address` as settings have it; nothing is opened yet."""
        self.url: URL = make_url(address)
        self._address = address
        self._engine: Engine | None = None
        self._postgres = self.url.get_backend_name() == "postgresql"
        # SQLite has one writer: threads queue here, not in its busy handler. PostgreSQL has by default a hundred
        # connections for all workers of all hosts.
        most, connect = (8, _connect_postgres) if self._postgres else (1, _connect_sqlite)
        connected: Callable[[], Any] = partial(connect, self.url)
        self._pool = QueuePool(
            connected, pool_size=most, max_overflow=0, timeout=WITHIN_S, use_lifo=True, reset_on_return=None
        )
        self._opening = threading.Lock()
        self._failure: tuple[float, AccountsUnavailable] | None = None
        """Until when it is not tried again, and why."""

    def open(self) -> Engine:
        """Return the engine; a database that could not be opened is left alone for five seconds."""
        if self._engine is not None:
            return self._engine
        with self._opening:
            if self._engine is None:
                if self._failure and time.monotonic() < self._failure[0]:
                    raise self._failure[1]
                try:
                    engine = open_engine(self._address)
                    try:
                        migrate(engine)
                    finally:
                        engine.dispose()  # workers forked from here must not share its connections
                except AccountsUnavailable as fault:
                    self._failure = (time.monotonic() + _RETRY_AFTER_S, fault)
                    raise
                self._engine = engine
            return self._engine

    @contextlib.contextmanager
    def begin(self) -> Iterator[Connection]:
        """Begin a transaction that writes."""
        with _pool_timeout_as_unavailable(), self.open().begin() as connection:
            yield connection

    @contextlib.contextmanager
    def connect(self) -> Iterator[Connection]:
        """Begin a transaction that reads."""
        with _pool_timeout_as_unavailable(), self.open().connect() as connection:
            yield connection.execution_options(**{_READS: True})

    def run(self, statement: str, values: Mapping[str, int | bytes], tries: int = 2) -> tuple[Any, ...] | None:
        """Run one statement, a transaction of its own. Return its first row once it is committed; None for no row.

        Where a PostgreSQL was restarted or failed over, the connection is useless: the next try has a new one. A
        statement whose commit is lost with its connection may so be run twice.
        """
        error = self.open().dialect.loaded_dbapi.Error
        statement = _PARAMETER.sub(r"%(\1)s", statement) if self._postgres else statement  # as psycopg spells it
        try:
            if self._postgres and tries > 1:
                with contextlib.suppress(error):
                    return self._run(statement, values)
            return self._run(statement, values)
        except (error, PoolTimeout) as fault:
            raise AccountsUnavailable(type(fault).__name__) from fault

    def _run(self, statement: str, values: Mapping[str, int | bytes]) -> tuple[Any, ...] | None:
        connection = self._pool.connect()
        driver: Any = connection.driver_connection
        try:
            cursor = driver.execute(statement, values)
            # Reading to the end commits. Psycopg refuses to fetch from a statement that returns no columns.
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        except BaseException:
            connection.invalidate()  # and the place that is taken next is its
            raise
        connection.close()
        return rows[0] if rows else None

    def close(self) -> None:
        """Close every connection."""
        self._pool.dispose()
        if self._engine is not None:
            self._engine.dispose()


def open_engine(url: str) -> Engine:
    """Open SQLite (WAL, every commit on disk) or PostgreSQL. It and its engine raise AccountsUnavailable."""
    if url.startswith("sqlite"):
        _prepare_file(Path(url.removeprefix("sqlite:///")))
        engine = create_engine(url, connect_args={"timeout": WITHIN_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    else:
        connected = partial(_connect_postgres, make_url(url), autocommit=False)
        engine = create_engine(
            url, creator=connected, pool_pre_ping=True, pool_size=4, max_overflow=4, pool_timeout=WITHIN_S
        )
    event.listen(engine, "handle_error", _as_unavailable(url))
    return engine


def _connect_sqlite(url: URL) -> sqlite3.Connection:
    """Open the file. Each commit outlives the process, not the power: that may take a moment's counts along."""
    path = f"file:{quote(url.database or '')}?mode=rw"  # a missing file is an error, not a new database
    connection = sqlite3.connect(path, timeout=WITHIN_S, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _connect_postgres(url: URL, autocommit: bool = True) -> Any:
    """Open a connection that is closed if the server does not respond to a statement within WITHIN_S."""
    import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

    options = dict(url.get_dialect()().create_connect_args(url)[1])
    # In a cluster without a locale (SQL_ASCII), psycopg returns text as bytes unless the encoding is set.
    connection = psycopg.connect(**options | _LIBPQ_TIMEOUTS, autocommit=autocommit, client_encoding="utf8")
    wait, timeout_s = connection.wait, WITHIN_S

    def wait_or_close(*arguments: Any, **options: Any) -> Any:
        try:
            return wait(*arguments, **{**options, "timeout": timeout_s})
        except psycopg.OperationalError:
            connection.close()  # a rollback on it would wait as long once more
            raise

    connection.wait = wait_or_close  # type: ignore[method-assign]
    return connection


@contextlib.contextmanager
def _pool_timeout_as_unavailable() -> Iterator[None]:
    """Turn the wait for a free connection that ends without one into AccountsUnavailable."""
    try:
        yield
    except PoolTimeout as fault:
        raise AccountsUnavailable(f"all connections to the accounts database are in use for {WITHIN_S:g} s") from fault


def _prepare_file(path: Path) -> None:
    """Make the file where there is none. Raises AccountsUnavailable where it is empty or cannot be made."""
    try:
        if not path.exists():
            _create(path)
        file_stat = path.stat()
        if file_stat.st_size == 0:
            raise AccountsUnavailable(
                f"{path} is empty: put a backup in its place, or remove it to begin without keys and payments"
            )
        if file_stat.st_mode & 0o777 != _PRIVATE:
            with contextlib.suppress(OSError):
                path.chmod(_PRIVATE)
        with closing(sqlite3.connect(path, timeout=WITHIN_S)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # a backup's file may be without
    except (OSError, sqlite3.Error) as fault:
        raise AccountsUnavailable(f"{path.name}: {fault}") from fault


def _create(path: Path) -> None:
    """Put a new database in place whole: other workers never see it empty, and none replaces another's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        os.close(os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
        with closing(sqlite3.connect(scratch)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # pysqlite's own BEGIN is deferred, and a read that turns into a write then fails at once instead of waiting.
    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#pysqlite-serializable
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    """Let a writer take the file's one write lock at once; a reader takes none, and waits for nobody."""
    reads = connection.get_execution_options().get(_READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _as_unavailable(address: str) -> Callable[[ExceptionContext], None]:
    """Return a listener that raises AccountsUnavailable for errors of the database, not of a statement."""
    is_file = address.startswith("sqlite")
    name = layout.ACCOUNTS if is_file else "EMDS_DATABASE_URL"

    def raise_unavailable(context: ExceptionContext) -> None:
        fault = context.sqlalchemy_exception
        broken = isinstance(fault, DatabaseError | InterfaceError) and not isinstance(fault, _OF_A_STATEMENT)
        if broken and not context.is_pre_ping:
            reason = str(context.original_exception) if is_file else server_reason(context.original_exception)
            raise AccountsUnavailable(f"the accounts database ({name}) does not answer: {reason}") from fault

    return raise_unavailable


def server_reason(fault: BaseException) -> str:
    """Return what a server's driver says that holds no part of the address, and so of the password; else its kind."""
    match = _REASON.search(str(fault))
    return match[0] if match else type(fault).__name__


def migrate(engine: Engine, steps: Sequence[Callable[[Connection], None]] = STEPS) -> None:
    """Bring the tables to this release; workers that start at once wait for the first. Raises AccountsUnavailable."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        if not inspect(connection).has_table(SCHEMA.name):
            METADATA.create_all(connection)
            connection.execute(SCHEMA.insert().values(step=len(steps)))
            return
        done: int = connection.execute(select(func.max(SCHEMA.c.step))).scalar_one()
        if done > len(steps):
            raise AccountsUnavailable(f"the accounts database is at step {done}, this release knows {len(steps)}")
        if done < len(steps) and engine.dialect.name == "postgresql":  # a step on a large table takes its time
            vars(connection.connection.driver_connection).pop("wait", None)
        for number, step in enumerate(steps[done:], done + 1):
            step(connection)
            connection.execute(SCHEMA.insert().values(step=number))
