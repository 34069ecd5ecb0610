"""States of hosts in PostgreSQL: one row a host, locked for one short transaction, by the database's own clock."""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from assets.fetch import host_state
from assets.fetch.rate_limit import Change, changed
from assets.fetch.shared_states import StatesAway

WITHIN_S = 3.0
"""A transaction that takes longer is cut off: with a server that stands still nobody else would end it."""
_CONNECT_S = 2
_HELD_MS = 2000
"""So long the server lets a process hold a row, or wait for one: a process that stands still stops no other."""
_LOCK = 0x656D6470
"""`emdp` in ASCII: two processes that create one table at once fail, `IF NOT EXISTS` or not."""
_CREATE = f"""
BEGIN;
SELECT pg_advisory_xact_lock({_LOCK});
CREATE TABLE IF NOT EXISTS publisher_pace (host text PRIMARY KEY, state jsonb NOT NULL);
COMMIT
"""
_BEGIN = f"""
BEGIN; SET LOCAL lock_timeout = {_HELD_MS}; SET LOCAL idle_in_transaction_session_timeout = {_HELD_MS}
"""
_MAKE = "INSERT INTO publisher_pace (host, state) VALUES (%s, '{}') ON CONFLICT (host) DO NOTHING"
# An UPDATE, for what it returns is computed once the row is ours: a clock that was read before would be old by then.
_TAKE = """
UPDATE publisher_pace SET host = host WHERE host = %s
RETURNING state::text, extract(epoch FROM clock_timestamp())::float8
"""
_KEEP = "UPDATE publisher_pace SET state = %s::jsonb WHERE host = %s"
_T = TypeVar("_T")


class PostgresStates:
    """The rows of one database. For one thread at a time; it keeps one connection, opened when it is first needed."""

    def __init__(self, address: str) -> None:
        """`address`: `postgresql://user:password@host/database`."""
        self._address = address
        self._open: dict[int, Any] = {}
        """By process: a forked one must not use its parent's."""
        weakref.finalize(self, _close, self._open)

    def update(self, host: str, change: Change[_T]) -> _T:
        """See StatesPlace. A connection that was lost since the last time is opened again."""
        try:
            import psycopg  # only where PostgreSQL is used
        except ImportError as fault:
            raise StatesAway("psycopg is not installed: emds[scale]") from fault
        kept = os.getpid() in self._open
        try:
            return self._changed(self._connection(psycopg.connect), host, change)
        except (psycopg.Error, OSError) as fault:
            _close(self._open)
            if not kept:
                raise StatesAway(type(fault).__name__) from fault
        except BaseException:
            _close(self._open)
            raise
        return self.update(host, change)

    def _connection(self, connect: Callable[..., Any]) -> Any:
        """The connection of this process; a new one also makes the table where there is none."""
        if (kept := self._open.get(os.getpid())) is not None:
            return kept
        options = {"connect_timeout": _CONNECT_S, "client_encoding": "utf8"}  # in SQL_ASCII text would come as bytes
        connection = connect(self._address, autocommit=True, prepare_threshold=None, **options)
        self._open[os.getpid()] = connection
        with _cut_off(connection):
            if connection.execute("SELECT to_regclass('publisher_pace')::text").fetchone() == (None,):
                connection.execute(_CREATE)
        return connection

    def _changed(self, connection: Any, host: str, change: Change[_T]) -> _T:
        with _cut_off(connection):
            connection.execute(_BEGIN)
            row = connection.execute(_TAKE, (host,)).fetchone()
            if row is None:
                connection.execute(_MAKE, (host,))
                row = connection.execute(_TAKE, (host,)).fetchone()
            before = host_state.from_json(row[0])
            after, outcome = changed(before, row[1], change)
            if after is not before:
                connection.execute(_KEEP, (host_state.to_json(after), host))
            connection.execute("COMMIT")
            return outcome


def _close(connections: dict[int, Any]) -> None:
    """Closes this process's connection, and with it the transaction that it may be in."""
    if (connection := connections.pop(os.getpid(), None)) is not None:
        connection.close()


@contextmanager
def _cut_off(connection: Any) -> Iterator[None]:
    """Shuts the connection's socket where the block takes too long: it then fails as for a server that went away."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        timer = threading.Timer(WITHIN_S, _shut, [line])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _shut(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
