"""What one process has seen of an object store's keys, and what its threads have read since they took their locks.

What was looked at counts for a moment as unchanged. Under a lock only what was looked at since it was taken counts, and
what was read there is what a write may replace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from warehouse.bucket_requests import Tag
from warehouse.leases import Lease
from warehouse.storage import Identity

_MOST_SEEN, _MOST_LISTED = 100_000, 100


class Seen(NamedTuple):
    """What was last known of a key. `at`: monotonic seconds at which it was asked for; `tag` None: nothing there."""

    at: float
    tag: Tag | None
    identity: Identity | None


class Section(NamedTuple):
    """What one thread has read since it took its locks."""

    since: float
    leases: list[Lease]
    read: dict[str, Tag | None]


class SeenKeys:
    """Keys and listings by when they were asked for, for many threads. `fresh_s`: how long they count as unchanged."""

    def __init__(self, fresh_s: float) -> None:
        self._fresh_s = fresh_s
        self._seen: dict[str, Seen] = {}
        self._listed: dict[str, tuple[float, list[str]]] = {}
        self._thread = threading.local()

    def last(self, key: str) -> Seen | None:
        """What was last known of a key, however long ago."""
        return self._seen.get(key)

    def fresh(self, key: str) -> Seen | None:
        """What counts as unchanged: for `fresh_s`, and under a lock since it was taken."""
        seen, section = self._seen.get(key), self.section
        since = section.since if section else time.monotonic() - self._fresh_s
        return seen if seen is not None and seen.at > since else None

    def learn(self, key: str, seen: Seen) -> None:
        """Keeps what was asked for or written, and notes it as read."""
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[key] = seen
        self.note_read(key, seen.tag)

    def forget(self, key: str) -> None:
        """Nothing is known of a key any more."""
        self._seen.pop(key, None)

    def listing(self, prefix: str) -> list[str] | None:
        """The keys of a listing that counts as unchanged: none does under a lock."""
        known = self._listed.get(prefix)
        fresh = known and self.section is None and time.monotonic() - known[0] < self._fresh_s
        return list(known[1]) if known and fresh else None

    def learn_listing(self, prefix: str, at: float, keys: list[str]) -> None:
        """Keeps a listing, asked for at `at`."""
        if len(self._listed) >= _MOST_LISTED:
            self._listed.clear()
        self._listed[prefix] = (at, list(keys))

    def forget_listings(self) -> None:
        """No listing counts any more: something was written or removed."""
        self._listed = {}

    # Sections

    @contextmanager
    def section_under(self, leases: list[Lease]) -> Iterator[None]:
        """This thread's time under locks that it has just taken."""
        section, sections = Section(time.monotonic(), leases, {}), self._sections
        sections.append(section)
        try:
            yield
        finally:
            sections.remove(section)

    @property
    def section(self) -> Section | None:
        """The innermost section that this thread is in."""
        sections = self._sections
        return sections[-1] if sections else None

    def note_read(self, key: str, tag: Tag | None) -> None:
        """What this thread has read of a key, for all of its sections."""
        for section in self._sections:
            section.read[key] = tag

    @property
    def _sections(self) -> list[Section]:
        """The sections that this thread is in, the innermost last."""
        if not hasattr(self._thread, "sections"):
            self._thread.sections = []
        sections: list[Section] = self._thread.sections
        return sections
