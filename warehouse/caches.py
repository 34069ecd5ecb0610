"""Values kept in memory: within a bound of bytes, or for a moment. The caller supplies each value's size."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

Value = TypeVar("Value")
Texts = ParamSpec("Texts")
LONGEST_CACHED = 512
"""Characters of a call's arguments; browsers' headers have fewer."""


def cache_short(entries: int) -> Callable[[Callable[Texts, Value]], Callable[Texts, Value]]:
    """Cache a function of texts that callers choose, such as headers: calls with long texts are computed each time."""

    def decorate(function: Callable[Texts, Value]) -> Callable[Texts, Value]:
        cached = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(*args: Texts.args, **kwargs: Texts.kwargs) -> Value:
            short = sum(len(arg) for arg in args if isinstance(arg, str)) <= LONGEST_CACHED
            return cached(*args, **kwargs) if short else function(*args, **kwargs)  # type: ignore[arg-type]

        return call

    return decorate


class TtlCache:
    """Values kept for `ttl_s` seconds; 0 keeps none. Safe for many threads."""

    MOST = 2_000
    """More are never kept: then all are forgotten at once, which costs a moment's work."""

    def __init__(self, ttl_s: float) -> None:
        self._ttl_s = ttl_s
        self._entries: dict[Hashable, tuple[Any, float]] = {}

    def get(self, key: Hashable, find: Callable[[], Value]) -> Value:
        """The value kept under `key`, else what `find` gives now."""
        if not self._ttl_s:
            return find()
        now = time.monotonic()
        entry = self._entries.get(key)
        if entry is not None and now < entry[1]:
            value: Value = entry[0]
            return value
        value = find()
        self.keep(key, value, now)
        return value

    def get_cached(self, key: Hashable) -> Any:
        """The value kept under `key`; None where none is."""
        entry = self._entries.get(key)
        return None if entry is None or time.monotonic() >= entry[1] else entry[0]

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


class AskedBefore:
    """Whether a key was asked for before, as far as the last few thousand go. Safe for many threads.

    What is asked for once alone need not be kept: it would push out what recurs, and its memory, given back at once, is
    still in the processor's caches when the next value is made in it.
    """

    MOST = 2_000
    """Keys are forgotten when so many others came after them, twice as many at the latest. Of many more,
    questions at random over one year would fill a cache with what recurs by chance."""

    def __init__(self) -> None:
        self._newer: set[int] = set()
        self._older: set[int] = set()

    def note(self, key: Hashable) -> bool:
        """Notes a key; True where it was noted before. By its hash: of two that share one, the second is known."""
        name = hash(key)
        if name in self._newer:
            return True
        known = name in self._older
        if len(self._newer) >= self.MOST:
            self._newer, self._older = set(), self._newer
        self._newer.add(name)
        return known


class LruCache:
    """Within a bound of bytes, the longest unused given up first. Safe for many threads.

    Two that ask for one missing key at once may both make it: values are equal, the last stays.
    """

    def __init__(self, limit_bytes: int, admit: Callable[[Hashable], bool] = lambda key: True) -> None:
        """`admit`: whether `get` keeps what it made for a key."""
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._admit = admit
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """Kept under `key`, else what `make` gives: a value and its bytes. A larger one is not kept."""
        with self._lock:
            entry = self._values.get(key)
            if entry is not None:
                self._values.move_to_end(key)
                value: Value = entry[0]
                return value
        value, size = make()
        if self._admit(key):
            self.keep(key, value, size)
        return value

    def found(self, key: Hashable) -> Any:
        """What is kept under `key`; None where nothing is."""
        with self._lock:
            entry = self._values.get(key)
            if entry is None:
                return None
            self._values.move_to_end(key)
            return entry[0]

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
