"""The paths of a key's life: sign up, confirm, look at its day, rotate, end it.

What a key opens: `api.access.api_key`.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from api.access import api_key
from api.access.accounts.email_address import is_address
from api.access.accounts.sign_ups import SignUp, TooManyKeys, TooManySignUps
from api.access.accounts.store import CALLS_PER_DAY, OVERLAP_S, Usage
from api.access.client_address import client_address, client_unit
from api.access.confirmation_mail import MailUnavailable, send
from api.access.gate import Gate
from api.access.values import Call
from api.http.messages import Request, Response, View, read_json
from api.http.problems import ParameterFault, Problem
from api.service import Service

_MOST_BYTES = 4096
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")
_NO_STORE = ("Cache-Control", "no-store")


def _sign_up(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    gate = service.gate
    settings, now = gate.settings, gate.now
    sign_up = SignUp(_email(request), client_unit(_client(gate, request)), _idempotency_key(request))
    try:
        if settings.mail is None:
            key, confirmed = gate.accounts.sign_up(sign_up, settings.signups_per_hour, now), True
        else:
            key, confirmed = _unconfirmed(gate, sign_up), False
    except TooManySignUps as full:
        raise Problem(
            "too-many-sign-ups",
            f"At most {settings.signups_per_hour} sign-ups an hour from one address.",
            members={"retry_after": full.wait},
            headers=[("Retry-After", str(full.wait))],
        ) from None
    except TooManyKeys as full:
        raise Problem("too-many-keys", f"{full}; DELETE /v1/keys/current revokes one.") from None
    body: dict[str, Any] = {
        "api_key": key,
        "email": sign_up.email,
        "quota": {"limit": CALLS_PER_DAY, "window": "day", "resets_at": api_key.resets_at(now)},
        "docs": settings.base_url + "/docs",
    }
    return _json(body if confirmed else {**body, "confirmed": False}, 201)


def _unconfirmed(gate: Gate, sign_up: SignUp) -> str:
    """A key that opens once its mail's link was opened. Raises Problem 503 where the mail could not be sent."""
    settings = gate.settings
    assert settings.mail is not None
    new = gate.accounts.sign_up_unconfirmed(sign_up, settings.signups_per_hour, gate.now)
    if new.confirmation:
        try:
            send(settings.mail, settings.base_url, sign_up.email, new.confirmation)
        except MailUnavailable:
            gate.accounts.withdraw(new.key)
            raise Problem(
                "mail-unavailable",
                "The confirmation could not be sent; no key was made.",
                members={"retry_after": 60},
                headers=[("Retry-After", "60")],
            ) from None
    return new.key


def _confirm(service: Service, request: Request, query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        return entry.settle(_confirmed(service.gate, request, query["token"]))


def _confirmed(gate: Gate, request: Request, token: str | None) -> Response:
    if token is None:
        fault = ParameterFault("token", "missing", "the token of the mail's link")
        raise Problem("invalid-parameters", "token is missing.", [fault])
    if request.method == "HEAD":  # a mail scanner's look must not confirm
        return Response(200, [_NO_STORE])
    try:
        email = gate.accounts.confirm(token, gate.now)
    except TooManyKeys as full:
        raise Problem("too-many-keys", f"{full}; DELETE /v1/keys/current revokes one.") from None
    if email is None:
        raise Problem("unknown-confirmation", "This link is unknown or older than a day; sign up again.")
    return _json({"confirmed": True, "email": email, "docs": gate.settings.base_url + "/docs"})


def _usage(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        now = service.gate.now
        _, usage = _own(service.gate, request, now)
        quota = {
            "limit": usage.limit,
            "window": "day",
            "used": usage.used,
            "remaining": max(0, usage.limit - usage.used),
            "resets_at": api_key.resets_at(now),
        }
        headers = api_key.rate_limit(usage.used, usage.limit, now)
        return entry.settle(_json({"quota": quota, "created": usage.created}).with_headers(headers))


def _rotate(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        gate, now = service.gate, service.gate.now
        digest, usage = _own(gate, request, now)
        key = gate.accounts.rotate(digest, now) if usage.current else None
        if key is None:
            _own(gate, request, now)  # 401 where it was revoked meanwhile
            raise Problem("key-rotated", "This key was rotated before; rotate the one that took its place.")
        return entry.settle(_json({"api_key": key, "previous_valid_until": now + OVERLAP_S}, 201))


def _revoke(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.enter(request) as entry:
        gate = service.gate
        digest, _ = _own(gate, request, gate.now)
        gate.accounts.end(digest, gate.now)
        return entry.settle(Response(204, [_NO_STORE]))


def _own(gate: Gate, request: Request, now: int) -> tuple[bytes, Usage]:
    """The digest of the live key that a request shows, and its day. Raises Problem 401."""
    header = request.header
    credentials = Call(
        request.path, "", "", authorization=header("HTTP_AUTHORIZATION"), api_key=header("HTTP_X_API_KEY").strip()
    )
    key = api_key.shown(credentials) or ""
    digest = api_key.digest(key)
    usage = gate.accounts.usage(digest, now) if digest else None
    if digest is None or usage is None:
        refusal = api_key.invalid(key, digest is not None and gate.accounts.is_unconfirmed(digest))
        raise Problem(refusal.kind, refusal.detail, headers=refusal.headers)
    return digest, usage


def own_key(gate: Gate, request: Request) -> int:
    """The number of the live key that a request shows. Raises Problem 401, and AccountsUnavailable."""
    return _own(gate, request, gate.now)[1].key


def _client(gate: Gate, request: Request) -> str:
    forwarded = request.header("HTTP_X_FORWARDED_FOR")
    return client_address(request.header("REMOTE_ADDR"), forwarded, gate.settings.trusted_proxies)


def _email(request: Request) -> str:
    """The address in the body, in lower case. Raises Problem 400, 413 or 415."""
    document = read_json(request, _MOST_BYTES, '{"email": "..."}')
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "an address such as a@example.org")
        raise Problem("invalid-request", "The body holds no e-mail address.", [fault])
    return email.strip().lower()


def _idempotency_key(request: Request) -> str:
    token = request.header("HTTP_IDEMPOTENCY_KEY")
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "Idempotency-Key is 1 to 255 visible ASCII characters.")
    return token


def _json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(status, [_NO_STORE, ("Content-Type", "application/json")], orjson.dumps(document))


VIEWS: dict[str, View] = {
    "sign-up": _sign_up,
    "confirm": _confirm,
    "usage": _usage,
    "rotate": _rotate,
    "revoke": _revoke,
}
