"""One payer whose payments fail harms nobody else: circuits, stored answers, the reconciler's rounds."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account

from api.access.values import Answer
from api.access.x402.chain import Undecided
from api.access.x402.ledger import NONCE_USED, UNKNOWN_ANSWERS, PaymentTerms
from api.access.x402.offers import NETWORK, USDC
from api.access.x402.reconciler import Reconciler
from tests.stand_ins import buyer
from tests.stand_ins.chain import KEYS
from tests.stand_ins.trade import PRICE, Trade, reason

Settle = Callable[[dict[str, Any]], dict[str, Any]]
FAR = str(1 << 40)


class Wallet:
    """Another payer than the trade's, with money of his own."""

    def __init__(self, trade: Trade, number: int) -> None:
        self.key = KEYS[number]
        self.address: str = Account.from_key(self.key).address
        self.trade = trade
        trade.book.balances[self.address.lower()] = 1_000_000

    def payment(self) -> str:
        offer = self.trade.offer()
        signed = buyer.authorization(offer, **{"from": self.address, "validBefore": FAR})
        return buyer.header(buyer.pay_v2(offer, signed, buyer.sign(signed, self.key)))


def settle_by(trade: Trade, core: Settle) -> None:
    """Let both facilitators settle by a function of their own."""
    both = type("Core", (), {"verify": staticmethod(trade.book.verify), "settle": staticmethod(core)})()
    trade.a.core = trade.b.core = both


def payer_of(question: dict[str, Any]) -> str:
    return str(question["paymentPayload"]["payload"]["authorization"]["from"])


def test_transfers_that_revert_are_their_payer_s_fault(trade: Trade) -> None:
    bad = Wallet(trade, 0)

    def settle(question: dict[str, Any]) -> dict[str, Any]:
        if payer_of(question) != bad.address:
            return trade.book.settle(question)
        tx = "0x" + secrets.token_hex(32)
        trade.node.reverted.add(tx)
        refusal = {"success": False, "payer": bad.address, "network": "eip155:8453", "transaction": tx}
        return refusal | {"errorReason": "transaction_failed"}

    settle_by(trade, settle)
    for _ in range(6):
        answer = trade.get(bad.payment())
        assert (answer.status_code, reason(answer)) == (402, "transaction_failed")
    assert trade.b.calls["settle"] == 0, "nobody else is asked to send it again"
    answers = [trade.get(trade.payment()).status_code for _ in range(4)]
    assert (answers, trade.paid) == ([200] * 4, 4 * PRICE)


@pytest.mark.parametrize("verb", ["verify", "settle"])
def test_a_circuit_opens_for_all_once_two_payers_met_failures(trade: Trade, verb: str) -> None:
    bad, worse = Wallet(trade, 0), Wallet(trade, 1)
    for wallet in (bad, bad):
        trade.a.faults[verb] = trade.b.faults[verb] = "500"
        assert trade.get(wallet.payment()).status_code == 503
        trade.a.faults[verb] = trade.b.faults[verb] = ""
        assert trade.get(trade.payment()).status_code == 200, "another payer meets no failure"
    trade.restart()
    trade.a.faults[verb] = "500"
    for wallet in (bad, worse):
        trade.get(wallet.payment())
    asked = trade.a.calls[verb]
    assert trade.get(trade.payment()).status_code == 200
    assert trade.a.calls[verb] == asked, "left alone by all"


def stored(trade: Trade) -> int:
    with trade.gate.database.connect() as connection:
        count: int = connection.exec_driver_sql(
            "SELECT count(*) FROM payments WHERE answer_body IS NOT NULL AND state <> 'settled'"
        ).scalar_one()
    return count


@pytest.mark.slow
def test_a_payer_s_doubts_store_so_many_answers_and_are_answered_all_the_same(trade: Trade) -> None:
    payments = []
    for _ in range(UNKNOWN_ANSWERS + 3):
        trade.restart()
        trade.a.faults["settle"] = trade.b.faults["settle"] = "drop"
        payments.append(trade.payment(validBefore=str(int(time.time()) + 4000)))
        assert trade.get(payments[-1]).status_code == 503
        assert trade.row(payments[-1]).state == "unknown"
    assert stored(trade) == UNKNOWN_ANSWERS
    trade.a.faults["settle"] = trade.b.faults["settle"] = ""
    trade.restart()
    assert [trade.get(each).status_code for each in payments] == [200] * len(payments)
    assert trade.paid == len(payments) * PRICE


def test_a_doubt_whose_transaction_turns_out_reverted_ends(trade: Trade) -> None:
    tx = "0x" + secrets.token_hex(32)

    def settle(question: dict[str, Any]) -> dict[str, Any]:
        refusal = {"success": False, "payer": payer_of(question), "network": "eip155:8453", "transaction": tx}
        return refusal | {"errorReason": "transaction_failed"}

    settle_by(trade, settle)
    payment = trade.payment(validBefore=FAR)
    assert trade.get(payment).status_code == 503, "in no block yet"
    trade.node.reverted.add(tx)
    trade.gate.x402.reconcile()
    assert (trade.row(payment).state, trade.row(payment).error) == ("failed", "transaction_failed")


class Watched:
    """A chain that cannot tell, and keeps what it was asked."""

    def __init__(self) -> None:
        self.nonces: list[str] = []

    def authorization_state(self, terms: PaymentTerms, since: int) -> Undecided:
        self.nonces.append(terms.nonce)
        return Undecided()


@pytest.mark.slow
def test_the_reconciler_goes_round(trade: Trade) -> None:
    """Refused payments of one payer, more than a round holds, and behind them one in doubt."""
    ledger, now = trade.ledger, int(trade.clock())
    terms = PaymentTerms(NETWORK, "0xbad", "", 2, USDC, "0x1", 1, 1 << 40, "/", "", "")
    nonces = ["0x" + hashlib.sha256(f"{number}".encode()).hexdigest() for number in range(250)]
    for nonce in nonces:
        claimed = ledger.claim(replace(terms, nonce=nonce), now, 90)
        assert claimed
        settling = ledger.settling(claimed, now, "", Answer(200, 1, b"x" * 100))
        assert settling
        assert (
            ledger.failed(settling, now, "kyt_risk_detected") if nonce != nonces[-1] else ledger.unknown(settling, now)
        )
    chain: Any = Watched()
    reconciler = Reconciler(ledger, chain, trade.clock)
    for _ in range(3):
        reconciler.decide_undecided()
    assert chain.nonces == [*nonces, *nonces[:50]]
    later = Reconciler(ledger, chain, lambda: now + 3600.0)
    chain.nonces.clear()
    later.decide_undecided()
    assert chain.nonces == [nonces[-1]], "what was refused long ago is looked up where it is asked for again"
    for entry in ledger.undecided(0, now, 1000):
        ledger.failed(entry, now, NONCE_USED)
