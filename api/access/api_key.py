"""Access by a free key: 500 answers a UTC day, counted before the work and given back where it failed."""

from __future__ import annotations

import base64
import binascii
import logging

from api.access.accounts.engine import AccountsUnavailable
from api.access.accounts.key_format import KEY_PREFIX, digest_of, is_well_formed
from api.access.accounts.store import Accounts, Reserved
from api.access.rate_limits import RateLimits
from api.access.values import Answer, Call, Grant, Headers, Receipt, Refusal
from warehouse.clock import DAY

_LOG = logging.getLogger("emds.keys")
_NO_STORE = ("Cache-Control", "no-store")


def shown(call: Call) -> str | None:
    """Return the key that a call carries, None for none. Credentials of another kind are a key that opens nothing."""
    if call.api_key:
        return call.api_key
    if not call.authorization:
        return None
    scheme, _, credentials = call.authorization.partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return _user_name(credentials) if scheme.lower() == "basic" else ""


def digest(key: str) -> bytes | None:
    """Return what the database knows a key by; None for what cannot be a key, without asking it."""
    return digest_of(key) if is_well_formed(key) else None


def admit(key: str, accounts: Accounts, limits: RateLimits, per_second: int, now: int) -> Grant | Refusal:
    """Return a grant that holds one call of the key's day; else 401 (unknown, revoked) or 429 (too fast, used up).

    Only calls of keys that open something take a place in the table of limits: made-up keys would push others out.
    """
    known = digest(key)
    if known is None:
        return invalid(key)
    if per_second and limits.count("key", known.hex(), 1, now) >= per_second:
        return _too_fast(per_second)
    reserved = accounts.reserve(known, now)
    if reserved is None:
        usage = accounts.usage(known, now)
        return used_up(usage.limit, now) if usage else invalid(key, accounts.is_unconfirmed(known))
    if limits.take("key", known.hex(), per_second, 1, now):  # calls of the same moment took the last places
        _given_back(accounts, reserved)
        return _too_fast(per_second)

    def settle(made: Answer) -> Receipt:
        used = reserved.used if 200 <= made.status < 300 else _given_back(accounts, reserved)
        return Receipt(rate_limit(used, reserved.limit, now))

    def release() -> None:
        _given_back(accounts, reserved)

    return Grant("key", settle, release)


def rate_limit(used: int, limit: int, now: int) -> Headers:
    """Return how much of the day is left, in the syntax of draft-ietf-httpapi-ratelimit-headers-11."""
    policy = ("RateLimit-Policy", f'"day";q={limit};w={DAY}')
    return (policy, ("RateLimit", f'"day";r={max(0, limit - used)};t={resets_at(now) - now}'))


def resets_at(now: int) -> int:
    """Return the next midnight UTC."""
    return (now // DAY + 1) * DAY


def invalid(key: str = "", unconfirmed: bool = False) -> Refusal:
    """Return 401: no such key, revoked, mistyped, or not confirmed yet."""
    headers = (("WWW-Authenticate", 'Bearer error="invalid_token"'), _NO_STORE)
    detail = "This API key is unknown or revoked. POST /v1/keys/signup gives a new one; sample=true needs none."
    if unconfirmed:
        detail = "This API key opens once the link in its mail was opened. sample=true needs no key."
    elif key.startswith(KEY_PREFIX) and not is_well_formed(key):
        detail = "This API key is mistyped or cut: its length or checksum is wrong. sample=true needs no key."
    return Refusal(401, "invalid-key", "Invalid API key", detail, headers)


def used_up(limit: int, now: int) -> Refusal:
    """Return 429: the day's calls are used up."""
    wait = resets_at(now) - now
    headers = (*rate_limit(limit, limit, now), ("Retry-After", str(wait)), _NO_STORE)
    detail = f"The {limit} calls of this key's UTC day are used up; the next day begins in {wait} s."
    return Refusal(429, "quota-exceeded", "Quota exceeded", detail, headers, (("retry_after", wait),))


def unavailable() -> Refusal:
    """Return 503: nothing can be counted or charged at the moment."""
    detail = (
        "Calls cannot be counted at the moment, so paid paths give no answer. Nothing was counted or charged; "
        "sample=true works."
    )
    members = (("charged", False), ("retry_after", 5))
    headers = (("Retry-After", "5"), _NO_STORE)
    return Refusal(503, "accounts-unavailable", "Accounts unavailable", detail, headers, members)


def _too_fast(per_second: int) -> Refusal:
    """Return 429: more calls within one second than a key may make."""
    headers = (
        ("RateLimit-Policy", f'"second";q={per_second};w=1'),
        ("RateLimit", '"second";r=0;t=1'),
        ("Retry-After", "1"),
        _NO_STORE,
    )
    detail = f"At most {per_second} calls a second with one key. This call was not counted."
    return Refusal(429, "too-many-calls", "Too many calls", detail, headers, (("retry_after", 1),))


def _user_name(credentials: str) -> str:
    """Return the user name of HTTP Basic, where spreadsheets and `https://KEY@host/` put a key."""
    try:
        pair = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
    return pair.partition(":")[0]


def _given_back(accounts: Accounts, reserved: Reserved) -> int:
    """Take a call back. Return the day's calls without it, or with it where the database is gone meanwhile."""
    try:
        return accounts.give_back(reserved)
    except AccountsUnavailable as fault:
        _LOG.warning("a call was not given back: %s", fault)
        return reserved.used
