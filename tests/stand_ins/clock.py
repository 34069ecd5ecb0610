"""Replace the `time` module by a clock that moves only when a test moves it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """A stand-in for the `time` module.

    `time()` and `monotonic()` return `now`, and all other names are those of the real module.
    """

    now: float = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
