"""Count the calls of keys: one statement a call, the same on SQLite and PostgreSQL, exact for any number of workers.

Each statement is a transaction of its own. They go to the driver: SQLAlchemy would double the cost of a keyed call.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL

from api.access.accounts.engine import LIBPQ_TIMEOUTS, AccountsUnavailable

UsageRow = tuple[Any, ...]
WITHIN_S = 10.0
"""A statement takes milliseconds. A database that is silent for so long counts as unavailable."""

# The comparison and the count are one act: no row comes back where the key is not live, or has no call left.
_QUOTA = "coalesce((SELECT quota FROM keys WHERE id = usage.key_id), :limit)"
_COUNT = f"""
INSERT INTO usage (key_id, day, calls) SELECT id, :day, 1 FROM keys
WHERE digest = :digest AND revoked IS NULL AND confirmed IS NOT NULL AND coalesce(quota, :limit) > 0
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < {_QUOTA}
RETURNING key_id, calls, {_QUOTA}
"""  # noqa: S608  of constants
_TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = :key AND day = :day AND calls > 0 RETURNING calls"
_LOOK = """
SELECT keys.id, keys.created, coalesce(usage.calls, 0), keys.quota FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = :day
WHERE keys.digest = :digest AND keys.revoked IS NULL AND keys.confirmed IS NOT NULL
"""


class UsageCounter:
    """The statements of a keyed call. Every method raises AccountsUnavailable."""

    def __init__(self, url: URL) -> None:
        self._idle: deque[Any] = deque()
        self._spelled = _COUNT, _TAKE_BACK, _LOOK
        if url.get_backend_name() == "sqlite":
            self._connect: Callable[[], Any] = partial(_open_sqlite, url)
            self._errors: type[Exception] = sqlite3.Error
            connections, self._tries = 1, 1  # it has one writer: threads queue here, not in SQLite's busy handler
        else:
            import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

            self._connect, self._errors = partial(_open_postgres, url), psycopg.Error
            self._spelled = _spelled_for_psycopg(_COUNT), _spelled_for_psycopg(_TAKE_BACK), _spelled_for_psycopg(_LOOK)
            connections, self._tries = 8, 2  # by default it has a hundred for all workers of all hosts
        self._free = threading.Semaphore(connections)

    def count(self, digest: bytes, day: int, limit: int) -> UsageRow | None:
        """Count a call of a live key. Return (key, the day's calls with it, the day's limit); None where none is left.

        `limit` holds for keys without a quota of their own. A count whose commit is lost with its connection is sent
        again: that may take a call from the key, and never gives one too many.
        """
        return self._row(self._spelled[0], {"digest": digest, "day": day, "limit": limit}, self._tries)

    def take_back(self, key: int, day: int) -> int:
        """Take a counted call back, once. Return the day's calls without it."""
        row = self._row(self._spelled[1], {"key": key, "day": day}, 1)
        return int(row[0]) if row else 0

    def look(self, digest: bytes, day: int) -> UsageRow | None:
        """Return (key, when it was made, the day's calls, its own quota or None) of a live key."""
        return self._row(self._spelled[2], {"digest": digest, "day": day}, self._tries)

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _row(self, statement: str, values: dict[str, int | bytes], tries: int) -> UsageRow | None:
        """Return the row of a statement that was committed."""
        if not self._free.acquire(timeout=WITHIN_S):
            raise AccountsUnavailable("too many calls wait for the accounts database")
        try:
            for _ in range(tries - 1):
                try:
                    return self._run(statement, values)
                except self._errors:  # the server was restarted or failed over: every idle connection is useless
                    self.close()
            return self._run(statement, values)
        except self._errors as fault:
            raise AccountsUnavailable(type(fault).__name__) from fault
        finally:
            self._free.release()

    def _run(self, statement: str, values: dict[str, int | bytes]) -> UsageRow | None:
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            rows: list[UsageRow] = connection.execute(statement, values).fetchall()  # to its end, which is the commit
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return rows[0] if rows else None


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


def _spelled_for_psycopg(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement)
