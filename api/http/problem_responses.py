"""Problems, refusals and whatever an endpoint raises, as responses. Flask's own errors too, though no Flask is here."""

from __future__ import annotations

import logging

from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.access import gate
from api.access.database import AccountsUnavailable
from api.access.gate import NotAdmitted
from api.http.messages import Request, Response
from api.http.problems import KINDS, MEDIA, Problem, body_of, of_error
from warehouse.errors import CallerError, StorageError

_LOG = logging.getLogger("emds.api")
_TYPED = ("Content-Type", MEDIA)
_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
"""What Flask's routing raises."""


def response(base_url: str, problem: Problem, request: Request) -> Response:
    """A problem as the answer to a request, never cached."""
    if problem.body is not None:
        headers = [("Cache-Control", "no-store"), *problem.headers, ("Content-Type", "application/json")]
        return Response(problem.kind.status, headers, problem.body)
    members = dict(problem.members)
    if problem.faults:
        members["errors"] = [{"parameter": f.parameter, "code": f.code, "detail": f.detail} for f in problem.faults]
    body = body_of(base_url, problem.kind, problem.detail, request_id(request), members)
    return Response(problem.kind.status, [("Cache-Control", "no-store"), *problem.headers, _TYPED], body)


def failed(base_url: str, error: Exception, request: Request) -> Response:
    """The answer where an endpoint, or Flask, raised: the gate's own, or a problem for whatever it is."""
    match error:
        case NotAdmitted():
            outcome = error.outcome
            if isinstance(outcome, Problem):
                return response(base_url, outcome, request)
            return gate.replayed_response(outcome, request)
        case AccountsUnavailable():
            return response(base_url, gate.unavailable(), request)
    return response(base_url, _problem_of(error, request), request)


def _problem_of(error: Exception, request: Request) -> Problem:
    match error:
        case Problem():
            return error
        case CallerError() | StorageError():
            return of_error(error)
        case HTTPException():
            code = error.code or 500
            kind = _BY_STATUS.get(code, "internal-error" if code >= 500 else "invalid-request")
            allowed = sorted(error.valid_methods or ()) if isinstance(error, MethodNotAllowed) else []
            return Problem(kind, KINDS[kind].meaning, headers=[("Allow", ", ".join(allowed))] if allowed else [])
    _LOG.error("request %s failed", request_id(request), exc_info=error)
    return Problem("internal-error", KINDS["internal-error"].meaning)


def request_id(request: Request) -> str:
    """The id of a request, from the client or from `api.http.middleware`."""
    name: str = request.environ.get("emds.request_id", "")
    return name
