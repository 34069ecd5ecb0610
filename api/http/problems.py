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
          "A query parameter is unknown, given twice, or holds a value that is not allowed. `errors` names each one "
          "and what it takes. Nothing was charged or counted."),
    _kind("invalid-request", 400, "The request line, a header or the body could not be read."),
    _kind("missing-host", 400, "A request of HTTP/1.1 names its host in one Host header.", title="Missing Host header"),
    _kind("invalid-payment", 400,
          "The payment header holds no payment that can be read. Nothing was charged.", title="Invalid payment header"),
    _kind("invalid-key", 401,
          "The API key is unknown or revoked. POST /v1/keys/signup gives a new one; `sample=true` needs "
          "no key.", title="Invalid API key"),
    _kind("not-found", 404, "There is nothing at this path. /openapi.json lists every path."),
    _kind("unknown-zone", 404, "There is no such zone. `zones` lists those that this path knows."),
    _kind("metric-not-available", 404,
          "This service has no such metric of the zone. `zones` lists those of which it has."),
    _kind("withheld-by-terms", 404,
          "These figures are collected, but their publisher does not allow passing them on, or asks for permission "
          "that the operator of this service has not declared (EMDS_REDISTRIBUTABLE_SOURCES).",
          title="Withheld by the publisher's terms"),
    _kind("method-not-allowed", 405, "The path does not know this method; `Allow` names those it knows."),
    _kind("not-acceptable", 406, "The wanted format is not among those that this path can give."),
    _kind("too-many-keys", 409,
          "The address holds three live keys and all were used within seven days. DELETE /v1/keys/current revokes "
          "one."),
    _kind("key-rotated", 409,
          "The key was rotated before and opens for a day more. Only the key that took its place can be rotated."),
    _kind("unknown-confirmation", 404,
          "The link of the mail is unknown or older than a day. Sign up again for another one."),
    _kind("unknown-webhook", 404, "This key has no such webhook. GET /v1/webhooks lists those that it has."),
    _kind("too-many-webhooks", 409,
          "A key has at most ten webhooks, and a webhook at most a hundred messages that wait."),
    _kind("webhook-disabled", 409,
          "Its receiver was not reached for 24 hours, or the owner ended it. Delete it and subscribe again."),
    _kind("payment-in-progress", 409,
          "A call with this payment is under way. Send the same payment header again after it; it is charged once."),
    _kind("payment-bound", 409,
          "This payment was sent for another request and its outcome is not known yet: repeat that request with "
          "it.", title="Payment belongs to another request"),
    _kind("cursor-gone", 410,
          "The cursor belongs to no entry that is kept: changes are kept for 30 days. Ask for `since=now`, read the "
          "rows that you hold again, and follow from there; `oldest` is the cursor of all that is kept."),
    _kind("body-too-large", 413, "The request's body is larger than this path takes."),
    _kind("range-not-satisfiable", 416,
          "The Range header asks for bytes beyond the end of the body; `Content-Range` says how many there are."),
    _kind("url-too-long", 414, "The path and query are longer than 8000 bytes.", title="URL too long"),
    _kind("unsupported-media-type", 415, "The request's body is not of the type that this path takes."),
    _kind("too-many-calls", 429,
          "Free and sample calls are limited for each client address. `Retry-After` says when the next is answered."),
    _kind("quota-exceeded", 429,
          "The key's 500 calls of this UTC day are used up. `Retry-After` says when the next begins."),
    _kind("too-many-sign-ups", 429, "Too many sign-ups from one site, or for one e-mail address, within an hour.",
          title="Too many sign-ups"),
    _kind("headers-too-large", 431, "The request's headers are larger than this service reads."),
    _kind("internal-error", 500,
          "The service failed; the request id finds the reason in its log. Nothing was charged."),
    _kind("not-yet-available", 503,
          "The document does not exist yet: nothing was ingested for it so far. `Retry-After` says when to ask again."),
    _kind("overloaded", 503,
          "More requests wait than can be answered soon. `Retry-After` says when to try again; nothing was charged."),
    _kind("facilitator-unavailable", 503,
          "No payment facilitator answers. Nothing was charged; the same payment header can be sent "
          "again.", title="Payments cannot be taken now"),
    _kind("settlement-unknown", 503,
          "It is not known yet whether this payment was charged. Send the same payment header again: it is never "
          "charged twice.", title="Settlement not known yet"),
    _kind("mail-unavailable", 503,
          "The mail that confirms a new key could not be sent, and no key was made. Try again later."),
    _kind("accounts-unavailable", 503,
          "Calls cannot be counted at the moment, so paid paths give no answer. Nothing was counted or charged; "
          "sample=true needs no key."),
    _kind("damaged-file", 503,
          "A file that this answer needs cannot be read, so no figure is given rather than a wrong one. `detail` names "
          "the zone and metric; all others are answered. The file is rebuilt from the publishers' own "
          "answers.", title="A stored file is damaged"),
    _kind("warehouse-unavailable", 503, "The stored figures cannot be read at the moment."),
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
    ) -> None:
        """Take the type's meaning for an empty `detail`. A `body` of JSON replaces the document, as for a 402."""
        self.kind, self.body = KINDS[kind] if isinstance(kind, str) else kind, body
        self.detail = detail or self.kind.meaning
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
            f"The {metric} rows of {zone} for {month} cannot be read. Other zones, metrics and months are answered."
        )
    else:
        name = key.removeprefix(layout.published("")).removesuffix(".json")
        members = {"document": name}
        detail = f"The document {name} cannot be read; the next publication replaces it. Other documents are answered."
    return Problem("damaged-file", detail, members=members, headers=headers)
