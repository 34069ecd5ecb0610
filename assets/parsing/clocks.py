"""Convert wall clocks to times (Unix seconds UTC): local clocks with their changes, and fixed ones.

For the formats of a time see `stamps`. A wall clock is given as a date and seconds after its midnight, or as `wall`
seconds: the Unix seconds if the clock were UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from warehouse.errors import BadWindow, FeedChanged
from warehouse.market.clock import DAY, MarketDay, is_ambiguous, local_instant

EARLIEST, LATEST = 631152000, 4102444800
"""From 1990 to the end of 2099. All markets are younger, and a time outside this range has a broken digit."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  both ends of every difference are naive


def plausible(ts: int, what: object) -> int:
    """Return `ts`, which may be wall seconds, if it is between 1990 and 2099. Raises FeedChanged."""
    if not EARLIEST <= ts < LATEST:
        raise FeedChanged(f"{str(what)[:40]!r} is not a market time")
    return ts


def wall_instant(day: date, seconds: int, tz: str, second_pass: bool = False) -> int:
    """Return the time at which the wall clock of `tz` shows `seconds` after midnight of `day` (0..86400).

    `second_pass` selects the later of the repeated autumn hour. Raises FeedChanged for an hour that spring skips.
    """
    try:
        wall = datetime(day.year, day.month, day.day) + timedelta(seconds=seconds)  # noqa: DTZ001  placed by the next line
        return plausible(local_instant(wall, tz, second_pass), day)
    except (BadWindow, OverflowError, ValueError):
        raise FeedChanged(f"{day} has no {seconds // 3600:02d}:{seconds % 3600 // 60:02d} in {tz}") from None


def fixed_instant(day: date, seconds: int, offset_hours: int) -> int:
    """Return the time `seconds` after midnight of `day` on a clock `offset_hours` from UTC all year.

    Raises FeedChanged.
    """
    midnight = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) - offset_hours * 3600
    return plausible(midnight + seconds, day)


def instants(walls: Sequence[int], tz: str) -> list[int | None]:
    """Return the times of one series' wall seconds, in file order, with None if the repeated hour is ambiguous.

    The repeated hour appears twice, the earlier pass first. A current day may end within the first pass. Lines in any
    other order do not show which pass they belong to. Raises FeedChanged for an hour that spring skips.
    """
    shifts = {number: _shift(number, tz) for number in {wall // DAY for wall in walls}}
    if None not in shifts.values():
        return [wall + shift for wall in walls if (shift := shifts[wall // DAY]) is not None]
    passes = _passes(walls, tz)
    return [
        wall + shift
        if (shift := shifts[wall // DAY]) is not None
        else None
        if passes[i] is None
        else _placed(wall, tz, bool(passes[i]))
        for i, wall in enumerate(walls)
    ]


def _placed(wall: int, tz: str, second_pass: bool) -> int:
    try:
        return local_instant(_EPOCH + timedelta(seconds=wall), tz, second_pass)
    except BadWindow as error:
        raise FeedChanged(str(error)) from None


@lru_cache(maxsize=4096)
def _shift(number: int, tz: str) -> int | None:
    """Return the seconds from wall clock to UTC on a day of 24 hours, or None on the days that change the clock."""
    day = MarketDay(date(1970, 1, 1) + timedelta(days=number), tz)
    return day.start - number * DAY if day.end - day.start == DAY else None


def repeated(walls: Sequence[int], tz: str) -> set[int]:
    """Return the positions of the wall seconds inside an hour that autumn repeats."""
    changing = {number for number in {wall // DAY for wall in walls} if _shift(number, tz) is None}
    if not changing:
        return set()
    return {
        i
        for i, wall in enumerate(walls)
        if wall // DAY in changing and is_ambiguous(_EPOCH + timedelta(seconds=wall), tz)
    }


def _passes(walls: Sequence[int], tz: str) -> list[int | None]:
    """Return, per stamp, 1 in the second pass of a repeated hour, else 0, or None if the order does not show it."""
    doubtful = repeated(walls, tz)
    passes: list[int | None] = [0] * len(walls)
    if not doubtful:
        return passes
    # The second pass begins at a stamp that is not later than the one before it.
    steps = [i for i in range(1, len(walls)) if walls[i] <= walls[i - 1]]
    inside = [i for i in steps if i in doubtful and i - 1 in doubtful]
    first, last = min(doubtful), max(doubtful)
    in_one_piece = last - first + 1 == len(doubtful)
    in_place = not {first, last + 1} & {*steps}  # between the lines before that hour and those after it
    if len(inside) == 1 and in_one_piece and in_place:
        return [1 if i in doubtful and i >= inside[0] else 0 for i in range(len(walls))]
    running = not steps and len(walls) - 1 in doubtful
    return passes if running else [None if i in doubtful else 0 for i in range(len(walls))]
