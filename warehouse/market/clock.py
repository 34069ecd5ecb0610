"""Define market time: Unix seconds, half-open windows, market days of 23, 24 or 25 hours, and the only `now`.

Times are Unix seconds UTC (int). `warehouse`, `assets` and `api` read the wall clock only here for windows, artefacts
and states, so that EMDS_NOW sets them all.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from warehouse.errors import BadWindow, StorageError

HOUR = 3600
QUARTER = HOUR // 4
"""Clocks change at whole quarter hours, and by whole quarter hours."""
DAY = 86400
LAST_INSTANT = 253402300799
"""9999-12-31T23:59:59Z: later times are refused."""
SPREAD = 1 << 40
"""More than any time: `number * SPREAD + ts` sorts many series by number, then time, within 64 bits."""

RESOLUTIONS: dict[str, int] = {"5m": 300, "15m": 900, "30m": 1800, "1h": 3600, "1d": DAY, "1y": 365 * DAY}
"""Seconds of each resolution of rows; a `1y` row lasts its calendar year (`interval_end`)."""


def now(wall_ns: int | None = None) -> int:
    """Return the current time, or that of `wall_ns` (nanoseconds, as `time.time_ns`); EMDS_NOW (RFC 3339) fixes it."""
    fixed = os.environ.get("EMDS_NOW")
    if fixed:
        return _fixed(fixed)
    return int(time.time()) if wall_ns is None else wall_ns // 1_000_000_000


@lru_cache(maxsize=4)
def _fixed(text: str) -> int:
    try:
        return instant(text)
    except BadWindow as fault:
        raise StorageError(f"EMDS_NOW is not a valid time: {fault}") from None


def instant(text: str) -> int:
    """Return the Unix seconds of an ISO 8601 time with offset, or of a string of digits. Raises BadWindow."""
    if text.isascii() and text.isdigit():
        value = int(text.lstrip("0")[:16] or "0")
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadWindow(f"{text[:40]!r} is not a time; use Unix seconds or RFC 3339 with an offset") from None
        if moment.tzinfo is None:
            raise BadWindow(f"{text[:40]!r} has no UTC offset; add Z or +hh:mm")
        value = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 1)
    if not 0 <= value <= LAST_INSTANT:
        raise BadWindow(f"{text[:40]!r} is outside the years 1970 to 9999")
    return value


def utc(ts: int) -> datetime:
    """Return the aware UTC datetime of a time."""
    return datetime.fromtimestamp(ts, UTC)


def iso(ts: int) -> str:
    """Return a time in the form `2026-10-25T00:00:00Z`."""
    return f"{utc(ts).isoformat()[:19]}Z"


@lru_cache(maxsize=64)
def zone_of(tz: str) -> ZoneInfo:
    """Return the zone of that name in the tz database (cached)."""
    return ZoneInfo(tz)


@lru_cache(maxsize=65536)
def local_midnight(day: date, tz: str) -> int:
    """Return the time at which `day` starts in `tz`."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone_of(tz)).timestamp())


def local_date(ts: int, tz: str) -> date:
    """Return the civil date in `tz` at a time."""
    return datetime.fromtimestamp(ts, zone_of(tz)).date()


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Half-open `[start, end)` in Unix seconds."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start > self.end:
            raise BadWindow(f"the window ends before it starts: {self.start} to {self.end}")

    def __contains__(self, ts: int) -> bool:
        return self.start <= ts < self.end

    @property
    def seconds(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class MarketDay:
    """A civil day in a market's time zone: 23, 24 or 25 hours long."""

    day: date
    tz: str

    @property
    def start(self) -> int:
        return local_midnight(self.day, self.tz)

    @property
    def end(self) -> int:
        return local_midnight(self.day + timedelta(days=1), self.tz)

    @property
    def window(self) -> Window:
        return Window(self.start, self.end)

    @property
    def hours(self) -> float:
        return (self.end - self.start) / HOUR

    @classmethod
    def at(cls, ts: int, tz: str) -> MarketDay:
        return cls(local_date(ts, tz), tz)

    def next(self, days: int = 1) -> MarketDay:
        return MarketDay(self.day + timedelta(days=days), self.tz)

    def __str__(self) -> str:
        return self.day.isoformat()


def market_days(first: date, last: date, tz: str) -> list[MarketDay]:
    """Return every market day from `first` to `last`, both included."""
    return [MarketDay(first + timedelta(days=i), tz) for i in range((last - first).days + 1)]


def days_of(text: str) -> tuple[date, ...]:
    """Return every day of `2026`, `2026-11` or `2026-11-20`. Raises BadWindow."""
    parts = text.count("-")
    try:
        first = date.fromisoformat(text + "-01" * (2 - parts))
        year, month = first.year, first.month
        after = (date(year + 1, 1, 1), date(year + month // 12, month % 12 + 1, 1), first + timedelta(days=1))[parts]
    except (ValueError, IndexError, OverflowError):
        raise BadWindow(f"{text[:40]!r} must be YYYY, YYYY-MM or YYYY-MM-DD") from None
    return tuple(first + timedelta(days=i) for i in range((after - first).days))


def local_instant(naive: datetime, tz: str, second_pass: bool = False) -> int:
    """Return the Unix seconds of a local time; `second_pass` selects the later of a repeated autumn hour (PEP 495).

    Raises BadWindow for a time that the spring change skips, since it never occurs.
    """
    zone = zone_of(tz)
    moment = naive.replace(tzinfo=zone, fold=1 if second_pass else 0)
    ts = int(moment.timestamp())
    if datetime.fromtimestamp(ts, zone).replace(tzinfo=None) != naive.replace(fold=0, microsecond=0):
        raise BadWindow(f"{naive} does not exist in {tz} (the clocks go forward)")
    return ts


def civil_instant(naive: datetime, tz: str) -> int:
    """Return the Unix seconds of a local time.

    A time that the autumn change repeats means its first occurrence; a time that the spring change skips means the
    change.
    """
    zone = zone_of(tz)
    first, second = (int(naive.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1))
    if first <= second:
        return first

    def offset(ts: int) -> timedelta:
        return datetime.fromtimestamp(ts, zone).utcoffset() or timedelta()

    # A skipped time is after the change by the clock before it, and before the change by the clock after it (PEP 495).
    return second + bisect_right(range(second, first), offset(second), key=offset)


def is_ambiguous(naive: datetime, tz: str) -> bool:
    """Return whether a local time falls in the hour that the autumn change repeats."""
    zone = zone_of(tz)
    first, second = (naive.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    # In the skipped spring hour they differ in the other direction (PEP 495).
    return first is not None and second is not None and first > second


def interval_end(ts: int, resolution: str) -> int:
    """Return the end of the interval that starts at `ts`; a year lasts its 365 or 366 days."""
    if resolution == "1y":
        # A capacity year starts at a local midnight, within a day of 1 January UTC.
        year = utc(ts + DAY // 2).year
        return ts + (datetime(year + 1, 1, 1, tzinfo=UTC) - datetime(year, 1, 1, tzinfo=UTC)).days * DAY
    return ts + RESOLUTIONS[resolution]


def month_of(ts: int) -> str:
    """Return the UTC month of a time, such as `2026-11`."""
    return utc(ts).strftime("%Y-%m")


def months(window: Window) -> list[str]:
    """Return the UTC months that a half-open window touches, in order; none for an empty window."""
    if window.end <= window.start:
        return []
    first, last = utc(window.start), utc(window.end - 1)
    count = (last.year - first.year) * 12 + last.month - first.month
    return [
        f"{first.year + (first.month - 1 + i) // 12:04d}-{(first.month - 1 + i) % 12 + 1:02d}" for i in range(count + 1)
    ]


@lru_cache(maxsize=4096)
def month_window(month: str) -> Window:
    """Return the window of a UTC month such as `2026-11`."""
    year, number = int(month[:4]), int(month[5:7])
    start = datetime(year, number, 1, tzinfo=UTC)
    end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return Window(int(start.timestamp()), int(end.timestamp()))
