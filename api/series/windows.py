"""`/v1/windows/{zone}`: the best hours among what is known ahead of a zone (docs/windows.md).

An answer holds for as long as its running interval: everything in it counts from that interval's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from math import ceil
from typing import Any

from api.documents.catalogue import Catalogue, DocumentCache, LicenceTerms, stored_metric
from api.http import parameters
from api.http.messages import Request, Response, View
from api.http.parameters import conflict
from api.http.problems import ParameterFault
from api.http.times import to_unix
from api.series.page import whole_window
from api.series.query import SeriesRequest
from api.service import Service
from warehouse.documents import health
from warehouse.figures import horizon
from warehouse.figures.horizon import METHOD, Found, KnownAhead, Wanted, rounded
from warehouse.market import clock
from warehouse.market.clock import HOUR
from warehouse.market.market import Metric
from warehouse.market.metrics import forecast_of
from warehouse.market.zones import zone
from warehouse.rows.forecasts import Pick
from warehouse.store import layout

LONGEST_HOURS = 24
MOST_SLOTS = 96
_USUAL_HOURS = 3
_MOST_STEPS = 2
"""A forecast is used until its publisher has had so many chances to renew it."""
_DOCS = "/docs/windows"
_REASONS = {
    "nothing_ahead": "No day-ahead auction of it can be had here, and no operator publishes a forecast of it.",
    "not_known_yet": "Nothing is published yet for the time that was asked for.",
    "forecast_too_old": "The operator's newest forecast is older than two of the steps in which it is published.",
    "horizon_too_short": "Nothing so long fits into what is known of the time that was asked for.",
}
REASONS = tuple(_REASONS)
_COST_NOTES = {
    Metric.PRICE: "The energy at this price alone: tariff, network charges and tax are not known here.",
    Metric.CARBON_INTENSITY: "The CO2 of the energy at this intensity.",
}


WindowQuestion = tuple[str, Metric, Wanted, tuple[float, float] | None]
"""One question, checked: zone, metric, what is looked for, and the energy in kWh with the power in kW, if named."""


def _windows(service: Service, request: Request, query: dict[str, Any], zone: str) -> Response:
    asked = question(service.catalogue, zone, query, clock.now())
    with service.gate.enter(request, "windows") as entry:
        body = answer(service, asked, clock.now())
        # Nobody pays where nothing is known.
        paid, body = int(body["available"]), sample(body) if entry.method == "sample" else body
        return entry.json(body, service.catalogue.simulated, paid)


def question(catalogue: Catalogue, zone_id: str, query: Mapping[str, Any], now: int) -> WindowQuestion:
    """The question that checked parameters make up.

    Raises UnknownZone, MetricNotAvailable, Withheld; Problem 400 for parameters that do not fit each other.
    """
    metric = Metric(query["metric"])
    stored_metric(catalogue, zone_id, metric, day_ahead=False)
    if metric is Metric.PRICE and zone(zone_id).day_ahead_metric is not None:
        stored_metric(catalogue, zone_id, metric, day_ahead=True)
    start, end = (to_unix(name, query[name], (zone_id,), now) for name in ("from", "to"))
    hours = None if query["hours"] == _USUAL_HOURS * HOUR else query["hours"]  # the default, sent, fits everything
    sent = {**query, "hours": hours}
    for one, other in (("hours", "slots"), ("hours", "kwh"), ("slots", "kwh"), ("to", "within")):
        if sent[one] is not None and sent[other] is not None:
            raise conflict(other, f"not with {one}")
    if end is not None and end <= max(now, start or 0):
        raise parameters.invalid([ParameterFault("to", "out-of-range", "lies in the past, or not after from")])
    kwh, kw = query["kwh"], query["kw"]
    if (kwh is None) != (kw is None):
        raise conflict("kw" if kwh is None else "kwh", "kwh and kw go together")
    seconds = query["hours"] or _USUAL_HOURS * HOUR
    if kwh is not None:
        seconds = ceil(HOUR * Fraction(repr(kwh)) / Fraction(repr(kw)))
        if seconds > LONGEST_HOURS * HOUR:
            detail = f"at that power it takes more than {LONGEST_HOURS} hours"
            raise parameters.invalid([ParameterFault("kwh", "out-of-range", detail)])
    wanted = Wanted(query["kind"], seconds, query["slots"], start, end, query["within"], query["between"])
    return zone_id, metric, wanted, None if kwh is None else (kwh, kw)


def answer(service: Service, question: WindowQuestion, now: int) -> dict[str, Any]:
    """The body that answers a checked question at an instant (Unix seconds). Raises StorageError."""
    (zone_id, metric, wanted, energy), catalogue = question, service.catalogue
    head: dict[str, Any] = {
        "zone": zone_id,
        "metric": metric.value,
        "kind": wanted.kind,
        "hours": _number(wanted.seconds) if wanted.slots is None else None,
        "within_hours": None if wanted.within is None else _number(wanted.within),
    }
    if wanted.between is not None:
        head["between"] = "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in wanted.between)
    stored, is_auction = _stored_ahead(catalogue, zone_id, metric)
    if stored is None:
        terms = catalogue.terms(zone_id, metric.value, frozenset())
        return _unavailable(head, "nothing_ahead", terms)
    head |= {"market": "day_ahead", "basis": "auction"} if is_auction else {"basis": "operator_forecast"}
    window = horizon.window(now)
    request = SeriesRequest(metric, (zone_id,), (stored,), window.start, window.end)
    rows = whole_window(service.reader, catalogue, request if is_auction else request._replace(pick=Pick()))
    ahead = horizon.known_ahead(rows, now)
    if ahead is None or _is_too_old(catalogue, zone_id, stored, ahead, now):
        known = horizon.intervals(rows)
        head["horizon"] = {"next_auction_by": _next_auction(catalogue, zone_id, known[-1].end if known else now)}
        terms = catalogue.terms(zone_id, stored, frozenset())
        return _unavailable(head, "not_known_yet" if is_auction or not known else "forecast_too_old", terms)
    found = horizon.find(ahead, wanted, zone(zone_id).tz)
    open_ = (code for code in ahead.sources if not catalogue.sources.get(code, {"withheld": True})["withheld"])
    terms = catalogue.terms(zone_id, stored, frozenset(open_))
    head["horizon"] = {
        "from": found.start,
        "until": found.until,
        "complete": found.complete,
        "next_auction_by": _next_auction(catalogue, zone_id, found.last) if is_auction else None,
    }
    if ahead.published_at is not None:
        head["published_at"] = ahead.published_at
    if found.members is None:
        return _unavailable(head, "not_known_yet" if found.nothing_yet else "horizon_too_short", terms)
    body = {**head, "available": True, "unit": ahead.unit, **found.members}
    body["horizon"] = {**head["horizon"], "mean": body.pop("mean_of_horizon")}
    if "slots" in body:
        body["hours"] = _number(sum(slot["end"] - slot["start"] for slot in body["slots"]))
    if ahead.published_at is not None:
        last = body["slots"][-1] if "slots" in body else body
        body["lead_s"] = last["start"] - ahead.published_at
        body["error"] = _error(service.documents, zone_id, metric, body["lead_s"])
    if energy is not None:
        body["cost"] = _cost(energy, found, metric, ahead.unit)
    return {**body, "valid_until": ahead.valid_until, **_end(terms)}


def _stored_ahead(catalogue: Catalogue, zone_id: str, metric: Metric) -> tuple[str | None, bool]:
    """The stored series of what is known ahead, None where nothing is, and whether it is an auction's result."""
    auction = zone(zone_id).day_ahead_metric
    if metric is Metric.PRICE and auction is not None:
        return auction.value, True
    forecast = forecast_of(metric)
    feeds = catalogue.entry(zone_id, forecast).get("feeds", [])
    return (None if all(feed["withheld"] for feed in feeds) else forecast.value), False


def _error(documents: DocumentCache, zone_id: str, metric: Metric, lead_s: int) -> float | None:
    """The forecast's measured mean absolute error so far ahead, in whole hours, up; None where none is measured."""
    measured = documents.get(layout.PUBLISHERS)
    if measured is None:
        return None
    errors: dict[tuple[str, str], list[float | None]] = measured.derive(
        "errors by zone and metric",
        lambda whole: {(one["zone"], one["metric"]): one["mae_by_hour"] for one in whole.json.get("scores", ())},
    )
    hour = max(1, ceil(lead_s / HOUR))
    return dict(enumerate(errors.get((zone_id, metric.value), ()), 1)).get(hour)


def _is_too_old(catalogue: Catalogue, zone_id: str, stored: str, ahead: KnownAhead, now: int) -> bool:
    """Whether two steps of its publisher have gone by since a forecast was published; it is asked once a step."""
    if ahead.published_at is None:
        return False
    feeds = [feed["id"] for feed in catalogue.entry(zone_id, stored)["feeds"] if not feed["withheld"]]
    step: int = max(60 * catalogue.feeds[feed]["every_minutes"] for feed in feeds)
    return now - ahead.published_at > _MOST_STEPS * step


def sample(body: Mapping[str, Any]) -> dict[str, Any]:
    """The best block alone."""
    return {**{name: part for name, part in body.items() if name not in ("alternatives", "now")}, "sample": True}


def _unavailable(head: Mapping[str, Any], reason: str, terms: LicenceTerms) -> dict[str, Any]:
    return {**head, "available": False, "reason": reason, "detail": _REASONS[reason], **_end(terms)}


def _end(terms: LicenceTerms) -> dict[str, str]:
    return {"method": METHOD, "docs": _DOCS, **asdict(terms)}


def _cost(energy: tuple[float, float], found: Found, metric: Metric, unit: str) -> dict[str, Any]:
    """What the energy costs at the mean of the best block: money of a price per MWh, grams of an intensity per kWh."""
    currency, _, per = unit.rpartition("/")
    return {
        "value": rounded(Fraction(repr(energy[0])) * found.exact / (1000 if per == "MWh" else 1), 4),
        "unit": currency,
        "kwh": energy[0],
        "kw": energy[1],
        "note": _COST_NOTES[metric],
    }


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
