"""The door for holders of a free key: 500 answers a UTC day, counted before the work and given back where it failed."""

from __future__ import annotations

import logging
import re

from api.access.accounts.store import CALLS_PER_DAY, KEY_PREFIX, Accounts, Reserved, digest_of
from api.access.accounts.tables import AccountsUnavailable
from api.access.values import Answer, Call, Grant, Headers, Receipt, Refusal
from warehouse.clock import DAY

_LOG = logging.getLogger("emds.keys")
_KEY = re.compile(re.escape(KEY_PREFIX) + "[0-9A-Za-z]{43}")
_POLICY = ("RateLimit-Policy", f'"day";q={CALLS_PER_DAY};w={DAY}')
"""Syntax of draft-ietf-httpapi-ratelimit-headers-11."""


def shown(call: Call) -> str | None:
    """The key that a call shows, None where it shows none. Any Authorization but a bearer's shows a wrong one."""
    if call.api_key:
        return call.api_key
    if not call.authorization:
        return None
    scheme, _, key = call.authorization.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def digest(key: str) -> bytes | None:
    """What the database knows a key by; None for what cannot be a key, without asking it."""
    return digest_of(key) if _KEY.fullmatch(key) else None


def admit(key: str, accounts: Accounts, now: int) -> Grant | Refusal:
    """A pass that holds one call of the key's day, or 401 (unknown, revoked) or 429 (used up)."""
    known = digest(key)
    reserved = accounts.reserve(known, now) if known else None
    if reserved is None:
        return used_up(now) if known and accounts.usage(known, now) else invalid()

    def settle(made: Answer) -> Receipt:
        used = reserved.used if 200 <= made.status < 300 else _given_back(accounts, reserved)
        return Receipt(rate_limit(used, now))

    def release() -> None:
        _given_back(accounts, reserved)

    return Grant("key", settle, release)


def rate_limit(used: int, now: int) -> Headers:
    """How much of the day is left."""
    left = max(0, CALLS_PER_DAY - used)
    return (_POLICY, ("RateLimit", f'"day";r={left};t={resets_at(now) - now}'))


def resets_at(now: int) -> int:
    """The next midnight UTC."""
    return (now // DAY + 1) * DAY


def invalid() -> Refusal:
    """401: no such key, or revoked."""
    headers = (("WWW-Authenticate", 'Bearer error="invalid_token"'), ("Cache-Control", "no-store"))
    detail = "This API key is unknown or revoked. POST /v1/keys/signup gives a new one; sample=true needs none."
    return Refusal(401, "invalid-key", "Invalid API key", detail, headers)


def used_up(now: int) -> Refusal:
    """429: the day's calls are used up."""
    wait = resets_at(now) - now
    headers = (*rate_limit(CALLS_PER_DAY, now), ("Retry-After", str(wait)), ("Cache-Control", "no-store"))
    detail = f"The {CALLS_PER_DAY} calls of this key's UTC day are used up; the next day begins in {wait} s."
    return Refusal(429, "quota-exceeded", "Quota exceeded", detail, headers, (("retry_after", wait),))


def unavailable() -> Refusal:
    """503: nothing can be counted or charged at the moment."""
    headers = (("Retry-After", "5"), ("Cache-Control", "no-store"))
    detail = "Calls cannot be counted at the moment, so paid paths give no answer. Nothing was counted or charged; sample=true works."
    return Refusal(
        503, "accounts-unavailable", "Accounts unavailable", detail, headers, (("charged", False), ("retry_after", 5))
    )


def _given_back(accounts: Accounts, reserved: Reserved) -> int:
    """The key's calls of the day without this one; the call stays counted where the database is gone meanwhile."""
    try:
        return accounts.give_back(reserved)
    except AccountsUnavailable as fault:
        _LOG.warning("a call was not given back: %s", fault)
        return reserved.used
