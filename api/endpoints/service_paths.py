"""The paths about the service itself: keys, discovery, reference pages, health and counts."""

from __future__ import annotations

from api.endpoints.endpoint import Endpoint
from api.endpoints.query_parameters import CONFIRMATION

DOC_PAGES = {
    "brief": "The method of the brief",
    "windows": "The method of windows",
    "statistics": "The method of statistics",
    "webhooks": "How to be told",
    "changes": "How to follow what changes",
    "publishers": "How publishers are measured",
    "bulk": "Month files",
    "data": "What each metric and zone is",
    "mcp": "The MCP server",
}
"""Pages of the folder `docs` that the service itself shows, with their titles."""

SERVICE_PATHS: tuple[Endpoint, ...] = (
    Endpoint(
        "sign-up",
        "/v1/keys/signup",
        "Sign up for a free key",
        "A key for 500 answers of the paid paths a UTC day, shown once. At most three live keys an address. Where the "
        "owner asks for it, `confirmed` is false and the key works once the link in the mail was opened.",
        "Keys",
        "Key",
        method="POST",
        body="SignUp",
        statuses=(400, 409, 413, 415),
        code=201,
    ),
    Endpoint(
        "confirm",
        "/v1/keys/confirm",
        "Confirm a key",
        "Where the link of the confirmation mail leads: from then on the key works.",
        "Keys",
        "Confirmed",
        {"token": CONFIRMATION},
        statuses=(400, 404, 409),
    ),
    Endpoint(
        "rotate",
        "/v1/keys/rotate",
        "Rotate a key",
        "A new key in place of the one that is shown, with the same quota and count; the old one works for 24 hours "
        "more.",
        "Keys",
        "Rotated",
        method="POST",
        statuses=(401, 409),
        code=201,
        keyed=True,
    ),
    Endpoint(
        "usage",
        "/v1/usage",
        "A key's own count",
        "What is left of the day of the key in Authorization.",
        "Keys",
        "Usage",
        statuses=(401,),
        keyed=True,
    ),
    Endpoint(
        "revoke",
        "/v1/keys/current",
        "Revoke a key",
        "Ends the key in Authorization.",
        "Keys",
        "",
        method="DELETE",
        statuses=(401,),
        code=204,
        keyed=True,
    ),
    Endpoint(
        "subscribe",
        "/v1/webhooks",
        "Subscribe by webhook",
        "Messages to an https address of yours about changes of rows, prices beyond a threshold, bands of the brief "
        "and stale figures, signed as Standard Webhooks. The secret is shown once. At most ten a key. See "
        "/docs/webhooks.",
        "Webhooks",
        "NewWebhook",
        method="POST",
        body="Subscription",
        statuses=(400, 401, 409, 413, 415),
        code=201,
        keyed=True,
    ),
    Endpoint(
        "webhooks",
        "/v1/webhooks",
        "Webhooks of a key",
        "Every subscription of the key in Authorization, and how its deliveries go.",
        "Webhooks",
        "Webhooks",
        statuses=(401,),
        keyed=True,
    ),
    Endpoint(
        "webhook",
        "/v1/webhooks/{webhook}",
        "One webhook",
        "A subscription, and how its deliveries go.",
        "Webhooks",
        "Webhook",
        statuses=(401, 404),
        keyed=True,
    ),
    Endpoint(
        "unsubscribe",
        "/v1/webhooks/{webhook}",
        "End a webhook",
        "Ends a subscription; what waits for it is dropped.",
        "Webhooks",
        "",
        method="DELETE",
        statuses=(401, 404),
        code=204,
        keyed=True,
    ),
    Endpoint(
        "test-webhook",
        "/v1/webhooks/{webhook}/test",
        "Test a webhook",
        "Puts a message of type `test` behind those that wait; the pipeline delivers it.",
        "Webhooks",
        "TestedWebhook",
        method="POST",
        statuses=(401, 404, 409),
        code=202,
        keyed=True,
    ),
    Endpoint(
        "catalogue",
        "/catalog",
        "Catalogue",
        "What is held: zones and metrics with unit, resolution, market, feeds in rank order, licence, span and row "
        "count; every "
        "path with its price.",
        "Discovery",
        "Catalogue",
        statuses=(503,),
    ),
    Endpoint(
        "openapi",
        "/openapi.json",
        "This description",
        "OpenAPI 3.1 of every path.",
        "Discovery",
        "Document",
        statuses=(503,),
    ),
    *(
        Endpoint(
            f"{name}{place}",
            f"/{folder}{name}.txt",
            f"{name}.txt",
            words,
            "Discovery",
            "Text",
            media=("text/plain",),
        )
        for name, words in (
            ("llms", "What this service is, for language models."),
            ("agents", "How agents may use it."),
        )
        for place, folder in (("", ""), ("-well-known", ".well-known/"))
    ),
    Endpoint(
        "x402-json",
        "/.well-known/x402.json",
        "Payable paths",
        "Every paid path with its price (x402).",
        "Discovery",
        "Document",
    ),
    Endpoint("x402", "/.well-known/x402", "Payable paths", "The same at the older address.", "Discovery", "Document"),
    Endpoint(
        "api-catalog",
        "/.well-known/api-catalog",
        "API catalogue",
        "Where this API is described (RFC 9727).",
        "Discovery",
        "Document",
        media=("application/linkset+json",),
    ),
    Endpoint(
        "security-txt",
        "/.well-known/security.txt",
        "security.txt",
        "Whom to tell of a weakness (RFC 9116).",
        "Discovery",
        "Text",
        media=("text/plain",),
    ),
    Endpoint(
        "robots",
        "/robots.txt",
        "robots.txt",
        "What crawlers may fetch.",
        "Discovery",
        "Text",
        media=("text/plain",),
    ),
    *(
        Endpoint(
            f"docs-{page}", f"/docs/{page}", title, f"{title}, as a page.", "Discovery", "Text", media=("text/html",)
        )
        for page, title in DOC_PAGES.items()
    ),
    Endpoint(
        "docs",
        "/docs",
        "Reference",
        "This description as a page.",
        "Discovery",
        "Text",
        media=("text/html",),
        statuses=(503,),
    ),
    Endpoint(
        "problem",
        "/problems/{kind}",
        "A kind of problem",
        "What a problem's `type` means.",
        "Discovery",
        "Text",
        media=("text/html",),
    ),
    Endpoint(
        "healthz", "/healthz", "Process", "Whether the process runs; nothing else is looked at.", "Service", "Alive"
    ),
    Endpoint(
        "readyz",
        "/readyz",
        "Readiness",
        "Whether the catalogue can be read, however old.",
        "Service",
        "Ready",
        statuses=(503,),
    ),
    Endpoint(
        "metrics",
        "/metrics",
        "Metrics",
        "Counts for Prometheus, by the bearer token of EMDS_METRICS_TOKEN.",
        "Service",
        "Text",
        media=("text/plain",),
        statuses=(401,),
        token=True,
    ),
)
