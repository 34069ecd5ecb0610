"""Count the calls of keys: one statement a call, the same on SQLite and PostgreSQL, exact for any number of workers.

Each statement is a transaction of its own. They go to the driver: SQLAlchemy would double the cost of a keyed call.
Days are UTC, as days since 1970-01-01.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL

from api.access.database import LIBPQ_TIMEOUTS, AccountsUnavailable, Database
from warehouse.market.clock import DAY

CALLS_PER_DAY = 500
"""Of a key without a quota of its own."""
WITHIN_S = 10.0
"""A statement takes milliseconds. A database that is silent for so long counts as unavailable."""

_PARAMETER = re.compile(r":(\w+)")
# A key that was rotated opens as its successor for a while.
_KEY = """coalesce((SELECT id FROM keys WHERE digest = :digest),
    (SELECT key_id FROM previous_keys WHERE digest = :digest AND until > :now))"""
# The comparison and the count are one act: no row comes back where the key is not live, or has no call left.
_QUOTA = "coalesce((SELECT quota FROM keys WHERE id = usage.key_id), :limit)"
_COUNT = f"""
INSERT INTO usage (key_id, day, calls) SELECT id, :day, 1 FROM keys
WHERE id = {_KEY} AND revoked IS NULL AND confirmed IS NOT NULL AND coalesce(quota, :limit) > 0
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < {_QUOTA}
RETURNING key_id, calls, {_QUOTA}
"""  # noqa: S608  of constants
_TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = :key AND day = :day AND calls > 0 RETURNING calls"
_LOOK = f"""
SELECT keys.id, keys.created, coalesce(usage.calls, 0), coalesce(keys.quota, :limit), keys.digest = :digest,
    keys.confirmed IS NOT NULL
FROM keys LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = :day
WHERE keys.id = {_KEY} AND keys.revoked IS NULL
"""  # noqa: S608  of constants
_WAS_READ = "SELECT 1 FROM file_reads WHERE key_id = :key AND day = :day AND file = :file"
_RECORD_READ = (
    "INSERT INTO file_reads (key_id, day, file) VALUES (:key, :day, :file) ON CONFLICT DO NOTHING RETURNING key_id"
)
_FORGET_READS = "DELETE FROM file_reads WHERE key_id = :key AND day < :day"
_DIGEST = "SELECT digest FROM keys WHERE id = :key AND revoked IS NULL"


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call counted before its work; `used` of `limit` calls of `key` stand on `day` with it."""

    key: int
    day: int
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The day of a key that is not revoked."""

    key: int
    created: int
    used: int
    limit: int
    current: bool
    """Whether this spelling of the key was not rotated since."""
    confirmed: bool
    """A key that lacks the confirmation by mail opens nothing."""


class UsageCounter:
    """The statements of a keyed call. Every method raises AccountsUnavailable."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._idle: deque[Any] = deque()
        self._postgres = database.url.get_backend_name() != "sqlite"
        self._errors: type[Exception] = sqlite3.Error
        connections = 1  # SQLite has one writer: threads queue here, not in its busy handler
        if self._postgres:
            import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

            self._errors, connections = psycopg.Error, 8  # by default it has a hundred for all workers of all hosts
        self._tries = 2 if self._postgres else 1
        self._free = threading.Semaphore(connections)

    def reserve(self, digest: bytes, now: int) -> Reserved | None:
        """Count one call of a key on its day; None where the key opens nothing, or has no call left.

        A count whose commit is lost with its connection is sent again: that may take a call from the key, and never
        gives one too many.
        """
        row = self._row(_COUNT, _values(digest, now), self._tries)
        return Reserved(row[0], now // DAY, row[1], row[2]) if row else None

    def give_back(self, reserved: Reserved) -> int:
        """Take a counted call back, once, on the day that it was counted. Return the key's calls of that day now."""
        row = self._row(_TAKE_BACK, {"key": reserved.key, "day": reserved.day}, 1)
        return int(row[0]) if row else 0

    def usage(self, digest: bytes, now: int) -> Usage | None:
        """Return the day of a key; None for one that is unknown or revoked."""
        row = self._row(_LOOK, _values(digest, now), self._tries)
        return Usage(*row[:4], *map(bool, row[4:])) if row else None

    def was_read(self, key: int, day: int, file: bytes) -> bool:
        """Return whether a key's day has paid for a file."""
        return self._row(_WAS_READ, {"key": key, "day": day, "file": file}, self._tries) is not None

    def record_read(self, reserved: Reserved, file: bytes) -> bool:
        """Record that a reserved call pays for a file on its day; return False where another call did."""
        day: dict[str, int | bytes] = {"key": reserved.key, "day": reserved.day}
        if reserved.used == 1:
            self._row(_FORGET_READS, day, 1)
        return self._row(_RECORD_READ, {**day, "file": file}, 1) is not None

    def digest(self, key: int) -> bytes | None:
        """Return what a live key is known by; None for one that is unknown or revoked."""
        row = self._row(_DIGEST, {"key": key}, self._tries)
        return bytes(row[0]) if row else None

    def close(self) -> None:
        """Close every connection, the database's too."""
        self._close_idle()
        self.database.close()

    def _row(self, statement: str, values: dict[str, int | bytes], tries: int) -> tuple[Any, ...] | None:
        """Return the row of a statement that was committed."""
        statement = _PARAMETER.sub(r"%(\1)s", statement) if self._postgres else statement  # as psycopg spells it
        if not self._free.acquire(timeout=WITHIN_S):
            raise AccountsUnavailable("too many calls wait for the accounts database")
        try:
            for _ in range(tries - 1):
                try:
                    return self._run(statement, values)
                except self._errors:  # the server was restarted or failed over: every idle connection is useless
                    self._close_idle()
            return self._run(statement, values)
        except self._errors as fault:
            raise AccountsUnavailable(type(fault).__name__) from fault
        finally:
            self._free.release()

    def _run(self, statement: str, values: dict[str, int | bytes]) -> tuple[Any, ...] | None:
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            rows: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()  # to its end: the commit
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return rows[0] if rows else None

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> Any:
        self.database.open()  # with this release's tables
        return _open_postgres(self.database.url) if self._postgres else _open_sqlite(self.database.url)


def _values(digest: bytes, now: int) -> dict[str, int | bytes]:
    return {"digest": digest, "day": now // DAY, "limit": CALLS_PER_DAY, "now": now}


def _open_sqlite(url: URL) -> sqlite3.Connection:
    """Open the file. Each commit outlives the process, not the power: that may take a moment's counts along."""
    path = f"file:{quote(url.database or '')}?mode=rw"  # a missing file is an error, not a new database
    connection = sqlite3.connect(path, timeout=WITHIN_S, isolation_level=None, check_same_thread=False, uri=True)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _open_postgres(url: URL) -> Any:
    """Open a connection whose statements end after WITHIN_S even where the server stands still."""
    import psycopg

    address = url.set(drivername="postgresql").update_query_dict(LIBPQ_TIMEOUTS)
    connection = psycopg.connect(address.render_as_string(hide_password=False), autocommit=True, client_encoding="utf8")
    connection.wait = partial(connection.wait, timeout=WITHIN_S)  # type: ignore[method-assign]
    return connection
