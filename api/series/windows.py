"""Serve `/v1/windows/{zone}`: the best hours among the known future values of a zone (docs/windows.md).

A response is valid for the current interval, because all its values count from the interval's start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, Literal

from api.documents.catalogue_reader import Catalogue, stored_metric
from api.documents.document_cache import DocumentCache
from api.http import parameters
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.parameters import conflict
from api.http.problems import ParameterFault
from api.http.times import to_unix
from api.series.page import whole_window
from api.series.query import SeriesRequest
from api.series.wind_solar import missing_forecast, require_forecasts
from api.service import Service
from warehouse.documents import health
from warehouse.documents.catalogue_entries import CatalogueFeed
from warehouse.documents.share_forecasts import Forecasts, forecast_shares, read_forecasts
from warehouse.figures import horizon
from warehouse.figures.horizon import METHOD, WindowQuery, rounded
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market import clock
from warehouse.market.clock import HOUR
from warehouse.market.vocabulary import Forecast, Metric, forecast_of
from warehouse.market.zones import zone
from warehouse.rows.forecasts import Pick
from warehouse.store import layout

_USUAL_HOURS = 3
REASONS = {
    f"{Forecast.DEMAND}_missing": "The publisher's forecast of demand does not cover the requested time.",
    f"{Forecast.MIX}_missing": "The publisher's forecast of wind and solar does not cover the requested time.",
    "nothing_ahead": "This service has neither day-ahead prices nor an operator forecast for this zone and metric.",
    "not_known_yet": "No data has been published yet for the requested time. Try again later; `next_auction_by` gives "
    "the time if an auction is due.",
    "forecast_too_old": "The operator's latest forecast is out of date: two newer ones should have been published "
    "since.",
    "horizon_too_short": "The known values do not cover a block of this length. Request fewer hours, or try again "
    "later.",
}
_CARBON_HINT = " To compare hours by the operator's forecast of carbon intensity, send metric=carbon."
_COST_NOTES: dict[str, str] = {
    Metric.PRICE: "Cost of the energy at this price, without tariff, network charges and tax.",
    **dict.fromkeys((Metric.CARBON, Metric.CARBON_INTENSITY), "CO2 of the energy at this intensity."),
}


WindowQuestion = tuple[str, str, WindowQuery, tuple[float, float] | None]
"""A checked question: zone, metric or `wind_solar`, the search, and kWh with kW, if named."""


def _windows(service: Service, request: HttpRequest, query: QueryValues, zone: str) -> Response:
    asked = question(service.documents.catalogue, zone, query)
    with service.gate.enter(request, "windows") as entry:
        body = find_windows(service, asked, entry.method == "sample")
        # A response without known values is free.
        return entry.json(body, service.documents.catalogue.simulated, int(body["available"]))


def question(catalogue: Catalogue, zone_id: str, query: Mapping[str, Any]) -> WindowQuestion:
    """Return a question from checked parameters.

    Raises UnknownZone, MetricNotAvailable, Withheld; Problem 400 for parameters that contradict each other.
    """
    metric, now = query["metric"], clock.now()
    if metric == WIND_SOLAR:
        require_forecasts(catalogue, zone_id)
    else:
        stored_metric(catalogue, zone_id, Metric(metric), day_ahead=False)
    if metric == Metric.PRICE and zone(zone_id).day_ahead_metric is not None:
        stored_metric(catalogue, zone_id, Metric.PRICE, day_ahead=True)
    start, end = (to_unix(name, query[name], (zone_id,), now) for name in ("from", "to"))
    hours = None if query["hours"] == _USUAL_HOURS * HOUR else query["hours"]  # a sent default fits everything
    sent = {**query, "hours": hours}
    for one, other in (("hours", "slots"), ("hours", "kwh"), ("slots", "kwh"), ("to", "within")):
        if sent[one] is not None and sent[other] is not None:
            raise conflict(other, f"cannot be combined with {one}")
    if end is not None and end <= max(now, start or 0):
        raise parameters.invalid([ParameterFault("to", "out-of-range", "must be in the future and after `from`")])
    kwh, kw = query["kwh"], query["kw"]
    if (kwh is None) != (kw is None):
        one, other = ("kw", "kwh") if kwh is None else ("kwh", "kw")
        raise conflict(one, f"must be sent together with {other}")
    seconds = query["hours"] or _USUAL_HOURS * HOUR
    if kwh is not None:
        seconds = ceil(HOUR * Fraction(repr(kwh)) / Fraction(repr(kw)))
        if seconds > horizon.LONGEST_HOURS * HOUR:
            detail = f"needs more than {horizon.LONGEST_HOURS} hours at that power; send a smaller kwh or a larger kw"
            raise parameters.invalid([ParameterFault("kwh", "out-of-range", detail)])
    if query["between"] is not None and query["slots"] is None:
        first, second = query["between"]
        if seconds > (longest := (second - first) % (24 * 60) * 60):
            detail = (
                f"lasts {_number(longest)} hours, but the block {_number(seconds)}; send a longer range, or fewer hours"
            )
            raise parameters.invalid([ParameterFault("between", "out-of-range", detail)])
    usual: Literal["lowest", "highest"] = "highest" if metric == WIND_SOLAR else "lowest"
    wanted = WindowQuery(query["find"] or usual, seconds, query["slots"], start, end, query["within"], query["between"])
    return zone_id, metric, wanted, None if kwh is None else (kwh, kw)


def find_windows(service: Service, question: WindowQuestion, sample: bool) -> dict[str, Any]:
    """Return the body for a checked question now; a sample has only the best block. Raises StorageError."""
    body = _body(service, *question, clock.now())
    if not sample:
        return body
    return {**{name: part for name, part in body.items() if name not in ("alternatives", "now")}, "sample": True}


def _body(
    service: Service, zone_id: str, metric: str, wanted: WindowQuery, energy: tuple[float, float] | None, now: int
) -> dict[str, Any]:
    catalogue = service.documents.catalogue
    body: dict[str, Any] = {
        "zone": zone_id,
        "metric": metric,
        "find": wanted.find,
        "hours": _number(wanted.seconds) if wanted.slots is None else None,
        "within_hours": None if wanted.within is None else _number(wanted.within),
    }
    if wanted.between is not None:
        body["between"] = "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in wanted.between)
    auction = zone(zone_id).day_ahead_metric if metric == Metric.PRICE else None
    series = Metric.MIX if metric == WIND_SOLAR else Metric(metric)
    named = (auction or forecast_of(series)).value
    if series is Metric.CARBON:
        series = zone(zone_id).carbon_metric
        body["carbon_basis"] = zone(zone_id).describe_carbon(series)["basis"]
    feeds = catalogue.served_feeds(zone_id, named)

    def end(codes: Iterable[str] = ()) -> dict[str, Any]:
        terms = catalogue.terms(zone_id, named if auction or feeds else series.value, frozenset(codes))
        return {"method": METHOD, "docs": "/docs/windows", **terms}

    def unavailable(reason: str, codes: Iterable[str] = (), hint: str = "") -> dict[str, Any]:
        why = {"available": False, "reason": reason, "detail": REASONS[reason] + hint}
        return {**body, **why, **catalogue.progress_of(zone_id), **end(codes)}

    if not auction and not feeds:
        hint = _CARBON_HINT if metric == Metric.PRICE and _is_carbon_forecast(catalogue, zone_id) else ""
        return unavailable("nothing_ahead", hint=hint)
    body |= {"market": "day_ahead", "basis": "auction"} if auction else {"basis": "operator_forecast"}
    forecasts: Forecasts = {}
    if metric == WIND_SOLAR:
        forecasts = read_forecasts(service.reader, catalogue.zones[zone_id], catalogue.feeds, now)
        rows = forecast_shares(zone_id, forecasts)
    else:
        window, stored = horizon.window(now), auction or forecast_of(series)
        pick = None if auction else Pick()
        request = SeriesRequest(series, (zone_id,), (stored.value,), window.start, window.end, pick=pick)
        rows = whole_window(service.reader, catalogue, request)
        if isinstance(stored, Forecast):
            forecasts = {stored: (rows, max(60 * feed.every_minutes for feed in feeds))}

    def reason_without_rows(at: int, otherwise: str) -> str:
        missing = missing_forecast(zone_id, forecasts, at)
        return otherwise if missing is None else f"{missing}_missing"

    ahead = horizon.known_ahead(rows, now)
    if ahead is None or any(horizon.is_too_old(*forecast, now) for forecast in forecasts.values()):
        known = horizon.intervals(rows)
        body["horizon"] = {"next_auction_by": _due(feeds, known[-1].end if known else now) if auction else None}
        return unavailable(reason_without_rows(now, "not_known_yet" if auction or not known else "forecast_too_old"))
    found = horizon.find(ahead, wanted, zone(zone_id).tz)
    codes = [code for code in ahead.sources if code in catalogue.sources and not catalogue.sources[code].withheld]
    body["horizon"] = {
        "from": found.start,
        "until": found.until,
        "complete": found.complete,
        "next_auction_by": _due(feeds, found.last) if auction else None,
    }
    if ahead.published_at is not None:
        body["published_at"] = ahead.published_at
    if found.members is None:
        reason = "not_known_yet" if found.nothing_yet else "horizon_too_short"
        return unavailable(reason_without_rows(found.until, reason), codes)
    body |= {"available": True, "unit": ahead.unit, **found.members}
    body["horizon"]["mean"] = body.pop("mean_of_horizon")
    if "slots" in body:
        body["hours"] = _number(sum(slot["end"] - slot["start"] for slot in body["slots"]))
    if ahead.published_at is not None:
        last = body["slots"][-1] if "slots" in body else body
        body["lead_s"] = last["start"] - ahead.published_at
        body["error"] = _error(service.documents, zone_id, metric if metric == WIND_SOLAR else series, body["lead_s"])
    if energy is not None and metric in _COST_NOTES:
        currency, _, per = ahead.unit.rpartition("/")  # money for a price per MWh, grams for an intensity per kWh
        cost = Fraction(repr(energy[0])) * found.exact / (1000 if per == "MWh" else 1)
        parts = {"value": rounded(cost, 4), "unit": currency, "kwh": energy[0], "kw": energy[1]}
        body["cost"] = parts | {"note": _COST_NOTES[metric]}
    return {**body, "valid_until": ahead.valid_until, **end(codes)}


def _is_carbon_forecast(catalogue: Catalogue, zone_id: str) -> bool:
    """Return whether a forecast of the zone's carbon intensity is served."""
    return bool(catalogue.served_feeds(zone_id, f"{zone(zone_id).carbon_metric}_forecast"))


def _error(documents: DocumentCache, zone_id: str, metric: str, lead_s: int) -> float | None:
    """Return the forecast's measured mean absolute error at a lead, rounded up to whole hours; None if not measured."""
    measured = documents.get(layout.PUBLISHERS)
    entries = measured.json.get("shares" if metric == WIND_SOLAR else "scores", ()) if measured else ()
    own = (one for one in entries if one["zone"] == zone_id and one.get("metric", WIND_SOLAR) == metric)
    errors = next((one["mae_by_hour"] for one in own), ())
    return dict(enumerate(errors, 1)).get(max(1, ceil(lead_s / HOUR)))


def _due(feeds: Sequence[CatalogueFeed], until: int) -> int | None:
    """Return the time at which the prices after `until` are due, by the earliest feed."""
    due = health.due([health.carrier(feed, configured=True) for feed in feeds], until)
    return None if due is None else due.at


def _number(seconds: int) -> float | int:
    """Return hours, whole or with at most four decimals, which identify each second."""
    return seconds // HOUR if seconds % HOUR == 0 else round(seconds / HOUR, 4)


VIEWS: dict[str, View] = {"windows": _windows}
