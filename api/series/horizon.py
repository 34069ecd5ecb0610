"""The best hours of a zone's known future prices, from stored rows to an answer (docs/windows.md). No Flask here.

An answer holds for as long as its running interval: everything in it counts from that interval's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from api.documents.catalogue import Catalogue, stored_metric
from api.series import query as reads
from api.series.query import MOST_ROWS, Page, Query
from warehouse import health
from warehouse.clock import DAY, HOUR, RESOLUTIONS
from warehouse.market import Metric
from warehouse.reader import Reader
from warehouse.windows import METHOD, Interval, Kind, Search, horizon, search
from warehouse.zones import zone

LONGEST_HOURS = 24
_AHEAD = 4 * DAY
"""No auction is for later days."""
_DOCS = "/docs/windows"


@dataclass(frozen=True, slots=True)
class WindowQuestion:
    """One question, checked."""

    zone: str
    metric: Metric
    seconds: int
    """The length of the block."""
    within: int | None
    """Seconds from the running interval's start that the horizon may last; None: as long as it is known."""
    kind: Kind


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """The body of `/v1/windows/{zone}`."""

    body: Mapping[str, Any]
    available: bool


def check(catalogue: Catalogue, question: WindowQuestion) -> None:
    """Raises UnknownZone, MetricNotAvailable, Withheld."""
    stored_metric(catalogue, question.zone, question.metric, day_ahead=False)
    if question.metric is Metric.PRICE and zone(question.zone).day_ahead_metric is not None:
        stored_metric(catalogue, question.zone, question.metric, day_ahead=True)


def answer(reader: Reader, catalogue: Catalogue, question: WindowQuestion, now: int) -> WindowAnswer:
    """The answer to a checked question at an instant (Unix seconds). Raises StorageError."""
    stated: dict[str, Any] = {
        "zone": question.zone,
        "metric": question.metric.value,
        "kind": question.kind,
        "hours": _number(question.seconds),
        "within_hours": None if question.within is None else _number(question.within),
    }
    end = {"method": METHOD, "docs": _DOCS}
    if question.metric is not Metric.PRICE or zone(question.zone).day_ahead_metric is None:
        terms = catalogue.terms(question.zone, question.metric.value, frozenset())
        return WindowAnswer({**stated, "available": False, "reason": "nothing_ahead", **end, **asdict(terms)}, False)
    page = reads.answer(
        reader, catalogue, Query(question.zone, Metric.PRICE, now - HOUR, now + _AHEAD, MOST_ROWS, day_ahead=True)
    )
    stated["market"] = "day_ahead"
    end |= {"attribution": page.terms.attribution, "license": page.terms.license}
    rows, unit = _intervals(page)
    known = horizon(rows, now, _until(rows, now, question.within))
    if not known:
        span = {"next_auction_by": _next_auction(catalogue, question.zone, rows[-1].end if rows else now)}
        return WindowAnswer({**stated, "available": False, "reason": "not_known_yet", "horizon": span, **end}, False)
    span = {
        "from": known[0].start,
        "until": known[-1].end,
        "complete": known[-1].end >= _wanted(rows, known[0].start, question.within),
        "next_auction_by": _next_auction(catalogue, question.zone, rows[-1].end),
    }
    result = search(known, known[0].start, question.seconds, question.kind)
    if result is None:
        stated |= {"available": False, "reason": "horizon_too_short", "horizon": span}
        return WindowAnswer({**stated, **end}, False)
    return WindowAnswer({**stated, "available": True, **_stated(result, unit, span, rows), **end}, True)


def sample(body: Mapping[str, Any]) -> dict[str, Any]:
    """The best block alone."""
    return {**{name: part for name, part in body.items() if name not in ("alternatives", "now")}, "sample": True}


def _stated(result: Search, unit: str, span: Mapping[str, Any], rows: list[Interval]) -> dict[str, Any]:
    running = next(row for row in rows if row.start == result.start)
    return {
        "unit": unit,
        **asdict(result.best),
        "blocks": result.blocks,
        "alternatives": [asdict(block) for block in result.alternatives],
        "now": asdict(result.now),
        "horizon": {**span, "mean": result.mean},
        "valid_until": running.end,
    }


def _intervals(page: Page) -> tuple[list[Interval], str]:
    """A page's rows, and their unit."""
    rows = page.rows
    steps = [RESOLUTIONS[label.resolution] for label in rows.labels]
    intervals = [
        Interval(ts, ts + steps[label], value)
        for ts, value, label in zip(rows.ts.tolist(), rows.value.tolist(), rows.label.tolist(), strict=True)
    ]
    return intervals, rows.labels[0].unit if rows.labels else ""


def _until(rows: list[Interval], now: int, within: int | None) -> int:
    """Where the horizon ends at the latest."""
    running = next((row.start for row in rows if row.start <= now < row.end), now)
    return now + _AHEAD if within is None else running + within


def _wanted(rows: list[Interval], start: int, within: int | None) -> int:
    return rows[-1].end if within is None else start + within


def _next_auction(catalogue: Catalogue, zone_id: str, until: int) -> int | None:
    """When the prices after `until` are due, by the feed that promises them soonest."""
    stored = zone(zone_id).day_ahead_metric
    entry = catalogue.entry(zone_id, stored.value if stored else "")
    served = (feed["id"] for feed in entry.get("feeds", []) if not feed["withheld"])
    carriers = [health.carrier(catalogue.feeds[feed], asked=True) for feed in served]
    due = health.due(carriers, until)
    return None if due is None else due.at


def _number(seconds: int) -> float | int:
    """Hours, whole where they are."""
    return seconds // HOUR if seconds % HOUR == 0 else seconds / HOUR
