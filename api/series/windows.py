"""`/v1/windows/{zone}`: the best hours among a zone's known future prices (docs/windows.md).

An answer holds for as long as its running interval: everything in it counts from that interval's start.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from api.documents.catalogue import Catalogue, LicenceTerms, stored_metric
from api.http.messages import Request, Response, View
from api.series.page import Page
from api.series.page import answer as answer_page
from api.series.query import MOST_ROWS, SeriesRequest
from api.service import Service
from warehouse.documents import health
from warehouse.figures import horizon
from warehouse.figures.horizon import BestBlocks
from warehouse.figures.windows import METHOD, Kind
from warehouse.market import clock
from warehouse.market.clock import HOUR
from warehouse.market.market import Metric
from warehouse.market.zones import zone
from warehouse.series.reader import Reader

LONGEST_HOURS = 24
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


def _windows(service: Service, request: Request, query: dict[str, Any], zone: str) -> Response:
    question = WindowQuestion(zone, Metric(query["metric"]), query["hours"], query["within"], query["kind"])
    check(service.catalogue, question)
    with service.enter(request, "windows") as entry:
        found = answer(service.reader, service.catalogue, question, clock.now())
        body = sample(found.body) if entry.method == "sample" else found.body
        # Nobody pays where nothing is known.
        return entry.json(body, service.catalogue.simulated, int(found.available))


def check(catalogue: Catalogue, question: WindowQuestion) -> None:
    """Raises UnknownZone, MetricNotAvailable, Withheld."""
    stored_metric(catalogue, question.zone, question.metric, day_ahead=False)
    if question.metric is Metric.PRICE and zone(question.zone).day_ahead_metric is not None:
        stored_metric(catalogue, question.zone, question.metric, day_ahead=True)


def answer(reader: Reader, catalogue: Catalogue, question: WindowQuestion, now: int) -> WindowAnswer:
    """The answer to a checked question at an instant (Unix seconds). Raises StorageError."""
    head: dict[str, Any] = {
        "zone": question.zone,
        "metric": question.metric.value,
        "kind": question.kind,
        "hours": _number(question.seconds),
        "within_hours": None if question.within is None else _number(question.within),
    }
    end = {"method": METHOD, "docs": _DOCS}
    stored = zone(question.zone).day_ahead_metric
    if question.metric is not Metric.PRICE or stored is None:
        terms = catalogue.terms(question.zone, question.metric.value, frozenset())
        return WindowAnswer({**head, "available": False, "reason": "nothing_ahead", **end, **asdict(terms)}, False)
    head["market"] = "day_ahead"
    window = horizon.window(now)
    page = answer_page(
        reader,
        catalogue,
        SeriesRequest(
            Metric.PRICE, (question.zone,), (stored.value,), window.start, window.end, MOST_ROWS, day_ahead=True
        ),
    )
    prices = horizon.known_prices(page.rows, now)
    if prices is None:
        terms = page.terms[question.zone]
        return WindowAnswer({**head, **_not_yet(catalogue, question.zone, page, now), **end, **_terms(terms)}, False)
    found = horizon.best_blocks(prices, question.seconds, question.within, question.kind)
    span = {
        "from": found.start,
        "until": found.until,
        "complete": found.complete,
        "next_auction_by": _next_auction(catalogue, question.zone, found.last),
    }
    end |= _terms(_terms_of(catalogue, question.zone, stored.value, found.sources))
    if found.blocks is None:
        head |= {"available": False, "reason": "horizon_too_short", "horizon": span}
        return WindowAnswer({**head, **end}, False)
    return WindowAnswer({**head, "available": True, **_members(found, found.blocks, span), **end}, True)


def sample(body: Mapping[str, Any]) -> dict[str, Any]:
    """The best block alone."""
    return {**{name: part for name, part in body.items() if name not in ("alternatives", "now")}, "sample": True}


def _members(found: BestBlocks, blocks: Mapping[str, Any], span: Mapping[str, Any]) -> dict[str, Any]:
    best = {name: part for name, part in blocks.items() if name != "mean_of_horizon"}
    horizon_ = {**span, "mean": blocks["mean_of_horizon"]}
    return {"unit": found.unit, **best, "horizon": horizon_, "valid_until": found.valid_until}


def _not_yet(catalogue: Catalogue, zone_id: str, page: Page, now: int) -> dict[str, Any]:
    """Members for a zone whose next prices are not published yet."""
    known = horizon.intervals(page.rows)
    span = {"next_auction_by": _next_auction(catalogue, zone_id, known[-1].end if known else now)}
    return {"available": False, "reason": "not_known_yet", "horizon": span}


def _terms_of(catalogue: Catalogue, zone_id: str, stored: str, sources: Collection[str]) -> LicenceTerms:
    """Of the sources of the rows that were searched."""
    open_ = (code for code, source in catalogue.sources.items() if code in sources and not source["withheld"])
    return catalogue.terms(zone_id, stored, frozenset(open_))


def _terms(terms: LicenceTerms) -> dict[str, str]:
    return {"attribution": terms.attribution, "license": terms.license}


def _next_auction(catalogue: Catalogue, zone_id: str, until: int) -> int | None:
    """When the prices after `until` are due, by the feed that promises them soonest."""
    stored = zone(zone_id).day_ahead_metric
    entry = catalogue.entry(zone_id, stored.value if stored else "")
    served = (feed["id"] for feed in entry.get("feeds", []) if not feed["withheld"])
    carriers = [health.carrier(catalogue.feeds[feed], configured=True) for feed in served]
    due = health.due(carriers, until)
    return None if due is None else due.at


def _number(seconds: int) -> float | int:
    """Hours, whole where they are."""
    return seconds // HOUR if seconds % HOUR == 0 else seconds / HOUR


VIEWS: dict[str, View] = {"windows": _windows}
