"""What goes wrong, as RFC 9457 problem documents: every kind with its status, its words and its page, in one table.

The 402 is not here: its body is x402's own (`api.access.x402.resource_server`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from api.access.values import Refusal
from api.documents.catalogue import Withheld
from warehouse.errors import BadWindow, CallerError, MetricNotAvailable, StorageError, UnknownZone

MEDIA = "application/problem+json"
_LOG = logging.getLogger("emds.api")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: the last part of its `type`, and what its page says."""

    name: str
    status: int
    title: str
    meaning: str
    """What went wrong and what to do about it, for a person."""


KINDS: dict[str, ProblemKind] = {
    kind.name: kind
    for kind in (
        ProblemKind(
            "invalid-parameters",
            400,
            "Invalid parameters",
            "A query parameter is unknown, given twice, or holds a value that is not allowed. `errors` names each one and what it "
            "takes. Nothing was charged or counted.",
        ),
        ProblemKind(
            "invalid-request", 400, "Invalid request", "The request line, a header or the body could not be read."
        ),
        ProblemKind(
            "invalid-payment",
            400,
            "Invalid payment header",
            "The payment header holds no payment that can be read. Nothing was charged.",
        ),
        ProblemKind(
            "invalid-key",
            401,
            "Invalid API key",
            "The API key is unknown or revoked. POST /v1/keys/signup gives a new one; `sample=true` needs none.",
        ),
        ProblemKind(
            "origin-not-allowed",
            403,
            "Origin not allowed",
            "A browser page of this origin may not call /mcp. The owner lists origins in EMDS_ALLOWED_ORIGINS.",
        ),
        ProblemKind("not-found", 404, "Not found", "There is nothing at this path. /openapi.json lists every path."),
        ProblemKind(
            "unknown-zone", 404, "Unknown zone", "There is no such zone. `zones` lists those that this path knows."
        ),
        ProblemKind(
            "metric-not-available",
            404,
            "Metric not available",
            "The zone does not publish this metric. `zones` lists those that do.",
        ),
        ProblemKind(
            "withheld-by-terms",
            404,
            "Withheld by the publisher's terms",
            "These figures are collected, but their publisher does not allow passing them on, or asks for permission that the owner of "
            "this service has not declared (EMDS_RIGHTS).",
        ),
        ProblemKind(
            "method-not-allowed",
            405,
            "Method not allowed",
            "The path does not know this method; `Allow` names those it knows.",
        ),
        ProblemKind(
            "not-acceptable", 406, "Not acceptable", "The wanted format is not among those that this path can give."
        ),
        ProblemKind(
            "too-many-keys",
            409,
            "Too many keys",
            "The address holds three live keys and all were used within seven days. DELETE /v1/keys/current revokes one.",
        ),
        ProblemKind(
            "payment-in-progress",
            409,
            "Payment in progress",
            "A call with this payment is under way. Send the same payment header again after it; it is charged once.",
        ),
        ProblemKind(
            "payment-bound",
            409,
            "Payment belongs to another request",
            "This payment was sent for another request and its outcome is not known yet: repeat that request with it.",
        ),
        ProblemKind("body-too-large", 413, "Body too large", "The request's body is larger than this path takes."),
        ProblemKind("url-too-long", 414, "URL too long", "The path and query are longer than 8000 bytes."),
        ProblemKind(
            "unsupported-media-type",
            415,
            "Unsupported media type",
            "The request's body is not of the type that this path takes.",
        ),
        ProblemKind(
            "idempotency-key-reused",
            422,
            "Idempotency-Key reused",
            "This Idempotency-Key came with another body before.",
        ),
        ProblemKind(
            "too-many-calls",
            429,
            "Too many calls",
            "Free and sample calls are limited for each client address. `Retry-After` says when the next is answered.",
        ),
        ProblemKind(
            "quota-exceeded",
            429,
            "Quota exceeded",
            "The key's 500 calls of this UTC day are used up. `Retry-After` says when the next begins.",
        ),
        ProblemKind(
            "too-many-sign-ups",
            429,
            "Too many sign-ups",
            "Too many keys were asked for from one address within an hour.",
        ),
        ProblemKind(
            "headers-too-large", 431, "Headers too large", "The request's headers are larger than this service reads."
        ),
        ProblemKind(
            "internal-error",
            500,
            "Internal error",
            "The service failed; the request id finds the reason in its log. Nothing was charged.",
        ),
        ProblemKind(
            "not-yet-available",
            503,
            "Not yet available",
            "The document does not exist yet: nothing was ingested for it so far. `Retry-After` says when to ask again.",
        ),
        ProblemKind(
            "facilitator-unavailable",
            503,
            "Payments cannot be taken now",
            "No payment facilitator answers. Nothing was charged; the same payment header can be sent again.",
        ),
        ProblemKind(
            "settlement-unknown",
            503,
            "Settlement not known yet",
            "It is not known yet whether this payment was charged. Send the same payment header again: it is never charged twice.",
        ),
        ProblemKind(
            "accounts-unavailable",
            503,
            "Accounts unavailable",
            "Calls cannot be counted at the moment, so paid paths give no answer. Nothing was counted or charged; `sample=true` works.",
        ),
        ProblemKind(
            "warehouse-unavailable", 503, "Warehouse unavailable", "The stored figures cannot be read at the moment."
        ),
    )
}
"""By the last part of `type`; `/problems/<name>` is the page of each."""

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


@dataclass(frozen=True, slots=True)
class ParameterFault:
    """What is wrong with one parameter, and what it takes."""

    parameter: str
    code: str
    """`unknown`, `repeated`, `invalid`, `out-of-range` or `conflict`."""
    detail: str


class Problem(Exception):
    """Raised by an endpoint instead of an answer."""

    def __init__(
        self,
        kind: str,
        detail: str,
        faults: Iterable[ParameterFault] = (),
        members: Mapping[str, Any] | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail = KINDS[kind], detail
        self.faults, self.members, self.headers = tuple(faults), dict(members or {}), tuple(headers)


def request_id() -> str:
    """The id of the request at hand, given by the client or made by `api.http.middleware`."""
    found: str = request.environ.get("emds.request_id", "")
    return found


def body_of(base_url: str, kind: ProblemKind, detail: str, instance: str, members: Mapping[str, Any]) -> bytes:
    """A problem document's bytes."""
    return orjson.dumps(
        {
            "type": f"{base_url}/problems/{kind.name}",
            "title": kind.title,
            "status": kind.status,
            "detail": detail,
            "instance": instance,
            **members,
        }
    )


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


def of_error(error: CallerError | StorageError) -> Problem:
    """The one table from the warehouse's failures to problems."""
    match error:
        case UnknownZone():
            return Problem("unknown-zone", str(error))
        case MetricNotAvailable():
            return Problem("metric-not-available", f"{error}.", members={"zones": list(error.zones)})
        case Withheld():
            return Problem("withheld-by-terms", f"{error}.", members={"sources": list(error.sources)})
        case BadWindow():
            return Problem("invalid-parameters", str(error))
        case StorageError():
            _LOG.error("warehouse: %s", error)
            return Problem(
                "warehouse-unavailable", KINDS["warehouse-unavailable"].meaning, headers=[("Retry-After", "10")]
            )
    return Problem("invalid-request", str(error))


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
