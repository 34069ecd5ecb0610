"""Describe a zone's day-ahead auction for webhooks: rounded prices, periods below zero, and the cheapest blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.documents.catalogue_reader import Catalogue, stored_metric
from assets.documents.map_history import rounded
from warehouse.errors import CallerError
from warehouse.figures import horizon
from warehouse.figures.horizon import Interval, KnownAhead, WindowQuery
from warehouse.market.clock import HOUR, MarketDay, Window
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import zone
from warehouse.series.reader import Reader

BLOCKS_HOURS = (1, 3, 6)


def complete_auctions(reader: Reader, catalogue: Catalogue, zone_id: str, now: int) -> dict[str, dict[str, Any]]:
    """Return by date the auctions of today and tomorrow that cover their complete market day, in ascending order.

    A zone has none if it has no auction or if its auction may not be redistributed. Raises StorageError.
    """
    try:
        stored = stored_metric(catalogue, zone_id, Metric.PRICE, day_ahead=True)
    except CallerError:
        return {}
    today = MarketDay.at(now, zone(zone_id).market_tz)
    auctions = {}
    for day in (today, today.next()):
        rows = reader.read(zone_id, stored, "net", day.window)
        rows = rows.of_feeds(lambda feed: feed not in catalogue.withheld)
        if _covers(horizon.intervals(rows), day.window):
            known = horizon.known_from(rows)
            auctions[str(day)] = _describe(known, day) | catalogue.terms(zone_id, stored, frozenset(known.sources))
    return auctions


def _covers(known: Sequence[Interval], window: Window) -> bool:
    """Return whether the intervals adjoin each other from the start of a window to its end."""
    edges = [window.start, *(row.end for row in known)]
    starts = [*(row.start for row in known), window.end]
    return edges == starts


def _describe(known: KnownAhead, day: MarketDay) -> dict[str, Any]:
    """Return the prices of a day, rounded to whole currency units. Times are Unix seconds."""
    values, seconds = [row.value for row in known.rows], day.end - day.start
    mean = sum(row.value * row.seconds for row in known.rows) / seconds
    return {
        "date": str(day),
        "start": day.start,
        "end": day.end,
        "unit": known.unit,
        "rounded": True,
        "mean": rounded(mean, known.unit),
        "min": rounded(min(values), known.unit),
        "max": rounded(max(values), known.unit),
        "below_zero": _spans_below_zero(known.rows),
        "cheapest_blocks": [_cheapest(known, hours) for hours in BLOCKS_HOURS],
    }


def _spans_below_zero(rows: Sequence[Interval]) -> list[dict[str, int]]:
    spans: list[dict[str, int]] = []
    for row in rows:
        if row.value >= 0:
            continue
        if spans and spans[-1]["end"] == row.start:
            spans[-1]["end"] = row.end
        else:
            spans.append({"start": row.start, "end": row.end})
    return spans


def _cheapest(known: KnownAhead, hours: int) -> dict[str, int]:
    """Return the cheapest block of a complete day, by the method of `/v1/windows`."""
    result = horizon.find(known, WindowQuery("lowest", hours * HOUR), "UTC")
    assert result.members is not None, "a whole day is longer than the block"
    times = {name: result.members[name] for name in ("start", "end")}
    return {"hours": hours, **times, "mean": rounded(float(result.exact), known.unit)}
