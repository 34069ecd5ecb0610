"""The view of `?stats=true` on a series path: statistics of the window in place of its rows."""

from __future__ import annotations

from functools import partial

import orjson

from api.access.values import Grant
from api.http import parameters, responses
from api.http.messages import Request, Response
from api.http.problems import ParameterFault
from api.series import statistics
from api.series.query import Query
from api.service import Service

_OF_ROWS = ("limit", "order", "cursor", "format", "interval", "by", "time")
"""Parameters that only rows have."""
_JSON = "application/json"


def view(
    service: Service, request: Request, name: str, query: Query, above: float | None, below: float | None
) -> Response:
    """The answer to a checked query. Raises Problem 400 for parameters that statistics do not take."""
    given = [ParameterFault(word, "conflict", "not with stats=true") for word in _OF_ROWS if word in request.args]
    if given:
        raise parameters.invalid(given)
    if query.end - query.start > statistics.LONGEST:
        raise parameters.invalid([ParameterFault("start", "out-of-range", "statistics take at most ten years")])
    return service.guarded(request, name, partial(_answer, service, request, query, above, below))


def _answer(
    service: Service, request: Request, query: Query, above: float | None, below: float | None, grant: Grant
) -> tuple[Response, int]:
    answer = statistics.answer(service.reader, service.catalogue, query, above, below)
    body = {**answer.body, "sample": True} if query.sample else answer.body
    headers = [*responses.caching(grant.method), *responses.marks(service.catalogue.simulated)]
    response = responses.body(request, orjson.dumps(body), _JSON, headers)
    return response, 0 if response.status == 304 else answer.rows
