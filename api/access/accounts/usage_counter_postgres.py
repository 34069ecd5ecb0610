"""The statements of every keyed call on PostgreSQL: one round trip for all calls that come at the same moment."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import URL

from api.access.accounts.batcher import Batcher
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.usage_counter import LOOK, TAKE_BACK, CountedCall, UsageRow, numbered

if TYPE_CHECKING:
    from api.access.accounts.prepared_statements import PreparedStatements, Value

# The comparison and the count are one act: no row changes where a key has not room for all its calls. Two statements
# that count the same keys take their locks in one order.
_COUNT_ALL = """
WITH shown AS (
    SELECT id, digest, calls, coalesce(quota, $1) AS most
    FROM keys JOIN unnest($2, $3) AS calls (digest, calls) USING (digest)
    WHERE revoked IS NULL AND confirmed IS NOT NULL
), counted AS (
    INSERT INTO usage (key_id, day, calls) SELECT id, $4, calls FROM shown WHERE calls <= most ORDER BY id
    ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + excluded.calls
    WHERE usage.calls + excluded.calls <= coalesce((SELECT quota FROM keys WHERE id = usage.key_id), $1)
    RETURNING key_id, calls
)
SELECT shown.digest, counted.key_id, counted.calls - shown.calls, shown.most
FROM counted JOIN shown ON shown.id = counted.key_id
"""
_TAKE_BACK = TAKE_BACK.format("$1", "$2") + " RETURNING calls"
_LOOK = LOOK.format("$1", "$2")


class PostgresUsageCounter:
    """By default PostgreSQL has a hundred connections for all workers of all hosts."""

    MOST = 8

    def __init__(self, url: URL) -> None:
        import psycopg  # only where PostgreSQL is used: the driver is not among the edge's own dependencies

        from api.access.accounts.prepared_statements import PreparedStatements

        self._connect = PreparedStatements
        # Errors of the database, as a standby's that takes no writes, and of a server behind a pooler that knows none
        # of this connection's statements: a new connection helps, or nothing does.
        self._lost = (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            psycopg.InternalError,
            psycopg.errors.InvalidSqlStatementName,
        )
        self._address = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._begin()

    def count(self, digest: bytes, day: int, limit: int) -> UsageRow | None:
        if self._pid != os.getpid():
            self._begin()
        return self._counted.ask(CountedCall(digest, day, limit))

    def take_back(self, key: int, day: int) -> int:
        rows = self._all(_TAKE_BACK, (key, day), again=False)
        return int(rows[0][0]) if rows else 0

    def look(self, digest: bytes, day: int) -> UsageRow | None:
        rows = self._all(_LOOK, (day, digest))
        return rows[0] if rows else None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _count_all(self, calls: Sequence[CountedCall]) -> Sequence[UsageRow | None]:
        """Counts calls one by one where they cannot be counted at once: at midnight, and at a key's limit."""
        days = {(call.day, call.limit) for call in calls}
        if len(days) > 1:
            return [self._count_at_once([call.digest], call.day, call.limit)[0] for call in calls]
        day, limit = days.pop()
        digests = [call.digest for call in calls]
        rows, wanted = self._count_at_once(digests, day, limit), Counter(digests)
        return [
            self._count_at_once([digest], day, limit)[0] if row is None and wanted[digest] > 1 else row
            for digest, row in zip(digests, rows, strict=True)
        ]

    def _count_at_once(self, digests: Sequence[bytes], day: int, limit: int) -> Sequence[UsageRow | None]:
        """None, and nothing counted, for each call of a key that has not room for all of its calls."""
        wanted = Counter(digests)
        rows = self._all(_COUNT_ALL, (limit, list(wanted), list(wanted.values()), day))
        return numbered(digests, {digest: (key, before, most) for digest, key, before, most in rows})

    def _all(self, statement: str, values: Sequence[Value], again: bool = True) -> list[UsageRow]:
        """The rows of a statement; `again`: it may be sent twice where its connection is lost."""
        if self._pid != os.getpid():  # forked: the parent's connections are the parent's
            self._begin()
        with self._free:
            try:
                return self._run(statement, values)
            except self._lost as fault:
                self.close()  # the server was restarted since the last call: every connection is gone
                if not again:  # taken back twice it would be a call too many for the key
                    raise AccountsUnavailable(type(fault).__name__) from fault
            try:
                # A statement whose commit was lost with its connection now counts twice, which takes one call from the
                # key and never gives one too many.
                return self._run(statement, values)
            except self._lost as fault:
                raise AccountsUnavailable(type(fault).__name__) from fault

    def _begin(self) -> None:
        self._pid, self._free = os.getpid(), threading.Semaphore(self.MOST)
        self._idle: deque[PreparedStatements] = deque()
        self._counted = Batcher(self._count_all)

    def _run(self, statement: str, values: Sequence[Value]) -> list[UsageRow]:
        connection = self._idle.pop() if self._idle else self._connect(self._address)
        try:
            rows: list[UsageRow] = connection.run(statement, values)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return rows
