"""The statements of every keyed call, straight to the driver: SQLAlchemy would cost as much again as the call itself.

Connections are opened after the fork, and kept. Every statement is its own transaction.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import URL, Engine

from api._tables import AccountsUnavailable

Row = tuple[Any, ...]

# A call is counted unless the last was counted: no row changes then. The comparison and the count are one act.
_OF_KEY = """
INSERT INTO usage (key_id, day, calls) VALUES ({0}, {0}, 1)
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < {0}
"""
_OF_DIGEST = """
INSERT INTO usage (key_id, day, calls) SELECT id, {0}, 1 FROM keys WHERE digest = {0} AND revoked IS NULL
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < {0}
"""
_TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = {0} AND day = {0} AND calls > 0"
_LOOK = """
SELECT keys.id, keys.created, coalesce(usage.calls, 0) FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = {0}
WHERE keys.digest = {0} AND keys.revoked IS NULL
"""
_CALLS = "SELECT calls FROM usage WHERE key_id = {0} AND day = {0}"


class Hot(Protocol):
    """What is asked at every keyed call. Raises AccountsUnavailable."""

    def count(self, digest: bytes, day: int, limit: int) -> Row | None:
        """Counts a call: (key, the day's calls with it), or None where the key is not live or holds `limit` already."""

    def take_back(self, key: int, day: int) -> int:
        """Takes a counted call back; the day's calls without it."""

    def look(self, digest: bytes, day: int) -> Row | None:
        """(key, when it was made, the day's calls) of a live key."""

    def close(self) -> None:
        """Closes everything; nothing may be running."""


def hot(engine: Engine) -> Hot:
    """The statements for an engine's database."""
    return _Sqlite(engine.url) if engine.dialect.name == "sqlite" else _Postgres(engine.url)


class _Sqlite:
    """SQLite holds its write lock until a statement has given its last row.

    A statement that returns rows is not over before Python has its global lock again, which under load takes
    milliseconds, and all workers would wait for it. So what writes returns nothing. The day is looked at before, without
    a lock: who shows a wrong key or one that is used up takes none.
    """

    def __init__(self, url: URL) -> None:
        self._path = url.database or ""
        self._begin()

    def count(self, digest: bytes, day: int, limit: int) -> Row | None:
        seen = self.look(digest, day)
        if seen is None or seen[2] >= limit or not self._write(_OF_KEY.format("?"), (seen[0], day, limit)):
            return None
        return seen[0], seen[2] + 1

    def take_back(self, key: int, day: int) -> int:
        self._write(_TAKE_BACK.format("?"), (key, day))
        row = self._read(_CALLS.format("?"), (key, day))
        return int(row[0]) if row else 0

    def look(self, digest: bytes, day: int) -> Row | None:
        return self._read(_LOOK.format("?"), (day, digest))

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _write(self, statement: str, values: Sequence[object]) -> int:
        connection = self._connection()
        try:
            changed = connection.execute(statement, values).rowcount
        except sqlite3.OperationalError as fault:
            connection.close()
            raise AccountsUnavailable(str(fault)) from fault
        self._idle.append(connection)
        return changed

    def _read(self, statement: str, values: Sequence[object]) -> Row | None:
        connection = self._connection()
        try:
            row: Row | None = connection.execute(statement, values).fetchone()
        except sqlite3.OperationalError as fault:
            connection.close()
            raise AccountsUnavailable(str(fault)) from fault
        self._idle.append(connection)
        return row

    def _begin(self) -> None:
        self._pid, self._idle = os.getpid(), deque[sqlite3.Connection]()

    def _connection(self) -> sqlite3.Connection:
        if self._pid != os.getpid():  # forked: the parent's connections are the parent's
            self._begin()
        try:
            return self._idle.pop()
        except IndexError:
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        """Each commit outlives the process, not the power: that may take a moment's counts along, never a payment."""
        try:
            connection = sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.OperationalError as fault:
            raise AccountsUnavailable(str(fault)) from fault
        return connection


class _Postgres:
    """PostgreSQL: one round trip a call. By default it has a hundred connections for all workers of all hosts."""

    MOST = 8

    def __init__(self, url: URL) -> None:
        import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

        self._connect = psycopg.connect
        self._lost = (psycopg.OperationalError, psycopg.InterfaceError)
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._begin()

    def count(self, digest: bytes, day: int, limit: int) -> Row | None:
        return self._one(_OF_DIGEST.format("%s") + " RETURNING key_id, calls", (day, digest, limit))

    def take_back(self, key: int, day: int) -> int:
        row = self._one(_TAKE_BACK.format("%s") + " RETURNING calls", (key, day))
        return int(row[0]) if row else 0

    def look(self, digest: bytes, day: int) -> Row | None:
        return self._one(_LOOK.format("%s"), (day, digest))

    def close(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()

    def _one(self, statement: str, values: Sequence[object]) -> Row | None:
        if self._pid != os.getpid():  # forked: the parent's connections are the parent's
            self._begin()
        with self._free:
            try:
                return self._run(statement, values)
            except self._lost:
                self.close()  # the server was restarted since the last call: every connection is gone
            try:
                # A statement whose commit was lost with its connection now counts twice, which takes one call from the
                # key and never gives one too many.
                return self._run(statement, values)
            except self._lost as fault:
                raise AccountsUnavailable(type(fault).__name__) from fault

    def _begin(self) -> None:
        self._pid, self._idle, self._free = os.getpid(), deque[Any](), threading.Semaphore(self.MOST)

    def _run(self, statement: str, values: Sequence[object]) -> Row | None:
        cursor = self._idle.pop() if self._idle else self._cursor()
        try:
            row: Row | None = cursor.execute(statement, values).fetchone()
        except self._lost:
            cursor.connection.close()
            raise
        self._idle.append(cursor)
        return row

    def _cursor(self) -> Any:
        """A connection's one cursor: to make one for every statement costs a third more."""
        return self._connect(self._address, autocommit=True, connect_timeout=5, prepare_threshold=0).cursor()
