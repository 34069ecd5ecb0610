"""What every keyed call asks of the accounts' database, straight from the driver: SQLAlchemy would cost as much again as the call.

Connections are opened after the fork, and kept. Every statement is its own transaction. How: `api.access.accounts.usage_counter_sqlite`, `api.access.accounts.usage_counter_postgres`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

UsageRow = tuple[Any, ...]

TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = {0} AND day = {0} AND calls > 0"
LOOK = """
SELECT keys.id, keys.created, coalesce(usage.calls, 0) FROM keys
LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = {0}
WHERE keys.digest = {0} AND keys.revoked IS NULL
"""


class UsageCounter(Protocol):
    """What is asked at every keyed call. Raises AccountsUnavailable."""

    def count(self, digest: bytes, day: int, limit: int) -> UsageRow | None:
        """Counts a call: (key, the day's calls with it), or None where the key is not live or holds `limit` already."""

    def take_back(self, key: int, day: int) -> int:
        """Takes a counted call back; the day's calls without it."""

    def look(self, digest: bytes, day: int) -> UsageRow | None:
        """(key, when it was made, the day's calls) of a live key."""

    def close(self) -> None:
        """Closes everything; nothing may be running."""


class CountedCall(NamedTuple):
    """A call that is to be counted."""

    digest: bytes
    day: int
    limit: int


def numbered(digests: Sequence[bytes], found: Mapping[bytes, tuple[int, int]]) -> list[UsageRow | None]:
    """What `count` tells of calls counted together, from each key's id and its calls before them."""
    numbers = {digest: itertools.count(before + 1) for digest, (_, before) in found.items()}
    return [(found[digest][0], next(numbers[digest])) if digest in found else None for digest in digests]
