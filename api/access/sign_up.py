"""Sign up for a key and confirm it by e-mail: the paths, the e-mail, and the changes to the accounts.

Unconfirmed keys do not work and do not count. A link for one key of an address confirms another key of the address if
its request carries that key, so sign-ups by others do not lock a person out. `api.access.keys` admits requests with
keys, and `api.access.key_life` rotates and revokes keys.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import smtplib
import ssl
import threading
from collections.abc import Callable
from email.message import EmailMessage
from functools import partial
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote

import orjson
from sqlalchemy import Connection, delete, func, insert, select, update

from api.access import keys
from api.access.client_address import SITE, client_unit
from api.access.database import Database
from api.access.key_headers import key_of
from api.access.key_spelling import digest_of, spell
from api.access.keys import CALLS_PER_DAY
from api.access.tables import KEYS, REPEATS, USAGE, identity
from api.access.values import NO_STORE, refuse_for
from api.http.messages import HttpRequest, QueryValues, Response, View, read_json
from api.http.problems import ParameterFault, Problem
from api.service import Service
from api.settings import is_loopback
from warehouse.market.clock import DAY

KEYS_PER_ADDRESS = 3
IDLE_DAYS = 7
"""If the least recently used key is unused for this long, a fourth key may replace it."""
CONFIRM_S = DAY
"""The lifetime of a confirmation token, in seconds."""
MAILS_PER_HOUR = 5
"""The limit per recipient, for all clients together."""
_OPEN_THE_LINK = "Open the link in the e-mail to confirm this key."
_USE_AN_EARLIER_LINK = (
    f"{MAILS_PER_HOUR} e-mails were sent to this address within an hour, so no other is sent. To confirm this key, "
    "request the link of one of them with the key as Authorization: Bearer."
)
_SIGN_UP_LOCK = 0x7369676E
_MOST_BYTES = 4096
_MAIL_TIMEOUT_S = 10
_MAILS = threading.BoundedSemaphore(4)
"""A slow mail server must not occupy more of a worker's 64 threads."""
_TOKEN = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,254}")
_LOCAL = re.compile(r"[^\s@\"(),:;<>\[\\\]\x00-\x1f\x7f]{1,64}")
_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


def is_address(text: str) -> bool:
    """Return whether a text has the form of an address (RFC 5321 lengths; no quoted parts, no literals)."""
    local, _, domain = text.rpartition("@")
    try:
        labels = domain.encode("idna").decode("ascii").split(".")
    except UnicodeError:
        return False
    if len(text) > 254 or not _LOCAL.fullmatch(local) or local.startswith(".") or local.endswith(".") or ".." in local:
        return False
    return len(labels) > 1 and not labels[-1].isdigit() and all(_LABEL.fullmatch(label) for label in labels)


def sign_up(
    database: Database,
    email: str,
    client: str,
    now: int,
    *,
    token: str = "",
    confirmed: bool = True,
    refuse: Callable[[], Problem | None] = lambda: None,
) -> tuple[str, str]:
    """Return a new key, and the token that confirms it, which is empty if the key is `confirmed` already.

    The same address, client and Idempotency-Key (`token`, empty without it) give the same key for a day, without a
    token and without a call to `refuse`, which counts sign-ups. Raises Problem 409, and the problem that `refuse`
    returns.
    """
    person = identity(email)
    repeat = {"client": client, "token": _sha256(token), "email": person}
    with database.begin() as connection:
        _one_at_a_time(connection)
        connection.execute(delete(REPEATS).where(REPEATS.c.at <= now - DAY))
        salt = connection.execute(select(REPEATS.c.salt).filter_by(**repeat)).scalar() if token else None
        if salt is not None:
            return _key(salt, token), ""
        if too_many := refuse():
            raise too_many
        _make_room(connection, person, now, retire=confirmed)
        connection.execute(delete(KEYS).where(KEYS.c.confirmed.is_(None), KEYS.c.created <= now - CONFIRM_S))
        salt, confirmation = secrets.token_bytes(32), "" if confirmed else secrets.token_urlsafe(32)
        key = _key(salt, token)
        values = {"digest": digest_of(key), "email": email, "identity": person, "created": now}
        values |= {"confirmed": now} if confirmed else {"confirmation": _sha256(confirmation)}
        connection.execute(insert(KEYS).values(values))
        if token:
            connection.execute(insert(REPEATS).values(repeat | {"salt": salt, "at": now}))
        return key, confirmation


def _send(server: SplitResult, base_url: str, to: str, token: str) -> None:
    """Send the link that confirms a key. Raises Problem 503, which does not quote the mail server."""
    unavailable = refuse_for(
        60, "mail-unavailable", "The confirmation e-mail could not be sent, so no key was created. Try again later."
    )
    if not _MAILS.acquire(blocking=False):
        raise unavailable
    try:
        message = EmailMessage()
        message["From"], message["To"] = dict(parse_qsl(server.query))["from"], to
        message["Subject"] = "Confirm your API key"
        message.set_content(
            f"You (or someone using your address) requested an API key for {base_url}.\n\n"
            f"To activate the key, open this link within 24 hours:\n{base_url}/v1/keys/confirm?token={token}\n\n"
            "If you did not request a key, ignore this e-mail. The key stays inactive.\n"
        )
        context = ssl.create_default_context()
        tls = server.scheme == "smtps"
        kind = partial(smtplib.SMTP_SSL, context=context) if tls else smtplib.SMTP
        with kind(server.hostname or "", server.port or (465 if tls else 587), timeout=_MAIL_TIMEOUT_S) as session:
            session.ehlo()
            if not tls and (not is_loopback(server.geturl()) or session.has_extn("starttls")):
                session.starttls(context=context)  # only loopback may lack it
            if server.username:
                session.login(unquote(server.username), unquote(server.password or ""))
            session.send_message(message)
    except (OSError, smtplib.SMTPException, UnicodeError):
        raise unavailable from None
    finally:
        _MAILS.release()


def _key(salt: bytes, token: str) -> str:
    """Return the key of a sign-up. It is the same for an Idempotency-Key, without which the salt reveals nothing."""
    return spell(hmac.digest(salt, token.encode(), "sha256") if token else salt)


def _one_at_a_time(connection: Connection) -> None:
    """Serialise sign-ups, which are rare, so that their counts are exact. SQLite's writers queue anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_SIGN_UP_LOCK)))


def _make_room(connection: Connection, person: str, now: int, retire: bool = True) -> None:
    """If a person has three active keys, revoke the least recently used key, provided that it was idle for seven
    days.

    Raises Problem 409 if all three are in use.
    """
    last = func.max(USAGE.c.day).filter(USAGE.c.calls > 0)
    live = connection.execute(
        select(KEYS.c.id, KEYS.c.created, last)
        .outerjoin(USAGE, USAGE.c.key_id == KEYS.c.id)
        .where(KEYS.c.identity == person, KEYS.c.revoked.is_(None), KEYS.c.confirmed.is_not(None))
        .group_by(KEYS.c.id, KEYS.c.created)
    ).all()
    if len(live) < KEYS_PER_ADDRESS:
        return
    # Only the date of the last use is known, so a key counts as used until the end of that day.
    used, key = min((max(created, 0 if day is None else (day + 1) * DAY), key) for key, created, day in live)
    if used > now - IDLE_DAYS * DAY:
        raise Problem(
            "too-many-keys",
            f"This e-mail address already has {len(live)} active keys, and all of them were used in the last "
            f"{IDLE_DAYS} days. Revoke one with DELETE /v1/keys/current, then sign up again.",
        )
    if retire:
        connection.execute(update(KEYS).where(KEYS.c.id == key).values(revoked=now))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _sign_up(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    gate, now = service.gate, service.gate.now
    mail = gate.settings.smtp_url
    document, token = read_json(request, _MOST_BYTES, '{"email": "..."}'), request.header("HTTP_IDEMPOTENCY_KEY")
    email = document.get("email") if isinstance(document, dict) else None
    if not isinstance(email, str) or not is_address(email.strip()):
        fault = ParameterFault("email", "invalid", "must be an e-mail address, for example a@example.org")
        detail = 'The request body has no valid `email`. Send {"email": "you@example.org"}.'
        raise Problem("invalid-request", detail, [fault])
    email = email.strip().lower()
    if token and not _TOKEN.fullmatch(token):
        raise Problem("invalid-request", "The Idempotency-Key header must be 1 to 255 visible ASCII characters.")
    address = gate.call_of(request).client
    client = client_unit(address)

    refuse = partial(gate.limits.refuse, "sign-up", client_unit(address, SITE), gate.settings.signups_per_hour, now)
    key, confirmation = sign_up(gate.database, email, client, now, token=token, confirmed=mail is None, refuse=refuse)
    recipient, next_step = ("mail", identity(email)), _OPEN_THE_LINK
    if mail is not None and confirmation and gate.limits.refuse(*recipient, MAILS_PER_HOUR, now):
        next_step = _USE_AN_EARLIER_LINK
    elif mail is not None and confirmation:
        try:
            _send(mail, gate.settings.base_url, email, confirmation)
        except Problem:
            gate.limits.give_back(*recipient, 1, now)
            with gate.database.begin() as connection:  # a repeated sign-up gets another key and an e-mail
                connection.execute(delete(REPEATS).where(REPEATS.c.client == client, REPEATS.c.token == _sha256(token)))
                connection.execute(delete(KEYS).where(KEYS.c.digest == digest_of(key), KEYS.c.confirmed.is_(None)))
            raise
    body: dict[str, Any] = {
        "api_key": key,
        "email": email,
        "quota": {"limit": CALLS_PER_DAY, "window": "day", "resets_at": keys.resets_at(now)},
        "docs": gate.settings.base_url + "/docs",
    }
    return private_json(body if mail is None else {**body, "confirmed": False, "next_step": next_step}, 201)


def _confirm(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    """Confirm the key of a confirmation token, which may be repeated.

    If the request carries another key of the same address, confirm that key instead. A client with the link reads the
    e-mail of the address, which may not be true of the client that signed up for the link's own key.
    """
    gate, now = service.gate, service.gate.now
    sent = digest_of(key_of(gate.call_of(request)) or "")
    mine = (KEYS.c.confirmation == _sha256(query["token"]), KEYS.c.revoked.is_(None), KEYS.c.created > now - CONFIRM_S)
    with gate.enter(request) as entry:
        if request.method == "HEAD":  # the link check of a mail scanner must not confirm
            return entry.settle(Response(200, [NO_STORE]))
        with gate.database.begin() as connection:
            _one_at_a_time(connection)
            row = connection.execute(select(KEYS).where(*mine)).first()
            if row is None:
                raise Problem(
                    "unknown-confirmation",
                    "This confirmation link is invalid or older than 24 hours. Sign up again to get a new one.",
                )
            own = (KEYS.c.digest == sent, KEYS.c.identity == row.identity, KEYS.c.revoked.is_(None))
            row = connection.execute(select(KEYS).where(*own)).first() or row
            if row.confirmed is None:
                _make_room(connection, row.identity, now)
                connection.execute(update(KEYS).where(KEYS.c.id == row.id).values(confirmed=now))
        body = {"confirmed": True, "email": row.email, "docs": gate.settings.base_url + "/docs"}
        return entry.settle(private_json(body))


def private_json(document: dict[str, Any], status: int = 200) -> Response:
    """Return a JSON response that must not be stored."""
    return Response(status, [NO_STORE, ("Content-Type", "application/json")], orjson.dumps(document))


VIEWS: dict[str, View] = {"sign-up": _sign_up, "confirm": _confirm}
