"""Test attacks on payments: reused transfers and nonces, facilitators that lie, floods, workers that die."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from werkzeug.test import TestResponse

from api.access.gate import Gate
from api.access.values import Grant, WholeAnswer
from api.access.x402.chain import Chain, Refused, Settled, Undecided
from api.access.x402.ledger import OWED_S
from api.access.x402.payment import decode, digest, domain_separator, is_signed_by_payer
from api.http.messages import HttpRequest
from api.http.problems import Problem
from api.settings import Facilitator as Listed
from api.settings import Settings
from tests.stand_ins import buyer
from tests.stand_ins.chain import BASE_DOMAIN_SEPARATOR, BUYER
from tests.stand_ins.facilitator import Facilitator, Fault
from tests.stand_ins.shop import shop
from tests.stand_ins.trade import LIMITS, NONCE_USED, PATH, PAY_TO, PRICE, Trade, at_once, reason, receipt

BATCH = "0x" + "ba" * 32


def signed(payment: str) -> dict[str, str]:
    """Return the authorization in a payment's header."""
    document: dict[str, str] = json.loads(base64.b64decode(payment))["payload"]["authorization"]
    return document


class Core:
    """A facilitator's core with replaced verbs."""

    def __init__(self, trade: Trade, **verbs: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._verbs = {"verify": trade.book.verify, "settle": trade.book.settle, **verbs}

    def verify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._verbs["verify"](body)

    def settle(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._verbs["settle"](body)


# One transfer, one response


def test_a_batch_of_self_transfers_and_one_payment_buys_one_answer(trade: Trade) -> None:
    trade.a.faults["settle"] = trade.b.faults["settle"] = "drop"
    payments = [trade.payment() for _ in range(20)]
    for payment in payments:
        assert trade.get(payment).status_code == 503
    for payment in payments[1:]:
        trade.book.move({**signed(payment), "to": BUYER, "value": "0"}, BATCH)
    trade.book.move(signed(payments[0]), BATCH)
    trade.a.faults["settle"] = trade.b.faults["settle"] = ""
    trade.restart()
    answers = [trade.get(payment) for payment in payments]
    assert [answer.status_code for answer in answers] == [200] + [402] * 19
    assert {reason(answer) for answer in answers[1:]} == {NONCE_USED}
    assert trade.paid == PRICE
    report = trade.reconcile()
    assert (report.transfers, report.answer, report.credit, report.unproven) == (1, 1, 0, 0)


def test_a_look_without_the_event_is_undecided_and_never_paid(trade: Trade) -> None:
    payment = trade.payment()
    terms = trade.gate.x402._terms(decode(payment), _call())
    chain = Chain(trade.node.url)
    trade.settle_outside(payment)
    trade.node.logs_hidden = True
    assert chain.authorization_state(terms, int(time.time())) == Undecided()
    assert trade.get(payment).status_code == 402, "spent before it reached this service"
    trade.node.logs_hidden = False
    assert isinstance(chain.authorization_state(terms, int(time.time())), Settled)
    assert chain.authorization_state(replace(terms, amount=2000), int(time.time())) == Refused(NONCE_USED)
    assert chain.authorization_state(replace(terms, pay_to="0x" + "22" * 20), int(time.time())) == Refused(NONCE_USED)


def _call() -> Any:
    from api.access.values import Call

    return Call(PATH, "latest", "")


@pytest.mark.parametrize("with_node", [True, False])
def test_a_nonce_that_the_payer_uses_himself_buys_nothing(trade: Trade, with_node: bool) -> None:
    if not with_node:
        trade.without_node()
    trade.a.faults["settle"] = trade.b.faults["settle"] = "drop"
    payment = trade.payment()
    assert trade.get(payment).status_code == 503
    trade.book.move({**signed(payment), "to": BUYER, "value": "0"}, BATCH)
    trade.a.faults["settle"] = trade.b.faults["settle"] = ""
    trade.restart()
    if not with_node:
        trade.without_node()
    answer = trade.get(payment)
    assert answer.status_code == (402 if with_node else 503)
    assert trade.row(payment).state == ("failed" if with_node else "unknown")
    assert (trade.paid, trade.get(payment).status_code) == (0, answer.status_code)


# Facilitators that lie


def test_a_refusal_after_the_money_moved_is_found_out_and_answered(trade: Trade) -> None:
    def settle(question: dict[str, Any]) -> dict[str, Any]:
        trade.book.settle(question)
        return {"success": False, "payer": BUYER, "network": "eip155:8453", "transaction": "", "errorReason": "no"}

    def verify(question: dict[str, Any]) -> dict[str, Any]:
        trade.book.settle(question)
        return {"isValid": False, "payer": BUYER, "invalidReason": "kyt_risk_detected"}

    for number, core in enumerate((Core(trade, settle=settle), Core(trade, verify=verify)), 1):
        trade.a.core = core
        answer = trade.get(trade.payment())
        assert (answer.status_code, trade.paid) == (200, number * PRICE)
        assert receipt(answer)["transaction"] == trade.book.transfers[-1]["tx"]


def test_money_that_moves_after_a_refusal_is_answered_on_asking_again(trade: Trade) -> None:
    for verb in ("verify", "settle"):
        trade.a.faults[verb] = "screened"
        payment = trade.payment(validBefore=str(int(time.time()) + 4000))
        assert (trade.get(payment).status_code, trade.paid) == (402, 0), verb
        trade.settle_outside(payment, "0x" + ("a1" if verb == "verify" else "a2") * 32)
        trade.a.faults[verb] = ""
        answer = trade.get(payment)
        assert (answer.status_code, answer.json["method"]) == (200, "payment"), verb
        assert trade.get(payment).data == answer.data
        trade.book.balances[PAY_TO.lower()] = 0


_LIES: tuple[Fault, ...] = ("500", "html", "429", "drop", "trouble", "screened", "lie", "lie-payer", "lie-network")
_HIDDEN: tuple[Fault, ...] = ("done-drop", "done-500", "done-html")


@pytest.mark.parametrize("who", ["first", "second", "both"])
def test_every_lie_of_every_facilitator_reconciles(trade: Trade, who: str) -> None:
    """Check that each charge brings exactly one response or credit, and that no response is unpaid."""
    lying = {"first": [trade.a], "second": [trade.b], "both": [trade.a, trade.b]}[who]
    refused = answered = 0
    for verb, fault in [("verify", each) for each in _LIES] + [("settle", each) for each in _LIES + _HIDDEN]:
        trade.restart()
        for each in lying:
            each.faults[verb] = fault
        if who == "second":  # it is called only if the first fails
            trade.a.faults["verify"] = "500"
        payment = trade.payment()
        first = trade.get(payment)
        for each in (trade.a, trade.b):
            each.faults = {"verify": "", "settle": ""}
        trade.restart()
        again = first if first.status_code == 200 else trade.get(payment)
        answered += again.status_code == 200
        refused += again.status_code == 402
        assert trade.paid == answered * PRICE, (verb, fault)
    assert refused == 1, "a screening at settlement is final"
    report = trade.reconcile()
    assert (report.transfers, report.answer, report.owed) == (answered, answered, 0)
    assert (report.credit, report.unproven) == (0, 0)
    assert len({t["nonce"] for t in trade.book.transfers}) == len(trade.book.transfers) == answered


def test_a_facilitator_that_lies_while_the_node_is_away_is_found_out(trade: Trade) -> None:
    trade.trusted = 2
    trade.node.down, trade.a.faults["settle"] = True, "lie"
    assert [trade.get(trade.payment()).status_code for _ in range(2)] == [200, 200]
    trade.node.down = False
    report = trade.reconcile()
    assert (trade.paid, report.unproven, report.transfers) == (0, 2, 0)


# A charged payer gets the response


def test_a_released_payment_that_was_settled_meanwhile_is_answered_for_a_day(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4 * OWED_S))
    assert trade.get(payment, PATH + "?rows=0").status_code == 200
    assert trade.row(payment).state == "released"
    trade.settle_outside(payment)
    report = trade.reconcile()
    assert (report.owed, report.credit) == (1, 0)
    verified = trade.a.calls["verify"]
    trade.shift[0] = OWED_S - 60
    owed = trade.get(payment, PATH + "?rows=0")
    assert owed.status_code == 200, "an empty answer is free: the payment is still owed one"
    assert trade.row(payment).owed(int(trade.clock()))
    assert trade.get(payment, PATH).status_code == 402, "a payment buys the path that it was made for, no other"
    assert (trade.a.calls["verify"], trade.paid) == (verified, PRICE)
    trade.shift[0] = OWED_S + 60
    assert trade.get(payment, PATH + "?rows=0").status_code == 402


def test_money_sent_without_a_call_is_a_credit_until_it_pays(trade: Trade) -> None:
    assert trade.get(trade.payment()).status_code == 200
    payment = trade.payment()
    trade.settle_outside(payment)
    trade.book.move({"from": BUYER, "to": PAY_TO, "value": "7"}, "0x" + "77" * 32)
    for _ in range(2):
        report = trade.reconcile()
        assert (report.transfers, report.answer, report.credit) == (3, 1, 2)
    assert trade.ledger.credits() == (2, PRICE + 7)
    trade.shift[0] = 60
    for _ in range(2):
        refused = trade.get(payment)
        assert (refused.status_code, reason(refused)) == (402, NONCE_USED), "spent before it reached this service"


def test_a_node_that_is_away_moves_the_reading_nowhere(trade: Trade) -> None:
    from api.access.x402.chain import ChainUnavailable

    assert trade.get(trade.payment()).status_code == 200
    trade.node.down = True
    with pytest.raises(ChainUnavailable):
        trade.reconcile()
    trade.node.down = False
    assert trade.reconcile().answer == 1


def test_an_authorization_spent_on_another_ledger_buys_nothing_however_often_it_comes(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    trade.settle_outside(payment)
    trade.shift[0] = 60
    for _ in range(2):
        for path in (PATH, PATH + "?rows=0"):
            answer = trade.get(payment, path)
            assert (answer.status_code, reason(answer)) == (402, NONCE_USED)
        report = trade.reconcile()
        assert (report.owed, report.credit) == (0, 1)
    trade.ledger.expire(int(trade.clock()) + LIMITS.lease, LIMITS.lease, LIMITS.replay)
    assert trade.get(payment).status_code == 402


def test_a_signature_without_money_gets_no_overdue_document(trade: Trade) -> None:
    free = PATH + "?rows=0"
    assert trade.get(trade.payment(), free).status_code == 200
    assert (trade.a.calls, trade.paid) == ({"verify": 1, "settle": 0}, 0), "checked, and not charged"
    trade.book.balances[BUYER.lower()] = 0
    poor = trade.payment()
    refused = trade.get(poor, free)
    assert (refused.status_code, reason(refused)) == (402, "invalid_exact_evm_insufficient_balance")
    trade.a.faults["verify"] = trade.b.faults["verify"] = "500"
    assert trade.get(poor, free).status_code == 503
    assert trade.row(poor).state == "released"


# Garbage


def test_the_signature_is_usdcs_own() -> None:
    assert "0x" + domain_separator().hex() == BASE_DOMAIN_SEPARATOR
    offer = {"payTo": PAY_TO, "amount": "1000", "maxTimeoutSeconds": 60, "network": "eip155:8453", "scheme": "exact"}
    payment = decode(buyer.header(buyer.pay_v2(offer)))
    assert is_signed_by_payer(payment)
    recovered = Account._recover_hash(digest(payment), signature=bytes.fromhex(payment.signature[2:]))
    assert recovered == BUYER
    r, s, v = payment.signature[2:66], int(payment.signature[66:130], 16), int(payment.signature[130:], 16)
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = f"0x{r}{order - s:064x}{55 - v:02x}"
    others = (high, "0x" + "00" * 65, f"0x{r}{s:064x}1d", f"0x{r}{s:064x}{v - 27:02x}", "0x" + "ff" * 65)
    others = (*others, payment.signature + "00")
    assert not any(is_signed_by_payer(replace(payment, signature=other)) for other in others)
    assert not is_signed_by_payer(replace(payment, value=1001))
    assert not is_signed_by_payer(replace(payment, payer="0x" + "11" * 20))


@pytest.mark.parametrize("with_node", [True, False])
def test_bogus_signatures_reach_no_facilitator(trade: Trade, with_node: bool) -> None:
    if not with_node:
        trade.without_node()
    document = json.loads(base64.b64decode(trade.payment()))
    for signature in ("0x" + "00" * 65, "0x" + "ab" * 65):
        document["payload"]["signature"] = signature
        answer = trade.get(buyer.header(document))
        assert (answer.status_code, reason(answer)) == (402, "invalid_exact_evm_payload_signature")
    assert trade.a.calls == trade.b.calls == {"verify": 0, "settle": 0}


def test_a_contract_wallets_signature_is_the_facilitators_to_judge(trade: Trade) -> None:
    document = json.loads(base64.b64decode(trade.payment()))
    document["payload"]["signature"] = "0x" + "ab" * 96 + "6492" * 16  # a wallet that is not deployed yet
    trade.get(buyer.header(document))
    assert trade.a.calls["verify"] == 1


def test_waits_for_facilitators_have_a_cap_of_their_own(trade: Trade) -> None:
    trade.restart(replace(LIMITS, at_once=3, timeouts=replace(LIMITS.timeouts, verify=5)))
    release = threading.Event()

    def verify(question: dict[str, Any]) -> dict[str, Any]:
        release.wait(4)
        return trade.book.verify(question)

    slow = [Facilitator(Core(trade, verify=verify)) for _ in range(1)]
    trade.gate.x402._facilitators.listed = [type(trade.gate.settings.facilitators[0])(slow[0].url)]
    app = trade.http.application
    payments = [trade.payment() for _ in range(9)]
    calls = [
        lambda payment=payment: app.test_client().get(PATH, headers={"PAYMENT-SIGNATURE": payment})
        for payment in payments
    ]
    threading.Timer(1.0, release.set).start()
    answers = at_once(calls)
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 3 + [503] * 6
    overloaded = [answer for answer in answers if answer.status_code == 503]
    assert all(answer.json["charged"] is False and answer.headers["Retry-After"] for answer in overloaded)
    slow[0].close()


def test_unpaid_calls_and_payments_are_limited_by_client_and_taken_ones_are_not(trade: Trade) -> None:
    trade.restart(free_calls_per_minute=6)
    peer = {"REMOTE_ADDR": "192.0.2.77"}
    for _ in range(5):  # each with its own 402
        payment = trade.payment()
        assert trade.get(payment).status_code == 200
    bogus = json.loads(base64.b64decode(trade.payment()))
    bogus["payload"]["signature"] = "0x" + "ab" * 65
    statuses = [trade.get(buyer.header(bogus)).status_code for _ in range(8)]
    assert statuses == [402] * 5 + [429] * 3
    limited = trade.http.get(PATH)
    assert (limited.status_code, limited.headers["RateLimit-Policy"]) == (429, '"unpaid";q=6;w=60')
    assert trade.http.get(PATH, headers={"Authorization": "Bearer emds_wrong"}).status_code == 429
    assert trade.http.get(PATH, environ_base=peer).status_code == 402
    assert trade.http.get("/v1/zones").status_code == 200, "free calls are counted apart"
    assert trade.paid == 5 * PRICE


def test_what_a_dead_worker_held_is_free_after_its_lease(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    decoded = decode(payment)
    with trade.http.application.test_request_context(PATH, headers={"PAYMENT-SIGNATURE": payment}) as context:
        entry = trade.gate.admit(
            trade.gate.call_of(HttpRequest(context.request.environ), "latest")
        )  # the worker dies here, without settle or release
    assert trade.row(payment).state == "claimed"
    assert trade.get(payment).status_code == 409
    trade.shift[0] = LIMITS.lease + 1
    assert trade.get(payment).status_code == 200
    assert (trade.paid, decoded.nonce in trade.book.spent) == (PRICE, True)
    assert isinstance(entry, Grant)
    late = entry.settle(WholeAnswer(200, 1, b"late"))
    assert isinstance(late, Problem)  # the slow worker must not respond a second time
    assert (late.kind.status, trade.paid) == (409, PRICE)


# Payments are off


def _closed(tmp_path: Path, mode: str, **changes: Any) -> tuple[Gate, TestResponse]:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'accounts.sqlite'}",
        pay_to=PAY_TO,
        facilitators=(Listed("https://far.example"),),
    )
    gate = Gate(replace(settings, **changes), mode)
    return gate, shop(gate).test_client().get(PATH, headers={"X-PAYMENT": "junk"})


@pytest.mark.parametrize(
    ("mode", "changes", "sells"),
    [
        ("live", {"rpc_url": "https://node.example"}, True),
        ("live", {}, False),  # real money without a node to check it
        ("live", {"facilitators": (Listed("http://127.0.0.1:9"),)}, True),
        ("live", {"pay_to": ""}, False),
        ("live", {"facilitators": ()}, False),
        ("simulated", {}, False),
        ("simulated", {"facilitators": (Listed("http://127.0.0.1:9"),)}, True),
        ("simulated", {"facilitators": (Listed("https://127.0.0.1.far.example"),)}, False),
    ],
)
def test_who_sells(tmp_path: Path, mode: str, changes: dict[str, Any], sells: bool) -> None:
    gate, answer = _closed(tmp_path, mode, **changes)
    assert gate.x402.open is sells
    assert answer.status_code == (400 if sells else 402)
    if not sells:
        assert (answer.json["accepts"], "signup" in answer.json["error"]) == ([], True)
    gate.close()
