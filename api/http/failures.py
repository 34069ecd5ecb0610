"""Return the response if a view, or Flask, raises."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.access.accounts_engine import AccountsUnavailable
from api.access.gate import unavailable
from api.http.messages import HttpRequest, Responded, Response, problem_response
from api.http.problems import Problem, of_error
from warehouse.errors import CallerError, StorageError

if TYPE_CHECKING:
    pass

_LOG = logging.getLogger("emds.api")
_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
"""The problems for what Flask's routing raises."""


def failed(base_url: str, error: Exception, request: HttpRequest) -> Response:
    """Return the response for an error from a view or Flask: the response that it carries, or a problem."""
    outcome = error.outcome if isinstance(error, Responded) else _problem_of(error, request)
    return problem_response(base_url, outcome, request) if isinstance(outcome, Problem) else outcome


def _problem_of(error: Exception, request: HttpRequest) -> Problem:
    match error:
        case Problem():
            return error
        case AccountsUnavailable():
            return unavailable()
        case CallerError() | StorageError():
            return of_error(error)
        case HTTPException():
            code = error.code or 500
            kind = _BY_STATUS.get(code, "internal-error" if code >= 500 else "invalid-request")
            allowed = sorted(error.valid_methods or ()) if isinstance(error, MethodNotAllowed) else []
            return Problem(kind, headers=[("Allow", ", ".join(allowed))] if allowed else [])
    _LOG.error("request %s failed", request.id, exc_info=error)
    return Problem("internal-error")
