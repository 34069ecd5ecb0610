"""Serve `/v1/records/{zone}` and `/v1/records`: extremes and negative prices by year, from a mart (docs/records.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from api.access.prices import for_zones
from api.documents.catalogue_reader import Catalogue, sources_of, stored_metric
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.service import Service
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.figures import marts
from warehouse.figures.marts import Record
from warehouse.market import clock
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES, zones_with

_METHOD = {"method": "records/1", "docs": "/docs/records"}
_LOST = "Records have not been computed yet; they are updated once a day. Try again later."
_SAMPLE_ZONES = 5


def _records(service: Service, request: HttpRequest, query: QueryValues, zone: str) -> Response:
    metric, catalogue = Metric(query["metric"]), service.documents.catalogue
    stored = stored_metric(catalogue, zone, metric, day_ahead=False)
    with service.gate.enter(request, "records") as entry:
        records = marts.records(service.reader, zone, stored)
        if records is None:
            raise _not_made()
        all_time, members, count = _of_zone(catalogue, zone, metric, stored, records)
        if entry.method == "sample":
            members |= {"years": {}, "year_before": None}
        body = {"zone": zone, "metric": metric.value, "all_time": all_time, **members, **_METHOD}
        return entry.json(body, catalogue.simulated, count)


def _all_records(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    """Return the records by year of every zone that has the metric, except withheld zones."""
    metric, catalogue = Metric(query["metric"]), service.documents.catalogue
    stored: dict[str, str] = {}
    for zone in sorted(zones_with(metric)):
        try:
            stored[zone] = stored_metric(catalogue, zone, metric, day_ahead=False)
        except (MetricNotAvailable, Withheld):
            continue
    with service.gate.enter(request, for_zones("all-records", len(stored))) as entry:
        records = marts.all_records(service.reader)
        if records is None:
            raise _not_made()
        zones = [*stored][:_SAMPLE_ZONES] if entry.method == "sample" else [*stored]
        parts = {
            zone: _of_zone(catalogue, zone, metric, stored[zone], records.get((zone, stored[zone]), ()))
            for zone in zones
        }
        body = {
            "metric": metric.value,
            "count": len(zones),
            "zones": {zone: members for zone, (_, members, _) in parts.items()},
            **_METHOD,
        }
        return entry.json(body, catalogue.simulated, sum(count for *_, count in parts.values()))


def _of_zone(
    catalogue: Catalogue, zone: str, metric: Metric, stored: str, records: Sequence[Record]
) -> tuple[dict[str, Any] | None, dict[str, Any], int]:
    """Return a zone's records of all time, its other fields (years, sources and terms), and the number of records.

    `year_before` covers the range of the current year, a year earlier; None if the last year with records is over.
    """
    servable = [record for record in records if catalogue.withheld.isdisjoint(record.feeds.split(", "))]
    codes = sources_of(feed for record in servable for feed in record.feeds.split(", "))
    terms = catalogue.terms(zone, stored, frozenset(codes & catalogue.sources.keys()))
    periods = {period: _period([*group]) for period, group in groupby(servable, lambda record: record.period)}
    all_time, before = periods.pop("all", None), periods.pop("year_before", None)
    running = str(clock.local_date(clock.now(), ZONES[zone].tz).year)
    members = {
        **(ZONES[zone].describe_carbon(stored) if metric is Metric.CARBON else {}),
        "years": periods,
        "year_before": before if running in periods else None,
        "sources": [code for code in catalogue.sources if code in codes],
        "attribution": terms["attribution"],
        "license": terms["license"],
    }
    return all_time, members, len(servable)


def _not_made() -> Problem:
    return Problem("not-yet-available", _LOST, headers=(("Retry-After", "600"),))


def _period(records: Sequence[Record]) -> dict[str, Any]:
    """Return the records of a period by kind, and the civil days that they cover."""
    first, kinds = records[0], dict[str, Any].fromkeys(("highest", "lowest", "longest_negative"))
    for record in records:
        unit, run = (record.unit, {}) if record.end is None else ("h", {"end": record.end})
        kinds[record.kind] = {"value": record.value, "unit": unit, "ts": record.ts, **run, "since": record.since}
    below = {"negative_hours": first.negative_hours, "negative_sum": first.negative_sum}
    return {"since": first.since, "until": first.until, "unit": first.unit, **kinds, **below}


VIEWS: dict[str, View] = {"records": _records, "all-records": _all_records}
