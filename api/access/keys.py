"""Access by a free key: how it is spelled and sent, and what it opens: 500 answers a UTC day, counted before the work.

A key is `emds_`, 43 base62 digits of 32 random bytes, 6 base62 digits of their CRC-32. The checksum finds a typing
error without a look at the database, and lets secret scanners know a key from random text. Keys made before it end with
the 43 digits and stay valid.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import re
import string
import zlib

from api.access.database import AccountsUnavailable
from api.access.limits import RateLimits
from api.access.usage import Reserved, UsageCounter
from api.access.values import Answer, Call, Grant, Headers, refuse_for
from api.http.problems import Problem
from warehouse.market.clock import DAY

KEY_PREFIX = "emds_"
SIGNATURE_PATTERN = r"^([0-9]{1,18})\.([0-9]{1,12})\.[0-9A-Za-z_-]{43}$"
SIGNED_S = 3600
"""A signed address opens so long."""
_FILE_PARTS = 20
"""A lazy reader asks for a file in so many parts at most."""
KEY_PATTERN = "^emds_[0-9A-Za-z]{43}([0-9A-Za-z]{6})?$"
_NOT_SIGNED = "This address is not signed for now; /v1/bulk asked with a key gives signed ones, for an hour each."
_LOG = logging.getLogger("emds.keys")
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_KEY = re.compile(KEY_PATTERN[1:-1])
_SIGNATURE = re.compile(SIGNATURE_PATTERN[1:-1])
_PAIRS = [high + low for high in _BASE62 for low in _BASE62]
_DIGITS = 43  # 62 ** 43 > 2 ** 256, and for the checksum's six 62 ** 6 > 2 ** 32
_PLAIN_LENGTH = len(KEY_PREFIX) + _DIGITS


def spell(secret: bytes) -> str:
    """Return the key of 32 random bytes."""
    plain, number = KEY_PREFIX, int.from_bytes(secret)
    for place in reversed(range(_DIGITS)):
        plain += _BASE62[number // 62**place % 62]
    return plain + _checksum(plain)


def is_well_formed(key: str) -> bool:
    """Return whether a text can be a key: its form fits, and its checksum where it has one."""
    if not _KEY.fullmatch(key):
        return False
    plain, check = key[:_PLAIN_LENGTH], key[_PLAIN_LENGTH:]
    return not check or check == _checksum(plain)


def digest_of(key: str) -> bytes:
    """Return what the database knows a key by: 256 random bits need neither salt nor a slow hash."""
    return hashlib.sha256(key.encode()).digest()


def key_of(call: Call) -> str | None:
    """Return the key that a call carries, None for none. Credentials of another kind are a key that opens nothing."""
    if call.api_key:
        return call.api_key
    if not call.authorization:
        return None
    scheme, _, credentials = call.authorization.partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() != "basic":
        return ""
    try:  # as the user name, where spreadsheets and `https://KEY@host/` put a key
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[0]
    except (binascii.Error, ValueError):
        return ""


def admit(call: Call, counter: UsageCounter, limits: RateLimits, per_second: int, now: int) -> Grant | Problem | None:
    """Return a grant that holds one call of the key's day; else 401 (unknown, revoked) or 429 (too fast, used up).

    None for a call with neither key nor signature. Only calls of keys that open something take a place in the table of
    limits: made-up keys would push others out.
    """
    key = key_of(call)
    if key is None and not call.signature:
        return None
    if key is not None and not is_well_formed(key):
        return invalid(key)
    digest = _signer(call, counter, now) if key is None else digest_of(key)
    if digest is None:
        return _refuse(_NOT_SIGNED)
    what, most = ("file", per_second * _FILE_PARTS) if call.file else ("key", per_second)
    if most and limits.count(what, digest.hex(), 1, now) >= most:
        return _too_fast(most)
    grant = _read_again(call, digest, counter, now) or _reserve(call, digest, counter, now)
    if isinstance(grant, Grant) and limits.take(what, digest.hex(), most, 1, now):
        grant.release()  # calls of the same moment took the last places
        return _too_fast(most)
    return grant


def _reserve(call: Call, digest: bytes, counter: UsageCounter, now: int) -> Grant | Problem:
    """Return a grant that holds one call of the key's day."""
    reserved = counter.reserve(digest, now)
    if reserved is None:
        usage = counter.usage(digest, now)
        return used_up(usage.limit, now) if usage and usage.confirmed else invalid(unconfirmed=usage is not None)

    def settle(answer: Answer) -> Headers:
        counts = 200 <= answer.status < 300 and (not call.file or counter.record_read(reserved, call.file))
        used = reserved.used if counts else _give_back(counter, reserved)
        return rate_limit(used, reserved.limit, now)

    return Grant("key", settle, lambda: _give_back(counter, reserved))


def _read_again(call: Call, digest: bytes, counter: UsageCounter, now: int) -> Grant | None:
    """Return a grant that counts nothing: for a file that the key's day has paid for, and for HEAD of any."""
    usage = counter.usage(digest, now) if call.file else None
    if usage is None or not usage.confirmed or not (call.head or counter.was_read(usage.key, now // DAY, call.file)):
        return None
    return Grant("key", lambda _: rate_limit(usage.used, usage.limit, now), lambda: None)


def sign(path: str, key: int, digest: bytes, until: int) -> str:
    """Return what makes the address of a path open as a key does, until an instant.

    The key's digest signs, which only the accounts and the key's holder have: a revoked key ends its addresses.
    """
    mac = hmac.digest(digest, f"{path} {until}".encode(), "sha256")
    return f"{key}.{until}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def _signer(call: Call, counter: UsageCounter, now: int) -> bytes | None:
    """Return the digest of the key that signed a call's address; None where it did not, or not for now."""
    if not (match := _SIGNATURE.fullmatch(call.signature)):
        return None
    key, until = int(match[1]), int(match[2])
    if not now < until <= now + SIGNED_S:
        return None
    digest = counter.digest(key)
    return digest if digest and hmac.compare_digest(sign(call.path, key, digest, until), call.signature) else None


def rate_limit(used: int, limit: int, now: int) -> Headers:
    """Return how much of the day is left, in the syntax of draft-ietf-httpapi-ratelimit-headers-11."""
    policy = ("RateLimit-Policy", f'"day";q={limit};w={DAY}')
    return (policy, ("RateLimit", f'"day";r={max(0, limit - used)};t={resets_at(now) - now}'))


def resets_at(now: int) -> int:
    """Return the next midnight UTC."""
    return (now // DAY + 1) * DAY


def invalid(key: str = "", unconfirmed: bool = False) -> Problem:
    """Return 401: no such key, revoked, mistyped, or not confirmed yet."""
    detail = "This API key is unknown or revoked. POST /v1/keys/signup gives a new one; sample=true needs none."
    if unconfirmed:
        detail = "This API key opens once the link in its mail was opened. sample=true needs no key."
    elif key.startswith(KEY_PREFIX) and not is_well_formed(key):
        detail = "This API key is mistyped or cut: its length or checksum is wrong. sample=true needs no key."
    return _refuse(detail)


def _refuse(detail: str) -> Problem:
    return Problem("invalid-key", detail, headers=[("WWW-Authenticate", 'Bearer error="invalid_token"')])


def used_up(limit: int, now: int) -> Problem:
    """Return 429: the day's calls are used up."""
    wait = resets_at(now) - now
    detail = f"The {limit} calls of this key's UTC day are used up; the next day begins in {wait} s."
    return refuse_for(wait, "quota-exceeded", detail, rate_limit(limit, limit, now))


def _too_fast(per_second: int) -> Problem:
    """Return 429: more calls within one second than a key may make."""
    headers = (("RateLimit-Policy", f'"second";q={per_second};w=1'), ("RateLimit", '"second";r=0;t=1'))
    detail = f"At most {per_second} calls a second with one key. This call was not counted."
    return refuse_for(1, "too-many-calls", detail, headers)


def _give_back(counter: UsageCounter, reserved: Reserved) -> int:
    """Take a call back. Return the day's calls without it, or with it where the database is gone meanwhile."""
    try:
        return counter.give_back(reserved)
    except AccountsUnavailable as fault:
        _LOG.warning("a call was not given back: %s", fault)
        return reserved.used


def _checksum(plain: str) -> str:
    """Return six digits, by pairs: this runs for every keyed call."""
    rest, low = divmod(zlib.crc32(plain.encode()), 62 * 62)
    high, middle = divmod(rest, 62 * 62)
    return _PAIRS[high] + _PAIRS[middle] + _PAIRS[low]
