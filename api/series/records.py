"""`/v1/records/{zone}`: extremes and the longest run of negative prices, from a mart (docs/records.md)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from api.documents.catalogue_reader import sources_of, stored_metric
from api.http.messages import HttpRequest, Response, View
from api.http.problems import Problem
from api.service import Service
from warehouse.figures import marts
from warehouse.figures.marts import Record
from warehouse.market.vocabulary import Metric

_METHOD = {"method": "records/1", "docs": "/docs/records"}
_LOST = "Records are not made yet: they follow once a day, after the days of the month."


def _records(service: Service, request: HttpRequest, query: dict[str, Any], zone: str) -> Response:
    metric, catalogue = Metric(query["metric"]), service.documents.catalogue
    stored = stored_metric(catalogue, zone, metric, day_ahead=False)
    with service.gate.enter(request, "records") as entry:
        records = marts.records(service.reader, zone, stored)
        if records is None:
            raise Problem("not-yet-available", _LOST, headers=(("Retry-After", "600"),))
        records = [record for record in records if catalogue.withheld.isdisjoint(record.feeds.split(", "))]
        codes = sources_of(feed for record in records for feed in record.feeds.split(", "))
        terms = catalogue.terms(zone, stored, frozenset(codes & catalogue.sources.keys()))
        periods = {period: _period([*group]) for period, group in groupby(records, lambda record: record.period)}
        body = {
            "zone": zone,
            "metric": metric.value,
            "all_time": periods.pop("all", None),
            "years": {} if entry.method == "sample" else periods,
            **_METHOD,
            "sources": [code for code in catalogue.sources if code in codes],
            "attribution": terms["attribution"],
            "license": terms["license"],
        }
        return entry.json(body, catalogue.simulated, len(records))


def _period(records: Sequence[Record]) -> dict[str, Any]:
    """The records of a period by kind, and the civil days that they were looked for in."""
    first, kinds = records[0], dict[str, Any].fromkeys(("highest", "lowest", "longest_negative"))
    for record in records:
        unit, run = (record.unit, {}) if record.end is None else ("h", {"end": record.end})
        kinds[record.kind] = {"value": record.value, "unit": unit, "ts": record.ts, **run, "since": record.since}
    return {"since": first.since, "until": first.until, "unit": first.unit, **kinds}


VIEWS: dict[str, View] = {"records": _records}
