"""The paths of a key's life: sign up, confirm, look at its day, rotate, end it.

What a key opens: `api.access.keys`.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from api.access import keys
from api.access import sign_up as sign_ups
from api.access.confirmation_mail import MailUnavailable, send
from api.access.email_address import is_address
from api.access.gate import Gate, call_of
from api.access.limits import client_unit
from api.access.sign_up import OVERLAP_S, SignUp, try_again
from api.access.usage import CALLS_PER_DAY, Usage
from api.access.values import NO_STORE
from api.http.messages import Request, Response, View, read_json
from api.http.problems import ParameterFault, Problem
from api.service import Service

_MOST_BYTES = 4096
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")


def _sign_up(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    gate, now = service.gate, service.gate.now
    mail = gate.settings.mail
    email, token = _email(request), request.header("HTTP_IDEMPOTENCY_KEY")
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "Idempotency-Key is 1 to 255 visible ASCII characters.")
    client = call_of(request, "", gate.settings.trusted_proxies).client
    sign_up = SignUp(email, client_unit(client), token)
    new = sign_ups.sign_up(gate.database, sign_up, gate.settings.signups_per_hour, now, confirmed=mail is None)
    if mail is not None and new.confirmation:
        try:
            send(mail, gate.settings.base_url, sign_up.email, new.confirmation)
        except MailUnavailable:
            sign_ups.withdraw(gate.database, new.key)
            detail = "The confirmation could not be sent; no key was made."
            raise try_again("mail-unavailable", detail, 60) from None
    body: dict[str, Any] = {
        "api_key": new.key,
        "email": sign_up.email,
        "quota": {"limit": CALLS_PER_DAY, "window": "day", "resets_at": keys.resets_at(now)},
        "docs": gate.settings.base_url + "/docs",
    }
    return private_json(body if mail is None else {**body, "confirmed": False}, 201)


def _confirm(service: Service, request: Request, query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        gate, token = service.gate, query["token"]
        if token is None:
            fault = ParameterFault("token", "missing", "the token of the mail's link")
            raise Problem("invalid-parameters", "token is missing.", [fault])
        if request.method == "HEAD":  # a mail scanner's look must not confirm
            return entry.settle(Response(200, [NO_STORE]))
        email = sign_ups.confirm(gate.database, token, gate.now)
        if email is None:
            raise Problem("unknown-confirmation", "This link is unknown or older than a day; sign up again.")
        return entry.settle(private_json({"confirmed": True, "email": email, "docs": gate.settings.base_url + "/docs"}))


def _usage(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        now = service.gate.now
        _, usage = require_key(service.gate, request, now)
        quota = {
            "limit": usage.limit,
            "window": "day",
            "used": usage.used,
            "remaining": max(0, usage.limit - usage.used),
            "resets_at": keys.resets_at(now),
        }
        headers = keys.rate_limit(usage.used, usage.limit, now)
        return entry.settle(private_json({"quota": quota, "created": usage.created}).with_headers(headers))


def _rotate(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        gate, now = service.gate, service.gate.now
        digest, usage = require_key(gate, request, now)
        key = sign_ups.rotate(gate.database, digest, now) if usage.current else None
        if key is None:
            require_key(gate, request, now)  # 401 where it was revoked meanwhile
            raise Problem("key-rotated", "This key was rotated before; rotate the one that took its place.")
        return entry.settle(private_json({"api_key": key, "previous_valid_until": now + OVERLAP_S}, 201))


def _revoke(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        gate = service.gate
        sign_ups.revoke(gate.database, require_key(gate, request, gate.now)[0], gate.now)
        return entry.settle(Response(204, [NO_STORE]))


def require_key(gate: Gate, request: Request, now: int) -> tuple[bytes, Usage]:
    """Return the digest of the live key that a request shows, and its day. Raises Problem 401."""
    key = keys.key_of(call_of(request, "", gate.settings.trusted_proxies)) or ""
    digest = keys.digest_of(key)
    usage = gate.usage.usage(digest, now) if keys.is_well_formed(key) else None
    if usage is None or not usage.confirmed:
        refusal = keys.invalid(key, unconfirmed=usage is not None)
        raise Problem(refusal.kind, refusal.detail, headers=refusal.headers)
    return digest, usage


def _email(request: Request) -> str:
    """Return the address in the body, in lower case. Raises Problem 400, 413 or 415."""
    document = read_json(request, _MOST_BYTES, '{"email": "..."}')
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "an address such as a@example.org")
        raise Problem("invalid-request", "The body holds no e-mail address.", [fault])
    return email.strip().lower()


def private_json(document: dict[str, Any], status: int = 200) -> Response:
    """Return an answer that nobody may store."""
    return Response(status, [NO_STORE, ("Content-Type", "application/json")], orjson.dumps(document))


VIEWS: dict[str, View] = {
    "sign-up": _sign_up,
    "confirm": _confirm,
    "usage": _usage,
    "rotate": _rotate,
    "revoke": _revoke,
}
