"""The endpoints of a key's life: sign up, confirm, look at its day, rotate, end it.

What a key opens: `api.access.api_key`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
from flask import Blueprint, Request, request

from api.access import api_key
from api.access.accounts.email_address import is_address
from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.sign_ups import SignUp, TooManyKeys, TooManySignUps
from api.access.accounts.store import CALLS_PER_DAY, OVERLAP_S, Usage
from api.access.client_address import client_address, client_unit
from api.access.confirmation_mail import MailUnavailable, send
from api.access.gate import Gate
from api.access.values import Call
from api.endpoints.query_parameters import CONFIRMATION, SAMPLE
from api.http import parameters, problem_responses, request_body
from api.http.flask_views import request_at_hand
from api.http.guard import guard
from api.http.messages import Response
from api.http.problems import ParameterFault, Problem

_MOST_BYTES = 4096
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")
_NO_STORE = ("Cache-Control", "no-store")


def blueprint(gate: Gate) -> Blueprint:
    """`/v1/keys/signup`, `/v1/keys/confirm`, `/v1/keys/rotate`, `/v1/keys/current`, `/v1/usage`."""
    routes = Blueprint("keys", __name__)
    refuse = partial(problem_responses.refused, gate.settings.base_url)

    def free(made: Callable[[], Response]) -> Response:
        return guard(gate, request_at_hand(), "", lambda _entry: (made(), 1), refuse)

    @routes.before_request
    def known() -> None:
        own = {"token": CONFIRMATION} if request.path == "/v1/keys/confirm" else {}
        parameters.values({"sample": SAMPLE, **own}, request.args)

    @routes.post("/v1/keys/signup")
    def sign_up() -> Response:
        return _signed_up(gate, request)

    @routes.get("/v1/keys/confirm")
    def confirm() -> Response:
        return free(lambda: _confirmed(gate, request))

    @routes.post("/v1/keys/rotate")
    def rotate() -> Response:
        return free(lambda: _rotated(gate, request))

    @routes.get("/v1/usage")
    def usage() -> Response:
        return free(lambda: _usage(gate, request))

    @routes.delete("/v1/keys/current")
    def revoke() -> Response:
        return free(lambda: _revoked(gate, request))

    @routes.errorhandler(AccountsUnavailable)
    def unavailable(_fault: AccountsUnavailable) -> Response:
        return refuse(api_key.unavailable(), request_at_hand())

    return routes


def _signed_up(gate: Gate, call: Request) -> Response:
    settings, now = gate.settings, gate.now
    sign_up = SignUp(_email(call), client_unit(_client(gate, call)), _idempotency_key(call))
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


def _confirmed(gate: Gate, call: Request) -> Response:
    token = parameters.values({"sample": SAMPLE, "token": CONFIRMATION}, call.args)["token"]
    if token is None:
        fault = ParameterFault("token", "missing", "the token of the mail's link")
        raise Problem("invalid-parameters", "token is missing.", [fault])
    if call.method == "HEAD":  # a mail scanner's look must not confirm
        return Response(200, [_NO_STORE])
    try:
        email = gate.accounts.confirm(token, gate.now)
    except TooManyKeys as full:
        raise Problem("too-many-keys", f"{full}; DELETE /v1/keys/current revokes one.") from None
    if email is None:
        raise Problem("unknown-confirmation", "This link is unknown or older than a day; sign up again.")
    return _json({"confirmed": True, "email": email, "docs": gate.settings.base_url + "/docs"})


def _usage(gate: Gate, call: Request) -> Response:
    now = gate.now
    _, usage = _own(gate, call, now)
    quota = {
        "limit": usage.limit,
        "window": "day",
        "used": usage.used,
        "remaining": max(0, usage.limit - usage.used),
        "resets_at": api_key.resets_at(now),
    }
    left = api_key.rate_limit(usage.used, usage.limit, now)
    return _json({"quota": quota, "created": usage.created}).with_headers(left)


def _rotated(gate: Gate, call: Request) -> Response:
    now = gate.now
    digest, usage = _own(gate, call, now)
    key = gate.accounts.rotate(digest, now) if usage.current else None
    if key is None:
        _own(gate, call, now)  # 401 where it was revoked meanwhile
        raise Problem("key-rotated", "This key was rotated before; rotate the one that took its place.")
    return _json({"api_key": key, "previous_valid_until": now + OVERLAP_S}, 201)


def _revoked(gate: Gate, call: Request) -> Response:
    digest, _ = _own(gate, call, gate.now)
    gate.accounts.end(digest, gate.now)
    return Response(204, [_NO_STORE])


def _own(gate: Gate, call: Request, now: int) -> tuple[bytes, Usage]:
    """The digest of the live key that a request shows, and its day. Raises Problem 401."""
    headers = call.headers
    credentials = Call(
        call.path, "", "", authorization=headers.get("Authorization", ""), api_key=headers.get("X-API-Key", "").strip()
    )
    key = api_key.shown(credentials) or ""
    digest = api_key.digest(key)
    usage = gate.accounts.usage(digest, now) if digest else None
    if digest is None or usage is None:
        refusal = api_key.invalid(key, digest is not None and gate.accounts.is_unconfirmed(digest))
        raise Problem(refusal.kind, refusal.detail, headers=refusal.headers)
    return digest, usage


def own_key(gate: Gate, call: Request) -> int:
    """The number of the live key that a request shows. Raises Problem 401, and AccountsUnavailable."""
    return _own(gate, call, gate.now)[1].key


def _client(gate: Gate, call: Request) -> str:
    forwarded = call.headers.get("X-Forwarded-For", "")
    return client_address(call.remote_addr or "", forwarded, gate.settings.trusted_proxies)


def _email(call: Request) -> str:
    """The address in the body, in lower case. Raises Problem 400, 413 or 415."""
    if call.mimetype != "application/json":
        raise Problem(
            "unsupported-media-type", 'The body is JSON, {"email": "..."}, with Content-Type: application/json.'
        )
    try:
        document = orjson.loads(request_body.read(call.environ, _MOST_BYTES))
    except ValueError:
        raise Problem("invalid-request", 'The body is not JSON; send {"email": "..."}.') from None
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "an address such as a@example.org")
        raise Problem("invalid-request", "The body holds no e-mail address.", [fault])
    return email.strip().lower()


def _idempotency_key(call: Request) -> str:
    token = call.headers.get("Idempotency-Key", "")
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "Idempotency-Key is 1 to 255 visible ASCII characters.")
    return token


def _json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(status, [_NO_STORE, ("Content-Type", "application/json")], orjson.dumps(document))
