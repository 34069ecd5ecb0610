"""Rows as an HTTP answer under a validator that is known before a row is read: 304, the bytes kept for it, or made now.

For the series paths of one zone and of several.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from api.access.values import Grant
from api.http import responses
from api.http.messages import Headers, Request, Response
from api.http.ranges import ranged
from api.series import formats
from api.series.formats import Encoded
from api.series.query import Plan, Query
from api.series.several import ZonesQuery
from api.service import Service
from warehouse.reader import FileReplaced

VERSION = "5"
"""Part of every series' ETag: raised when the same rows would be written otherwise."""

Asked = TypeVar("Asked", bound=Query | ZonesQuery)


class Question(NamedTuple, Generic[Asked]):
    """A request as it was understood: where its rows lie, the format, and the validator of its answer."""

    query: Asked
    plans: tuple[Plan, ...]
    """One of each zone."""
    format: str
    validator: responses.Validator


class Written(NamedTuple):
    """What is made of a question once: the answer, how many rows it gives, and the cursor of the next page."""

    encoded: Encoded
    rows: int
    following: str | None


class _Made(NamedTuple):
    """An answer's bytes, in its coding, with the headers that belong to them. Equal validators, equal answers."""

    sent: bytes
    headers: tuple[tuple[str, str], ...]
    rows: int
    following: str | None


def question(
    service: Service, request: Request, query: Asked, plans: tuple[Plan, ...], format_: str
) -> Question[Asked]:
    """A question whose rows lie where `plans` say, with its validator."""
    histories = [service.reader.histories(plan.files) for plan in plans if plan.query.as_of is not None]
    read = [([*map(tuple, plan.identities)], plan.due_until) for plan in plans]
    parts = (VERSION, tuple(query), format_, tuple(plans[0].catalogue.document.identity), read, histories)
    return Question(query, plans, format_, responses.Validator(request, parts, format_ in formats.COMPRESSIBLE))


def answer(
    service: Service,
    request: Request,
    entry: Grant,
    asked: Question[Asked],
    again: Callable[[], Question[Asked]],
    make: Callable[[Question[Asked]], Written],
    next_page: Callable[[str], Headers],
) -> tuple[Response, int]:
    """The response and how many rows it gives.

    `again` finds the question anew where a file was replaced before it was read; `make` raises FileReplaced there.
    `next_page` gives the `Link` to the page that a cursor begins.
    """
    headers = [*responses.caching(entry.method), *responses.marks(asked.plans[0].catalogue.simulated)]
    while True:
        validator = asked.validator
        if responses.matches(request, validator.tag):
            return validator.unchanged(headers), 0
        try:
            made = service.answers.get(validator.tag, partial(_made, asked, make))
            break
        except FileReplaced:
            asked = again()
    link = [] if made.following is None else next_page(made.following)
    response = validator.response(made.sent, formats.content_type(asked.format), [*headers, *made.headers, *link])
    # A part of what is paid for would be charged as a whole, so a payment buys the whole.
    if asked.format != "json" and entry.method != "payment":
        response = ranged(request, response)
    return response, made.rows


def _made(asked: Question[Asked], make: Callable[[Question[Asked]], Written]) -> tuple[_Made, int]:
    written = make(asked)
    sent = asked.validator.coded(written.encoded.body)
    headers = written.encoded.headers
    held = len(sent) + sum(len(name) + len(value) for name, value in headers) + 1000
    return _Made(sent, headers, written.rows, written.following), held
