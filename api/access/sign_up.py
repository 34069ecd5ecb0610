"""A key's life: sign up, confirm, look at its day, rotate, revoke; the paths, and what each does in the accounts.

Unconfirmed keys open nothing and count for nothing: nobody is locked out by sign-ups that others made in his name.
What a key opens: `api.access.keys`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from api.access import keys
from api.access.confirmation_mail import send
from api.access.database import Database
from api.access.email_address import identity, is_address
from api.access.gate import call_of
from api.access.keys import CALLS_PER_DAY, digest_of, spell
from api.access.limits import client_unit
from api.access.tables import KEYS, PREVIOUS_KEYS, REPEATS, SIGN_UPS, USAGE
from api.access.values import NO_STORE, refuse_for
from api.http.messages import Request, Response, View, read_json
from api.http.problems import ParameterFault, Problem
from api.service import Service
from warehouse.market.clock import DAY, HOUR

KEYS_PER_ADDRESS = 3
IDLE_DAYS = 7
"""Unused this long, the key that was unused longest makes room for a fourth."""
CONFIRM_S = DAY
"""So long a confirmation token is good."""
OVERLAP_S = DAY
"""So long a rotated key goes on opening."""
_SIGN_UP_LOCK = 0x7369676E
_MOST_BYTES = 4096
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")


@dataclass(frozen=True, slots=True)
class SignUp:
    """Who asks for a key: `token` is the Idempotency-Key, empty for none."""

    email: str
    client: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key, and the token that confirms it; empty where it needs none, or was sent before."""

    key: str
    confirmation: str = ""


def sign_up(database: Database, request: SignUp, per_hour: int, now: int, confirmed: bool = True) -> NewKey:
    """Return a new key, or the same one again within a day for the same address, client and Idempotency-Key.

    One that is not `confirmed` opens nothing before its confirmation came back. Raises Problem 409 and 429.
    """
    with database.begin() as connection:
        _one_at_a_time(connection)
        salt = _repeated(connection, request, now)
        if salt is not None:
            return NewKey(_key(salt, request.token))
        _count_sign_up(connection, request.client, per_hour, now)
        full = _make_room(connection, identity(request.email), now, retire=confirmed)
        if full is None:
            return _new_key(connection, request, now, confirmed)
    raise full  # after the commit: a refused attempt counts too


def confirm(database: Database, token: str, now: int) -> str | None:
    """Open the key of a confirmation token, as often as it comes. Return its address; None for an outdated token.

    Raises Problem 409.
    """
    with database.begin() as connection:
        _one_at_a_time(connection)
        mine = (KEYS.c.confirmation == _sha256(token), KEYS.c.revoked.is_(None), KEYS.c.created > now - CONFIRM_S)
        row = connection.execute(select(KEYS).where(*mine)).first()
        if row is None:
            return None
        if row.confirmed is None:
            full = _make_room(connection, row.identity, now)
            if full is not None:
                raise full
            connection.execute(update(KEYS).where(KEYS.c.id == row.id).values(confirmed=now))
        return str(row.email)


def withdraw(database: Database, key: str) -> None:
    """Remove an unconfirmed key whose mail could not be sent, as if it had never been asked for."""
    with database.begin() as connection:
        mine = (KEYS.c.digest == digest_of(key), KEYS.c.confirmed.is_(None))
        row = connection.execute(select(KEYS.c.id, KEYS.c.identity, KEYS.c.created).where(*mine)).first()
        if row is not None:
            connection.execute(delete(REPEATS).where(REPEATS.c.email == row.identity, REPEATS.c.at == row.created))
            connection.execute(delete(KEYS).where(KEYS.c.id == row.id))


def rotate(database: Database, digest: bytes, now: int) -> str | None:
    """Return a new spelling of a key, with the same day and quota; None where no live key has the digest any more.

    The one before opens for OVERLAP_S more, older ones no more. Of two that rotate one key at once, one does.
    """
    key = spell(secrets.token_bytes(32))
    mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None))
    change = update(KEYS).where(*mine).values(digest=digest_of(key)).returning(KEYS.c.id)
    with database.begin() as connection:
        number = connection.execute(change).scalar()
        if number is None:
            return None
        connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == number))
        connection.execute(insert(PREVIOUS_KEYS).values(digest=digest, key_id=number, until=now + OVERLAP_S))
    return key


def revoke(database: Database, digest: bytes, now: int) -> None:
    """End the key of a digest, and those that were rotated into it; its usage stays.

    Of one that was rotated before, its own spelling alone: the key in its place stays.
    """
    mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None))
    with database.begin() as connection:
        key = connection.execute(update(KEYS).where(*mine).values(revoked=now).returning(KEYS.c.id)).scalar()
        before = PREVIOUS_KEYS.c.digest == digest if key is None else PREVIOUS_KEYS.c.key_id == key
        connection.execute(delete(PREVIOUS_KEYS).where(before))


def _key(salt: bytes, token: str) -> str:
    """Return the key of a sign-up: the same again for its Idempotency-Key, without which the salt tells nothing."""
    return spell(hmac.digest(salt, token.encode(), "sha256") if token else salt)


def _one_at_a_time(connection: Connection) -> None:
    """Let sign-ups queue, so that their counts are exact: they are rare. SQLite's writers queue anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_SIGN_UP_LOCK)))


def _repeated(connection: Connection, request: SignUp, now: int) -> bytes | None:
    """Return the salt of the same sign-up before. From elsewhere, or for another address, it is another one."""
    connection.execute(delete(REPEATS).where(REPEATS.c.at <= now - DAY))
    if not request.token:
        return None
    mine = (REPEATS.c.client == request.client, REPEATS.c.token == _sha256(request.token))
    query = select(REPEATS.c.salt).where(*mine, REPEATS.c.email == identity(request.email))
    return connection.execute(query).scalar()


def _count_sign_up(connection: Connection, client: str, per_hour: int, now: int) -> None:
    """Count an attempt. Raises Problem 429 where the last hour holds `per_hour` already (0: unlimited)."""
    connection.execute(delete(SIGN_UPS).where(SIGN_UPS.c.at <= now - HOUR))
    mine = SIGN_UPS.c.client == client
    count, oldest = connection.execute(select(func.count(), func.min(SIGN_UPS.c.at)).where(mine)).one()
    if per_hour and count >= per_hour:
        detail = f"At most {per_hour} sign-ups an hour from one address."
        raise refuse_for(oldest + HOUR - now, "too-many-sign-ups", detail)
    connection.execute(insert(SIGN_UPS).values(client=client, at=now))


def _new_key(connection: Connection, request: SignUp, now: int, confirmed: bool) -> NewKey:
    stale = (KEYS.c.confirmed.is_(None), KEYS.c.created <= now - CONFIRM_S)
    connection.execute(delete(KEYS).where(*stale))
    salt, confirmation = secrets.token_bytes(32), "" if confirmed else secrets.token_urlsafe(32)
    key, person = _key(salt, request.token), identity(request.email)
    values = {"digest": digest_of(key), "email": request.email, "identity": person, "created": now}
    values |= {"confirmed": now} if confirmed else {"confirmation": _sha256(confirmation)}
    connection.execute(insert(KEYS).values(values))
    if request.token:
        repeat = {"client": request.client, "token": _sha256(request.token), "email": person, "salt": salt, "at": now}
        connection.execute(insert(REPEATS).values(repeat))
    return NewKey(key, confirmation)


def _make_room(connection: Connection, person: str, now: int, retire: bool = True) -> Problem | None:
    """Retire the key of a person that was unused longest, if there are three and that one idled for seven days."""
    last = func.max(USAGE.c.day).filter(USAGE.c.calls > 0)
    live = connection.execute(
        select(KEYS.c.id, KEYS.c.created, last)
        .outerjoin(USAGE, USAGE.c.key_id == KEYS.c.id)
        .where(KEYS.c.identity == person, KEYS.c.revoked.is_(None), KEYS.c.confirmed.is_not(None))
        .group_by(KEYS.c.id, KEYS.c.created)
    ).all()
    if len(live) < KEYS_PER_ADDRESS:
        return None
    # Of its last day only the date is known: it counts as used until that day's end.
    used, key = min((max(created, 0 if day is None else (day + 1) * DAY), key) for key, created, day in live)
    if used > now - IDLE_DAYS * DAY:
        full = f"this address has {len(live)} live keys, all used within {IDLE_DAYS} days"
        return Problem("too-many-keys", f"{full}; DELETE /v1/keys/current revokes one.")
    if retire:
        connection.execute(update(KEYS).where(KEYS.c.id == key).values(revoked=now))
    return None


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# The paths


def _sign_up(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    gate, now = service.gate, service.gate.now
    mail = gate.settings.mail
    document, token = read_json(request, _MOST_BYTES, '{"email": "..."}'), request.header("HTTP_IDEMPOTENCY_KEY")
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "an address such as a@example.org")
        raise Problem("invalid-request", "The body holds no e-mail address.", [fault])
    email = email.strip().lower()
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "Idempotency-Key is 1 to 255 visible ASCII characters.")
    client = call_of(request, "", gate.settings.trusted_proxies).client
    new = sign_up(
        gate.database,
        SignUp(email, client_unit(client), token),
        gate.settings.signups_per_hour,
        now,
        confirmed=mail is None,
    )
    if mail is not None and new.confirmation:
        try:
            send(mail, gate.settings.base_url, email, new.confirmation)
        except Problem:
            withdraw(gate.database, new.key)
            raise
    body: dict[str, Any] = {
        "api_key": new.key,
        "email": email,
        "quota": {"limit": CALLS_PER_DAY, "window": "day", "resets_at": keys.resets_at(now)},
        "docs": gate.settings.base_url + "/docs",
    }
    return private_json(body if mail is None else {**body, "confirmed": False}, 201)


def _confirm(service: Service, request: Request, query: dict[str, Any]) -> Response:
    with service.gate.enter(request) as entry:
        gate, token = service.gate, query["token"]
        if token is None:
            fault = ParameterFault("token", "missing", "the token of the mail's link")
            raise Problem("invalid-parameters", "token is missing.", [fault])
        if request.method == "HEAD":  # a mail scanner's look must not confirm
            return entry.settle(Response(200, [NO_STORE]))
        email = confirm(gate.database, token, gate.now)
        if email is None:
            raise Problem("unknown-confirmation", "This link is unknown or older than a day; sign up again.")
        return entry.settle(private_json({"confirmed": True, "email": email, "docs": gate.settings.base_url + "/docs"}))


def _usage(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.gate.enter(request) as entry:
        now, (_, usage) = service.gate.now, service.gate.require_key(request)
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
    with service.gate.enter(request) as entry:
        gate, now = service.gate, service.gate.now
        digest, usage = gate.require_key(request)
        key = rotate(gate.database, digest, now) if usage.current else None
        if key is None:
            gate.require_key(request)  # 401 where it was revoked meanwhile
            raise Problem("key-rotated", "This key was rotated before; rotate the one that took its place.")
        return entry.settle(private_json({"api_key": key, "previous_valid_until": now + OVERLAP_S}, 201))


def _revoke(service: Service, request: Request, _query: dict[str, Any]) -> Response:
    with service.gate.enter(request) as entry:
        gate = service.gate
        revoke(gate.database, gate.require_key(request)[0], gate.now)
        return entry.settle(Response(204, [NO_STORE]))


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
