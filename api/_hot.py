"""The statements of every keyed call, straight to the driver: SQLAlchemy would cost as much again as the call itself.

One connection a thread, opened at first use after the fork. Every statement is its own transaction.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import make_url

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
        self._url = engine.url.render_as_string(hide_password=False)
        self._sqlite = engine.dialect.name == "sqlite"
        self._local = threading.local()
        self._errors: tuple[type[Exception], ...] = (sqlite3.OperationalError,) if self._sqlite else _broken()

    def one(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        if self._sqlite:
            return self._run(statement, values)
        try:
            return self._run(statement.replace("?", "%s"), values)
        except self._errors:
            # PostgreSQL was restarted since this thread's last call. A statement whose commit was lost with the
            # connection then counts twice, which takes one call from the key and never gives one too many.
            self._local.connection = None
            return self._run(statement.replace("?", "%s"), values)

    def _run(self, statement: str, values: Sequence[object]) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection().execute(statement, values).fetchone()
        return row

    def _connection(self) -> Connection:
        held = getattr(self._local, "connection", None)
        if held is None or self._local.pid != os.getpid():
            held = self._local.connection = _sqlite(self._url) if self._sqlite else _postgres(self._url)
            self._local.pid = os.getpid()
        return held


def _sqlite(url: str) -> Connection:
    """Each commit outlives the process, not the power: what is lost with the power is a moment's count, never a payment."""
    connection = sqlite3.connect(make_url(url).database or "", timeout=10, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _postgres(url: str) -> Connection:
    import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

    return psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string(False), autocommit=True, connect_timeout=5)


def _broken() -> tuple[type[Exception], ...]:
    import psycopg

    return (psycopg.OperationalError, psycopg.InterfaceError)
