"""The statements of every keyed call on PostgreSQL: one round trip each."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL

from api._hot import LOOK, TAKE_BACK, Row
from api._tables import AccountsUnavailable

# A call is counted unless the last was counted: no row changes then. The comparison and the count are one act.
_COUNT = """
INSERT INTO usage (key_id, day, calls) SELECT id, %s, 1 FROM keys WHERE digest = %s AND revoked IS NULL
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < %s
RETURNING key_id, calls
"""


class Postgres:
    """By default PostgreSQL has a hundred connections for all workers of all hosts."""

    MOST = 8

    def __init__(self, url: URL) -> None:
        import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

        self._connect = psycopg.connect
        self._lost = (psycopg.OperationalError, psycopg.InterfaceError)
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._begin()

    def count(self, digest: bytes, day: int, limit: int) -> Row | None:
        return self._one(_COUNT, (day, digest, limit))

    def take_back(self, key: int, day: int) -> int:
        row = self._one(TAKE_BACK.format("%s") + " RETURNING calls", (key, day))
        return int(row[0]) if row else 0

    def look(self, digest: bytes, day: int) -> Row | None:
        return self._one(LOOK.format("%s"), (day, digest))

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
