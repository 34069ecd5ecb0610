"""Read Today's Outlook, the California ISO's five-minute CSVs: wall-clock labels without a date become times.

For the meaning of the columns see `assets.sources.caiso`. Both forecast columns are labelled by interval ends. Their
values change at 00:05, 01:05 and so on (the hour-ahead one at :05, :20, :35 and :50), and the first label, 00:00, has
yesterday's last value. Demand is read as interval starts, which lag the hour-ahead forecast by 10 to 15 minutes.
Interval ends would lag by 5 to 10. The recordings do not show which is right.

On the day that sets clocks back, a file has 24 hours of labels: one of the two 01:xx hours is missing. The present one
is the first, in daylight time. Demand runs smoothly into it (from 00:55 to 01:00 by -70, -75 and -78 MW in 2019, 2020
and 2021). Demand jumps after it (from 01:55 to 02:00 by -467, -534 and -415).
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
"""Seconds by which a reading may be ahead of the local clock. It is an interval start on the publisher's clock."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The filled lines of one file: header names in lower case, and the interval start and cells per line."""

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
    """Return the lines in which a chosen column is filled, with their times. `request.days[0]` dates the labels.

    The first label of the next day at the file's end, labels off the five minutes, and filled lines without a label are
    dropped and counted. Raises NotPublished for a file that is still yesterday's, FeedChanged otherwise.
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
    """Return the lines with a reading. Lines of the future and of the skipped spring hour exist, but are blank."""
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
    """Return the lines without the next day's 00:00, with which some files end.

    Raises FeedChanged if the order is unclear.
    """
    undated = [line for line in lines if line.day is None]
    last = max((i for i, line in enumerate(undated) if line.minutes), default=-1)
    midnights = [line for line in undated if not line.minutes]
    if all(a.minutes <= b.minutes for a, b in pairwise(undated[: last + 1])):
        ahead = undated[last + 1 :] if last >= 0 else []
    elif len({tuple(line.cells[i] for i in places) for line in midnights}) > 1:
        raise FeedChanged("lines are not in order: 00:00 has two readings")
    else:
        ahead = []
    dropped["next day"] += len(ahead)
    gone = set(map(id, ahead))
    return [line for line in lines if id(line) not in gone]


def _day(line: _Line, request: Request) -> date:
    if line.day is not None:
        return line.day
    if not request.days:
        raise FeedChanged("labels have no date, and the request names no day")
    return request.days[0]


def _place(outlook: Outlook, day: date, lines: Sequence[_Line]) -> None:
    """Add a day's lines with their times. Labels of the repeated autumn hour are those of its first pass."""
    midnight, ordinary = _midnight(day), MarketDay(day, TZ).hours == 24
    for line in lines:
        outlook.starts.append(midnight + line.minutes * 60 if ordinary else wall_instant(day, line.minutes * 60, TZ))
        outlook.lines.append(line.cells)


def values(outlook: Outlook, places: Sequence[int], what: str) -> tuple[list[int], list[float]]:
    """Return interval starts and sums of these columns, where all of them are filled. Raises FeedChanged."""
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
        raise FeedChanged(f"{day} is not a market day") from None


def _refuse_yesterday(day: date, lines: Sequence[_Line], request: Request) -> None:
    """Raise NotPublished for yesterday's file, still in `current/` after midnight: dated today, it is ahead of the
    clock.

    The check comes before the lines get their times: dated the day that sets clocks ahead, the file has labels that
    this day skips. The labels of that day run an hour ahead of the time since midnight, so its own file may seem an
    hour too new.
    """
    sent_at = dict(request.params).get("_", "")
    if not sent_at.isdigit():
        return
    ahead = max(line.minutes * 60 for line in lines) - (int(sent_at) - _midnight(day))
    if ahead > SLACK + max(0, 24 - MarketDay(day, TZ).hours) * HOUR:
        raise NotPublished("the file still contains yesterday")
