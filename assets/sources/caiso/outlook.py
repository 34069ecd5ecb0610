"""Today's Outlook, the California ISO's five-minute CSVs: from wall-clock labels without a date to instants.

What the columns mean: see `assets.sources.caiso`. Both forecast columns are labelled by interval ends: their values
change at 00:05, 01:05 and so on (the hour-ahead one at :05, :20, :35 and :50), and the first label, 00:00, has
yesterday's last value. Demand is read as interval starts. Read so, it lags the hour-ahead forecast by 10 to 15 minutes;
read as ends it would by 5 to 10: which of the two it is the recordings do not settle. On the day that sets clocks back,
a file holds 24 hours of labels: one of the two 01:xx hours is missing. The one that is there is the first, in daylight
time: demand runs smoothly into it (from 00:55 to 01:00 by -70, -75 and -78 MW in 2019, 2020 and 2021) and jumps after
it (from 01:55 to 02:00 by -467, -534 and -415).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, compress, pairwise

from assets.parsing.body import table, text_of, without_cut_cell
from assets.parsing.clocks import plausible, wall_instant
from assets.parsing.columns import floats
from assets.parsing.stamps import american_date, clock_minutes
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import HOUR, MarketDay, local_midnight
from warehouse.market.feeds import Request

TZ = "America/Los_Angeles"
STEP = 300
SLACK = 900
"""Seconds by which a reading may lie ahead of our clock: it is an interval's start, on the publisher's clock."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The filled lines of one file: header names in lower case, and per line its interval start and its cells."""

    header: list[str]
    starts: list[int]
    lines: list[list[str]]
    dropped: Counter[str]


@dataclass(slots=True)
class _Line:
    day: date | None
    minutes: int
    cells: list[str]


def read(body: bytes, request: Request, choose: Callable[[Sequence[str]], Iterable[int]]) -> Outlook:
    """The lines in which a chosen column is filled, each placed in time; `request.days[0]` dates the labels.

    Dropped and counted are the first label of the next day at the file's end, labels off the five minutes, and filled
    lines without a label. Raises NotPublished for a file that still holds yesterday, FeedChanged otherwise.
    """
    header, cells = table(without_cut_cell(text_of(body)))
    header = [name.lower() for name in header]
    if "time" not in header:
        raise FeedChanged(f"no column time in {', '.join(header)[:200]}")
    places = list(choose(header))
    dropped: Counter[str] = Counter()
    lines = _without_next_day(_labelled(cells, header.index("time"), places, dropped), places, dropped)
    outlook = Outlook(header, [], [], dropped)
    by_day: dict[date, list[_Line]] = defaultdict(list)
    for line in lines:
        by_day[_day(line, request)].append(line)
    for day, own in by_day.items():
        _refuse_yesterday(day, own, request)
        _place(outlook, day, own)
    return outlook


def _labelled(lines: Iterable[list[str]], label: int, places: Sequence[int], dropped: Counter[str]) -> list[_Line]:
    """Lines with a reading: those of the future and of the skipped spring hour are there, but blank."""
    labelled = []
    for cells in lines:
        if not any(cells[i].strip() for i in places):
            continue
        day, _, time = cells[label].strip().rpartition(" ")
        if not time:
            dropped["no time"] += 1
            continue
        line = _Line(american_date(day) if day else None, clock_minutes(time), cells)
        if line.minutes * 60 % STEP:
            dropped["off the grid"] += 1
        else:
            labelled.append(line)
    return labelled


def _without_next_day(lines: list[_Line], places: Sequence[int], dropped: Counter[str]) -> list[_Line]:
    """The lines without the next day's 00:00 that some files end with.

    Raises FeedChanged where the order is unclear.
    """
    undated = [line for line in lines if line.day is None]
    last = max((i for i, line in enumerate(undated) if line.minutes), default=-1)
    midnights = [line for line in undated if not line.minutes]
    if all(a.minutes <= b.minutes for a, b in pairwise(undated[: last + 1])):
        ahead = undated[last + 1 :] if last >= 0 else []
    elif len({tuple(line.cells[i] for i in places) for line in midnights}) > 1:
        raise FeedChanged("lines out of order, with two readings of 00:00")
    else:
        ahead = []
    dropped["next day"] += len(ahead)
    gone = set(map(id, ahead))
    return [line for line in lines if id(line) not in gone]


def _day(line: _Line, request: Request) -> date:
    if line.day is not None:
        return line.day
    if not request.days:
        raise FeedChanged("labels without a date, and no day was asked for")
    return request.days[0]


def _place(outlook: Outlook, day: date, lines: Sequence[_Line]) -> None:
    """Adds a day's lines with their instants; labels of the repeated autumn hour are those of its first pass."""
    midnight, ordinary = _midnight(day), MarketDay(day, TZ).hours == 24
    for line in lines:
        outlook.starts.append(midnight + line.minutes * 60 if ordinary else wall_instant(day, line.minutes * 60, TZ))
        outlook.lines.append(line.cells)


def values(outlook: Outlook, places: Sequence[int], what: str) -> tuple[list[int], list[float]]:
    """Interval starts and sums of these columns, wherever all of them are filled. Raises FeedChanged."""
    starts, chosen = outlook.starts, [[line[i] for line in outlook.lines] for i in places]
    if not all(map(str.strip, chain.from_iterable(chosen))):
        full = [all(parts) for parts in zip(*([cell.strip() for cell in column] for column in chosen), strict=True)]
        starts = list(compress(starts, full))
        chosen = [list(compress(column, full)) for column in chosen]
    numbers = [floats(column, what) for column in chosen]
    return starts, numbers[0] if len(numbers) == 1 else list(map(sum, zip(*numbers, strict=True)))


def _midnight(day: date) -> int:
    try:
        return plausible(local_midnight(day, TZ), day)
    except (ValueError, OverflowError):
        raise FeedChanged(f"{day} is no day of a market") from None


def _refuse_yesterday(day: date, lines: Sequence[_Line], request: Request) -> None:
    """Raises NotPublished for yesterday's file, still in `current/` after midnight: dated today, it runs ahead.

    Before its lines are placed: dated the day that sets clocks ahead, it has labels that this day skips. That day's
    labels run an hour ahead of the time since midnight, so a file of its own may seem an hour newer than it is.
    """
    sent_at = dict(request.params).get("_", "")
    if not sent_at.isdigit():
        return
    ahead = max(line.minutes * 60 for line in lines) - (int(sent_at) - _midnight(day))
    if ahead > SLACK + max(0, 24 - MarketDay(day, TZ).hours) * HOUR:
        raise NotPublished("the file still holds yesterday")
