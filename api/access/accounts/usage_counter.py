"""What every keyed call asks of the accounts database, straight from the driver: SQLAlchemy would double its cost.

Connections are opened after the fork, and kept. Every statement is its own transaction. The two databases:
`api.access.accounts.usage_counter_sqlite`, `api.access.accounts.usage_counter_postgres`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

UsageRow = tuple[Any, ...]

TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = {0} AND day = {1} AND calls > 0"
LOOK = """
SELECT keys.id, keys.created, coalesce(usage.calls, 0), keys.quota FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = {0}
WHERE keys.digest = {1} AND keys.revoked IS NULL AND keys.confirmed IS NOT NULL
"""


class UsageCounter(Protocol):
    """The statements of a keyed call. Raises AccountsUnavailable."""

    def count(self, digest: bytes, day: int, limit: int) -> UsageRow | None:
        """Counts a call of a live key: (key, the day's calls with it, the day's limit); None where none is left.

        `limit` holds for keys without a quota of their own.
        """

    def take_back(self, key: int, day: int) -> int:
        """Takes a counted call back; the day's calls without it."""

    def look(self, digest: bytes, day: int) -> UsageRow | None:
        """(key, when it was made, the day's calls, its own quota or None) of a live key."""

    def close(self) -> None:
        """Closes everything; nothing may be running."""


class CountedCall(NamedTuple):
    """A call that is to be counted."""

    digest: bytes
    day: int
    limit: int


def numbered(digests: Sequence[bytes], keys: Mapping[bytes, tuple[int, int, int]]) -> list[UsageRow | None]:
    """The row of each call of a batch, from each key's id, its calls before the batch, and its limit."""
    numbers = {digest: itertools.count(before + 1) for digest, (_, before, _) in keys.items()}
    return [(keys[d][0], next(numbers[d]), keys[d][2]) if d in keys else None for d in digests]
