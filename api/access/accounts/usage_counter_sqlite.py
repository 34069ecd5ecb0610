"""The statements of every keyed call on SQLite: calls that come at the same moment are counted together.

Each statement gives up Python's global lock several times, and each that writes takes the file's one write lock: under
load both cost more than the counting. Threads of one worker therefore count in one statement what waits by then.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter, deque
from collections.abc import Sequence
from urllib.parse import quote

from sqlalchemy import URL

from api.access.accounts.batcher import Batcher
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.usage_counter import LOOK, TAKE_BACK, CountedCall, UsageRow, numbered

_LOOK_AT_ALL = """
SELECT keys.digest, keys.id, coalesce(usage.calls, 0), coalesce(keys.quota, ?) FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = ?
WHERE keys.digest IN ({}) AND keys.revoked IS NULL AND keys.confirmed IS NOT NULL
"""
# The comparison and the count are one act. A key that has not room for all its calls makes its count NULL, which the
# column refuses and which undoes the statement whole: then each call is counted by itself.
_COUNT_ALL = """
INSERT INTO usage (key_id, day, calls) VALUES {}
ON CONFLICT (key_id, day) DO UPDATE SET calls = CASE WHEN usage.calls + excluded.calls
<= coalesce((SELECT quota FROM keys WHERE id = usage.key_id), ?) THEN usage.calls + excluded.calls END
"""
_LOOK_AT_ONE, _COUNT_ONE = _LOOK_AT_ALL.format("?"), _COUNT_ALL.format("(?,?,1)")
_CALLS = "SELECT calls FROM usage WHERE key_id = ? AND day = ?"


class SqliteUsageCounter:
    """SQLite holds its write lock until a statement has given its last row.

    A statement that returns rows is not over before Python has its global lock again, which under load takes
    milliseconds, and all workers would wait for it. So a statement that writes returns nothing. The day is read before,
    without a lock: a call with a wrong or used-up key takes none.
    """

    def __init__(self, url: URL) -> None:
        self._path = f"file:{quote(url.database or '')}?mode=rw"  # a missing file is an error, not a new database
        self._begin()

    def count(self, digest: bytes, day: int, limit: int) -> UsageRow | None:
        if self._pid != os.getpid():
            self._begin()
        return self._counted.ask(CountedCall(digest, day, limit))

    def take_back(self, key: int, day: int) -> int:
        self._run(TAKE_BACK.format("?", "?"), (key, day))
        rows = self._run(_CALLS, (key, day))
        return int(rows[0][0]) if rows else 0

    def look(self, digest: bytes, day: int) -> UsageRow | None:
        rows = self._run(LOOK.format("?", "?"), (day, digest))
        return rows[0] if rows else None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _count_all(self, calls: Sequence[CountedCall]) -> Sequence[UsageRow | None]:
        """Counts calls one by one where they cannot be counted at once: at midnight, and at a key's limit."""
        if len(calls) == 1:
            return [self._count_alone(calls[0])]
        days = {(call.day, call.limit) for call in calls}
        rows = self._count_at_once([call.digest for call in calls], *days.pop()) if len(days) == 1 else None
        return [self._count_alone(call) for call in calls] if rows is None else rows

    def _count_alone(self, call: CountedCall) -> UsageRow | None:
        rows = self._run(_LOOK_AT_ONE, (call.limit, call.day, call.digest))
        if not rows:
            return None
        _, key, used, most = rows[0]
        if used >= most:
            return None
        try:
            self._run(_COUNT_ONE, (key, call.day, call.limit))
        except sqlite3.IntegrityError:  # another worker took the room meanwhile
            return None
        return key, used + 1, most

    def _count_at_once(self, digests: Sequence[bytes], day: int, limit: int) -> Sequence[UsageRow | None] | None:
        """None, and nothing counted, where a key has room for some of its calls alone.

        One that has none left is out at once: whoever calls on with it holds up nobody else's counting.
        """
        wanted = Counter(digests)
        found = self._run(_LOOK_AT_ALL.format(_places(len(wanted), "?")), (limit, day, *wanted))
        keys = [row for row in found if row[2] < row[3]]
        if any(used + wanted[digest] > most for digest, _, used, most in keys):
            return None
        if keys:
            values = [value for digest, key, _, _ in keys for value in (key, day, wanted[digest])]
            try:
                self._run(_COUNT_ALL.format(_places(len(keys), "(?,?,?)")), (*values, limit))
            except sqlite3.IntegrityError:  # another worker took the room meanwhile
                return None
        return numbered(digests, {digest: (key, used, most) for digest, key, used, most in keys})

    def _run(self, statement: str, values: Sequence[object]) -> list[UsageRow]:
        connection = self._connection()
        try:
            rows = connection.execute(statement, values).fetchall()
        except sqlite3.IntegrityError:
            self._idle.append(connection)
            raise
        except sqlite3.DatabaseError as fault:
            connection.close()
            raise AccountsUnavailable(str(fault)) from fault
        self._idle.append(connection)
        return rows

    def _begin(self) -> None:
        self._pid, self._idle = os.getpid(), deque[sqlite3.Connection]()
        self._counted = Batcher(self._count_all)

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
            connection = sqlite3.connect(
                self._path, timeout=10, isolation_level=None, check_same_thread=False, uri=True
            )
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.DatabaseError as fault:
            raise AccountsUnavailable(str(fault)) from fault
        return connection


def _places(number: int, each: str) -> str:
    return ",".join([each] * number)
