"""The statements of every keyed call, straight to the driver: SQLAlchemy would cost as much again as the call itself.

A few connections a worker, opened after the fork. Every statement is its own transaction.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL, Engine

from api._tables import AccountsUnavailable

Connection = Any  # sqlite3.Connection, or psycopg.Connection where that driver is installed

RESERVE = """
INSERT INTO usage (key_id, day, calls)
SELECT id, ?, 1 FROM keys WHERE digest = ? AND revoked IS NULL
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < ?
RETURNING key_id, calls
"""
"""Counts a call of a live key, unless it was the last: no row then. The comparison and the count are one act."""

GIVE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = ? AND day = ? AND calls > 0 RETURNING calls"

USED = """
SELECT keys.id, keys.created, coalesce(usage.calls, 0) FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = ?
WHERE keys.digest = ? AND keys.revoked IS NULL
"""


_MOST = {"sqlite": 1, "postgresql": 8}
"""Connections of one worker. SQLite writes one at a time, and threads that wait for a lock here are woken at once, where
SQLite would look again only after a sleep; PostgreSQL by default has a hundred for all workers of all hosts."""


class _Turn:
    """A queue of processes before SQLite, whose own waiting is a sleep of a millisecond and more for a lock of microseconds."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._file)


class Hot:
    """Runs one statement with `?` places and gives its first row, or None. Raises AccountsUnavailable."""

    def __init__(self, engine: Engine) -> None:
        self._url = engine.url
        self._sqlite = engine.dialect.name == "sqlite"
        self._lost: tuple[type[Exception], ...] = (sqlite3.OperationalError,) if self._sqlite else _lost()
        self._begin()

    def one(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        if self._pid != os.getpid():  # forked: the parent's connections are the parent's
            self._begin()
        try:
            if self._turn is None:
                return self._again(statement.replace("?", "%s"), values)
            with self._free, self._turn:
                return self._run(statement, values)
        except self._lost as fault:
            raise AccountsUnavailable(type(fault).__name__) from fault

    def close(self) -> None:
        """Closes everything; nothing may be running."""
        self._close_idle()
        if self._turn is not None:
            self._turn.close()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._idle: deque[Connection] = deque()
        self._free = threading.Semaphore(_MOST["sqlite" if self._sqlite else "postgresql"])
        self._turn = _Turn(f"{self._url.database}-turn") if self._sqlite else None

    def _again(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        with self._free:
            try:
                return self._run(statement, values)
            except self._lost:
                # PostgreSQL was restarted since the last call. A statement whose commit was lost with its connection
                # then counts twice, which takes one call from the key and never gives one too many.
                self._close_idle()
                return self._run(statement, values)

    def _run(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        connection = self._take()
        try:
            row: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
        except self._lost:
            connection.close()
            raise
        self._idle.append(connection)
        return row

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return _sqlite(self._url) if self._sqlite else _postgres(self._url)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def _sqlite(url: URL) -> Connection:
    """Each commit outlives the process, not the power: what is lost with the power is a moment's count, never a payment."""
    connection = sqlite3.connect(url.database or "", timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _postgres(url: URL) -> Connection:
    import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, connect_timeout=5, prepare_threshold=0)


def _lost() -> tuple[type[Exception], ...]:
    import psycopg

    return (psycopg.OperationalError, psycopg.InterfaceError)
