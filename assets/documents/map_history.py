"""Compute rounded means over fixed steps of UTC time: the recent history of a zone's metrics, fuels and borders.

A series of means is `{"start": ts, "step": seconds, "values": [...]}`. It has one value per step since `start`, null if
less than half of the step is covered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assets.documents.figures import ZoneFigures
from warehouse.documents.catalogue_entries import PublishedCatalogue
from warehouse.figures import resample
from warehouse.figures.context import WINDOW_S, ContextBlock, read_at
from warehouse.market.clock import DAY, HOUR, Window
from warehouse.market.metrics import METRICS, SCALAR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Floats
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import MonthFileSide, RowColumns, joined

SHORT_HOURS = 48
HOURLY_DAYS = 7
LONG_STEP = 6 * HOUR
LONG_DAYS = 30
_AHEAD = 2 * DAY
"""The reach of an auction, to the end of tomorrow, and the part of a forecast that is shown."""
_ROUNDED_TO = {"MW": 100, "gCO2/kWh": 10}
"""The rounding by unit. Prices and shares in percent are rounded to 1."""


def rounded(value: float, unit: str) -> int:
    """Round to the nearest multiple of the unit's step, halves away from zero: -149.9 MW becomes -100."""
    step = _ROUNDED_TO.get(unit, 1)
    return int(math.copysign(math.floor(abs(value) / step + 0.5), value)) * step


def step_means(rows: RowColumns, window: Window, step: int) -> Floats:
    """Return the exact means of a series over a window of whole steps, NaN if less than half of a step is covered."""
    bounds = np.arange(window.start, window.end + 1, step)
    means = resample.means(resample.sums(rows, bounds), bounds, "1h")
    exact = np.full(len(bounds) - 1, np.nan)
    exact[(means.ts - window.start) // step] = means.value
    return exact


def _rounded_values(exact: Floats, unit: str) -> list[int | None]:
    return [rounded(value, unit) if math.isfinite(value) else None for value in exact.tolist()]


def _percentiles(context: ContextBlock | None, rows: RowColumns, values: Floats) -> list[int | None]:
    """Rank each mean within the 30 days of the current value's `context`, as the brief does; null without it."""
    if context is None:
        return [None] * len(values)
    ranked = rows.take(slice(*rows.between(Window(context.window_start, context.window_end))))
    order = np.argsort(ranked.value)
    ascending, weights = ranked.value[order], np.concatenate(([0], np.cumsum(ranked.seconds()[order])))
    below, up_to = (weights[np.searchsorted(ascending, values, side)] for side in ("left", "right"))
    rank = np.clip((below + up_to + weights[-1] / 100) * 50 // weights[-1], 1, 99)  # rounded half up
    rank[up_to == 0], rank[below == weights[-1]] = 0, 100
    return [int(r) if math.isfinite(v) else None for r, v in zip(rank, values.tolist(), strict=True)]


def _back(now: int, hours: int, step: int, ahead: int = 0) -> Window:
    """Return the window of `hours` up to the end of the step that contains `now`, plus `ahead` seconds."""
    end = now - now % step + step
    return Window(end - hours * HOUR, end + ahead)


def metric_histories(
    reader: Reader, catalogue: PublishedCatalogue, figures: ZoneFigures, now: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the hours of a zone for the slider of the map, and the series of its panel, both by metric.

    The hours are means of the 48 hours to the current one and of the auction results after it, each with its
    percentile. Operators' forecasts are separate and without percentiles, since they are not ranked among actual
    values. The series contain the same over 7 days, and means over 30 days. A metric without a current value has its
    day-ahead prices or its forecast.
    """
    week, month = _back(now, HOURLY_DAYS * 24, HOUR, _AHEAD), _back(now, LONG_DAYS * 24, LONG_STEP)
    zone, skipped = figures.zone.id, HOURLY_DAYS * 24 - SHORT_HOURS
    hours: dict[str, Any] = {"start": week.start + skipped * HOUR}
    metrics: dict[str, Any] = {}

    def add_hours(name: str, rows: RowColumns, context: ContextBlock | None, unit: str) -> list[int | None]:
        exact = step_means(rows, week, HOUR)
        values = _rounded_values(exact, unit)
        last = max(HOURLY_DAYS * 24, _known_steps(values))
        hours[name] = values[skipped:last]
        hours[f"{name}_percentile"] = _percentiles(context, rows, exact[skipped:last])
        return values

    for metric in SCALAR:
        figure, own = figures.figures.get(metric), figures.histories.get(metric, joined(()))
        unit = METRICS[metric].unit(ZONES[zone]) if figure is None else figure.unit
        forecast = _forecast(reader, catalogue, zone, metric, week, unit)
        auction = _day_ahead(reader, catalogue, zone, metric, now)
        if figure is None and forecast is None and auction is None:
            continue
        hours[f"{metric}_unit"] = unit
        values = [] if figure is None else add_hours(metric, own, figure.reading.context, unit)
        if forecast is not None and (known := _known_steps(forecast[1])) > skipped:
            hours[f"{metric}_forecast"] = forecast[1][skipped:known]
        metrics[metric] = {
            "unit": unit,
            "hours": _trimmed(week.start, HOUR, values),
            "days": _trimmed(month.start, LONG_STEP, _rounded_values(step_means(own, month, LONG_STEP), unit)),
            "forecast": forecast and {"published_at": forecast[0], **_trimmed(week.start, HOUR, forecast[1])},
        }
        if auction is not None:
            reading = read_at(auction, figures.zone.tz, now)
            context = None if reading is None else reading.context
            values = add_hours("price_day_ahead", auction, context, unit)
            metrics[metric]["day_ahead"] = _trimmed(week.start, HOUR, values)
    return hours, metrics


def shares_ahead(shares: RowColumns, now: int) -> dict[str, Any] | None:
    """Return the hourly forecast share of wind and solar in demand since the current hour; None if it is unknown."""
    window = Window(now - now % HOUR, now - now % HOUR + HOUR + _AHEAD)
    values = _rounded_values(step_means(shares, window, HOUR), "%") if len(shares) else []
    return {"unit": "%", **_trimmed(window.start, HOUR, values)} if _known_steps(values) else None


def _day_ahead(reader: Reader, catalogue: PublishedCatalogue, zone: str, metric: str, now: int) -> RowColumns | None:
    """Return the day-ahead prices from 30 days back to the last known; None if there is no separate series of them."""
    named = Metric.PRICE_DAY_AHEAD
    if metric != Metric.PRICE or ZONES[zone].day_ahead_metric is not named:
        return None
    rows = _open_rows(reader, catalogue, zone, named, "net", Window(now - WINDOW_S - DAY, now + _AHEAD))
    return rows if len(rows) else None


@read_again
def _forecast(
    reader: Reader, catalogue: PublishedCatalogue, zone: str, metric: str, window: Window, unit: str
) -> tuple[int, list[int | None]] | None:
    """Return when the operator's newest forecast of a metric was published, and its hours; None without rows."""
    stored = ZONES[zone].carbon_metric if metric == Metric.CARBON else metric
    if stored not in catalogue.zones[zone].forecasts:
        return None
    ranks = {feed: member.rank for feed, member in catalogue.feeds.items() if not member.withheld}
    files = reader.files(zone, f"{stored}_forecast", window)
    rows = joined(reader.past(file, Pick(), None, ranks)["net"] for file in files)
    rows = rows.take(slice(*rows.between(window)))
    if rows.published_at is None or not len(rows):
        return None
    return int(rows.published_at.max()), _rounded_values(step_means(rows, window, HOUR), unit)


def _known_steps(values: Sequence[int | None]) -> int:
    """Return the number of steps up to the last known step."""
    return max((place + 1 for place, value in enumerate(values) if value is not None), default=0)


def _trimmed(start: int, step: int, values: list[int | None]) -> dict[str, Any]:
    """Return the steps from the first to the last known step."""
    first = next((place for place, value in enumerate(values) if value is not None), 0)
    return {"start": start + first * step, "step": step, "values": values[first : _known_steps(values)]}


def latest_rows(
    reader: Reader, catalogue: PublishedCatalogue, zone: str, metric: Metric, side: MonthFileSide, now: int
) -> RowColumns | None:
    """Return the rows of a metric in the last 48 hours; None if the zone does not publish it."""
    if metric not in catalogue.zones[zone].metrics:
        return None
    return _open_rows(reader, catalogue, zone, metric, side, _back(now, SHORT_HOURS, HOUR))


def newest_flows(zone: str, borders: RowColumns | None, now: int) -> list[dict[str, Any]]:
    """Return the newest row of each border and interconnector of a zone, rounded.

    Each is {zone, counterparty, link, mw, ts, source}, + = into the zone. If a feed publishes a border's total and
    another feed its interconnectors, the feed with the newest row for the neighbour counts.
    """
    if borders is None:
        return []
    newest: dict[str, dict[str, dict[str | None, dict[str, Any]]]] = {}
    for code, ts, value in zip(borders.label.tolist(), borders.ts.tolist(), borders.value.tolist(), strict=True):
        if ts <= now:
            label = borders.labels[code]
            flow = {"zone": zone, "counterparty": label.counterparty, "link": label.link}
            of_feeds = newest.setdefault(str(label.counterparty), {})
            of_feeds.setdefault(label.feed, {})[label.link] = {
                **flow,
                "mw": rounded(value, "MW"),
                "ts": ts,
                "source": label.source,
            }
    chosen = (max(of_feeds.values(), key=_newest_ts) for of_feeds in newest.values())
    return [flow for by_link in chosen for flow in by_link.values()]


def _newest_ts(flows: Mapping[str | None, Mapping[str, Any]]) -> int:
    return max(int(flow["ts"]) for flow in flows.values())


def parts(rows: RowColumns | None, column: str, now: int) -> dict[str, Any] | None:
    """Return hourly means over 48 hours by fuel or by border; None without rows.

    A border has its published total. In hours without a total, it has the sum of its interconnectors if all have a
    value, since one publisher's totals may end where another's interconnectors begin.
    """
    if rows is None or not len(rows):
        return None
    window, unit = _back(now, SHORT_HOURS, HOUR), rows.labels[rows.label[0]].unit
    names = [(getattr(label, column) or "", label.link or "") for label in rows.labels]
    rows_of: dict[str, dict[str, list[int | None]]] = {}
    for name, link in sorted({names[code] for code in np.unique(rows.label)}):
        own = rows.take(np.array([each == (name, link) for each in names])[rows.label])
        rows_of.setdefault(name, {})[link] = _rounded_values(step_means(own, window, HOUR), unit)
    steps = {name: _border(own) for name, own in rows_of.items()}
    return {"unit": unit, "start": window.start, "step": HOUR, "parts": steps}


def _border(rows_of: Mapping[str, list[int | None]]) -> list[int | None]:
    """Return the steps of a border or fuel from its rows by link. Those without a link are its total."""
    ties = [steps for link, steps in rows_of.items() if link]
    added = [_sum(step) for step in zip(*ties, strict=True)]
    total = rows_of.get("")
    if total is None:
        return added
    if not ties:
        return total
    return [tie if whole is None else whole for whole, tie in zip(total, added, strict=True)]


def _sum(values: tuple[int | None, ...]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _open_rows(
    reader: Reader, catalogue: PublishedCatalogue, zone: str, metric: str, side: MonthFileSide, window: Window
) -> RowColumns:
    """Return the rows of a window that may be redistributed."""
    rows, withheld = reader.read(zone, metric, side, window), catalogue.withheld
    return rows.of_feeds(lambda feed: feed not in withheld)
