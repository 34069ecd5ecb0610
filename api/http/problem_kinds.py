"""Every kind of problem with status, title and meaning: `type`, the problem pages and OpenAPI follow from this table.

The 402 is not here: its body is x402's own (`api.access.x402.resource_server`).
"""

from __future__ import annotations

from dataclasses import dataclass


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
            "A query parameter is unknown, given twice, or holds a value that is not allowed. `errors` names each "
            "one and what it "
            "takes. Nothing was charged or counted.",
        ),
        ProblemKind(
            "invalid-request", 400, "Invalid request", "The request line, a header or the body could not be read."
        ),
        ProblemKind(
            "missing-host", 400, "Missing Host header", "A request of HTTP/1.1 names its host in the Host header."
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
            "This service has no such metric of the zone. `zones` lists those of which it has.",
        ),
        ProblemKind(
            "withheld-by-terms",
            404,
            "Withheld by the publisher's terms",
            "These figures are collected, but their publisher does not allow passing them on, or asks for permission "
            "that the owner of "
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
            "The address holds three live keys and all were used within seven days. DELETE /v1/keys/current revokes "
            "one.",
        ),
        ProblemKind(
            "key-rotated",
            409,
            "Key rotated",
            "The key was rotated before and opens for a day more. Only the key that took its place can be rotated.",
        ),
        ProblemKind(
            "unknown-confirmation",
            404,
            "Unknown confirmation",
            "The link of the mail is unknown or older than a day. Sign up again for another one.",
        ),
        ProblemKind(
            "unknown-webhook",
            404,
            "Unknown webhook",
            "This key has no such webhook. GET /v1/webhooks lists those that it has.",
        ),
        ProblemKind(
            "too-many-webhooks",
            409,
            "Too many webhooks",
            "A key has at most ten webhooks, and a webhook at most a hundred messages that wait.",
        ),
        ProblemKind(
            "webhook-disabled",
            409,
            "Webhook disabled",
            "Its receiver was not reached for 24 hours, or the owner ended it. Delete it and subscribe again.",
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
        ProblemKind(
            "cursor-gone",
            410,
            "Cursor gone",
            "The cursor belongs to no entry that is kept: changes are kept for 30 days. Ask for `since=now`, read the "
            "rows that you hold again, and follow from there; `oldest` is the cursor of all that is kept.",
        ),
        ProblemKind("body-too-large", 413, "Body too large", "The request's body is larger than this path takes."),
        ProblemKind(
            "range-not-satisfiable",
            416,
            "Range not satisfiable",
            "The Range header asks for bytes beyond the end of the body; `Content-Range` says how many there are.",
        ),
        ProblemKind("url-too-long", 414, "URL too long", "The path and query are longer than 8000 bytes."),
        ProblemKind(
            "unsupported-media-type",
            415,
            "Unsupported media type",
            "The request's body is not of the type that this path takes.",
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
            "Too many sign-ups from one address within an hour.",
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
            "The document does not exist yet: nothing was ingested for it so far. `Retry-After` says when to ask "
            "again.",
        ),
        ProblemKind(
            "overloaded",
            503,
            "Overloaded",
            "More requests wait than can be answered soon. `Retry-After` says when to try again; nothing was charged.",
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
            "It is not known yet whether this payment was charged. Send the same payment header again: it is never "
            "charged twice.",
        ),
        ProblemKind(
            "mail-unavailable",
            503,
            "Mail unavailable",
            "The mail that confirms a new key could not be sent, and no key was made. Try again later.",
        ),
        ProblemKind(
            "accounts-unavailable",
            503,
            "Accounts unavailable",
            "Calls cannot be counted at the moment, so paid paths give no answer. Nothing was counted or charged; "
            "`sample=true` works.",
        ),
        ProblemKind(
            "damaged-file",
            503,
            "A stored file is damaged",
            "A file that this answer needs cannot be read, so no figure is given rather than a wrong one. `detail` "
            "names "
            "the zone and metric; all others are answered. The file is rebuilt from the publishers' own answers.",
        ),
        ProblemKind(
            "warehouse-unavailable", 503, "Warehouse unavailable", "The stored figures cannot be read at the moment."
        ),
    )
}
"""By the last part of `type`; `/problems/<name>` is the page of each."""
