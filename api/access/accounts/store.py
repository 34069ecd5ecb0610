"""Keys and their daily quota, in SQLite or PostgreSQL, exact however many workers and hosts share them. Days are UTC.

Only a key's SHA-256 is kept. How keys are made: `api.access.accounts.sign_ups`; payments: `api.access.accounts.ledger`;
the tables: `api.access.accounts.tables`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from api.access.accounts import sign_ups
from api.access.accounts.database import Database
from api.access.accounts.key_format import digest_of
from api.access.accounts.ledger import Ledger
from api.access.accounts.sign_ups import NewKey, SignUp
from api.access.accounts.tables import KEYS, PREVIOUS_KEYS
from api.access.accounts.transfers import TransferBook
from api.access.accounts.usage_counter import UsageCounter
from warehouse.clock import DAY

CALLS_PER_DAY = 500
"""Of a key without a quota of its own."""
OVERLAP_S = DAY
"""So long a rotated key goes on opening."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call counted before its work; `used` of `limit` calls of `key` stand on `day` with it."""

    key: int
    day: int
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The day of a live key. `current`: the key shown was not rotated since."""

    key: int
    created: int
    used: int
    limit: int
    current: bool = True


class Accounts:
    """One database of keys, usage and payments. Everything raises AccountsUnavailable where it does not answer."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._counter = UsageCounter(database.url)
        self.ledger = Ledger(database)
        self.transfers = TransferBook(database)

    @classmethod
    def open(cls, url: str) -> Accounts:
        """Open a database and bring its tables to this release. Raises SchemaTooNew too."""
        accounts = cls(Database(url))
        accounts.database.open()
        return accounts

    def reserve(self, digest: bytes, now: int) -> Reserved | None:
        """Count one call of a key on its UTC day; None where the key opens nothing, or has none left."""
        self.database.open()
        day = now // DAY
        row = self._counter.count(digest, day, CALLS_PER_DAY)
        if row is None and (successor := self._successor(digest, now)):
            row = self._counter.count(successor, day, CALLS_PER_DAY)
        return Reserved(row[0], day, row[1], row[2]) if row else None

    def give_back(self, reserved: Reserved) -> int:
        """Take a counted call back, on the day that it was counted. Return the key's calls of that day now."""
        return self._counter.take_back(reserved.key, reserved.day)

    def usage(self, digest: bytes, now: int) -> Usage | None:
        """Return the day of a live key; None for any other."""
        self.database.open()
        row = self._counter.look(digest, now // DAY)
        successor = self._successor(digest, now) if row is None else None
        if successor is not None:
            row = self._counter.look(successor, now // DAY)
        if row is None:
            return None
        limit = CALLS_PER_DAY if row[3] is None else row[3]
        return Usage(row[0], row[1], row[2], limit, current=successor is None)

    def is_unconfirmed(self, digest: bytes) -> bool:
        """Return whether a key only lacks the confirmation by mail."""
        mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None), KEYS.c.confirmed.is_(None))
        with self.database.connect() as connection:
            return connection.execute(select(KEYS.c.id).where(*mine)).first() is not None

    def revoke(self, key: int, now: int) -> None:
        """End a key, and those that were rotated into it; its usage stays."""
        with self.database.begin() as connection:
            connection.execute(update(KEYS).where(KEYS.c.id == key, KEYS.c.revoked.is_(None)).values(revoked=now))
            connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == key))

    def end(self, digest: bytes, now: int) -> None:
        """End the key of a digest, and those that were rotated into it.

        Of one that was rotated before, its own spelling alone: the key in its place stays.
        """
        with self.database.begin() as connection:
            mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None))
            if connection.execute(update(KEYS).where(*mine).values(revoked=now)).rowcount:
                key = select(KEYS.c.id).where(KEYS.c.digest == digest).scalar_subquery()
                connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == key))
            else:
                connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.digest == digest))

    def rotate(self, digest: bytes, now: int) -> str | None:
        """Return a new spelling of a key, with the same day and quota; None where no live key has the digest any more.

        The one before opens for OVERLAP_S more, older ones no more. Of two that rotate one key at once, one does.
        """
        secret = sign_ups.new_secret()
        new = digest_of(secret)
        with self.database.begin() as connection:
            mine = (KEYS.c.digest == digest, KEYS.c.revoked.is_(None))
            if not connection.execute(update(KEYS).where(*mine).values(digest=new)).rowcount:
                return None
            key = connection.execute(select(KEYS.c.id).where(KEYS.c.digest == new)).scalar_one()
            connection.execute(delete(PREVIOUS_KEYS).where(PREVIOUS_KEYS.c.key_id == key))
            connection.execute(insert(PREVIOUS_KEYS).values(digest=digest, key_id=key, until=now + OVERLAP_S))
        return secret

    def sign_up(self, request: SignUp, per_hour: int, now: int) -> str:
        """Return a new key that opens at once; the same one again for the same Idempotency-Key.

        Raises SignUpRefused's leaves.
        """
        return sign_ups.sign_up(self.database, request, per_hour, now, confirmed=True).key

    def sign_up_unconfirmed(self, request: SignUp, per_hour: int, now: int) -> NewKey:
        """Return a new key that opens once its confirmation token came back. Raises SignUpRefused's leaves."""
        return sign_ups.sign_up(self.database, request, per_hour, now, confirmed=False)

    def confirm(self, token: str, now: int) -> str | None:
        """Open the key of a confirmation token. Return its address; None for an unknown or outdated token.

        Raises TooManyKeys.
        """
        return sign_ups.confirm(self.database, token, now)

    def withdraw(self, key: str) -> None:
        """Remove an unconfirmed key whose mail could not be sent, as if it had never been asked for."""
        sign_ups.withdraw(self.database, key)

    def close(self) -> None:
        self._counter.close()
        self.database.close()

    def _successor(self, digest: bytes, now: int) -> bytes | None:
        """Return the digest of the key that took this one's place, while both open."""
        query = (
            select(KEYS.c.digest)
            .join(PREVIOUS_KEYS, PREVIOUS_KEYS.c.key_id == KEYS.c.id)
            .where(PREVIOUS_KEYS.c.digest == digest, PREVIOUS_KEYS.c.until > now)
        )
        with self.database.connect() as connection:
            current: bytes | None = connection.execute(query).scalar()
        return current
