"""An instant as a person in a zone reads it, with UTC beside it: `2026-10-25 18:00 CET (17:00 UTC)`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from warehouse.market.clock import utc, zone_of


@dataclass(frozen=True, slots=True)
class LocalTime:
    """An instant (Unix seconds UTC) on the clock of `tz`."""

    ts: int
    tz: str

    @property
    def local(self) -> datetime:
        return datetime.fromtimestamp(self.ts, zone_of(self.tz))

    def __str__(self) -> str:
        return f"{self.local:%Y-%m-%d} {self._clock}"

    def beside(self, other: LocalTime) -> str:
        """Without the date where the other time has the same."""
        return self._clock if self.local.date() == other.local.date() else str(self)

    @property
    def _clock(self) -> str:
        there = utc(self.ts)
        day = "" if there.date() == self.local.date() else f"{there:%Y-%m-%d} "
        return f"{self.local:%H:%M %Z} ({day}{there:%H:%M} UTC)"
