"""The views of the six series paths: a request becomes a query, a page of rows becomes an answer."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from api.access.values import Grant
from api.documents.catalogue import SERIES, Catalogue, stored_metric
from api.endpoints import ENDPOINTS
from api.http import parameters
from api.http.guard import stated
from api.http.messages import Headers, Request, Response, View
from api.http.problems import ParameterFault
from api.series import formats
from api.series import page as pages
from api.series import query as queries
from api.series.moments import instant_in
from api.series.query import Query
from api.service import Service
from api.views import rows_answer, statistics
from api.views.rows_answer import Question, Written
from warehouse import clock
from warehouse.errors import BadWindow
from warehouse.market import Metric

_SHORT = 600
"""Longer questions are not kept: a few thousand of eight kilobytes would fill a worker."""


def query_of(zone: str, name: str, given: MultiDict[str, str], now: int) -> tuple[Query, str | None]:
    """The query that a request states, and the format it names. Raises Problem."""
    values = parameters.values(ENDPOINTS[name].parameters, given)
    try:
        start, end = queries.window_of(instant_in(values["start"], zone), instant_in(values["end"], zone), now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("start", "out-of-range", str(fault))]) from None
    try:
        as_of = queries.settled(instant_in(values["as_of"], zone), now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("as_of", "out-of-range", str(fault))]) from None
    cursor = values["cursor"]
    if cursor is not None and cursor.order != values["order"]:
        raise parameters.invalid([ParameterFault("cursor", "conflict", f"belongs to order={cursor.order}")])
    if cursor is not None and not queries.is_of_its_rows(cursor, SERIES[name], values.get("by") is not None):
        raise parameters.invalid([ParameterFault("cursor", "conflict", "belongs to another question")])
    if cursor is not None and not (start <= cursor.ts < end or (cursor.ts < end and SERIES[name] is Metric.CAPACITY)):
        raise parameters.invalid(
            [
                ParameterFault(
                    "cursor", "out-of-range", "lies outside start..end: a cursor goes on within its own window"
                )
            ]
        )
    alone = [word for word in ("above", "below") if values.get(word) is not None and not values.get("stats")]
    if alone:
        raise parameters.invalid([ParameterFault(word, "conflict", "only with stats=true") for word in alone])
    query = Query(
        zone,
        SERIES[name],
        start,
        end,
        values["limit"],
        values["order"],
        values.get("by") is not None,
        values.get("market") is not None,
        values.get("interval"),
        as_of,
        cursor,
        values["sample"],
        values["time"],
    )
    return query, values["format"]


def view(service: Service, name: str) -> View:
    """The view of one series path."""

    def series(request: Request, zone: str) -> Response:
        given = stated(request)
        if "stats" in given:
            return _statistics(service, request, name, zone, given)
        shown = request.header
        request_key = (name, zone, request.query, shown("HTTP_ACCEPT"), shown("HTTP_ACCEPT_ENCODING"))
        find = partial(_understood, service, request, name, zone, given)
        # A probe's query is not read as it stands, so that it is no key.
        keeps = sum(map(len, request_key)) < _SHORT and given is request.args
        question = service.questions.get(request_key, find) if keeps else find()
        return service.guarded(
            request, name, partial(_answer, service, request, request_key, question), question.format
        )

    return series


def _statistics(service: Service, request: Request, name: str, zone: str, given: MultiDict[str, str]) -> Response:
    """Statistics in place of rows."""
    stored_metric(service.catalogue, zone, SERIES[name], day_ahead=False)
    query, _ = query_of(zone, name, given, clock.now())
    limits = parameters.values(ENDPOINTS[name].parameters, given)
    stored_metric(service.catalogue, zone, query.metric, query.day_ahead)
    return statistics.view(service, request, name, query, limits["above"], limits["below"])


def _understood(
    service: Service, request: Request, name: str, zone: str, given: MultiDict[str, str]
) -> Question[Query]:
    catalogue = service.catalogue
    # A path that leads nowhere comes before its parameters.
    stored_metric(catalogue, zone, SERIES[name], day_ahead=False)
    query, wanted = query_of(zone, name, given, clock.now())
    format_ = formats.negotiate(wanted, request.header("HTTP_ACCEPT"))
    return _question(service, catalogue, request, query, format_)


def _question(service: Service, catalogue: Catalogue, request: Request, query: Query, format_: str) -> Question[Query]:
    plan = queries.find(service.reader, catalogue, query)
    return rows_answer.question(service, request, query, (plan,), format_)


def _answer(
    service: Service, request: Request, request_key: Hashable, question: Question[Query], entry: Grant
) -> tuple[Response, int]:
    query = question.query

    def again() -> Question[Query]:
        service.questions.forget(request_key)
        return _question(service, service.catalogue, request, query, question.format)

    link = partial(_link, service, request, query)
    return rows_answer.answer(service, request, entry, question, again, partial(_rows, service), link)


def _rows(service: Service, question: Question[Query]) -> Written:
    page = pages.page(service.reader, question.plans[0])
    following = None if page.following is None else page.following.to_text()
    return Written(formats.encode(question.format, page), page.count, following)


def _link(service: Service, request: Request, query: Query, following: str) -> Headers:
    """The `Link` to the next page: the same window with its instants written out, since a default `end` moves on."""
    others = {
        name: text for name, text in request.args.items() if name not in ("start", "end", "limit", "as_of", "cursor")
    }
    kept = f"&{urlencode(others)}" if others else ""  # what numbers and a cursor hold needs no escape
    kept = kept if query.as_of is None else f"&as_of={query.as_of}{kept}"
    page = f"start={query.start}&end={query.end}&limit={query.limit}{kept}&cursor={following}"
    return [("Link", f'<{service.settings.own_address}{request.path}?{page}>; rel="next"')]
