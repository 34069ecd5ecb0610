"""Market days as requests see them: how long ago a day was, and which days one request can cover."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from math import inf

from warehouse.market.clock import MarketDay


def age(day: MarketDay, now: int) -> int:
    """How many days before the instant `now` a market day was: 0 today, -1 tomorrow."""
    return (MarketDay.at(now, day.tz).day - day.day).days


def runs(days: Sequence[MarketDay], longest: int, longest_s: float = inf) -> list[list[MarketDay]]:
    """The days, each once and in order, as runs of consecutive days, none of more days or seconds than these.

    The seconds are for publishers whose limit is a length of time: seven days with the autumn change are an hour
    longer.
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
    """The days, each once and in order, month by month: what monthly files are asked for."""
    return [tuple(month) for _, month in groupby(sorted({d.day for d in days}), key=lambda day: (day.year, day.month))]
