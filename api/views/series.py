"""The six series paths: a request becomes a query, a page becomes an answer. What rows there are, `api.series.query` finds."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask import Response, request
from werkzeug.datastructures import MultiDict

from api.access.values import Grant
from api.documents.catalogue import SERIES, stored_metric
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.problems import ParameterFault
from api.series import formats
from api.series import query as reads
from api.series.paging import Cursor
from api.series.query import Plan, Query
from api.service import Service
from warehouse import clock
from warehouse.errors import BadWindow
from warehouse.market import Metric
from warehouse.reader import FileReplaced

_SHORT = 600
"""Longer questions are not kept: a few thousand of eight kilobytes would fill a worker."""
VERSION = "1"
"""Part of every series' ETag: raised when the same rows would be written otherwise."""


def query_of(zone: str, name: str, given: MultiDict[str, str], now: int) -> tuple[Query, str | None]:
    """The query that a request states, and the format it names. Raises Problem."""
    found = parameters.values(ENDPOINTS[name].parameters, given)
    try:
        start, end = reads.window_of(found["start"], found["end"], now)
    except BadWindow as fault:
        raise parameters.invalid([ParameterFault("start", "out-of-range", str(fault))]) from None
    cursor = found["cursor"]
    if cursor is not None and cursor.order != found["order"]:
        raise parameters.invalid([ParameterFault("cursor", "conflict", f"belongs to order={cursor.order}")])
    if cursor is not None and not (start <= cursor.ts < end or (cursor.ts < end and SERIES[name] is Metric.CAPACITY)):
        raise parameters.invalid(
            [
                ParameterFault(
                    "cursor", "out-of-range", "lies outside start..end: a cursor goes on within its own window"
                )
            ]
        )
    query = Query(
        zone,
        SERIES[name],
        start,
        end,
        found["limit"],
        found["order"],
        found.get("by") is not None,
        found.get("market") is not None,
        found.get("interval"),
        found["as_of"],
        cursor,
        found["sample"],
    )
    return query, found["format"]


def view(service: Service, name: str) -> Callable[[str], Response]:
    """The view of one series path."""

    def series(zone: str) -> Response:
        shown = request.environ.get
        asked = (name, zone, shown("QUERY_STRING", ""), shown("HTTP_ACCEPT", ""), shown("HTTP_ACCEPT_ENCODING", ""))
        find = partial(_understood, service, name, zone)
        question = service.questions.get(asked, find) if sum(map(len, asked)) < _SHORT else find()
        return service.guarded(name, partial(_answer, service, asked, question))

    return series


class _Question(NamedTuple):
    """A request as it was understood: where its rows lie, the format, and the validator of its answer."""

    found: Plan
    format: str
    validator: responses.Validator


def _understood(service: Service, name: str, zone: str) -> _Question:
    stored_metric(
        service.holdings, zone, SERIES[name], day_ahead=False
    )  # a path that leads nowhere comes before what it is asked
    query, wanted = query_of(zone, name, request.args, clock.now())
    format_ = formats.negotiate(wanted, request.environ.get("HTTP_ACCEPT", ""))
    return _question(service, reads.find(service.reader, service.holdings, query), format_)


def _question(service: Service, found: Plan, format_: str) -> _Question:
    histories = service.reader.histories(found.files) if found.query.as_of is not None else ()
    parts = (VERSION, found.query.stated, format_, found.holdings.document.identity, found.identities, histories)
    return _Question(found, format_, responses.Validator(request, parts, format_ in formats.COMPRESSIBLE))


def _answer(service: Service, asked: Hashable, question: _Question, entry: Grant) -> tuple[Response, int]:
    headers = [*responses.caching(entry.method), *responses.marks(question.found.holdings.simulated)]
    while True:
        found, format_, validator = question
        if responses.matches(request, validator.tag):
            return validator.unchanged(headers), 0
        try:
            made = service.answers.get(validator.tag, partial(_made, service, question))
            break
        except FileReplaced:
            service.questions.forget(asked)
            question = _question(service, reads.find(service.reader, service.holdings, found.query), format_)
    link = _link(service, found.query, made.following)
    return validator.response(made.sent, formats.content_type(format_), [*headers, *made.headers, *link]), made.rows


class _Made(NamedTuple):
    """An answer's bytes, in its coding, with the headers that belong to them. Equal validators, equal answers."""

    sent: bytes
    headers: tuple[tuple[str, str], ...]
    rows: int
    following: Cursor | None


def _made(service: Service, question: _Question) -> tuple[_Made, int]:
    page = reads.page(service.reader, question.found)
    encoded = formats.encode(question.format, page, service.rows)
    sent = question.validator.coded(encoded.body)
    return _Made(sent, encoded.headers, page.count, page.following), len(sent) + 1000


def _link(service: Service, query: Query, following: Cursor | None) -> responses.Headers:
    """Where the next page is, as this request asked: the same window, its instants written out, since a default `end` moves on."""
    if following is None:
        return []
    asked: dict[str, Any] = {"start": query.start, "end": query.end, "limit": query.limit}
    asked |= {name: text for name, text in request.args.items() if name not in ("start", "end", "limit", "cursor")}
    asked["cursor"] = following.to_text()
    return [("Link", f'<{service.settings.base_url}{request.path}?{urlencode(asked)}>; rel="next"')]
