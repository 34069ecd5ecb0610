"""Values kept in memory within a bound of bytes, the longest unused given up first. What they are worth, the caller says."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")


class Memory:
    """Safe for many threads. Two that ask for one missing key at once may both make it: values are equal, the last stays."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], tuple[Value, int]]) -> Value:
        """What is kept under `key`, else what `make` gives: a value and its bytes. One larger than the bound is not kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                value: Value = found[0]
                return value
        value, size = make()
        with self._lock:
            self._put(key, value, size)
        return value

    def _put(self, key: Hashable, value: object, size: int) -> None:
        before = self._kept.pop(key, None)
        if before is not None:
            self.held_bytes -= before[1]
        if size > self.limit_bytes:
            return
        self._kept[key] = value, size
        self.held_bytes += size
        while self.held_bytes > self.limit_bytes:
            _, (_, freed) = self._kept.popitem(last=False)
            self.held_bytes -= freed
