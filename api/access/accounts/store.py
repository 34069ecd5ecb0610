"""Keys, their daily quota and sign-ups, in SQLite or PostgreSQL, exact however many workers and hosts share them.

Only a key's SHA-256 is kept. Payments: `api.access.accounts.ledger`; the tables: `api.access.accounts.tables`. Days are UTC.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from api.access.accounts.ledger import Ledger
from api.access.accounts.tables import KEYS, REPEATS, SIGN_UPS, USAGE, migrate, open_engine
from api.access.accounts.usage_counter import UsageCounter
from api.access.accounts.usage_counter_postgres import PostgresUsageCounter
from api.access.accounts.usage_counter_sqlite import SqliteUsageCounter
from warehouse.clock import DAY, HOUR
from warehouse.errors import CallerError

KEY_PREFIX = "emds_"
CALLS_PER_DAY = 500
KEYS_PER_ADDRESS = 3
IDLE_DAYS = 7
"""Unused this long, the key that was unused longest makes room for a fourth."""
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SIGN_UP_LOCK = 0x7369676E


class SignUpRefused(CallerError):
    """No key for this sign-up."""


class TooManySignUps(SignUpRefused):
    """The client address signed up too often; the next is taken in `wait` seconds."""

    def __init__(self, wait: int) -> None:
        super().__init__("too many sign-ups from this address")
        self.wait = wait


class TooManyKeys(SignUpRefused):
    """The e-mail address holds its three keys, and all are in use."""


class TokenReused(SignUpRefused):
    """This Idempotency-Key came with another body before."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call counted before its work; `used` calls of `key` stand on `day` with it."""

    key: int
    day: int
    used: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a live key made of its day."""

    key: int
    created: int
    used: int


@dataclass(frozen=True, slots=True)
class SignUp:
    """Who asks for a key: `token` is the Idempotency-Key, empty for none."""

    email: str
    client: str
    token: str = ""


class Accounts:
    """One database of keys, usage and payments. Everything raises AccountsUnavailable where it does not answer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._hot: UsageCounter = (
            SqliteUsageCounter(engine.url) if engine.dialect.name == "sqlite" else PostgresUsageCounter(engine.url)
        )
        self.ledger = Ledger(engine)

    @classmethod
    def open(cls, url: str) -> Accounts:
        """Opens a database and brings its tables to this release. Raises SchemaTooNew."""
        engine = open_engine(url)
        try:
            migrate(engine)
        finally:
            engine.dispose()  # workers forked from here must not share its connections
        return cls(engine)

    def reserve(self, digest: bytes, now: int) -> Reserved | None:
        """Counts one call of a key on its UTC day; None where the key is unknown, revoked, or has none left."""
        day = now // DAY
        row = self._hot.count(digest, day, CALLS_PER_DAY)
        return Reserved(row[0], day, row[1]) if row else None

    def give_back(self, reserved: Reserved) -> int:
        """Takes a counted call back, on the day that it was counted; the key's calls of that day now."""
        return self._hot.take_back(reserved.key, reserved.day)

    def usage(self, digest: bytes, now: int) -> Usage | None:
        """The day of a live key; None for any other."""
        row = self._hot.look(digest, now // DAY)
        return Usage(*row) if row else None

    def revoke(self, key: int, now: int) -> None:
        """Ends a key; its usage stays."""
        with self._engine.begin() as connection:
            connection.execute(update(KEYS).where(KEYS.c.id == key, KEYS.c.revoked.is_(None)).values(revoked=now))

    def sign_up(self, asked: SignUp, per_hour: int, now: int) -> str:
        """A new key, or the same one again for the same Idempotency-Key within a day. Raises SignUpRefused's leaves."""
        with self._engine.begin() as connection:
            _one_at_a_time(connection)
            salt = _repeated(connection, asked, now)
            if salt is not None:
                return _key(salt, asked.token)
            _count_sign_up(connection, asked.client, per_hour, now)
            full = _make_room(connection, asked.email, now)
            if full is None:
                return _new_key(connection, asked, now)
        raise full  # after the commit: a refused attempt counts too

    def close(self) -> None:
        self._hot.close()
        self._engine.dispose()


def digest_of(key: str) -> bytes:
    """What is kept of a key: 256 random bits need neither salt nor a slow hash."""
    return _sha256(key)


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _key(salt: bytes, token: str) -> str:
    """The key of a sign-up. It can be given again to whoever shows the Idempotency-Key, and cannot be read from the salt."""
    number = int.from_bytes(hmac.digest(salt, token.encode(), "sha256") if token else salt)
    digits = []
    for _ in range(43):  # 62 ** 43 > 2 ** 256
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return KEY_PREFIX + "".join(reversed(digits))


def _one_at_a_time(connection: Connection) -> None:
    """Sign-ups are rare: they queue, so that their counts are exact. SQLite's writers queue anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_SIGN_UP_LOCK)))


def _repeated(connection: Connection, asked: SignUp, now: int) -> bytes | None:
    """The salt of the same sign-up before. Asked from elsewhere it is another: a token is easier to guess than a key."""
    connection.execute(delete(REPEATS).where(REPEATS.c.at <= now - DAY))
    if not asked.token:
        return None
    mine = (REPEATS.c.client == asked.client, REPEATS.c.token == _sha256(asked.token))
    row = connection.execute(select(REPEATS.c.email, REPEATS.c.salt).where(*mine)).first()
    if row is None:
        return None
    if row.email != asked.email:
        raise TokenReused("this Idempotency-Key was used for another address")
    salt: bytes = row.salt
    return salt


def _count_sign_up(connection: Connection, client: str, per_hour: int, now: int) -> None:
    """Counts an attempt. Raises TooManySignUps where the last hour holds `per_hour` already (0: unlimited)."""
    connection.execute(delete(SIGN_UPS).where(SIGN_UPS.c.at <= now - HOUR))
    mine = SIGN_UPS.c.client == client
    count, oldest = connection.execute(select(func.count(), func.min(SIGN_UPS.c.at)).where(mine)).one()
    if per_hour and count >= per_hour:
        raise TooManySignUps(oldest + HOUR - now)
    connection.execute(insert(SIGN_UPS).values(client=client, at=now))


def _new_key(connection: Connection, asked: SignUp, now: int) -> str:
    salt = secrets.token_bytes(32)
    key = _key(salt, asked.token)
    connection.execute(insert(KEYS).values(digest=digest_of(key), email=asked.email, created=now))
    if asked.token:
        repeat = {"client": asked.client, "token": _sha256(asked.token), "email": asked.email, "salt": salt, "at": now}
        connection.execute(insert(REPEATS).values(repeat))
    return key


def _make_room(connection: Connection, email: str, now: int) -> TooManyKeys | None:
    """Retires the key of an address that was unused longest, if it holds three and that one idled for seven days."""
    last = func.max(USAGE.c.day).filter(USAGE.c.calls > 0)
    live = connection.execute(
        select(KEYS.c.id, KEYS.c.created, last)
        .outerjoin(USAGE, USAGE.c.key_id == KEYS.c.id)
        .where(KEYS.c.email == email, KEYS.c.revoked.is_(None))
        .group_by(KEYS.c.id, KEYS.c.created)
    ).all()
    if len(live) < KEYS_PER_ADDRESS:
        return None
    # Of its last day only the date is known: it counts as used until that day's end.
    used, key = min((max(created, 0 if day is None else (day + 1) * DAY), key) for key, created, day in live)
    if used > now - IDLE_DAYS * DAY:
        return TooManyKeys(f"this address has {len(live)} live keys, all used within {IDLE_DAYS} days")
    connection.execute(update(KEYS).where(KEYS.c.id == key).values(revoked=now))
    return None
