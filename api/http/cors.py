"""Decide what pages of other sites may do and read (https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

EXPOSED = (
    "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, "
    "EXTENSION-RESPONSES, "
    "X-Request-Id, X-Sample, X-EMDS-Data, X-EMDS-Stale, Content-Disposition, Accept-Ranges, Content-Range, "
    "Deprecation, Sunset"
)
ALLOWED = (
    "Authorization, Content-Type, Accept, If-None-Match, If-Range, Range, Idempotency-Key, PAYMENT-SIGNATURE, "
    "X-PAYMENT, Access-Control-Expose-Headers, "
    "Payment-Retry, X-API-Key, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id, traceparent"
)
_CORS = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Expose-Headers", EXPOSED)]
_PREFLIGHT = [
    ("Access-Control-Allow-Headers", ALLOWED),
    ("Access-Control-Allow-Methods", "GET, HEAD, POST, DELETE, OPTIONS"),
    ("Access-Control-Max-Age", "86400"),
]


def cors_headers(environ: WSGIEnvironment) -> list[tuple[str, str]]:
    """Return headers that let any page read every path except /mcp (and `//mcp`), which sets its own headers."""
    path = environ.get("PATH_INFO", "").lstrip("/")
    if path == "mcp" or path.startswith("mcp/"):
        return []
    return _CORS + _PREFLIGHT if environ["REQUEST_METHOD"] == "OPTIONS" else _CORS
