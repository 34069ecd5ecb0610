"""Values kept in memory: within a bound of bytes, or for a moment. The caller supplies each value's size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")


class TtlCache:
    """Values kept for `ttl_s` seconds; 0 keeps none. Safe for many threads."""

    MOST = 2_000
    """More are never kept: then all are forgotten at once, which costs a moment's work."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._entries: dict[Hashable, tuple[Any, float]] = {}

    def get(self, key: Hashable, find: Callable[[], Value]) -> Value:
        """The value kept under `key`, else what `find` gives now."""
        now = time.monotonic()
        value, until = self._entries.get(key, (None, now))
        if now >= until:
            value = find()
            self.keep(key, value, now)
        found: Value = value
        return found

    def get_cached(self, key: Hashable) -> Any:
        """The value kept under `key`; None where none is."""
        value, until = self._entries.get(key, (None, 0.0))
        return value if time.monotonic() < until else None

    def keep(self, key: Hashable, value: object, since: float) -> None:
        """Keeps a value that was found at an instant (monotonic)."""
        if len(self._entries) >= self.MOST:
            self._entries.clear()
        self._entries[key] = value, since + self._ttl_s

    def forget(self, key: Hashable) -> None:
        """Forgets the value under `key`."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Forgets all values."""
        self._entries.clear()


class LruCache:
    """Within a bound of bytes, the longest unused given up first. Safe for many threads.

    Two that ask for one missing key at once may both make it: values are equal, the last stays.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Kept under `key`, else what `make` gives: a value and its bytes. A larger one is not kept."""
        entry = self._find(key)
        if entry is None:
            entry = make()
            self.keep(key, *entry)
        value: Value = entry[0]
        return value

    def found(self, key: Hashable) -> Any:
        """What is kept under `key`; None where nothing is."""
        entry = self._find(key)
        return None if entry is None else entry[0]

    def _find(self, key: Hashable) -> tuple[Any, int] | None:
        with self._lock:
            entry = self._values.get(key)
            if entry is not None:
                self._values.move_to_end(key)
            return entry

    def keep(self, key: Hashable, value: object, size: int) -> None:
        """Keeps a value of so many bytes; one larger than the bound is not kept."""
        with self._lock:
            before = self._values.pop(key, None)
            if before is not None:
                self.held_bytes -= before[1]
            if size > self.limit_bytes:
                return
            self._values[key] = value, size
            self.held_bytes += size
            while self.held_bytes > self.limit_bytes:
                _, (_, freed) = self._values.popitem(last=False)
                self.held_bytes -= freed
