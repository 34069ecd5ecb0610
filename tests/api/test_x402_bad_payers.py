"""One payer whose payments fail harms nobody else: circuits, the reconciler's rounds."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account

from api.access.values import Answer
from api.access.x402.chain import Undecided
from api.access.x402.ledger import NONCE_USED, PaymentTerms
from api.access.x402.offers import NETWORK, USDC
from api.access.x402.reconciler import Reconciler
from tests.stand_ins import buyer
from tests.stand_ins.chain import KEYS
from tests.stand_ins.trade import PRICE, Trade

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


def test_transfers_that_fail_on_the_chain_silence_nobody(trade: Trade) -> None:
    bad, worse = Wallet(trade, 0), Wallet(trade, 1)

    def settle(question: dict[str, Any]) -> dict[str, Any]:
        payer = str(question["paymentPayload"]["payload"]["authorization"]["from"])
        if payer not in (bad.address, worse.address):
            return trade.book.settle(question)
        refusal = {"success": False, "payer": payer, "network": "eip155:8453", "errorReason": "transaction_failed"}
        return refusal | {"transaction": "0x" + secrets.token_hex(32)}

    both = type("Core", (), {"verify": staticmethod(trade.book.verify), "settle": staticmethod(settle)})()
    trade.a.core = trade.b.core = both
    for wallet in (bad, worse):
        assert trade.get(wallet.payment()).status_code == 503, "until its date has passed on the chain"
    assert [trade.get(trade.payment()).status_code for _ in range(2)] == [200] * 2
    assert trade.paid == 2 * PRICE


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


class Watched:
    """A chain that cannot tell, and keeps what it was asked."""

    def __init__(self) -> None:
        self.nonces: list[str] = []

    def authorization_state(self, terms: PaymentTerms, since: int) -> Undecided:
        self.nonces.append(terms.nonce)
        return Undecided()


@pytest.mark.slow
def test_the_reconciler_goes_round(trade: Trade) -> None:
    """More doubts of one payer than a round holds."""
    ledger, now = trade.ledger, int(trade.clock())
    terms = PaymentTerms(NETWORK, "0xbad", "", 2, USDC, "0x1", 1, 1 << 40, "/", "", "")
    nonces = ["0x" + hashlib.sha256(f"{number}".encode()).hexdigest() for number in range(250)]
    for nonce in nonces:
        claimed = ledger.claim(replace(terms, nonce=nonce), now, 90)
        assert claimed
        settling = ledger.settling(claimed, now, "", Answer(200, 1, b"x" * 100))
        assert settling
        assert ledger.unknown(settling, now)
    chain: Any = Watched()
    reconciler = Reconciler(ledger, chain, trade.clock)
    for _ in range(3):
        reconciler.decide_undecided()
    assert chain.nonces == [*nonces, *nonces[:50]]
    for entry in ledger.undecided(0, 1000):
        ledger.failed(entry, now, NONCE_USED)
