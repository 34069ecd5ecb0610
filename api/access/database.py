"""Open the accounts database on first use, and run its transactions and the single statement of a keyed request.

Transactions use SQLAlchemy. The statement of a keyed request uses the driver, which costs half as much.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from sqlalchemy import URL, Connection, Engine, make_url
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from api.access.accounts_engine import (
    READS,
    WITHIN_S,
    AccountsUnavailable,
    connect_postgres,
    connect_sqlite,
    open_engine,
)
from api.access.migration import migrate

_PARAMETER = re.compile(r":(\w+)")
_RETRY_AFTER_S = 5.0


class Database:
    """Transactions on a database with this release's tables. Every method raises AccountsUnavailable."""

    def __init__(self, address: str) -> None:
        """Take `address` as it is in the settings, and open nothing yet."""
        self.url: URL = make_url(address)
        self._address = address
        self._engine: Engine | None = None
        self._postgres = self.url.get_backend_name() == "postgresql"
        # SQLite has a single writer, for which threads queue here instead of in its busy handler. PostgreSQL has by
        # default a hundred connections for all workers of all hosts.
        most, connect = (8, connect_postgres) if self._postgres else (1, connect_sqlite)
        connected: Callable[[], Any] = partial(connect, self.url)
        self._pool = QueuePool(
            connected, pool_size=most, max_overflow=0, timeout=WITHIN_S, use_lifo=True, reset_on_return=None
        )
        self._opening = threading.Lock()
        self._failure: tuple[float, AccountsUnavailable] | None = None
        """The time before which opening is not tried again, and the reason."""

    def open(self) -> Engine:
        """Return the engine. After a failure, opening is tried again after five seconds."""
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
                        engine.dispose()  # forked workers must not share its connections
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
            yield connection.execution_options(**{READS: True})

    def run(self, statement: str, values: Mapping[str, int | bytes], tries: int = 2) -> tuple[Any, ...] | None:
        """Run a statement as its own transaction. Return its first row after the commit, or None without rows.

        After PostgreSQL restarts or fails over, a connection is useless, and the next try opens a new connection. If
        the connection is lost during a commit, the statement may run twice.
        """
        error = self.open().dialect.loaded_dbapi.Error
        statement = _PARAMETER.sub(r"%(\1)s", statement) if self._postgres else statement  # psycopg's syntax
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
            # Reading to the end commits. psycopg rejects a fetch if a statement returns no columns.
            rows: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else []
        except BaseException:
            connection.invalidate()  # this also frees its place in the pool
            raise
        connection.close()
        return rows[0] if rows else None

    def close(self) -> None:
        """Close every connection."""
        self._pool.dispose()
        if self._engine is not None:
            self._engine.dispose()


@contextlib.contextmanager
def _pool_timeout_as_unavailable() -> Iterator[None]:
    """Raise AccountsUnavailable if the wait for a free connection times out."""
    try:
        yield
    except PoolTimeout as fault:
        raise AccountsUnavailable(f"all connections to the accounts database are in use for {WITHIN_S:g} s") from fault
