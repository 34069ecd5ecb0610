"""Admit requests with free keys, each up to 500 responses per UTC day, counted before the work.

A single statement counts a request. It is the same on SQLite and PostgreSQL, and exact for any number of workers. Days
are days since 1970-01-01 UTC. For the form of a key, see `api.access.key_spelling`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from api.access.accounts_engine import AccountsUnavailable
from api.access.database import Database
from api.access.key_headers import explain_form, key_of
from api.access.key_spelling import KEY_PREFIX, digest_of, is_well_formed
from api.access.limits import RateLimits
from api.access.signed_addresses import signer_of
from api.access.values import Call, Grant, Headers, WholeAnswer, refuse_for
from api.http.problems import Problem
from warehouse.market.clock import DAY

CALLS_PER_DAY = 500
"""The quota of a key without its own quota."""
_FILE_PARTS = 20
"""The most parts in which a lazy reader requests a file."""
_NOT_SIGNED = (
    "The signature of this URL is invalid or has expired. Request /v1/bulk with your key to get new URLs, which work "
    "for one hour."
)
_LOG = logging.getLogger("emds.keys")

# A rotated key works as its successor for a while.
_ID = """coalesce((SELECT id FROM keys WHERE digest = :digest),
    (SELECT key_id FROM previous_keys WHERE digest = :digest AND until > :now))"""
# The statement compares and counts at once. It returns no row if the key is inactive or has no call left.
_QUOTA = "coalesce((SELECT quota FROM keys WHERE id = usage.key_id), :limit)"
_COUNT = f"""
INSERT INTO usage (key_id, day, calls) SELECT id, :day, 1 FROM keys
WHERE id = {_ID} AND revoked IS NULL AND confirmed IS NOT NULL AND coalesce(quota, :limit) > 0
ON CONFLICT (key_id, day) DO UPDATE SET calls = usage.calls + 1 WHERE usage.calls < {_QUOTA}
RETURNING key_id, day, calls, {_QUOTA}
"""  # noqa: S608  of constants
_TAKE_BACK = "UPDATE usage SET calls = calls - 1 WHERE key_id = :key AND day = :day AND calls > 0 RETURNING calls"
_LOOK = f"""
SELECT keys.id, :day, coalesce(usage.calls, 0), coalesce(keys.quota, :limit), keys.created,
    keys.confirmed IS NOT NULL,
    EXISTS (SELECT 1 FROM file_reads WHERE key_id = keys.id AND day = :day AND file = :file)
FROM keys LEFT JOIN usage ON usage.key_id = keys.id AND usage.day = :day
WHERE keys.id = {_ID} AND keys.revoked IS NULL
"""  # noqa: S608  of constants
_RECORD_READ = (
    "INSERT INTO file_reads (key_id, day, file) VALUES (:key, :day, :file) ON CONFLICT DO NOTHING RETURNING key_id"
)
_FORGET_READS = "DELETE FROM file_reads WHERE key_id = :key AND day < :day"
_DIGEST = "SELECT digest FROM keys WHERE id = :key AND revoked IS NULL"


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of an active key on a day; after `reserve`, it includes the counted call."""

    key: int
    day: int
    used: int
    limit: int
    created: int | None = None
    """Unix seconds; `reserve` does not look it up."""
    confirmed: bool = True
    """Whether the key works; a key without confirmation by e-mail does not."""
    read: bool = False
    """Whether the requested file is already paid for on that day."""


class Keys:
    """The keys in the accounts database, and their days. Every method except `give_back` raises AccountsUnavailable."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def admit(self, call: Call, limits: RateLimits, per_second: int, now: int) -> Grant | Problem | None:
        """Return a grant that reserves a call of the key's day, or a 401 (unknown, revoked) or 429 (too fast, quota
        exceeded).

        Return None for a request with neither key nor signature.
        """
        key = key_of(call)
        if key is None and not call.signature:
            return None
        if key is not None and not is_well_formed(key):
            return invalid(key, form=explain_form(call))
        digest = self.signer(call, now) if key is None else digest_of(key)
        if digest is None:
            return unsigned()
        if too_fast := limits.refuse("second", *pace_of(digest, per_second, bool(call.file)), now):
            return too_fast
        usage = self.usage(digest, now, call.file) if call.file else None
        if usage and usage.confirmed and (call.head or usage.read):
            unchanged = rate_limit(usage.used, usage.limit, now)
            return Grant("key", lambda _: unchanged)
        reserved = self.reserve(digest, now)
        if reserved is None:
            usage = self.usage(digest, now)
            return used_up(usage.limit, now) if usage and usage.confirmed else invalid(unconfirmed=usage is not None)

        def settle(answer: WholeAnswer) -> Headers:
            counts = False
            try:
                counts = 200 <= answer.status < 300 and (not call.file or self.record_read(reserved, call.file))
            finally:  # a call that fails here gets a 503 and is not counted
                used = reserved.used if counts else self.give_back(reserved)
            return rate_limit(used, reserved.limit, now)

        return Grant("key", settle)

    def signer(self, call: Call, now: int) -> bytes | None:
        """Return the digest of the key that signed the URL of a request; None if it is invalid or not current."""
        return signer_of(call.signature, call.path, now, self.current_digest)

    def reserve(self, digest: bytes, now: int) -> Usage | None:
        """Count a call of a key on its day; return None if the key does not work or has no call left.

        If the connection is lost during the commit, the count is sent again. This may cost the key a call,
        but never grants an extra call.
        """
        row = self.database.run(_COUNT, {"digest": digest, "day": now // DAY, "limit": CALLS_PER_DAY, "now": now})
        return Usage(*row) if row else None

    def give_back(self, reserved: Usage) -> int:
        """Take back a counted call on the day of its count, once.

        Return the day's calls without the call, or including it if the database has become unavailable.
        """
        try:
            row = self.database.run(_TAKE_BACK, {"key": reserved.key, "day": reserved.day}, tries=1)
        except AccountsUnavailable as fault:
            _LOG.warning("a call was not given back: %s", fault)
            return reserved.used
        return int(row[0]) if row else 0

    def usage(self, digest: bytes, now: int, file: bytes = b"") -> Usage | None:
        """Return the usage of a key today, and whether it has read a file; None for an unknown or revoked key."""
        day = {"day": now // DAY, "limit": CALLS_PER_DAY, "now": now}
        row = self.database.run(_LOOK, {**day, "digest": digest, "file": file})
        return Usage(*row[:5], *map(bool, row[5:])) if row else None

    def record_read(self, reserved: Usage, file: bytes) -> bool:
        """Record that a reserved call pays for a file on its day; return False if another call has paid for it."""
        day: dict[str, int | bytes] = {"key": reserved.key, "day": reserved.day}
        if reserved.used == 1:
            self.database.run(_FORGET_READS, day, tries=1)
        return self.database.run(_RECORD_READ, {**day, "file": file}, tries=1) is not None

    def current_digest(self, key: int) -> bytes | None:
        """Return the digest of a key's newest spelling, which signs URLs; None if the key is unknown or revoked."""
        row = self.database.run(_DIGEST, {"key": key})
        return bytes(row[0]) if row else None


def pace_of(digest: bytes, per_second: int, of_file: bool) -> tuple[str, int]:
    """Return a key's counter of calls per second and its limit. Parts of files have their own counter."""
    return (f"{digest.hex()} files", per_second * _FILE_PARTS) if of_file else (digest.hex(), per_second)


def rate_limit(used: int, limit: int, now: int) -> Headers:
    """Return the headers with the day's remaining calls, as in draft-ietf-httpapi-ratelimit-headers-11."""
    policy = ("RateLimit-Policy", f'"day";q={limit};w={DAY}')
    return (policy, ("RateLimit", f'"day";r={max(0, limit - used)};t={resets_at(now) - now}'))


def resets_at(now: int) -> int:
    """Return the next midnight UTC."""
    return (now // DAY + 1) * DAY


def invalid(key: str = "", unconfirmed: bool = False, form: str = "") -> Problem:
    """Return the 401 of a key that is unknown, revoked, sent in another form, mistyped, or unconfirmed."""
    reason, step = "This API key is unknown or revoked.", "Get a new key with POST /v1/keys/signup"
    if unconfirmed:
        reason, step = "This API key is not confirmed yet.", "Open the link in the confirmation e-mail"
    elif form:
        return _refuse(f"{form} The key itself was not checked, so you do not need a new one.")
    elif key.startswith(KEY_PREFIX) and not is_well_formed(key):
        reason, step = "This API key has the wrong length or checksum.", "Copy the whole key again"
    return _refuse(f"{reason} {step}, or add sample=true to try the API without a key.", reason)


def unsigned() -> Problem:
    """Return the 401 of a signature that is forged, expired or for another path."""
    return _refuse(_NOT_SIGNED)


def _refuse(detail: str, reason: str = "") -> Problem:
    return Problem("invalid-key", detail, reason=reason, headers=[("WWW-Authenticate", 'Bearer error="invalid_token"')])


def used_up(limit: int, now: int) -> Problem:
    """Return the 429 of a key that has exceeded its quota for the day."""
    wait = resets_at(now) - now
    detail = f"This key has used its {limit} requests for today (UTC). The quota resets in {wait} s."
    return refuse_for(wait, "quota-exceeded", detail, rate_limit(limit, limit, now))
