"""A clock in place of the module `time`: it stands until a test moves it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Clock:
    """`time()` and `monotonic()` are `now`; all else is the real module's."""

    now: float = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)
