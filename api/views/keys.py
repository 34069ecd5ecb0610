"""The endpoints of a key's life: sign up, look at its day, end it. What a key opens is in `api.access.api_key`."""

from __future__ import annotations

import re
from functools import partial

import orjson
from flask import Blueprint, Request, Response, request

from api.access import api_key
from api.access.accounts.store import CALLS_PER_DAY, SignUp, TokenReused, TooManyKeys, TooManySignUps, Usage
from api.access.accounts.tables import AccountsUnavailable
from api.access.client_address import client_address, client_unit
from api.access.gate import Gate
from api.access.values import Call
from api.endpoints.query_parameters import SAMPLE
from api.http import parameters, problem_responses, request_body
from api.http.guard import guard
from api.http.problems import ParameterFault, Problem

_MOST_BYTES = 4096
_LOCAL = re.compile(r"[^\s@\"(),:;<>\[\\\]\x00-\x1f\x7f]{1,64}")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")
_NO_STORE = {"Cache-Control": "no-store"}


def blueprint(gate: Gate) -> Blueprint:
    """`POST /v1/keys/signup`, `GET /v1/usage`, `DELETE /v1/keys/current`."""
    routes = Blueprint("keys", __name__)
    refuse = partial(problem_responses.refused, gate.settings.base_url)

    @routes.before_request
    def known() -> None:
        parameters.values({"sample": SAMPLE}, request.args)

    @routes.post("/v1/keys/signup")
    def sign_up() -> Response:
        return _signed_up(gate, request)

    @routes.get("/v1/usage")
    def usage() -> Response:
        return guard(gate, request, "", lambda _entry: (_usage(gate, request), 1), refuse)

    @routes.delete("/v1/keys/current")
    def revoke() -> Response:
        return guard(gate, request, "", lambda _entry: (_revoked(gate, request), 1), refuse)

    @routes.errorhandler(AccountsUnavailable)
    def unavailable(_fault: AccountsUnavailable) -> Response:
        return refuse(api_key.unavailable())

    return routes


def _signed_up(gate: Gate, asked: Request) -> Response:
    email, token = _email(asked), _token(asked)
    now = gate.now
    peer = client_address(
        asked.remote_addr or "", asked.headers.get("X-Forwarded-For", ""), gate.settings.trusted_proxies
    )
    try:
        key = gate.accounts.sign_up(SignUp(email, client_unit(peer), token), gate.settings.signups_per_hour, now)
    except TooManySignUps as full:
        raise Problem(
            "too-many-sign-ups",
            f"At most {gate.settings.signups_per_hour} sign-ups an hour from one address.",
            members={"retry_after": full.wait},
            headers=[("Retry-After", str(full.wait))],
        ) from None
    except TooManyKeys as full:
        raise Problem("too-many-keys", f"{full}; DELETE /v1/keys/current revokes one.") from None
    except TokenReused as reused:
        raise Problem("idempotency-key-reused", str(reused)) from None
    body = {
        "api_key": key,
        "email": email,
        "quota": {"limit": CALLS_PER_DAY, "window": "day", "resets_at": api_key.resets_at(now)},
        "docs": gate.settings.base_url + "/docs",
    }
    return Response(orjson.dumps(body), 201, _NO_STORE, content_type="application/json")


def _usage(gate: Gate, asked: Request) -> Response:
    now = gate.now
    mine = _mine(gate, asked, now)
    quota = {
        "limit": CALLS_PER_DAY,
        "window": "day",
        "used": mine.used,
        "remaining": CALLS_PER_DAY - mine.used,
        "resets_at": api_key.resets_at(now),
    }
    headers = _NO_STORE | dict(api_key.rate_limit(mine.used, now))
    return Response(
        orjson.dumps({"quota": quota, "created": mine.created}), 200, headers, content_type="application/json"
    )


def _revoked(gate: Gate, asked: Request) -> Response:
    gate.accounts.revoke(_mine(gate, asked, gate.now).key, gate.now)
    return Response(status=204, headers=_NO_STORE)


def _mine(gate: Gate, asked: Request, now: int) -> Usage:
    """The live key that the request shows, and its day. Raises Problem 401."""
    key = api_key.shown(Call(asked.path, "", "", authorization=asked.headers.get("Authorization", "")))
    known = api_key.digest(key) if key else None
    found = gate.accounts.usage(known, now) if known else None
    if found is None:
        refusal = api_key.invalid()
        raise Problem(refusal.kind, refusal.detail, headers=refusal.headers)
    return found


def _email(asked: Request) -> str:
    """The address in the body, in lower case: one person's three keys. Raises Problem 400, 413 or 415."""
    if asked.mimetype != "application/json":
        raise Problem(
            "unsupported-media-type", 'The body is JSON, {"email": "..."}, with Content-Type: application/json.'
        )
    try:
        document = orjson.loads(request_body.read(asked, _MOST_BYTES))
    except ValueError:
        raise Problem("invalid-request", 'The body is not JSON; send {"email": "..."}.') from None
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "an address such as a@example.org")
        raise Problem("invalid-request", "The body holds no e-mail address.", [fault])
    return email.strip().lower()


def is_address(text: str) -> bool:
    """Whether a text has the form of an e-mail address (RFC 5321 lengths; no quoted local parts, no address literals)."""
    local, _, domain = text.rpartition("@")
    try:
        labels = domain.encode("idna").decode("ascii").split(".")
    except UnicodeError:
        return False
    if len(text) > 254 or not _LOCAL.fullmatch(local) or local.startswith(".") or local.endswith(".") or ".." in local:
        return False
    return len(labels) > 1 and not labels[-1].isdigit() and all(_LABEL.fullmatch(label) for label in labels)


def _token(asked: Request) -> str:
    token = asked.headers.get("Idempotency-Key", "")
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "Idempotency-Key is 1 to 255 visible ASCII characters.")
    return token
