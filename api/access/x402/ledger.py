"""Record the outcome of each signed authorization, so that none is charged, served or refused twice.

The ledger has a row for each (network, payer, nonce) in either protocol version, and at most a row for each transfer
on the chain. Every change of state is a conditional statement and a line of the log; the loser of a race gets None.
`api.access.x402.server` decides what to do. Transfers to the receiver that bought no response are credits.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import ColumnElement, RowMapping, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from api.access.database import Database
from api.access.tables import CREDITS, PAYMENTS, SCANNED
from api.access.values import WholeAnswer
from warehouse.market.clock import DAY

State = Literal["claimed", "settling", "settled", "failed", "unknown", "released"]
"""claimed: a call has the payment and prepares its response. settling: the response is stored, and the money may move.
settled: the money has arrived. failed: the payment is refused. unknown: the money may have moved. released: no money
has moved, and the payment may be used again."""
NONCE_USED = "invalid_exact_evm_nonce_already_used"
"""The error of a row whose authorization was spent elsewhere, which is final."""
OWED_S = DAY
"""The seconds for which a payer may fetch a response that was paid for but not delivered."""

_LOG = logging.getLogger("emds.payments")
_C = PAYMENTS.c
_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer of USDC to the receiver: log `log_index` of `tx`, and `amount` in smallest units."""

    tx: str
    log_index: int
    payer: str
    amount: int
    block: int


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """An authorization and what it is to buy. Addresses and nonce are in lower case, the amount in smallest units."""

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
    """A row of the ledger as it was read; a change applies only while the row still has this `attempt`."""

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

    def owed(self, now: int) -> bool:
        """Return whether the payer was charged and has not received the response."""
        return self.state == "settled" and self.answered is None and self.updated > now - OWED_S


class Ledger:
    """The rows of the ledger. A commit is on disk before it returns, and every method raises AccountsUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insert = _INSERT[database.url.get_backend_name()]

    def find(self, terms: PaymentTerms) -> LedgerEntry | None:
        """Return the row of an authorization."""
        return self.find_authorization(terms.network, terms.payer, terms.nonce)

    def find_authorization(self, network: str, payer: str, nonce: str) -> LedgerEntry | None:
        """Return the row of an authorization by its identifiers on the chain."""
        return self._first(_C.network == network, _C.payer == payer, _C.nonce == nonce)

    def find_transfer(self, network: str, tx: str, log_index: int) -> LedgerEntry | None:
        """Return the row that a transfer paid for."""
        return self._first(_C.network == network, _C.tx == tx, _C.log_index == log_index)

    def claim(self, terms: PaymentTerms, now: int, lease: int) -> LedgerEntry | None:
        """Claim a row that is new, released or left by a dead worker; return None for any other."""
        values = {name: getattr(terms, name) for name in _TERMS} | _BLANK | {"state": "claimed", "updated": now}
        free = or_(_C.state == "released", and_(_C.state == "claimed", _C.updated <= now - lease))
        upsert = self._insert(PAYMENTS).values(values | {"attempt": 1, "created": now})
        upsert = upsert.on_conflict_do_update(
            index_elements=["network", "payer", "nonce"], set_=values | {"attempt": _C.attempt + 1}, where=free
        )
        return self._written(upsert.returning(*_ENTRY))

    def settling(
        self, entry: LedgerEntry, now: int, facilitator: str = "", answer: WholeAnswer | None = None
    ) -> LedgerEntry | None:
        """Claim the right to settle, and store a new response; return None if the row has changed."""
        values: dict[str, object] = {"state": "settling", "attempt": _C.attempt + 1}
        if answer is not None:
            values |= {"facilitator": facilitator, **_stored(answer)}
        return self._change(entry, now, values)

    def settled(
        self, entry: LedgerEntry, now: int, tx: str, log_index: int | None, answered: bool
    ) -> LedgerEntry | None:
        """Record that the money has arrived, or a refusal if the transfer paid for another row.

        `answered` is true if the response is sent now; else it is undelivered.
        """
        values = {"state": "settled", "tx": tx, "log_index": log_index, "answered": now if answered else None}
        try:
            return self._change(entry, now, values)
        except IntegrityError:
            return self.failed(entry, now, NONCE_USED)

    def proven(self, entry: LedgerEntry, tx: str, log_index: int) -> None:
        """Record the transfer of a row that was settled on a facilitator's word, unless another row has it."""
        change = update(PAYMENTS).where(_C.id == entry.id, _C.state == "settled", _C.log_index.is_(None))
        with suppress(IntegrityError), self._database.begin() as connection:
            connection.execute(change.values(tx=tx, log_index=log_index))

    def unproven(self, network: str) -> int:
        """Return the number of settled rows without a transfer on the chain."""
        settled = (_C.network == network, _C.state == "settled", _C.log_index.is_(None))
        return self._scalar(select(func.count()).select_from(PAYMENTS).where(*settled)) or 0

    def delivered(self, entry: LedgerEntry, now: int, answer: WholeAnswer) -> LedgerEntry | None:
        """Record that an undelivered response was rebuilt and is sent now; return None if another call was faster."""
        return self._change(entry, now, {"attempt": _C.attempt + 1, "answered": now, **_stored(answer)})

    def failed(self, entry: LedgerEntry, now: int, error: str) -> LedgerEntry | None:
        """Record a refusal and delete the response, which is rebuilt if the money moves nevertheless."""
        return self._change(entry, now, {"state": "failed", "error": error, **_NO_ANSWER})

    def unknown(self, entry: LedgerEntry, now: int, tx: str = "") -> LedgerEntry | None:
        """Record that the money may have moved, which only the chain or a retry at a facilitator can decide.

        The response is deleted, so that unknown outcomes store nothing; it is rebuilt once it is paid.
        """
        return self._change(entry, now, {"state": "unknown", "tx": tx or entry.tx, **_NO_ANSWER})

    def released(self, entry: LedgerEntry, now: int) -> LedgerEntry | None:
        """Record that no money moved; the same authorization may be used again."""
        return self._change(entry, now, {"state": "released", **_NO_ANSWER})

    def replay(self, entry: LedgerEntry, now: int, window: int, most: int) -> WholeAnswer | None:
        """Return the stored response of a settled row: once if undelivered, then `most` times in `window` seconds."""
        fresh = or_(_C.answered.is_(None), and_(_C.answered > now - window, _C.replays < most))
        again = (
            update(PAYMENTS)
            .where(_C.id == entry.id, _C.state == "settled", _C.answer_body.is_not(None), fresh)
            .values(replays=_C.replays + 1 if entry.answered else 0, answered=entry.answered or now)
            .returning(_C.answer_body, _C.answer_headers)
        )
        with self._database.begin() as connection:
            row = connection.execute(again).first()
        return (
            WholeAnswer(200, 1, row.answer_body, tuple(map(tuple, orjson.loads(row.answer_headers)))) if row else None
        )

    def expire(self, now: int, lease: int, window: int) -> None:
        """Free the rows of dead workers, and delete expired responses and unused payments.

        Claimed rows become released, because no settlement was requested; settling rows become unknown.
        """
        old = _C.updated <= now - lease
        step = {"attempt": _C.attempt + 1, "updated": now}
        done = and_(_C.state == "settled", or_(_C.answered <= now - window, _C.updated <= now - OWED_S))
        with self._database.begin() as connection:
            connection.execute(update(PAYMENTS).where(_C.state == "claimed", old).values(state="released", **step))
            doubt = {"state": "unknown", **step, **_NO_ANSWER}
            connection.execute(update(PAYMENTS).where(_C.state == "settling", old).values(doubt))
            connection.execute(update(PAYMENTS).where(_C.answer_body.is_not(None), done).values(_NO_ANSWER))
            connection.execute(delete(PAYMENTS).where(_C.state == "released", _C.updated <= now - 2 * OWED_S))

    def undecided(self, after: int, limit: int = 100) -> list[LedgerEntry]:
        """Return rows whose money may have moved unseen, by ID: first those after `after`, then from the start."""
        query = select(*_ENTRY).where(_C.state == "unknown").order_by(_C.id <= after, _C.id).limit(limit)
        with self._database.connect() as connection:
            return [_ledger_entry(row) for row in connection.execute(query).mappings()]

    def counts(self) -> dict[str, int]:
        """Return the number of payments in each state."""
        query = select(PAYMENTS.c.state, func.count()).group_by(PAYMENTS.c.state)
        with self._database.connect() as connection:
            return dict(connection.execute(query).tuples().all())

    # Progress against the chain

    def scanned(self, network: str, pay_to: str) -> int | None:
        """Return the last block whose transfers were compared with the ledger; None before the first time."""
        return self._scalar(select(SCANNED.c.block).where(*_scan_of(network, pay_to)))

    def mark_scanned(self, network: str, pay_to: str, block: int) -> None:
        """Record that the transfers of every block up to `block` were compared."""
        with self._database.begin() as connection:
            connection.execute(delete(SCANNED).where(*_scan_of(network, pay_to)))
            connection.execute(insert(SCANNED).values(network=network, pay_to=pay_to, block=block))

    def first_payment(self) -> int | None:
        """Return the time of the first payment; None for an empty ledger."""
        return self._scalar(select(func.min(_C.created)))

    def record_credit(self, network: str, transfer: Transfer, now: int) -> None:
        """Record once that a transfer bought no response."""
        row = {name: getattr(transfer, name) for name in Transfer.__slots__}
        credit = self._insert(CREDITS).values(row | {"network": network, "recorded": now})
        with self._database.begin() as connection:
            connection.execute(credit.on_conflict_do_nothing())

    def drop_credit(self, network: str, tx: str, log_index: int) -> None:
        """Remove a credit whose transfer turned out to pay for a response."""
        mine = (CREDITS.c.network == network, CREDITS.c.tx == tx, CREDITS.c.log_index == log_index)
        with self._database.begin() as connection:
            connection.execute(delete(CREDITS).where(*mine))

    def credits(self) -> tuple[int, int]:
        """Return the number of transfers that bought no response, and their sum in smallest units."""
        with self._database.connect() as connection:
            count, units = connection.execute(select(func.count(), func.sum(CREDITS.c.amount))).one()
        return count, units or 0

    def _scalar(self, query: Select[tuple[int]]) -> int | None:
        with self._database.connect() as connection:
            return connection.execute(query).scalar()

    def _first(self, *conditions: ColumnElement[bool]) -> LedgerEntry | None:
        with self._database.connect() as connection:
            row = connection.execute(select(*_ENTRY).where(*conditions)).mappings().first()
        return _ledger_entry(row) if row else None

    def _change(self, entry: LedgerEntry, now: int, values: Mapping[str, object]) -> LedgerEntry | None:
        mine = (_C.id == entry.id, _C.attempt == entry.attempt, _C.state == entry.state)
        return self._written(update(PAYMENTS).where(*mine).values(**values, updated=now).returning(*_ENTRY))

    def _written(self, statement: Any) -> LedgerEntry | None:
        """Return the row that a statement wrote, after its commit and log line; None without a row."""
        with self._database.begin() as connection:
            row = connection.execute(statement).mappings().first()
        if row is None:
            return None
        # Signature and header stay out: until a payment is settled they are a bearer's cheque.
        names = ("payer", "nonce", "path", "amount", "version", "facilitator", "tx", "error")
        _LOG.info("%s", orjson.dumps({"payment": row["state"]} | {name: row[name] for name in names}).decode())
        return _ledger_entry(row)


_TERMS = tuple(PaymentTerms.__slots__)
_OWN = tuple(name for name in LedgerEntry.__slots__ if name != "terms")
_ENTRY = [_C[name] for name in (*_OWN, *_TERMS)]
"""All columns except the response, which may be half a megabyte."""
_NO_ANSWER: dict[str, Any] = {"answer_body": None, "answer_headers": None}
_BLANK = {"facilitator": "", "tx": "", "log_index": None, "error": "", "answered": None, "replays": 0, **_NO_ANSWER}


def _scan_of(network: str, pay_to: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return SCANNED.c.network == network, SCANNED.c.pay_to == pay_to


def _stored(answer: WholeAnswer) -> dict[str, Any]:
    return {"answer_body": answer.body, "answer_headers": orjson.dumps(answer.headers).decode()}


def _ledger_entry(row: RowMapping) -> LedgerEntry:
    terms = PaymentTerms(**{name: row[name] for name in _TERMS})
    return LedgerEntry(terms=terms, **{name: row[name] for name in _OWN})
