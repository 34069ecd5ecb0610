"""Opens the accounts database, SQLite or PostgreSQL, and says in one error when it does not answer.

The SQLite file holds keys, counts and payments: it is readable by its owner alone, and an empty file in its place is a
loss that nobody may paper over with a new database.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, InterfaceError, ProgrammingError

from api.access.accounts import driver_words
from warehouse import layout
from warehouse.errors import MarketError

READS = "emds_reads"
"""The execution option of a connection that only reads."""
_PATIENCE_S = 10
LIBPQ_TIMEOUTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": f"{_PATIENCE_S * 1000}",
    "keepalives_idle": f"{_PATIENCE_S}",
    "keepalives_interval": "5",
    "keepalives_count": "2",
}
"""A machine that vanished is noticed in seconds, where the kernel alone tries for a quarter of an hour."""
_PRIVATE = 0o600
_OURS = (IntegrityError, DataError, ProgrammingError)
"""Errors of a statement, not of the database."""


class AccountsUnavailable(MarketError):
    """The database does not answer: nothing can be counted or written down, so nothing paid can be answered."""


def open_engine(url: str) -> Engine:
    """An engine of SQLite (WAL, every commit on disk) or PostgreSQL. It and its engine raise AccountsUnavailable."""
    if url.startswith("sqlite"):
        _prepare_file(Path(url.removeprefix("sqlite:///")))
        engine = create_engine(url, connect_args={"timeout": _PATIENCE_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    else:
        # A cluster made without a locale is in SQL_ASCII, from which psycopg gives text as bytes unless told.
        options = {"client_encoding": "utf8", **LIBPQ_TIMEOUTS}
        engine = create_engine(url, pool_pre_ping=True, pool_size=4, max_overflow=4, connect_args=options)
    event.listen(engine, "handle_error", _as_unavailable(url))
    return engine


def _prepare_file(path: Path) -> None:
    """Makes the file where there is none. Raises AccountsUnavailable where it is empty or cannot be made."""
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
        _use_wal(path)
    except (OSError, sqlite3.Error) as fault:
        raise AccountsUnavailable(f"{path.name}: {fault}") from fault


def _create(path: Path) -> None:
    """Puts a new database in place whole: other workers never see it empty, and none replaces another's."""
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


def _use_wal(path: Path) -> None:
    """Turns a file to write-ahead logging for good. SQLite does not wait for others who do the same: asked again."""
    deadline = time.monotonic() + _PATIENCE_S
    with closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as fault:
                busy = fault.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # pysqlite's own BEGIN is deferred, and a read that turns into a write then fails at once instead of waiting.
    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#pysqlite-serializable
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _as_unavailable(address: str) -> Callable[[ExceptionContext], None]:
    """Raises AccountsUnavailable for errors of the database at an address."""
    name = layout.ACCOUNTS if address.startswith("sqlite") else "EMDS_DATABASE_URL"

    def raise_unavailable(context: ExceptionContext) -> None:
        fault = context.sqlalchemy_exception
        broken = isinstance(fault, DatabaseError | InterfaceError) and not isinstance(fault, _OURS)
        if broken and not context.is_pre_ping:
            reason = driver_words.told(context.original_exception, address)
            raise AccountsUnavailable(f"the accounts database ({name}) does not answer: {reason}") from fault

    return raise_unavailable


def _begin(connection: Connection) -> None:
    """A writer takes the file's one write lock at once; a reader takes none, and waits for nobody."""
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
