"""Represent errors as RFC 9457 problem documents of the types in a table, which problem pages and OpenAPI also use.

The 402 is not in the table, because x402 defines its body (`api.access.x402`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from warehouse.errors import (
    BadWindow,
    CallerError,
    DamagedFile,
    MetricNotAvailable,
    StorageError,
    UnknownZone,
    Withheld,
)
from warehouse.store import layout

MEDIA = "application/problem+json"
_LOG = logging.getLogger("emds.api")


class ProblemKind(NamedTuple):
    """A problem type: the last part of its `type`, and the text of its page."""

    name: str
    status: int
    title: str
    meaning: str
    """What went wrong and what to do about it, for people."""


def _kind(name: str, status: int, meaning: str, title: str = "") -> ProblemKind:
    return ProblemKind(name, status, title or name.replace("-", " ").capitalize(), meaning)


# fmt: off
_TABLE = (
    _kind("invalid-parameters", 400,
          "A query parameter is unknown, repeated or has an invalid value. `errors` lists each problem and the "
          "accepted values. Correct the request; it was not counted or charged."),
    _kind("invalid-request", 400,
          "The request line, a header or the body could not be parsed. Check the request syntax and send it again."),
    _kind("missing-host", 400,
          "HTTP/1.1 requests must have one Host header. Add it and send the request again.",
          title="Missing Host header"),
    _kind("invalid-payment", 400,
          "The payment header could not be parsed. Nothing was charged. Create a new payment header from the 402 "
          "response.", title="Invalid payment header"),
    _kind("invalid-key", 401,
          "The API key is unknown or revoked. Get a new key with POST /v1/keys/signup, or try the API without a key by "
          "adding `sample=true`.", title="Invalid API key"),
    _kind("not-found", 404, "No resource exists at this path. For all paths, see /openapi.json."),
    _kind("unknown-zone", 404, "The zone does not exist. Use one of the IDs in `zones`."),
    _kind("metric-not-available", 404,
          "This service has no data on this metric for the zone. `zones` lists the zones that have it."),
    _kind("withheld-by-terms", 404,
          "The data is collected, but its publisher does not allow redistribution. If you operate this service and "
          "have permission, list the source in EMDS_REDISTRIBUTABLE_SOURCES.",
          title="Withheld by the publisher's terms"),
    _kind("method-not-allowed", 405,
          "This path does not support the request method. Use one of the methods in the `Allow` header."),
    _kind("not-acceptable", 406,
          "This path cannot return the requested format. Change `format` or the `Accept` header.",
          title="Format not available"),
    _kind("too-many-keys", 409,
          "This e-mail address already has three active keys, and all of them were used in the last seven days. Revoke "
          "one with DELETE /v1/keys/current."),
    _kind("key-rotated", 409,
          "This key was already rotated and stops working 24 hours after the rotation. Rotate the new key instead.",
          title="Key already rotated"),
    _kind("unknown-confirmation", 404,
          "The confirmation link is invalid or older than 24 hours. Sign up again to get a new link.",
          title="Confirmation link invalid or expired"),
    _kind("unknown-webhook", 404,
          "This key has no webhook with that ID. List its webhooks with GET /v1/webhooks."),
    _kind("too-many-webhooks", 409,
          "A key can have ten webhooks, and a webhook can have 100 undelivered messages. Delete a webhook, or wait for "
          "deliveries.", title="Webhook limit reached"),
    _kind("webhook-disabled", 409,
          "The webhook was disabled because its receiver could not be reached for 24 hours, or because the operator "
          "disabled it. Delete it and create a new one."),
    _kind("payment-in-progress", 409,
          "Another request with this payment is still running. Wait and send the same payment header again. You are "
          "charged only once."),
    _kind("payment-bound", 409,
          "This payment was sent for a different request whose outcome is not known yet. Repeat that request with the "
          "same payment header.", title="Payment belongs to another request"),
    _kind("cursor-gone", 410,
          "The cursor is unknown or older than 30 days. Start again: request `since=now`, read the rows that you store "
          "again, and follow the new cursor. `oldest` is the first cursor that still works.", title="Cursor expired"),
    _kind("body-too-large", 413, "The request body exceeds the limit of this path. Send a smaller body."),
    _kind("range-not-satisfiable", 416,
          "The requested byte range is beyond the end of the file. `Content-Range` gives the file size."),
    _kind("url-too-long", 414,
          "The path and query exceed 8,000 bytes. Request fewer zones, or split the request.", title="URL too long"),
    _kind("unsupported-media-type", 415,
          "This path does not accept the body's media type. Send JSON with Content-Type: application/json."),
    _kind("too-many-calls", 429,
          "Free and sample requests are limited per client address. Wait for the number of seconds in `Retry-After`, "
          "or use a key.", title="Too many requests"),
    _kind("quota-exceeded", 429,
          "This key has used its quota for the current UTC day. Wait for the number of seconds in `Retry-After`."),
    _kind("too-many-sign-ups", 429,
          "Too many sign-ups came from one site, or for one e-mail address, within an hour. Wait for the number of "
          "seconds in `Retry-After`.", title="Too many sign-ups"),
    _kind("headers-too-large", 431,
          "The request headers exceed the limit of this service. Send fewer or shorter headers."),
    _kind("internal-error", 500,
          "The service failed to process the request. Nothing was charged. If it happens again, report the request ID "
          "in `instance` to the operator."),
    _kind("not-yet-available", 503,
          "No data has been ingested for this document yet. Try again after the number of seconds in `Retry-After`.",
          title="Not available yet"),
    _kind("overloaded", 503,
          "The service has too many requests in progress. Nothing was charged. Try again after the number of seconds "
          "in `Retry-After`."),
    _kind("facilitator-unavailable", 503,
          "No payment facilitator is responding. Nothing was charged. Send the same payment header again later, or use "
          "a key.", title="Payments unavailable"),
    _kind("settlement-unknown", 503,
          "It is not yet known whether this payment was charged. Send the same payment header again. You are never "
          "charged twice.", title="Payment outcome unknown"),
    _kind("mail-unavailable", 503,
          "The confirmation e-mail could not be sent, so no key was created. Try again later.",
          title="Confirmation e-mail not sent"),
    _kind("accounts-unavailable", 503,
          "Keys and payments cannot be checked right now, so paid paths are unavailable. This request was not "
          "charged. Try again later, or add `sample=true`."),
    _kind("damaged-file", 503,
          "A file needed for this response is damaged, so no data is returned. `detail` names the zone and metric; all "
          "others still work. The file will be rebuilt from the raw archive. Try again after the number of seconds in "
          "`Retry-After`.", title="Stored file damaged"),
    _kind("warehouse-unavailable", 503,
          "The stored data cannot be read right now. Try again after the number of seconds in `Retry-After`.",
          title="Data unavailable"),
)
# fmt: on
KINDS: dict[str, ProblemKind] = {kind.name: kind for kind in _TABLE}
"""The problem types by the last part of `type`; `/problems/<name>` is the page of each."""


class ParameterFault(NamedTuple):
    """The fault of one parameter, and what the parameter takes."""

    parameter: str
    code: str
    """`unknown`, `repeated`, `missing`, `invalid`, `out-of-range` or `conflict`."""
    detail: str


class Problem(Exception):
    """A refusal to the client, which an endpoint raises or the gate returns."""

    def __init__(
        self,
        kind: str | ProblemKind,
        detail: str = "",
        faults: Iterable[ParameterFault] = (),
        members: Mapping[str, Any] | None = None,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        reason: str = "",
    ) -> None:
        """Take the type's meaning for an empty `detail`. A `body` of JSON replaces the document, as for a 402.

        `reason` is the part of `detail` about what happened, for callers that word the next step themselves.
        """
        self.kind, self.body = KINDS[kind] if isinstance(kind, str) else kind, body
        self.detail = detail or self.kind.meaning
        self.reason = reason or self.detail
        super().__init__(self.detail)
        self.faults, self.members, self.headers = tuple(faults), dict(members or {}), tuple(headers)

    def document(self, base_url: str, instance: str) -> bytes:
        """Return the body as JSON; `instance` is the request ID."""
        if self.body is not None:
            return self.body
        faults = [fault._asdict() for fault in self.faults]
        return orjson.dumps(
            {
                "type": f"{base_url}/problems/{self.kind.name}",
                "title": self.kind.title,
                "status": self.kind.status,
                "detail": self.detail,
                "instance": instance,
                **self.members,
                **({"errors": faults} if faults else {}),
            }
        )


def of_error(error: CallerError | StorageError) -> Problem:
    """Return the problem for an error of the warehouse. This is the only such table."""
    if isinstance(error, StorageError):
        _LOG.error("warehouse: %s", error)
    match error:
        case UnknownZone():
            return Problem("unknown-zone", str(error))
        case MetricNotAvailable():
            return Problem("metric-not-available", f"{error}.", members={"zones": list(error.zones)})
        case Withheld():
            return Problem("withheld-by-terms", f"{error}.", members={"sources": list(error.sources)})
        case BadWindow():
            return Problem("invalid-parameters", str(error))
        case DamagedFile():
            return _damaged(error.key)
        case StorageError():
            return Problem("warehouse-unavailable", headers=[("Retry-After", "10")])
    return Problem("invalid-request", str(error))


def _damaged(key: str) -> Problem:
    """Return a 503 that names what cannot be read: a zone's metric and month, or a published document."""
    headers = [("Retry-After", "60")]
    if key.startswith(layout.series_prefix()):
        metric, zone, month, _ = layout.of_series(key)
        members = {"zone": zone, "metric": metric, "month": month}
        detail = (
            f"The {metric} data for {zone} in {month} is damaged and will be rebuilt. Other zones, metrics and months "
            "are available. Try again after the number of seconds in `Retry-After`."
        )
    else:
        name = key.removeprefix(layout.published("")).removesuffix(".json")
        members = {"document": name}
        detail = f"The document {name} is damaged. The next publication replaces it. Other documents are available."
    return Problem("damaged-file", detail, members=members, headers=headers)
