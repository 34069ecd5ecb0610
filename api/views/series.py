"""The views of the six series paths: a request becomes a query, a page of rows becomes an answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask import Request, Response
from flask.globals import request_ctx
from werkzeug.datastructures import MultiDict

from api.access.values import Grant
from api.documents.catalogue import SERIES, stored_metric
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.guard import stated
from api.http.problems import ParameterFault
from api.http.ranges import ranged
from api.series import formats
from api.series import page as pages
from api.series import query as queries
from api.series.moments import instant_in
from api.series.paging import Cursor
from api.series.query import Plan, Query
from api.service import Service
from api.views import statistics
from warehouse import clock
from warehouse.errors import BadWindow
from warehouse.market import Metric
from warehouse.reader import FileReplaced

_SHORT = 600
"""Longer questions are not kept: a few thousand of eight kilobytes would fill a worker."""
VERSION = "2"
"""Part of every series' ETag: raised when the same rows would be written otherwise."""


def query_of(zone: str, name: str, given: MultiDict[str, str], now: int) -> tuple[Query, str | None]:
    """The query that a request states, and the format it names. Raises Problem."""
    values = parameters.values(ENDPOINTS[name].parameters, given)
    try:
        start, end = queries.window_of(instant_in(values["start"], zone), instant_in(values["end"], zone), now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("start", "out-of-range", str(fault))]) from None
    cursor = values["cursor"]
    if cursor is not None and cursor.order != values["order"]:
        raise parameters.invalid([ParameterFault("cursor", "conflict", f"belongs to order={cursor.order}")])
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
        instant_in(values["as_of"], zone),
        cursor,
        values["sample"],
        values["time"],
    )
    return query, values["format"]


def view(service: Service, name: str) -> Callable[[str], Response]:
    """The view of one series path."""

    def series(zone: str) -> Response:
        request = request_ctx.request  # once: each look through Flask's stand-in for it finds it anew
        given = stated(request)
        if "stats" in given:
            return _statistics(service, name, zone, given)
        shown = request.environ.get
        request_key = (
            name,
            zone,
            shown("QUERY_STRING", ""),
            shown("HTTP_ACCEPT", ""),
            shown("HTTP_ACCEPT_ENCODING", ""),
        )
        find = partial(_understood, service, request, name, zone, given)
        # A probe's query is not read as it stands, so that it is no key.
        keeps = sum(map(len, request_key)) < _SHORT and given is request.args
        question = service.questions.get(request_key, find) if keeps else find()
        return service.guarded(name, partial(_answer, service, request, request_key, question), question.format)

    return series


def _statistics(service: Service, name: str, zone: str, given: MultiDict[str, str]) -> Response:
    """Statistics in place of rows."""
    stored_metric(service.catalogue, zone, SERIES[name], day_ahead=False)
    query, _ = query_of(zone, name, given, clock.now())
    limits = parameters.values(ENDPOINTS[name].parameters, given)
    stored_metric(service.catalogue, zone, query.metric, query.day_ahead)
    return statistics.view(service, name, query, limits["above"], limits["below"])


class _Question(NamedTuple):
    """A request as it was understood: where its rows lie, the format, and the validator of its answer."""

    plan: Plan
    format: str
    validator: responses.Validator


def _understood(service: Service, request: Request, name: str, zone: str, given: MultiDict[str, str]) -> _Question:
    catalogue = service.catalogue
    # A path that leads nowhere comes before its parameters.
    stored_metric(catalogue, zone, SERIES[name], day_ahead=False)
    query, wanted = query_of(zone, name, given, clock.now())
    format_ = formats.negotiate(wanted, request.environ.get("HTTP_ACCEPT", ""))
    return _question(service, request, queries.find(service.reader, catalogue, query), format_)


def _question(service: Service, request: Request, plan: Plan, format_: str) -> _Question:
    histories = service.reader.histories(plan.files) if plan.query.as_of is not None else ()
    read = (plan.catalogue.document.identity, plan.identities, histories, plan.due_until)
    parts = (VERSION, plan.query.stated, format_, *read)
    return _Question(plan, format_, responses.Validator(request, parts, format_ in formats.COMPRESSIBLE))


def _answer(
    service: Service, request: Request, request_key: Hashable, question: _Question, entry: Grant
) -> tuple[Response, int]:
    headers = [*responses.caching(entry.method), *responses.marks(question.plan.catalogue.simulated)]
    while True:
        plan, format_, validator = question
        if responses.matches(request, validator.tag):
            return validator.unchanged(headers), 0
        try:
            made = service.answers.get(validator.tag, partial(_made, service, question))
            break
        except FileReplaced:
            service.questions.forget(request_key)
            question = _question(service, request, queries.find(service.reader, service.catalogue, plan.query), format_)
    link = _link(service, request, plan.query, made.following)
    response = validator.response(made.sent, formats.content_type(format_), [*headers, *made.headers, *link])
    # A part of what is paid for would be charged as a whole, so a payment buys the whole.
    if format_ != "json" and entry.method != "payment":
        response = ranged(request, response)
    return response, made.rows


class _Made(NamedTuple):
    """An answer's bytes, in its coding, with the headers that belong to them. Equal validators, equal answers."""

    sent: bytes
    headers: tuple[tuple[str, str], ...]
    rows: int
    following: Cursor | None


def _made(service: Service, question: _Question) -> tuple[_Made, int]:
    page = pages.page(service.reader, question.plan)
    encoded = formats.encode(question.format, page)
    sent = question.validator.coded(encoded.body)
    return _Made(sent, encoded.headers, page.count, page.following), len(sent) + 1000


def _link(service: Service, request: Request, query: Query, following: Cursor | None) -> responses.Headers:
    """The `Link` to the next page: the same window with its instants written out, since a default `end` moves on."""
    if following is None:
        return []
    arguments: dict[str, Any] = {"start": query.start, "end": query.end, "limit": query.limit}
    arguments |= {name: text for name, text in request.args.items() if name not in ("start", "end", "limit", "cursor")}
    arguments["cursor"] = following.to_text()
    return [("Link", f'<{service.settings.own_address}{request.path}?{urlencode(arguments)}>; rel="next"')]
