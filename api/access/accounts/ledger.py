"""The payments ledger: what became of each signed authorization, so that none is charged, served or refused twice.

One row for each (network, payer, nonce), whichever protocol version carried it, and at most one for each transfer on
the chain. Every change of state is one conditional statement; the loser of a race gets None. What to do about it is
decided in `api.access.x402.resource_server`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, RowMapping, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from api.access.accounts.database import Database
from api.access.accounts.tables import PAYMENTS
from api.access.values import Answer
from warehouse.clock import DAY

State = Literal["claimed", "settling", "settled", "failed", "unknown", "released"]
"""claimed: one call has the payment and makes its answer. settling: the answer is kept, the money may move. settled:
the money is ours. failed: refused. unknown: the money may have moved. released: nothing moved, it may be used
again."""
OWED_S = DAY
"""So long a charged payer who got nothing may fetch the answer."""

_C = PAYMENTS.c


class TransferTaken(Exception):
    """The transfer on the chain already paid for another row."""


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """One authorization and what it is to buy. Addresses and nonce in lower case, amount in smallest units."""

    network: str
    payer: str
    nonce: str
    version: int
    asset: str
    pay_to: str
    amount: int
    valid_before: int
    path: str
    fingerprint: str
    payment_hash: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A row of the ledger as it was read; `attempt` is what a change must still find there."""

    id: int
    attempt: int
    state: State
    terms: PaymentTerms
    facilitator: str
    tx: str
    log_index: int | None
    error: str
    answered: int | None
    replays: int
    created: int
    updated: int
    has_answer: bool

    def same(self, terms: PaymentTerms) -> bool:
        """Whether the very same payment asks for the very same answer."""
        return self.terms == terms

    def owed(self, now: int) -> bool:
        """Whether the payer was charged and never got the answer."""
        return self.state == "settled" and self.answered is None and self.updated > now - OWED_S


class Ledger:
    """Reads and changes rows; every commit is on disk before it returns. Raises AccountsUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, terms: PaymentTerms) -> LedgerEntry | None:
        """The row of an authorization."""
        return self.find_authorization(terms.network, terms.payer, terms.nonce)

    def find_authorization(self, network: str, payer: str, nonce: str) -> LedgerEntry | None:
        """The row of an authorization, by its names on the chain."""
        return self._first(and_(_C.network == network, _C.payer == payer, _C.nonce == nonce))

    def find_transfer(self, network: str, tx: str, log_index: int) -> LedgerEntry | None:
        """The row that a transfer paid for."""
        return self._first(and_(_C.network == network, _C.tx == tx, _C.log_index == log_index))

    def claim(self, terms: PaymentTerms, now: int) -> LedgerEntry | None:
        """A row in state claimed, new or released before; None where another call has it."""
        values = {
            **_columns(terms),
            "state": "claimed",
            "facilitator": "",
            "tx": "",
            "log_index": None,
            "error": "",
            "answer_headers": None,
            "answer_body": None,
            "answered": None,
            "replays": 0,
            "updated": now,
        }
        again = update(PAYMENTS).where(_is(terms), _C.state == "released").values(values | {"attempt": _C.attempt + 1})
        try:
            with self._database.begin() as connection:
                if not connection.execute(again).rowcount:
                    connection.execute(insert(PAYMENTS).values(values | {"attempt": 1, "created": now}))
        except IntegrityError:
            return None
        return self.find(terms)

    def settling(
        self, entry: LedgerEntry, now: int, facilitator: str = "", answer: Answer | None = None
    ) -> LedgerEntry | None:
        """Claims the right to settle, and keeps the answer where it is new; None where the row has moved on."""
        values: dict[str, object] = {"state": "settling", "attempt": _C.attempt + 1}
        if answer is not None:
            values |= {"facilitator": facilitator, **_kept(answer)}
        return self._change(entry, now, values)

    def settled(
        self, entry: LedgerEntry, now: int, tx: str, log_index: int | None, answered: bool
    ) -> LedgerEntry | None:
        """The money is ours. `answered`: the answer goes out now, else it is owed. Raises TransferTaken."""
        values = {"state": "settled", "tx": tx, "log_index": log_index, "answered": now if answered else None}
        try:
            return self._change(entry, now, values)
        except IntegrityError:
            raise TransferTaken(tx) from None

    def proven(self, entry: LedgerEntry, tx: str, log_index: int) -> None:
        """A row that was settled on a facilitator's word has its transfer on the chain. Nothing where it was taken."""
        change = update(PAYMENTS).where(_C.id == entry.id, _C.state == "settled", _C.log_index.is_(None))
        with suppress(IntegrityError), self._database.begin() as connection:
            connection.execute(change.values(tx=tx, log_index=log_index))

    def unproven(self, network: str) -> int:
        """How many settled rows name no transfer on the chain."""
        settled = (_C.network == network, _C.state == "settled", _C.log_index.is_(None))
        with self._database.connect() as connection:
            count: int = connection.execute(select(func.count()).select_from(PAYMENTS).where(*settled)).scalar_one()
        return count

    def delivered(self, entry: LedgerEntry, now: int, answer: Answer) -> LedgerEntry | None:
        """An owed answer was made again and goes out now; None where another call was faster."""
        return self._change(entry, now, {"attempt": _C.attempt + 1, "answered": now, **_kept(answer)})

    def failed(self, entry: LedgerEntry, now: int, error: str, final: bool = True) -> LedgerEntry | None:
        """Refused. The answer stays kept unless `final`: the chain may still show that the money moved."""
        values: dict[str, object] = {"state": "failed", "error": error}
        return self._change(entry, now, values | ({"answer_body": None, "answer_headers": None} if final else {}))

    def unknown(self, entry: LedgerEntry, now: int, tx: str = "") -> LedgerEntry | None:
        """The money may have moved; only the chain, or a facilitator asked again, can tell."""
        return self._change(entry, now, {"state": "unknown", "tx": tx or entry.tx})

    def released(self, entry: LedgerEntry, now: int, error: str = "") -> LedgerEntry | None:
        """No money moved; the same authorization may come again."""
        values = {"state": "released", "error": error, "answer_body": None, "answer_headers": None}
        return self._change(entry, now, values)

    def replay(self, entry: LedgerEntry, now: int, window: int, most: int) -> Answer | None:
        """The kept answer of a settled row: once where it is owed, then `most` times within `window` seconds."""
        fresh = or_(_C.answered.is_(None), and_(_C.answered > now - window, _C.replays < most))
        again = (
            update(PAYMENTS)
            .where(_C.id == entry.id, _C.state == "settled", _C.answer_body.is_not(None), fresh)
            .values(replays=_C.replays + 1 if entry.answered else 0, answered=entry.answered or now)
            .returning(_C.answer_body, _C.answer_headers)
        )
        with self._database.begin() as connection:
            row = connection.execute(again).first()
        if row is None:
            return None
        return Answer(200, 1, row.answer_body, tuple((n, v) for n, v in orjson.loads(row.answer_headers)))

    def expire(self, now: int, lease: int, window: int) -> None:
        """Frees what dead workers held, and forgets answers and unused payments whose time has passed.

        Claimed rows become released, settling ones unknown: in the former nothing was asked of anybody.
        """
        old = _C.updated <= now - lease
        step = {"attempt": _C.attempt + 1, "updated": now}
        done = or_(_C.answered <= now - window, _C.updated <= now - OWED_S)
        forget = update(PAYMENTS).where(_C.state.in_(("settled", "failed")), _C.answer_body.is_not(None), done)
        with self._database.begin() as connection:
            connection.execute(update(PAYMENTS).where(_C.state == "claimed", old).values(state="released", **step))
            connection.execute(update(PAYMENTS).where(_C.state == "settling", old).values(state="unknown", **step))
            connection.execute(forget.values(answer_body=None, answer_headers=None))
            connection.execute(delete(PAYMENTS).where(_C.state == "released", _C.updated <= now - 2 * OWED_S))

    def open_questions(self, limit: int = 100) -> list[LedgerEntry]:
        """Rows whose money may have moved unseen: unknown ones, and refused ones with a kept answer; oldest first."""
        unseen = or_(_C.state == "unknown", and_(_C.state == "failed", _C.answer_body.is_not(None)))
        query = select(*_ENTRY).where(unseen).order_by(_C.updated).limit(limit)
        with self._database.connect() as connection:
            return [_entry(row) for row in connection.execute(query).mappings()]

    def _first(self, condition: ColumnElement[bool]) -> LedgerEntry | None:
        with self._database.connect() as connection:
            row = connection.execute(select(*_ENTRY).where(condition)).mappings().first()
        return _entry(row) if row else None

    def _change(self, entry: LedgerEntry, now: int, values: Mapping[str, object]) -> LedgerEntry | None:
        mine = (_C.id == entry.id, _C.attempt == entry.attempt, _C.state == entry.state)
        change = update(PAYMENTS).where(*mine).values(**values, updated=now).returning(*_ENTRY)
        with self._database.begin() as connection:
            row = connection.execute(change).mappings().first()
        return _entry(row) if row else None


_TERMS = tuple(PaymentTerms.__slots__)
_OWN = (
    "id",
    "attempt",
    "state",
    "facilitator",
    "tx",
    "log_index",
    "error",
    "answered",
    "replays",
    "created",
    "updated",
)
_ENTRY = [*(_C[name] for name in (*_OWN, *_TERMS)), _C.answer_body.is_not(None).label("has_answer")]
"""All but the answer, which may be half a megabyte."""


def _is(terms: PaymentTerms) -> ColumnElement[bool]:
    return and_(_C.network == terms.network, _C.payer == terms.payer, _C.nonce == terms.nonce)


def _columns(terms: PaymentTerms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in _TERMS}


def _kept(answer: Answer) -> dict[str, Any]:
    return {"answer_body": answer.body, "answer_headers": orjson.dumps(answer.headers).decode()}


def _entry(row: RowMapping) -> LedgerEntry:
    own = {name: row[name] for name in _OWN}
    terms = PaymentTerms(**{name: row[name] for name in _TERMS})
    return LedgerEntry(terms=terms, has_answer=bool(row["has_answer"]), **own)
