"""The payments ledger: what became of each signed authorization, so that none is charged, served or refused twice.

One row for each (network, payer, nonce), whichever protocol version carried it. Every change of state is one conditional
statement; whoever loses the race is told so. What to do about it is decided in `api.access.x402.resource_server`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, Engine, RowMapping, and_, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from api.access.accounts.tables import PAYMENTS
from api.access.values import Answer
from warehouse.clock import DAY

State = Literal["verified", "settling", "settled", "failed", "unknown", "released"]
"""verified: a facilitator found it good, the answer is being made. settling: the answer is made and kept, the money may
move. settled, failed: final. unknown: the money may have moved. released: nothing moved, it may be used again."""

_C = PAYMENTS.c


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
    error: str
    answered: int | None
    replays: int
    created: int
    updated: int

    def same(self, terms: PaymentTerms) -> bool:
        """Whether the very same payment asks for the very same answer."""
        return self.terms == terms


class Ledger:
    """Reads and changes rows; every commit is on disk before it returns."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, terms: PaymentTerms) -> LedgerEntry | None:
        """The row of an authorization."""
        with self._engine.connect() as connection:
            row = connection.execute(select(*_ENTRY).where(_is(terms))).mappings().first()
        return _entry(row) if row else None

    def claim(self, terms: PaymentTerms, facilitator: str, now: int) -> LedgerEntry | None:
        """A row in state verified, new or released before; None where another call has it."""
        values = {
            **_columns(terms),
            "state": "verified",
            "facilitator": facilitator,
            "tx": "",
            "error": "",
            "answer_headers": None,
            "answer_body": None,
            "answered": None,
            "replays": 0,
            "updated": now,
        }
        again = update(PAYMENTS).where(_is(terms), _C.state == "released").values(values | {"attempt": _C.attempt + 1})
        try:
            with self._engine.begin() as connection:
                if not connection.execute(again).rowcount:
                    connection.execute(insert(PAYMENTS).values(values | {"attempt": 1, "created": now}))
        except IntegrityError:
            return None
        return self.find(terms)

    def settling(self, entry: LedgerEntry, now: int, answer: Answer | None = None) -> LedgerEntry | None:
        """Claims the right to settle (keeping the answer, where it is new); None where the row has moved on."""
        values: dict[str, object] = {"state": "settling", "attempt": _C.attempt + 1}
        if answer is not None:
            values |= {"answer_body": answer.body, "answer_headers": orjson.dumps(answer.headers).decode()}
        return self._change(entry, now, values)

    def settled(self, entry: LedgerEntry, now: int, tx: str, answered: bool) -> LedgerEntry | None:
        """The money is ours. `answered`: the answer goes out now; else it waits for the payer to ask again."""
        return self._change(entry, now, {"state": "settled", "tx": tx, "answered": now if answered else None})

    def failed(self, entry: LedgerEntry, now: int, error: str) -> LedgerEntry | None:
        """No money moved, nor will by this authorization."""
        return self._change(entry, now, {"state": "failed", "error": error, "answer_body": None})

    def unknown(self, entry: LedgerEntry, now: int, tx: str = "") -> LedgerEntry | None:
        """The money may have moved; only the chain, or a facilitator asked again, can tell."""
        return self._change(entry, now, {"state": "unknown", "tx": tx or entry.tx})

    def released(self, entry: LedgerEntry, now: int) -> LedgerEntry | None:
        """No money moved; the same authorization may come again."""
        return self._change(entry, now, {"state": "released", "answer_body": None})

    def replay(self, entry: LedgerEntry, now: int, window: int, most: int) -> Answer | None:
        """The kept answer of a settled row: as often as it was never given out, then `most` times within `window`."""
        fresh = or_(_C.answered.is_(None), and_(_C.answered > now - window, _C.replays < most))
        again = (
            update(PAYMENTS)
            .where(_C.id == entry.id, _C.state == "settled", _C.answer_body.is_not(None), fresh)
            .values(replays=_C.replays + 1 if entry.answered else 0, answered=entry.answered or now)
            .returning(_C.answer_body, _C.answer_headers)
        )
        with self._engine.begin() as connection:
            row = connection.execute(again).first()
        if row is None:
            return None
        return Answer(200, 1, row.answer_body, tuple((n, v) for n, v in orjson.loads(row.answer_headers)))

    def expire(self, now: int, lease: int, window: int) -> None:
        """Rows of workers that died: verified -> released, settling -> unknown. Forgets answers past their time."""
        old = _C.updated <= now - lease
        step = {"attempt": _C.attempt + 1, "updated": now}
        done = or_(_C.answered <= now - window, _C.updated <= now - DAY)
        with self._engine.begin() as connection:
            connection.execute(update(PAYMENTS).where(_C.state == "verified", old).values(state="released", **step))
            connection.execute(update(PAYMENTS).where(_C.state == "settling", old).values(state="unknown", **step))
            forget = update(PAYMENTS).where(_C.state == "settled", _C.answer_body.is_not(None), done)
            connection.execute(forget.values(answer_body=None, answer_headers=None))

    def in_doubt(self, limit: int = 100) -> list[LedgerEntry]:
        """Rows in state unknown, the oldest first."""
        query = select(*_ENTRY).where(_C.state == "unknown").order_by(_C.updated).limit(limit)
        with self._engine.connect() as connection:
            return [_entry(row) for row in connection.execute(query).mappings()]

    def _change(self, entry: LedgerEntry, now: int, values: Mapping[str, object]) -> LedgerEntry | None:
        mine = (_C.id == entry.id, _C.attempt == entry.attempt, _C.state == entry.state)
        change = update(PAYMENTS).where(*mine).values(**values, updated=now).returning(*_ENTRY)
        with self._engine.begin() as connection:
            row = connection.execute(change).mappings().first()
        return _entry(row) if row else None


_TERMS = tuple(PaymentTerms.__slots__)
_OWN = ("id", "attempt", "state", "facilitator", "tx", "error", "answered", "replays", "created", "updated")
_ENTRY = [_C[name] for name in (*_OWN, *_TERMS)]
"""All but the answer, which may be half a megabyte."""


def _is(terms: PaymentTerms) -> ColumnElement[bool]:
    return and_(_C.network == terms.network, _C.payer == terms.payer, _C.nonce == terms.nonce)


def _columns(terms: PaymentTerms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in _TERMS}


def _entry(row: RowMapping) -> LedgerEntry:
    return LedgerEntry(terms=PaymentTerms(**{name: row[name] for name in _TERMS}), **{name: row[name] for name in _OWN})
