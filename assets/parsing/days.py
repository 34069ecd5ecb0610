"""Group market days for requests: how long ago a day was, and which days one request can cover."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from math import inf

from warehouse.market.clock import MarketDay


def age(day: MarketDay, now: int) -> int:
    """Return how many days before the time `now` a market day was: 0 today, -1 tomorrow."""
    return (MarketDay.at(now, day.tz).day - day.day).days


def runs(days: Sequence[MarketDay], longest: int, longest_s: float = inf) -> list[list[MarketDay]]:
    """Return the distinct days in order, as runs of consecutive days of at most `longest` days and `longest_s` seconds.

    The seconds are for publishers that limit the duration: seven days with the autumn change are an hour longer.
    """
    blocks: list[list[MarketDay]] = []
    for day in sorted(set(days)):
        run = blocks[-1] if blocks else []
        if run and run[-1].next() == day and len(run) < longest and day.end - run[0].start <= longest_s:
            run.append(day)
        else:
            blocks.append([day])
    return blocks


def months(days: Sequence[MarketDay]) -> list[tuple[date, ...]]:
    """Return the distinct days in order, grouped by month, as requests for monthly files need them."""
    return [tuple(month) for _, month in groupby(sorted({d.day for d in days}), key=lambda day: (day.year, day.month))]
