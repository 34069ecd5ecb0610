"""American stamps, month first and without an offset: read in digits, and turned into instants by the order of the file.

Operators that print local time without a flag repeat an hour in autumn; only the order of the lines tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache

from warehouse.clock import DAY, MarketDay, is_ambiguous, local_instant
from warehouse.errors import BadWindow, FeedChanged

_STAMP = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?: (\d{1,2}):(\d\d)(?::(\d\d))?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  both ends of every difference are naive
FIRST_YEAR, LAST_YEAR = 1990, 2099
"""No market of ours is older; a year beyond them is a broken digit, not a reading."""


@lru_cache(maxsize=65536)
def wall_seconds(text: str) -> int:
    """Seconds of `4/1/2026 6:00`, `04/01/2026 06:00:00` or `06/04/2026` as if its clock were UTC. Raises FeedChanged."""
    found = _STAMP.fullmatch(text.strip())
    if found is None or not FIRST_YEAR <= int(found[3]) <= LAST_YEAR:
        raise FeedChanged(f"not a time: {text[:40]!r}")
    month, day, year, hour, minute, second = (int(found[i] or 0) for i in range(1, 7))
    try:
        return int((datetime(year, month, day, hour, minute, second) - _EPOCH).total_seconds())  # noqa: DTZ001
    except ValueError:
        raise FeedChanged(f"not a time: {text[:40]!r}") from None


def instant_of(wall: int, tz: str, second_pass: bool = False) -> int:
    """The instant of a wall-clock stamp in `tz`. Raises FeedChanged for an hour that the spring change skips."""
    try:
        return local_instant(_EPOCH + timedelta(seconds=wall), tz, second_pass)
    except BadWindow as error:
        raise FeedChanged(str(error)) from None


def instants(walls: Sequence[int], tz: str) -> list[int | None]:
    """The instants of one series' stamps, in the order of the file; None where the repeated hour cannot be told.

    The repeated hour comes twice, the earlier pass first; a running day may have come no further than the first pass.
    Lines in any other order do not say which pass they belong to. Raises FeedChanged for an hour that spring skips.
    """
    shifts = {number: _shift(number, tz) for number in {wall // DAY for wall in walls}}
    if None not in shifts.values():
        return [wall + shift for wall in walls if (shift := shifts[wall // DAY]) is not None]
    passes = _passes(walls, tz)
    return [
        wall + shift if (shift := shifts[wall // DAY]) is not None
        else None if passes[i] is None
        else instant_of(wall, tz, bool(passes[i]))
        for i, wall in enumerate(walls)
    ]


@lru_cache(maxsize=4096)
def _shift(number: int, tz: str) -> int | None:
    """Seconds from wall clock to instant on a day of 24 hours; None on the days that change the clock."""
    day = MarketDay(date(1970, 1, 1) + timedelta(days=number), tz)
    return day.start - number * DAY if day.end - day.start == DAY else None


def _passes(walls: Sequence[int], tz: str) -> list[int | None]:
    """Per stamp: 1 in the second pass of a repeated hour, else 0; None where the order does not say."""
    doubtful = {i for i, wall in enumerate(walls) if is_ambiguous(_EPOCH + timedelta(seconds=wall), tz)}
    passes: list[int | None] = [0] * len(walls)
    if not doubtful:
        return passes
    # Where stamps step back or stand still, the second pass begins.
    steps = [i for i in range(1, len(walls)) if walls[i] <= walls[i - 1]]
    inside = [i for i in steps if i in doubtful and i - 1 in doubtful]
    if len(steps) == len(inside) == 1:
        return [1 if i in doubtful and i >= inside[0] else 0 for i in range(len(walls))]
    running = not steps and len(walls) - 1 in doubtful
    return passes if running else [None if i in doubtful else 0 for i in range(len(walls))]
