"""`/v1/<metric>/{zone}` and `/v1/<metric>?zones=`: rows under an ETag that is known before a row is read.

With `stats=true` statistics of the window in place of its rows (docs/statistics.md).
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np

from api.access.prices import for_zones
from api.documents.catalogue import Catalogue, stored_metric
from api.http import parameters, responses
from api.http.messages import Headers, Request, Response, View
from api.http.problems import ParameterFault
from api.http.responses import ETag, pack, tag_of
from api.series import formats
from api.series import query as queries
from api.series.page import page, whole_window
from api.series.query import DEFAULT_LIMIT, SAMPLE_ROWS, SeriesRequest, ZonePlan
from api.series.stored_rows import sources_of_rows
from api.service import Service
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.figures.statistics import Statistics, statistics
from warehouse.market.clock import DAY
from warehouse.market.market import Metric
from warehouse.market.metrics import BY_PATH
from warehouse.market.zones import zones_with
from warehouse.series.reader import FileReplaced, Reader, RowColumns

VERSION = "7"
"""Part of every series' ETag: raise it when the same rows are written otherwise."""
LONGEST_OF_STATISTICS = 3653 * DAY
"""Ten years."""
_OF_ROWS = {
    "limit": DEFAULT_LIMIT,
    "order": "asc",
    "format": "json",
    **dict.fromkeys(("cursor", "interval", "by", "time")),
}
"""Parameters that only rows have, with their defaults, which a client may send."""
_METHOD = {"method": "statistics/1", "docs": "/docs/statistics"}


CachedBody = tuple[bytes, Headers, int, str | None]
"""An answer's bytes, in its coding, the headers that belong to them, how many rows it has, and the cursor of the next
page. Equal ETags, equal answers."""


def _series(service: Service, request: Request, query: dict[str, Any], name: str, zone: str = "") -> Response:
    """The rows of one zone, or of those that the query names."""
    metric, catalogue = BY_PATH[name], service.catalogue
    day_ahead, forecast = query.get("market") is not None, query.get("kind") == "forecast"
    stored = _stored_metrics(catalogue, (zone,) if zone else query["zones"], metric, day_ahead, forecast)
    asked = queries.series_request(metric, tuple(stored), tuple(stored.values()), query, several=not zone)
    if query.get("stats"):
        return _statistics(service, request, name, asked, query)
    if faults := [word for word in ("above", "below") if query.get(word) is not None]:
        raise parameters.invalid([ParameterFault(word, "conflict", "only with stats=true") for word in faults])
    price = name if zone else for_zones(f"{name}-zones", len(stored))
    return _rows(service, catalogue, request, price, asked, query["format"])


def _stored_metrics(
    catalogue: Catalogue, zones: tuple[str, ...] | None, metric: Metric, day_ahead: bool, forecast: bool
) -> dict[str, str]:
    """The stored series of each zone; for None, of every zone that has one.

    Raises MetricNotAvailable and Withheld for a zone of `zones`, and where no zone has one that may be served.
    """
    stored, refusal = {}, None
    for zone in sorted(zones_with(metric)) if zones is None else zones:
        try:
            stored[zone] = stored_metric(catalogue, zone, metric, day_ahead, forecast)
        except (MetricNotAvailable, Withheld) as fault:
            if zones is not None:
                raise
            refusal = fault
    if refusal is not None and not stored:
        raise refusal
    return stored


def _rows(
    service: Service, catalogue: Catalogue, request: Request, price: str, asked: SeriesRequest, wanted: str | None
) -> Response:
    """The rows of a request: 304, the body cached under its ETag, or a new one."""
    format_ = formats.negotiate(wanted, request.header("HTTP_ACCEPT"))
    with service.gate.enter(request, price, format_) as entry:
        while True:
            plans = queries.plan(service.reader, catalogue, asked)
            etag = _etag(request, plans, format_)
            headers = [*responses.caching(entry.method), *responses.marks(catalogue.simulated)]
            if etag.matches:
                return entry.settle(etag.unchanged(headers), 0)
            try:
                encode = partial(_encode, service.reader, plans, format_, etag)
                cached: CachedBody = service.answers.get(etag.tag, encode)
                break
            except FileReplaced:
                continue
        body, own, rows, following = cached
        headers += [*own, *_link(service, request, asked, following)]
        response = etag.response(body, formats.CONTENT_TYPE[format_], headers)
        # A part of what is paid for would be charged as a whole, so a payment buys the whole.
        if format_ != "json" and entry.method != "payment":
            response = responses.ranged(request, response)
        return entry.settle(response, rows)


def _etag(request: Request, plans: tuple[ZonePlan, ...], format_: str) -> ETag:
    """Of all that an answer depends on: the request, the catalogue, and the files that hold its rows."""
    files = [([tuple(file.identity) for file in plan.files], plan.due_until) for plan in plans]
    parts = (VERSION, tuple(plans[0].request), format_, tuple(plans[0].catalogue.document.identity), files)
    return ETag(request, tag_of(repr(parts).encode()), format_ in formats.COMPRESSIBLE)


def _encode(reader: Reader, plans: tuple[ZonePlan, ...], format_: str, etag: ETag) -> tuple[CachedBody, int]:
    """The body of a plan's answer, and its bytes in memory. Raises FileReplaced."""
    rows = page(reader, plans)
    encoded, headers = formats.encode(format_, rows)
    body = pack(encoded, etag.coding)
    size = len(body) + sum(len(name) + len(value) for name, value in headers) + 1000
    return (body, headers, rows.count, rows.following and rows.following.to_text()), size


def _link(service: Service, request: Request, asked: SeriesRequest, following: str | None) -> Headers:
    """The `Link` to the next page: the same window with its instants written out, since a default `end` moves on."""
    if following is None:
        return []
    written_out = {
        "zones": ",".join(asked.zones) if asked.several else None,
        "start": asked.start,
        "end": asked.end,
        "limit": asked.limit,
        "as_of": asked.as_of,
        "published_before": asked.pick and asked.pick.published_before,
    }
    others = {name: text for name, text in request.args.items() if name not in (*written_out, "zone", "cursor")}
    pairs = {**written_out, **others, "cursor": following}.items()
    query = urlencode({name: value for name, value in pairs if value is not None}, safe=",")
    return [("Link", f'<{service.settings.own_address}{request.path}?{query}>; rel="next"')]


def _statistics(
    service: Service, request: Request, price: str, asked: SeriesRequest, query: dict[str, Any]
) -> Response:
    """Statistics of the window in place of its rows. Raises Problem 400 for parameters that they do not take."""
    if words := [word for word, unset in _OF_ROWS.items() if query.get(word) not in (None, unset)]:
        raise parameters.invalid([ParameterFault(word, "conflict", "not with stats=true") for word in words])
    if asked.end - asked.start > LONGEST_OF_STATISTICS:
        raise parameters.invalid([ParameterFault("start", "out-of-range", "statistics take at most ten years")])
    with service.gate.enter(request, price) as entry:
        body, rows = statistics_of(service.reader, service.catalogue, asked, query["above"], query["below"])
        return entry.json(body, service.catalogue.simulated, rows)


def statistics_of(
    reader: Reader, catalogue: Catalogue, request: SeriesRequest, above: float | None, below: float | None
) -> tuple[dict[str, Any], int]:
    """The statistics of the window of one zone, of a sample's newest rows, as a body; and of how many rows.

    Raises StorageError.
    """
    rows, sources = whole_window(reader, catalogue, request)
    start, (zone,), (stored,) = request.start, request.zones, request.stored
    if request.sample and len(rows) > SAMPLE_ROWS:
        first = len(rows) - SAMPLE_ROWS
        if rows.ts[first - 1] == rows.ts[first]:  # never part of an instant: a fuel's coverage would be less
            first = int(np.searchsorted(rows.ts, rows.ts[first], side="right"))
        rows = rows.take(slice(first, None))
        start = int(rows.ts[0])
        sources = sources_of_rows(catalogue, [rows])
    terms = catalogue.terms(zone, stored, frozenset(sources))
    fuels = sorted({label.fuel for label in rows.labels if label.fuel is not None})
    body: dict[str, Any] = {
        "zone": zone,
        "metric": request.metric.value,
        **({"market": "day_ahead"} if request.day_ahead else {}),
        **({} if request.as_of is None else {"as_of": request.as_of}),
        "start": start,
        "end": request.end,
        "unit": rows.labels[0].unit if rows.labels else None,
    }
    if fuels:
        of_label = [label.fuel for label in rows.labels]
        chosen = {fuel: rows.take(np.array([word == fuel for word in of_label])[rows.label]) for fuel in fuels}
        of_fuel = {fuel: _statistics_of_rows(part, start, request.end, above, below) for fuel, part in chosen.items()}
        body["fuels"] = {fuel: part for fuel, part in of_fuel.items() if part is not None}
    else:
        body["statistics"] = _statistics_of_rows(rows, start, request.end, above, below)
    body |= _METHOD | {"sources": list(sources), "attribution": terms.attribution, "license": terms.license}
    return body | ({"sample": True} if request.sample else {}), len(rows)


def _statistics_of_rows(
    rows: RowColumns, start: int, end: int, above: float | None, below: float | None
) -> dict[str, Any] | None:
    """One series' statistics as JSON, rounded to six decimals; None where it has no row in the window."""
    result = statistics(rows.ts, rows.seconds(), rows.value, start, end, above, below)
    return None if result is None else _members(result)


def _members(result: Statistics) -> dict[str, Any]:
    named: dict[str, Any] = {
        name: _rounded(value) for name, value in asdict(result).items() if name not in ("above", "below")
    }
    for name, beyond in (("above", result.above), ("below", result.below)):
        if beyond is not None:
            spans = [{"start": start, "end": end} for start, end in beyond.first]
            named[name] = {**asdict(beyond), "hours": _rounded(beyond.hours), "first": spans}
    return named


def _rounded(value: float | int) -> float | int:
    """Six decimals hide float error; never -0.0."""
    return value if isinstance(value, int) else round(value, 6) + 0.0


VIEWS: dict[str, View] = {
    f"{name}{several}": partial(_series, name=name) for name in BY_PATH for several in ("", "-zones")
}
NOT_FOUND_FIRST = {
    name: lambda service, zone, metric=metric: stored_metric(service.catalogue, zone, metric)
    for name, metric in BY_PATH.items()
}
