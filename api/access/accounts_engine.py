"""Open the accounts database, SQLite or PostgreSQL, and raise a single error while it does not respond.

The SQLite file contains keys, counts and payments, so only its owner may read it. An empty file in its place is a loss,
which a new database must not hide.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError, InterfaceError, ProgrammingError

from warehouse.errors import MarketError
from warehouse.store import layout

WITHIN_S = 10.0
"""The seconds after which a silent database counts as unavailable; a statement takes milliseconds."""
_LIBPQ_TIMEOUTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
}
"""With these, a lost server is noticed in seconds; the kernel's own limit is a quarter of an hour."""
READS = "emds_reads"
"""The execution option of a connection that only reads."""
_PRIVATE = 0o600
_OF_A_STATEMENT = (IntegrityError, DataError, ProgrammingError)
_REASON = re.compile(
    "Connection refused|timeout expired|Name or service not known|No route to host|authentication failed|"
    "no pg_hba.conf entry|does not exist|is starting up|is shutting down|too many (clients|connections)|"
    "remaining connection slots|server closed the connection|read-only transaction|No space left on device"
)


class AccountsUnavailable(MarketError):
    """The database does not respond: calls can be neither counted nor recorded, so paid paths cannot respond either."""


def open_engine(url: str) -> Engine:
    """Open SQLite (WAL, every commit on disk) or PostgreSQL. This function and the engine raise AccountsUnavailable."""
    if url.startswith("sqlite"):
        _prepare_file(Path(url.removeprefix("sqlite:///")))
        engine = create_engine(url, connect_args={"timeout": WITHIN_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin)
    else:
        connected = partial(connect_postgres, make_url(url), autocommit=False)
        engine = create_engine(
            url, creator=connected, pool_pre_ping=True, pool_size=4, max_overflow=4, pool_timeout=WITHIN_S
        )
    event.listen(engine, "handle_error", _as_unavailable(url))
    return engine


def connect_sqlite(url: URL) -> sqlite3.Connection:
    """Open the file. A commit survives the end of the process, but a power failure may lose a moment's counts."""
    path = f"file:{quote(url.database or '')}?mode=rw"  # a missing file is an error, not a new database
    connection = sqlite3.connect(path, timeout=WITHIN_S, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def connect_postgres(url: URL, autocommit: bool = True) -> Any:
    """Open a connection that is closed if the server does not respond to a statement within WITHIN_S."""
    import psycopg  # imported here, because the edge does not depend on the driver

    options = dict(url.get_dialect()().create_connect_args(url)[1])
    # In a cluster without a locale (SQL_ASCII), psycopg returns text as bytes unless the encoding is set.
    connection = psycopg.connect(**options | _LIBPQ_TIMEOUTS, autocommit=autocommit, client_encoding="utf8")
    wait, timeout_s = connection.wait, WITHIN_S

    def wait_or_close(*arguments: Any, **options: Any) -> Any:
        try:
            return wait(*arguments, **{**options, "timeout": timeout_s})
        except psycopg.OperationalError:
            connection.close()  # a rollback would wait as long again
            raise

    connection.wait = wait_or_close  # type: ignore[method-assign]
    return connection


def _prepare_file(path: Path) -> None:
    """Create the file if it is missing. Raises AccountsUnavailable if it is empty or cannot be created."""
    try:
        if not path.exists():
            _create(path)
        file_stat = path.stat()
        if file_stat.st_size == 0:
            raise AccountsUnavailable(
                f"The accounts database {path} is empty. Restore it from a backup, or delete it to start without keys "
                "and payments."
            )
        if file_stat.st_mode & 0o777 != _PRIVATE:
            with contextlib.suppress(OSError):
                path.chmod(_PRIVATE)
        with closing(sqlite3.connect(path, timeout=WITHIN_S)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # the file of a backup may lack it
    except (OSError, sqlite3.Error) as fault:
        raise AccountsUnavailable(f"{path.name}: {fault}") from fault


def _create(path: Path) -> None:
    """Create a whole database at `path`, so that other workers never find it empty and none replaces another's."""
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
    # pysqlite's own BEGIN is deferred. A read that turns into a write then fails at once instead of waiting.
    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#pysqlite-serializable
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin(connection: Connection) -> None:
    """Let a writer take the file's single write lock at once. A reader takes no lock and never waits."""
    reads = connection.get_execution_options().get(READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _as_unavailable(address: str) -> Callable[[ExceptionContext], None]:
    """Return a listener that raises AccountsUnavailable for errors of the database, not for errors of a statement."""
    is_file = address.startswith("sqlite")
    name = layout.ACCOUNTS if is_file else "EMDS_DATABASE_URL"

    def raise_unavailable(context: ExceptionContext) -> None:
        fault = context.sqlalchemy_exception
        broken = isinstance(fault, DatabaseError | InterfaceError) and not isinstance(fault, _OF_A_STATEMENT)
        if broken and not context.is_pre_ping:
            reason = str(context.original_exception) if is_file else server_reason(context.original_exception)
            raise AccountsUnavailable(
                f"The accounts database ({name}) is not responding: {reason}. Check that it is running and reachable."
            ) from fault

    return raise_unavailable


def server_reason(fault: BaseException) -> str:
    """Return the known part of a driver's error, which contains neither URL nor password; else the error's type."""
    match = _REASON.search(str(fault))
    return match[0] if match else type(fault).__name__
