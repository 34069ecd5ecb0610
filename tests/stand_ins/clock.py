"""Replace the module `time` by a clock that stops until a test moves it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """A module `time` whose `time()` and `monotonic()` return `now`; all else is the real module's."""

    now: float = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
