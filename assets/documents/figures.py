"""Compute every zone's current values at a time. Series are read once and ranked, with units and due times.

`assets.documents.bodies` defines which document contains which value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from assets.documents.greenest_hours import shares_ahead
from warehouse.bookkeeping import logged
from warehouse.documents import health
from warehouse.documents.catalogue_entries import CatalogueSeries, CatalogueZone, PublishedCatalogue
from warehouse.documents.health import Carrier
from warehouse.documents.present import GenerationMix
from warehouse.figures.context import WINDOW_S, Reading, read_at
from warehouse.figures.refusals import estimate_stored
from warehouse.figures.whole_mix import newest_whole
from warehouse.market import carbon
from warehouse.market.clock import DAY, MarketDay, Window, interval_end
from warehouse.market.metrics import AWAITED, CURRENT, MIXES
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns, joined

_MIX_S = 62 * DAY
"""The maximum age of a mix."""
_RECENT_MIX_S = 2 * DAY
"""The most recent period, which is searched for a complete interval first."""
_AHEAD_S = 2 * DAY
"""The reach of a day-ahead auction: to the end of tomorrow."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value of a zone's metric. `expected_by` is when a newer value is due, in Unix seconds."""

    reading: Reading
    unit: str
    resolution: str
    source: str
    expected_by: int
    stored: Metric
    """The series of its rows. For `carbon`, this is the published series or the estimate."""


@dataclass(frozen=True, slots=True)
class ZoneFigures:
    """The inputs of a zone's documents. `missing` gives the reason for each published metric without a value."""

    zone: CatalogueZone
    """The zone as the catalogue describes it."""
    figures: Mapping[str, Figure]
    missing: Mapping[str, str]
    """Mixes are included."""
    mixes: Mapping[Metric, GenerationMix]
    """By metric, in the order of `MIXES`."""
    histories: Mapping[str, RowColumns]
    """The rows around the time by metric. The values are the newest of these."""
    carbon_omitted: str = ""
    """Why `carbon` has no value: why its newest complete interval is refused, or a word of `missing`."""
    shares: RowColumns = field(default_factory=lambda: joined(()))
    """The forecast shares of wind and solar in demand after the time."""
    unreadable: tuple[str, ...] = ()
    """A line for each file that could not be read. Its metrics are missing."""

    @property
    def empty(self) -> bool:
        return not any(metric in AWAITED for metric in self.figures) and not self._awaited

    @property
    def valid_until(self) -> int:
        """Return the first time at which a value is superseded or overdue."""
        ends = [figure.expected_by for metric, figure in self.figures.items() if metric in AWAITED]
        return min([*ends, *(mix.expected_by for mix in self._awaited)])

    @property
    def _awaited(self) -> list[GenerationMix]:
        return [mix for metric, mix in self.mixes.items() if MIXES[metric].is_awaited]


def figures(reader: Reader, catalogue: PublishedCatalogue, zones: Collection[str], now: int) -> dict[str, ZoneFigures]:
    """Return the values at `now` (Unix seconds) by zone ID. Each metric is read once and fails on its own."""
    kept_out = catalogue.withheld
    return {z: _of_zone(reader, catalogue, z, now, kept_out) for z in zones}


def _of_zone(
    reader: Reader, catalogue: PublishedCatalogue, zone: str, now: int, withheld: frozenset[str]
) -> ZoneFigures:
    entry = catalogue.zones[zone]
    named: dict[str, Figure] = {}
    histories: dict[str, RowColumns] = {}
    missing: dict[str, str] = {}
    unreadable: list[str] = []
    mixes: dict[Metric, GenerationMix] = {}
    omitted = ""
    series = {metric: ZONES[zone].carbon_metric if metric is Metric.CARBON else metric for metric in CURRENT}
    for metric, stored in ((m, stored) for m, stored in series.items() if stored.value in entry.metrics):
        rows, refused = None, ""
        with logged(f"{metric.value} of {zone}", unreadable) as attempt:
            if metric in MIXES and MIXES[metric].is_whole:
                rows = newest_whole_mix(reader, zone, metric, now, withheld)
            elif metric in MIXES:
                rows = newest(reader, zone, metric, max(0, now - _MIX_S), now, withheld)
            else:
                rows = recent(reader, zone, stored, now, withheld)
            if stored is Metric.CARBON_ESTIMATE:
                refused = refusal(reader, catalogue, zone, rows, now, withheld)
        carriers = _carriers(catalogue, zone, stored)
        if rows is not None and metric in MIXES:
            mixes[metric] = _mix(rows, carriers)
        elif rows is not None and not refused and (reading := read_at(rows, entry.tz, now)) is not None:
            named[metric.value], histories[metric.value] = _figure(rows, reading, carriers, stored), rows
        elif metric is Metric.CARBON:
            omitted = refused or _missing(entry.metrics[stored], attempt.error is not None)
        else:
            missing[metric.value] = _missing(entry.metrics[metric], attempt.error is not None)
    shares = joined(())
    with logged(f"shares of wind and solar of {zone}", unreadable):
        shares = shares_ahead(reader, catalogue, zone, now)
    return ZoneFigures(entry, named, missing, mixes, histories, omitted, shares, tuple(unreadable))


@read_again
def recent(reader: Reader, zone: str, metric: str, now: int, withheld: Collection[str]) -> RowColumns | None:
    """Return the net rows from 30 days before the last that has started at `now` (Unix seconds) to the last future row.

    Opens the months of these days. None if no row has ever started. Raises StorageError.

    Rows of `withheld` feeds are left out, since permissions may have been withdrawn after the month was resolved.
    """
    last = newest(reader, zone, metric, max(0, now - WINDOW_S), now, withheld)
    last = newest(reader, zone, metric, 0, now, withheld) if last is None else last
    if last is None:
        return None
    files = reader.files(zone, metric, Window(max(0, int(last.ts[0]) - WINDOW_S), now + _AHEAD_S))
    return joined(reader.rows(file, "net").of_feeds(lambda feed: feed not in withheld) for file in files)


@read_again
def newest(
    reader: Reader, zone: str, metric: str, since: int, now: int, withheld: Collection[str]
) -> RowColumns | None:
    """Return the net rows of the last interval that has started at `now`: one row, or all fuels of a mix.

    Searches the months since `since` (Unix seconds). None if no row has started. Raises StorageError.
    """
    for file in reversed(reader.files(zone, metric, Window(since, now + 1))):
        rows = reader.rows(file, "net").of_feeds(lambda feed: feed not in withheld)
        _, begun = rows.between(Window(0, now + 1))
        if begun:
            last = int(rows.ts[begun - 1])
            return rows.take(slice(*rows.between(Window(last, last + 1))))
    return None


@read_again
def newest_whole_mix(
    reader: Reader, zone: str, metric: str, now: int, withheld: Collection[str], left_out: Collection[str] = ()
) -> RowColumns | None:
    """Return the rows that cover the newest complete interval of a mix that has started at `now`, one per fuel.

    `now` is in Unix seconds. None if no interval of the last `_MIX_S` is complete. Fuels of `left_out` do not count.
    Raises StorageError.
    """
    for since in (now - _RECENT_MIX_S, now - _MIX_S):
        window = Window(max(0, since), now + 1)
        rows = reader.read(zone, metric, "net", Window(max(0, since - DAY), window.end))
        whole = newest_whole(rows.of_feeds(lambda feed: feed not in withheld), window, left_out)
        if whole is not None:
            return whole.rows
    return None


def refusal(
    reader: Reader,
    catalogue: PublishedCatalogue,
    zone: str,
    estimates: RowColumns | None,
    now: int,
    withheld: Collection[str],
) -> str:
    """Return why the newest complete interval of a zone's mix has no estimate; empty if it has one or is unknown.

    Returns `refused` if only the publisher's response showed the cause. Raises StorageError.
    """
    mix = newest_whole_mix(reader, zone, Metric.MIX, now, withheld, carbon.UNCOUNTED)
    if mix is None:
        return ""
    ts, feed = int(mix.ts.max()), mix.labels[mix.label[int(mix.ts.argmax())]].feed
    if estimates is not None:
        begun = estimates.between(Window(0, now + 1))[1]
        if begun and int(estimates.ts[begun - 1] + estimates.seconds()[begun - 1]) > ts:
            return ""
    rows = reader.read(zone, Metric.MIX, "net", MarketDay.at(ts, catalogue.feeds[feed].tz).window)
    found = estimate_stored(zone, rows.of_feeds(lambda each: each not in withheld))
    return dict(zip(found.ts.tolist(), found.reasons, strict=True)).get(ts) or "refused"


def _figure(rows: RowColumns, reading: Reading, carriers: Collection[Carrier], stored: Metric) -> Figure:
    label = rows.labels[rows.label[reading.row]]
    due = _due(carriers, label.feed, label.resolution, reading.ts)
    expected_by = due if reading.next_ts is None else min(due, reading.next_ts)
    return Figure(reading, label.unit, label.resolution, label.source, expected_by, stored)


def _carriers(catalogue: PublishedCatalogue, zone: str, metric: str) -> list[Carrier]:
    """Return the feeds of a zone's metric that may be served."""
    return [
        health.carrier(catalogue.feeds[feed.id], catalogue.sources[feed.source].configured)
        for feed in catalogue.zones[zone].metrics[metric].served_feeds
    ]


def _due(carriers: Collection[Carrier], feed: str, resolution: str, ts: int) -> int:
    """Return when the next row is due, at the earliest when this row's interval ends. The row may have
    another `resolution` than its feed has today.
    """
    end = interval_end(ts, resolution)
    due = health.due([replace(c, resolution=resolution) if c.feed == feed else c for c in carriers], end)
    # If no feed carries the metric any more, no newer value will arrive.
    return end if due is None else max(end, due.at)


def _missing(series: CatalogueSeries, unreadable: bool) -> str:
    """Return why a metric that the zone publishes has no value."""
    if unreadable:
        return "unreadable"
    return "withheld_by_terms" if series.feeds and not series.served_feeds else "no_rows"


def _mix(rows: RowColumns, carriers: Collection[Carrier]) -> GenerationMix:
    newest_row = int(rows.ts.argmax())
    first, ts = rows.labels[rows.label[newest_row]], int(rows.ts[newest_row])
    fuels = {str(rows.labels[code].fuel): float(value) for code, value in zip(rows.label, rows.value, strict=True)}
    due = _due(carriers, first.feed, first.resolution, ts)
    return GenerationMix(first.unit, ts, fuels, first.resolution, first.source, due)
