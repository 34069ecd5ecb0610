"""Which market days have to be asked for again: their rows were lost with damaged files, and are not held any more.

A kept body that is damaged costs no rows while the month files that it filled are whole. Where such a month was lost
too, what its feed owes of the body's days is looked up in the rows that are held, as for `emds gaps`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

from assets.ingest.context import PipelineContext
from assets.ingest.reports import window_of
from warehouse import clock, coverage, first_asked, health, layout, raw, vintages
from warehouse.clock import MarketDay, Window, months
from warehouse.damaged import Damage
from warehouse.errors import StorageError
from warehouse.market import Feed, Request
from warehouse.schema import Rows, SeriesKey
from warehouse.versions import LIVE
from warehouse.vintages import Month

Places = Collection[tuple[str, str, str]]
"""Metric, zone and month of month files that were damaged or gone."""

Gaps = Callable[[Feed, Month], frozenset[date]]
"""`gaps` of one pipeline, which remembers what it has looked up."""


class Loss(NamedTuple):
    """Market days whose rows are not held, by feed: those to ask for again, and those that no publisher gives again."""

    missing: Mapping[str, tuple[str, ...]]
    beyond: Mapping[str, tuple[str, ...]]
    newest: int
    """When the newest kept body of these feeds came: what is asked for again comes later."""


def of(pipeline: PipelineContext, damage: Damage, lost: Places, gaps: Gaps) -> Loss:
    """What a damaged file has cost, after its month was made again as far as the kept bytes reach.

    Raises StorageError where the rows that are held cannot be read.
    """
    days: dict[str, set[date]] = defaultdict(set)
    places = filled(pipeline, damage, lost)
    for feed, place in places:
        if owed := gaps(feed, place):
            days[feed.id] |= _again(pipeline, damage, feed, place, owed)
    feeds = {feed.id: feed for feed, _ in places}
    missing, beyond = {}, {name: set(told) for name, told in damage.beyond.items()}
    for name, wanted in days.items():
        today = clock.local_date(clock.now(), feeds[name].tz)
        given = {day for day in wanted if feeds[name].out_of_reach(day, today) is None}
        missing[name] = given
        beyond[name] = beyond.get(name, set()) | {str(day) for day in wanted - given}
    newest = damage.newest or max((raw.newest(pipeline.storage, name) for name in missing), default=0)
    return Loss(_listed(missing), _listed(beyond), newest)


def _listed(days: Mapping[str, Collection[date | str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(map(str, some))) for name, some in days.items() if some}


def filled(pipeline: PipelineContext, damage: Damage, lost: Places) -> list[tuple[Feed, Month]]:
    """The feeds and lost months whose rows a damaged file held, or was made into."""
    feeds = [feed for source in pipeline.sources.values() for feed in source.feeds]
    if layout.is_month_file(damage.key):
        place = Month(*layout.of_series(damage.key)[:3])
        carriers = [feed for feed in feeds if place.zone in feed.zones and place.metric in feed.metrics]
        return [(feed, place) for feed in carriers if _first_asked(pipeline, feed) is not None]
    if not layout.is_kept_body(damage.key):
        return []
    name, first = layout.of_raw(damage.key)
    month = str(first - timedelta(days=1))[:7]  # a market day may begin in the UTC month before
    own = [feed for feed in feeds if feed.id == name]
    places = [Month(*place) for place in sorted(lost) if place[2] >= month]
    return [(feed, at) for feed in own for at in places if at.zone in feed.zones and at.metric in feed.metrics]


def gaps(pipeline: PipelineContext, feed: Feed, place: Month) -> frozenset[date]:
    """The market days that overlap a month and of which the feed owes something that is not held."""
    now = clock.now()
    windows = {day.day: window_of(feed, day) for day in days_of(feed, clock.month_window(place.month))}
    span = Window(min(w.start for w in windows.values()), max(w.end for w in windows.values()))
    rows = _held(pipeline, feed, place, span)
    if feed.yearly:
        stamps = {ts for readings in rows.readings.values() for ts in readings.ts}
        begun = {day: window for day, window in windows.items() if window.start + clock.DAY <= now}
        return frozenset(day for day, w in begun.items() if not any(w.start <= ts < w.end for ts in stamps))
    holes = coverage.cover(rows, feed, list(windows.values()), now).gaps.get((place.zone, place.metric), ())
    return frozenset(
        day for day, w in windows.items() if any(hole.start < w.end and w.start < hole.end for hole in holes)
    )


def _held(pipeline: PipelineContext, feed: Feed, place: Month, span: Window) -> Rows:
    """The feed's own live rows of a zone's metric, served or not; an empty reading where there are none."""
    rows = Rows()
    for month in months(span):
        versions = vintages.read(pipeline.storage, Month(place.metric, place.zone, month))
        live = versions.take(versions.where(lambda labels: labels.feed == feed.id) & (versions.superseded_at == LIVE))
        for number in np.unique(live.label):
            label, chosen = live.labels[number], live.label == number
            key = SeriesKey(
                place.zone, place.metric, label.unit, label.resolution, label.fuel, label.counterparty, label.link
            )
            rows.extend(key, live.ts[chosen].tolist(), live.value[chosen].tolist())
    if not rows.readings:
        rows.extend(SeriesKey(place.zone, place.metric, "", feed.resolution), [], [])
    return rows


def _again(pipeline: PipelineContext, damage: Damage, feed: Feed, place: Month, owed: frozenset[date]) -> set[date]:
    """Of days with gaps those that a damaged file has cost, and that nobody was asked for since."""
    if damage.missing:
        told = owed.intersection(date.fromisoformat(day) for day in damage.missing.get(feed.id, ()))
        # A publisher's own hole is no loss: asked again, it states as little.
        back = layout.is_kept_body(damage.key) and pipeline.storage.stat(damage.key) is not None
        return set() if back else set(told - _answered(pipeline, feed, place.zone, told, damage.newest))
    if layout.is_month_file(damage.key):
        brought = _brought(pipeline, feed, place, owed)
        return brought - _answered(pipeline, feed, place.zone, brought)
    _, first = layout.of_raw(damage.key)
    asked = raw.stated(pipeline.storage.get(layout.damaged(damage.name, damage.key)) or b"")
    if asked is not None and first in asked.days:
        return set(owed.intersection(asked.days)) if _is_of(asked, place.zone) else set()
    # Nobody can tell how many days it answered for.
    later = {day for day in _brought(pipeline, feed, place, owed) if day > first}
    return {day for day in owed if day == first} | (later - _answered(pipeline, feed, place.zone, later))


def _brought(pipeline: PipelineContext, feed: Feed, place: Month, days: Collection[date]) -> set[date]:
    """The days between the first that a feed was asked for and the end of its rows of a metric: others lose nothing."""
    first = _first_asked(pipeline, feed)
    known = health.known(pipeline.storage, feed.source)
    reached = [h.until(place.metric) for h in known if (h.feed, h.zone) == (feed.id, place.zone)]
    until = max(reached, default=0) or clock.now()
    return {day for day in days if first is not None and first <= day and MarketDay(day, feed.tz).start < until}


def _first_asked(pipeline: PipelineContext, feed: Feed) -> date | None:
    """None too where that is damaged itself: then nobody can tell what was lost, and the rest is made good."""
    try:
        return first_asked.read(pipeline.storage).get(feed.id)
    except StorageError:
        return None


def _answered(pipeline: PipelineContext, feed: Feed, zone: str, days: Collection[date], after: int = -1) -> set[date]:
    """The days for which a kept body answers that came after an instant."""
    if not days:
        return set()
    asked = raw.questions(pipeline.storage, feed.id, min(days), max(days), after)
    return {day for request in asked if _is_of(request, zone) for day in request.days}


def _is_of(request: Request, zone: str) -> bool:
    return request.zone in (None, zone)


def days_of(feed: Feed, window: Window) -> Iterator[MarketDay]:
    """The market days that overlap a window; of a yearly feed the first days of the years."""
    day = clock.local_date(window.start, feed.tz)
    last = clock.local_date(window.end - 1, feed.tz)
    if feed.yearly:
        yield from (
            MarketDay(day.replace(year=year, month=1, day=1), feed.tz) for year in {day.year, last.year, last.year + 1}
        )
        return
    while day <= last:
        yield MarketDay(day, feed.tz)
        day += timedelta(days=1)


def to_ask(damages: Iterable[Damage]) -> Iterator[str]:
    """A line for each run of days that have to be asked for again, with the command."""
    days: dict[str, set[date]] = defaultdict(set)
    for damage in damages:
        for feed, missing in damage.missing.items():
            days[feed] |= {date.fromisoformat(day) for day in missing}
    for feed, wanted in sorted(days.items()):
        for first, last in _runs(sorted(wanted)):
            yield (
                f"{feed}: rows of {first} to {last} were lost with damaged files: "
                f"`emds backfill --feed {feed} --start {first} --end {last}` asks for them again"
            )


def _runs(days: Iterable[date]) -> Iterator[tuple[date, date]]:
    """First and last of days that follow each other."""
    first = last = None
    for day in days:
        if first is not None and last is not None and day != last + timedelta(days=1):
            yield first, last
            first = None
        first, last = first or day, day
    if first is not None and last is not None:
        yield first, last
