"""Problems and refusals as answers to the request at hand, and Flask's own errors as problems."""

from __future__ import annotations

import logging

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.access.values import Refusal
from api.http.problem_kinds import KINDS, ProblemKind
from api.http.problems import MEDIA, Problem, body_of, of_error
from warehouse.errors import CallerError, StorageError

_LOG = logging.getLogger("emds.api")
_BY_STATUS = {
    400: "invalid-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "body-too-large",
    414: "url-too-long",
    415: "unsupported-media-type",
    406: "not-acceptable",
    431: "headers-too-large",
}


def request_id() -> str:
    """The id of the request at hand, given by the client or made by `api.http.middleware`."""
    name: str = request.environ.get("emds.request_id", "")
    return name


def response(base_url: str, problem: Problem) -> Response:
    """A problem as the answer to the request at hand; never kept by caches unless the path itself is wrong."""
    members = dict(problem.members)
    if problem.faults:
        members["errors"] = [{"parameter": f.parameter, "code": f.code, "detail": f.detail} for f in problem.faults]
    body = body_of(base_url, problem.kind, problem.detail, request_id(), members)
    headers = [("Cache-Control", "no-store"), *problem.headers]
    return Response(body, problem.kind.status, headers, content_type=MEDIA)


def refused(base_url: str, refusal: Refusal) -> Response:
    """What the gate says instead of an answer: its own body (the 402's JSON), else a problem."""
    if refusal.body is not None:
        return Response(refusal.body, refusal.status, list(refusal.headers), content_type="application/json")
    kind = KINDS.get(refusal.kind) or ProblemKind(refusal.kind, refusal.status, refusal.title, refusal.detail)
    body = body_of(base_url, kind, refusal.detail, request_id(), dict(refusal.members))
    return Response(body, refusal.status, list(refusal.headers), content_type=MEDIA)


def register(app: Flask, base_url: str) -> None:
    """Turns everything that an endpoint or Flask may raise into problems."""

    def of_http(error: HTTPException) -> Response:
        kind = _BY_STATUS.get(error.code or 500, "internal-error" if (error.code or 500) >= 500 else "invalid-request")
        headers = (
            [("Allow", ", ".join(sorted(error.valid_methods or ())))] if isinstance(error, MethodNotAllowed) else []
        )
        return response(base_url, Problem(kind, KINDS[kind].meaning, headers=headers))

    def unforeseen(error: Exception) -> Response:
        _LOG.exception("request %s failed", request_id(), exc_info=error)
        return response(base_url, Problem("internal-error", KINDS["internal-error"].meaning))

    app.register_error_handler(HTTPException, of_http)
    app.register_error_handler(Problem, lambda problem: response(base_url, problem))
    app.register_error_handler(CallerError, lambda error: response(base_url, of_error(error)))
    app.register_error_handler(StorageError, lambda error: response(base_url, of_error(error)))
    app.register_error_handler(Exception, unforeseen)
