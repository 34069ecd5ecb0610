"""Serve `/v1/<metric>/{zone}` and `/v1/<metric>?zones=`: rows under an ETag that is known before a row is read.

With `stats=true`, serve statistics of the window instead of its rows (docs/statistics.md).
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlencode

from api.access.prices import for_zones
from api.documents.catalogue_reader import Catalogue, stored_metric
from api.http import parameters, responses
from api.http.codings import pack, tag_of
from api.http.messages import Headers, HttpRequest, QueryValues, Response, View
from api.http.problems import ParameterFault
from api.http.responses import ETag
from api.series import formats, stored_rows
from api.series.expensive import marts_behind
from api.series.gap_reasons import mix_files
from api.series.page import page
from api.series.query import DEFAULT_LIMIT, SeriesRequest, plan_request, series_request
from api.series.window_statistics import OF_STATISTICS, statistics_of
from api.service import Service
from warehouse.errors import MetricNotAvailable, Withheld
from warehouse.figures.resample import LONGEST
from warehouse.market.clock import DAY
from warehouse.market.metrics import BY_PATH
from warehouse.market.zones import zones_with
from warehouse.series.replaced_files import read_again

VERSION = "7"
"""A part of every series' ETag. Raise it when the same rows are written in another way."""
LONGEST_OF_STATISTICS = 3653 * DAY
"""Ten years."""
_OF_ROWS: dict[str, Any] = {"limit": DEFAULT_LIMIT, "order": "asc", "format": "json"}
_OF_ROWS |= dict.fromkeys(("cursor", "interval", "by", "time"))
"""The parameters for rows only, with their defaults, which a client may send."""

CachedBody = tuple[bytes, Headers, int, str | None]
"""The bytes of a response in its coding, their headers, the number of rows, and the cursor of the next page. Equal
ETags mean equal responses."""


def _series(service: Service, request: HttpRequest, query: QueryValues, name: str, zone: str = "") -> Response:
    """Return the rows of a zone, or of the zones in the query; or their statistics."""
    metric, catalogue = BY_PATH[name], service.documents.catalogue
    day_ahead, forecast = query.get("market") is not None, query.get("kind") == "forecast"
    estimate = query.get("basis") == "estimate"
    named: tuple[str, ...] | None = (zone,) if zone else query["zones"]
    stored, refusal = dict[str, str](), None
    for each in sorted(zones_with(metric)) if named is None else named:
        try:
            stored[each] = stored_metric(catalogue, each, metric, day_ahead, forecast, estimate)
        except (MetricNotAvailable, Withheld) as fault:
            if named is not None:
                raise
            refusal = fault
    if refusal is not None and not stored:
        raise refusal
    asked = series_request(metric, tuple(stored), tuple(stored.values()), query, several=not zone)
    wants_statistics = bool(query.get("stats"))
    unfit = _OF_ROWS if wants_statistics else OF_STATISTICS
    if words := [word for word, unset in unfit.items() if query.get(word) not in (None, unset)]:
        detail = f"{'cannot be combined with' if wants_statistics else 'requires'} stats=true"
        raise parameters.invalid([ParameterFault(word, "conflict", detail) for word in words])
    if not wants_statistics:
        price = name if zone else for_zones(f"{name}-zones", len(stored))
        return _rows(service, catalogue, request, price, asked, query["format"])
    if asked.end - asked.start > LONGEST_OF_STATISTICS:
        raise parameters.invalid([ParameterFault("start", "out-of-range", "must be at most ten years before end")])
    with service.gate.enter(request, name) as entry:
        body, rows = statistics_of(service.reader, catalogue, asked, query["above"], query["below"])
        return entry.json(body, catalogue.simulated, rows)


def _rows(
    service: Service, catalogue: Catalogue, request: HttpRequest, price: str, asked: SeriesRequest, wanted: str | None
) -> Response:
    """Return the rows of a request: a 304, the body cached under its ETag, or a new body."""
    format_ = responses.negotiate(wanted, request.header("HTTP_ACCEPT"), formats.FORMAT_OF)
    with service.gate.enter(request, price, format_) as entry:
        headers = [*responses.caching(entry.method), *responses.marks(catalogue.simulated)]
        etag, cached = _body(service, catalogue, request, asked, format_)
        body, own, rows, following = cached or (b"", [], 0, None)
        headers += [*own, *_link(service, request, asked, following)]
        response = etag.answer(formats.CONTENT_TYPE[format_], headers, lambda _: body)
        # A part would be charged as a whole, so a payment buys the whole.
        if format_ != "json" and entry.method != "payment":
            response = responses.ranged(request, response)
        return entry.settle(response, rows)


@read_again
def _body(
    service: Service, catalogue: Catalogue, request: HttpRequest, asked: SeriesRequest, format_: str
) -> tuple[ETag, CachedBody | None]:
    """Return the ETag of a response and its body, or None if the client has the body.

    The ETag covers all that a response depends on: the request, the catalogue, the files with its rows, and the time
    until which rows are due. With that time gaps appear or vanish, even if no file changes. The gap at the window's
    end appears once its whole interval is due. The mix decides why an estimate is refused there.
    """
    plans, longest = plan_request(service.reader, catalogue, asked), LONGEST[asked.interval or "1h"]
    files = [
        (
            [tuple(file.identity) for file in plan.files],
            max(asked.start, min(plan.due.until, asked.end + longest)),
            min(stored_rows.running_start(plan), asked.end) if asked.interval else None,
        )
        for plan in plans
    ]
    parts: tuple[object, ...] = (VERSION, tuple(asked), format_, tuple(catalogue.document.identity), files)
    if behind := marts_behind(service.reader, plans):
        parts += (behind,)
    if mixes := mix_files(service.reader, plans):
        parts += (mixes,)
    etag = ETag(request, tag_of(repr(parts).encode()), format_ in formats.COMPRESSIBLE)

    def encode() -> tuple[CachedBody, int]:
        """Return the body, and its bytes in memory."""
        answer = page(service.reader, plans)
        encoded, headers = formats.encode(format_, answer)
        body = pack(encoded, etag.coding)
        size = len(body) + sum(len(name) + len(value) for name, value in headers) + 1000
        return (body, headers, len(answer.rows), answer.following and answer.following.to_text()), size

    return etag, None if etag.matches else service.answers.get(etag.tag, encode)


def _link(service: Service, request: HttpRequest, asked: SeriesRequest, following: str | None) -> Headers:
    """Return the `Link` to the next page: the same window with explicit times, because a default `end` moves."""
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
    return [("Link", f'<{service.own_address}{request.path}?{query}>; rel="next"')]


VIEWS: dict[str, View] = {
    f"{name}{several}": partial(_series, name=name) for name in BY_PATH for several in ("", "-zones")
}
NOT_FOUND_FIRST = {
    name: lambda service, zone, metric=metric: stored_metric(service.documents.catalogue, zone, metric)
    for name, metric in BY_PATH.items()
}
