"""Schemas of keys, the catalogue, health, problems and offers."""

from __future__ import annotations

from api.access.accounts.key_format import KEY_PATTERN
from api.access.accounts.webhooks import EVENTS
from api.openapi.schemas.parts import (
    FLAG,
    INSTANT,
    NUMBER,
    SAMPLED,
    TEXT,
    WHOLE,
    ZONE,
    Schema,
    keyed,
    listed,
    or_null,
    record,
)

_KEY = {"type": "string", "pattern": KEY_PATTERN}

_QUOTA = {"limit": WHOLE, "window": {"type": "string", "const": "day"}, "resets_at": INSTANT}

_WISH = {
    "url": {"type": "string", "format": "uri", "maxLength": 500},
    "events": listed({"type": "string", "enum": list(EVENTS)}),
    "zones": listed(ZONE),
    "threshold": or_null(NUMBER),
}
_WEBHOOK = {
    "id": TEXT,
    **_WISH,
    "created": INSTANT,
    "state": {"type": "string", "enum": ["good", "failing", "disabled"]},
    "reason": or_null(TEXT),
    "failing_since": or_null(INSTANT),
    "next_attempt_at": or_null(INSTANT),
    "delivered": WHOLE,
    "last_delivery": or_null(INSTANT),
    "waiting": WHOLE,
    "docs": TEXT,
}

SERVICE: dict[str, Schema] = {
    "Subscription": record(_WISH, "zones", "threshold", more=False),
    "Webhook": record(_WEBHOOK),
    "NewWebhook": record({**_WEBHOOK, "secret": TEXT}),
    "Webhooks": record({"count": WHOLE, "webhooks": listed(record(_WEBHOOK))}),
    "TestedWebhook": record({"id": TEXT, "message": TEXT}),
    "SignUp": record({"email": {"type": "string", "format": "email", "maxLength": 254}}),
    "Key": record(
        {
            "api_key": _KEY,
            "email": TEXT,
            "quota": record(_QUOTA),
            "docs": TEXT,
            "confirmed": FLAG,
        },
        "confirmed",
    ),
    "Confirmed": record({"confirmed": FLAG, "email": TEXT, "docs": TEXT}),
    "Rotated": record({"api_key": _KEY, "previous_valid_until": INSTANT}),
    "Usage": record({"quota": record({**_QUOTA, "used": WHOLE, "remaining": WHOLE}), "created": INSTANT}),
    "Alive": record({"status": {"type": "string", "const": "ok"}}),
    "Ready": record({"status": {"type": "string", "const": "ready"}, "catalogue": INSTANT}),
    "Catalogue": record(
        {
            "generated": INSTANT,
            "mode": {"type": "string", "enum": ["simulated", "live", "recorded"]},
            "zones": keyed(record({"id": ZONE, "metrics": keyed({"type": "object"})}), ZONE),
            "sources": keyed({"type": "object"}),
            "feeds": keyed({"type": "object"}),
            "endpoints": listed(
                record(
                    {
                        "id": TEXT,
                        "method": TEXT,
                        "path": TEXT,
                        "url": TEXT,
                        "summary": TEXT,
                        "access": {"type": "string", "enum": ["free", "paid", "key", "token"]},
                        "price_usd": TEXT,
                        "parameters": listed(TEXT),
                    },
                    "price_usd",
                )
            ),
            "sample": SAMPLED,
        },
        "sample",
    ),
    "Document": {"type": "object"},
    "Problem": record(
        {
            "type": {"type": "string", "format": "uri"},
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
            "instance": {"type": "string", "description": "The request id."},
            "errors": listed(record({"parameter": TEXT, "code": TEXT, "detail": TEXT})),
            "zones": listed(ZONE),
        },
        "errors",
        "zones",
    ),
    "PaymentRequired": record(
        {
            "x402Version": {"type": "integer", "const": 1},
            "error": TEXT,
            "accepts": listed({"type": "object"}),
        }
    ),
}
