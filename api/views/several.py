"""The views of the series paths without a zone: rows of several zones in one answer."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any
from urllib.parse import urlencode

from api.access.prices import for_zones
from api.access.values import Grant
from api.documents.catalogue import SERIES, Catalogue, stored_metric
from api.endpoints import ENDPOINTS
from api.http import parameters
from api.http.guard import stated
from api.http.messages import Headers, Request, Response, View
from api.http.problems import ParameterFault
from api.series import formats, several
from api.series import query as queries
from api.series.formats import Tabled
from api.series.moments import Moment, instant_in
from api.series.query import Query
from api.series.several import ZonesQuery
from api.service import Service
from api.views import rows_answer
from api.views.rows_answer import Question, Written
from warehouse import clock
from warehouse.errors import BadWindow, MetricNotAvailable, Withheld
from warehouse.market import Metric
from warehouse.zones import zones_with


def view(service: Service, name: str) -> View:
    """The view of one metric's path."""
    endpoint = ENDPOINTS[f"{name}-zones"]

    def of_zones(request: Request) -> Response:
        values = parameters.values(endpoint.parameters, stated(request))
        format_ = formats.negotiate(values["format"], request.header("HTTP_ACCEPT"))
        query = query_of(service.catalogue, SERIES[name], values, clock.now())
        price = for_zones(endpoint.id, len(query.zones))
        # Behind the gate: it looks at every month file of every zone.
        return service.guarded(request, price, partial(_answer, service, request, query, format_), format_)

    return of_zones


def _question(service: Service, request: Request, query: ZonesQuery, format_: str) -> Question[ZonesQuery]:
    plans = several.find(service.reader, service.catalogue, query)
    return rows_answer.question(service, request, query, plans, format_)


def query_of(catalogue: Catalogue, metric: Metric, values: dict[str, Any], now: int) -> ZonesQuery:
    """The query that checked parameters state. Raises Problem, MetricNotAvailable, Withheld."""
    day_ahead = values.get("market") is not None
    for zone in values["zones"] or ():
        stored_metric(catalogue, zone, metric, day_ahead)
    zones = values["zones"] or _open(catalogue, metric, day_ahead)
    start, end, as_of = (_instant(name, values[name], zones) for name in ("start", "end", "as_of"))
    try:
        start, end = queries.window_of(start, end, now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("start", "out-of-range", str(fault))]) from None
    try:
        as_of = queries.settled(as_of, now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("as_of", "out-of-range", str(fault))]) from None
    cursor = values["cursor"]
    if cursor is not None and cursor.row.order != values["order"]:
        raise parameters.invalid([ParameterFault("cursor", "conflict", f"belongs to order={cursor.row.order}")])
    if cursor is not None and not queries.is_of_its_rows(cursor.row, metric, values.get("by") is not None):
        raise parameters.invalid([ParameterFault("cursor", "conflict", "belongs to another question")])
    if cursor is not None and not (cursor.row.ts < end and (start <= cursor.row.ts or metric is Metric.CAPACITY)):
        raise parameters.invalid([ParameterFault("cursor", "out-of-range", "lies outside start..end")])
    of = Query(
        zones[0], metric, start, end, values["limit"], values["order"], values.get("by") is not None, day_ahead,
        values.get("interval"), as_of, None, values["sample"], values["time"],
    )  # fmt: skip
    return ZonesQuery(zones, of, cursor)


def _open(catalogue: Catalogue, metric: Metric, day_ahead: bool) -> tuple[str, ...]:
    """Every zone that publishes a metric, but those whose publisher's terms keep it in. Raises Withheld for all."""
    found, refused = [], None
    for zone in zones_with(metric):
        try:
            stored_metric(catalogue, zone, metric, day_ahead)
            found.append(zone)
        except Withheld as fault:
            refused = fault
        except MetricNotAvailable:
            continue  # no auction of its own
    if refused is not None and not found:
        raise refused
    return tuple(sorted(found))


def _instant(name: str, moment: Moment | None, zones: tuple[str, ...]) -> int | None:
    if isinstance(moment, date) and len(zones) > 1:
        fault = ParameterFault(name, "conflict", "a date takes one zone: give Unix seconds or RFC 3339 with an offset")
        raise parameters.invalid([fault])
    return instant_in(moment, zones[0])


def _answer(service: Service, request: Request, query: ZonesQuery, format_: str, entry: Grant) -> tuple[Response, int]:
    find = partial(_question, service, request, query, format_)
    link = partial(_link, service, request, query)
    return rows_answer.answer(service, request, entry, find(), find, partial(_rows, service), link)


def _rows(service: Service, question: Question[ZonesQuery]) -> Written:
    page = several.page(service.reader, question.query, question.plans)
    following = None if page.following is None else page.following.to_text()
    return Written(_encoded(question.format, page), page.count, following)


def _encoded(format_: str, page: several.ZonesPage) -> formats.Encoded:
    stated, of = several.envelope(page), page.query.of
    if format_ == "json":
        return formats.in_json(stated, several.text_rows(page, "json"))
    name = f"{of.metric.value}_{of.start}"
    if format_ == "csv":
        return formats.in_csv(stated, several.header(page), several.text_rows(page, "csv"), name)
    return formats.tabled(format_, Tabled(stated, several.columns(page), name))


def _link(service: Service, request: Request, query: ZonesQuery, following: str) -> Headers:
    of = query.of
    arguments: dict[str, Any] = {"zones": ",".join(query.zones), "start": of.start, "end": of.end}
    arguments |= {"limit": of.limit} | ({} if of.as_of is None else {"as_of": of.as_of})
    arguments |= {name: text for name, text in request.args.items() if name not in (*arguments, "cursor")}
    arguments["cursor"] = following
    return [("Link", f'<{service.settings.own_address}{request.path}?{urlencode(arguments, safe=",")}>; rel="next"')]
