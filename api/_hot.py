"""The statements of every keyed call, straight to the driver: SQLAlchemy would cost as much again as the call itself.

As many connections as calls at once, opened after the fork. Every statement is its own transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL, Engine

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


class Hot:
    """Runs one statement with `?` places and gives its first row, or None."""

    def __init__(self, engine: Engine) -> None:
        self._url = engine.url
        self._sqlite = engine.dialect.name == "sqlite"
        self._lost: tuple[type[Exception], ...] = () if self._sqlite else _lost()
        self._idle: deque[Connection] = deque()
        self._pid = os.getpid()

    def one(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        if not self._sqlite:
            statement = statement.replace("?", "%s")
        try:
            return self._run(statement, values)
        except self._lost:
            # PostgreSQL was restarted since the last call. A statement whose commit was lost with its connection
            # then counts twice, which takes one call from the key and never gives one too many.
            self.close()
            return self._run(statement, values)

    def close(self) -> None:
        """Closes what is idle; what is in use closes with its call's error."""
        while self._idle:
            self._idle.pop().close()

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
        if self._pid != os.getpid():  # forked: the parent's connections are the parent's
            self._idle, self._pid = deque(), os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return _sqlite(self._url) if self._sqlite else _postgres(self._url)


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
