"""Cache values in memory, within a limit in bytes or for a limited time. The caller supplies each value's size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")


class TtlCache:
    """A cache that keeps values for `ttl_s` seconds; 0 disables it. Thread-safe."""

    MOST = 2_000
    """The largest number of entries. If it is reached, the whole cache is emptied, which costs a moment's work."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._entries: dict[Hashable, tuple[Any, float]] = {}

    def get(self, key: Hashable, find: Callable[[], Value]) -> Value:
        """Return the value cached under `key`, or the result of `find`."""
        now = time.monotonic()
        value, until = self._entries.get(key, (None, now))
        if now >= until:
            value = find()
            self.keep(key, value, now)
        found: Value = value
        return found

    def get_cached(self, key: Hashable) -> Any:
        """Return the value cached under `key`, None if there is none."""
        value, until = self._entries.get(key, (None, 0.0))
        return value if time.monotonic() < until else None

    def keep(self, key: Hashable, value: object, since: float) -> None:
        """Cache a value that was found at `since` (monotonic time)."""
        if len(self._entries) >= self.MOST:
            self._entries.clear()
        self._entries[key] = value, since + self._ttl_s

    def forget(self, key: Hashable) -> None:
        """Forget the value under `key`."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget all values."""
        self._entries.clear()


class LruCache:
    """A thread-safe cache with a limit in bytes, which drops the least recently used values first.

    Two threads that request a missing key may both compute it. The values are equal, and the last one stays.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Return the value cached under `key`, or the result of `make`: a value and its size in bytes.

        A value larger than the limit is not cached.
        """
        entry = self._find(key)
        if entry is None:
            entry = make()
            self.keep(key, *entry)
        value: Value = entry[0]
        return value

    def found(self, key: Hashable) -> Any:
        """Return the value cached under `key`, None if there is none."""
        entry = self._find(key)
        return None if entry is None else entry[0]

    def _find(self, key: Hashable) -> tuple[Any, int] | None:
        with self._lock:
            entry = self._values.get(key)
            if entry is not None:
                self._values.move_to_end(key)
            return entry

    def keep(self, key: Hashable, value: object, size: int) -> None:
        """Cache a value of `size` bytes, unless it is larger than the limit."""
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
