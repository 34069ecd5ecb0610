"""What publishers write for a time, turned into instants (Unix seconds UTC): wall clocks, fixed clocks, epochs, their dates.

Each failure is typed, and so is a stamp of a year that no market has seen. Which clock a stamp is on is the source's to
say. The year-first digits of Europe and Australia are `_stamps`' business.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from warehouse.clock import LAST_INSTANT, local_instant, zone_of
from warehouse.errors import BadWindow, FeedChanged

EARLIEST = 915148800
"""1999-01-01: no market of ours is older; a stamp before it is a broken one, not history."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def plausible(ts: int, what: object) -> int:
    """The instant itself, if it lies between 1999 and 9999. Raises FeedChanged."""
    if not EARLIEST <= ts <= LAST_INSTANT:
        raise FeedChanged(f"{str(what)[:40]!r} is no instant of a market")
    return ts


def iso_instant(text: object, tz: str = "UTC") -> int:
    """The instant of `2026-06-09T04:00:00` (a blank for the T, and an offset, allowed), whole seconds; without offset it is on `tz`.

    `tz` must be a clock that never changes, as UTC or Etc/GMT+5. Raises FeedChanged.
    """
    try:
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # TypeError is caught: JSON gives anything
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=zone_of(tz))).timestamp()
    except (ValueError, TypeError, OverflowError):
        raise FeedChanged(f"{str(text)[:40]!r} is no stamp") from None
    return plausible(int(seconds), text)


def epoch_instant(number: object) -> int:
    """The instant of an epoch number, in milliseconds or (below 10^11, that is before the year 5138) seconds. Raises FeedChanged."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e17:
        raise FeedChanged(f"{str(number)[:40]!r} is no epoch")
    return plausible(int(number) if number < 1e11 else int(number) // 1000, number)


def slash_date(text: str) -> date:
    """The date of `07/14/2026` or `7/4/2026`, month first. Raises FeedChanged."""
    try:
        month, day, year = (int(part) for part in text.strip().split("/"))
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise FeedChanged(f"{text[:40]!r} is no month/day/year") from None


def iso_date(text: str) -> date:
    """The date of `2026-03-08`. Raises FeedChanged."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise FeedChanged(f"{text[:40]!r} is no date") from None


def named_date(text: str) -> date:
    """The date of `02-Oct-2026`, in English whatever the host's language. Raises FeedChanged."""
    try:
        day, name, year = text.strip().split("-")
        return date(int(year), _MONTHS.index(name.lower()) + 1, int(day))
    except (ValueError, OverflowError):
        raise FeedChanged(f"{text[:40]!r} is no day-month-year") from None


def wall_instant(day: date, seconds: int, tz: str, second_pass: bool = False) -> int:
    """The instant at which the wall clock of `tz` shows so many seconds after midnight of `day` (0..86400).

    `second_pass` picks the later of the repeated autumn hour. Raises FeedChanged for an hour that the spring change skips.
    """
    try:
        wall = datetime(day.year, day.month, day.day) + timedelta(seconds=seconds)  # noqa: DTZ001  placed by the next line
        return plausible(local_instant(wall, tz, second_pass), day)
    except (BadWindow, OverflowError, ValueError):
        raise FeedChanged(f"{day} has no {seconds // 3600:02d}:{seconds % 3600 // 60:02d} in {tz}") from None


def fixed_instant(day: date, seconds: int, offset_hours: int) -> int:
    """The instant so many seconds after midnight of `day` on a clock that is always `offset_hours` from UTC. Raises FeedChanged."""
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) - offset_hours * 3600
    return plausible(midnight + seconds, day)


def clock_minutes(text: str) -> int:
    """Minutes after midnight of `16:05`, `9:05` or `16:05:00` (0..1440). Raises FeedChanged."""
    parts = text.strip().split(":")
    if 2 <= len(parts) <= 3 and all(part.isascii() and part.isdigit() and len(part) <= 2 for part in parts):
        minutes = int(parts[0]) * 60 + int(parts[1])
        if int(parts[1]) < 60 and minutes <= 1440 and not any(int(part) for part in parts[2:]):
            return minutes
    raise FeedChanged(f"{text[:40]!r} is no time of day")
