"""Market days as a request sees them: how long ago a day was, and which days one request can cover."""

from __future__ import annotations

from collections.abc import Sequence

from warehouse import clock
from warehouse.clock import DAY, MarketDay


def age(day: MarketDay) -> int:
    """How many days ago a market day was: 0 today, -1 tomorrow. The one place where requests look at the clock."""
    return (MarketDay.at(clock.now(), day.tz).day - day.day).days


def runs(days: Sequence[MarketDay], longest: int) -> list[list[MarketDay]]:
    """The days, each once and in order, as runs of days that follow each other, none longer than `longest` times 24 hours."""
    found: list[list[MarketDay]] = []
    for day in sorted(set(days)):
        run = found[-1] if found else []
        if run and run[-1].next() == day and day.end - run[0].start <= longest * DAY:
            run.append(day)
        else:
            found.append([day])
    return found
