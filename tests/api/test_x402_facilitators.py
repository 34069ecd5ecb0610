"""Test facilitators that fail, lie and hang, and payments that fail: the response, and a single charge."""

from __future__ import annotations

import base64
import json
import secrets
from typing import Any

import pytest
from eth_account import Account
from x402.schemas import PaymentPayload

from api.access.x402.circuits import EVERYONE, Circuits
from tests.stand_ins import buyer
from tests.stand_ins.chain import BUYER, KEYS
from tests.stand_ins.facilitator import Fault
from tests.stand_ins.trade import PATH, PRICE, Trade, reason, receipt


def test_a_verification_that_fails_goes_to_the_next_and_the_first_is_asked_last_for_a_while(trade: Trade) -> None:
    faults: tuple[Fault, ...] = ("500", "429", "html", "hang", "drop", "trouble", "lie-payer", "drip")
    for number, fault in enumerate(faults, 1):
        trade.restart()
        trade.a.faults["verify"] = fault
        assert trade.get(trade.payment()).status_code == 200, fault
        assert (trade.paid, trade.a.calls["settle"], trade.b.calls["settle"]) == (number * PRICE, 0, number), fault
    trade.restart()
    trade.a.faults["verify"] = "hang"
    asked = trade.a.calls["verify"]
    assert [trade.get(trade.payment()).status_code for _ in range(3)] == [200] * 3
    assert trade.a.calls["verify"] == asked + 1


def test_a_refusal_in_due_form_counts_whatever_its_status(trade: Trade) -> None:
    trade.a.faults["verify"] = "refused-400"
    answer = trade.get(trade.payment())
    assert (answer.status_code, reason(answer)) == (402, "invalid_exact_evm_insufficient_balance")
    assert (trade.b.calls["verify"], trade.paid) == (0, 0)


def test_a_refusal_is_final_and_nobody_else_is_asked(trade: Trade) -> None:
    trade.a.faults["verify"] = "screened"
    answer = trade.get(trade.payment())
    assert (answer.status_code, reason(answer), trade.b.calls["verify"]) == (402, "kyt_risk_detected", 0)
    trade.a.faults = {"verify": "", "settle": "screened"}
    answer = trade.get(trade.payment())
    assert (answer.status_code, reason(answer), trade.b.calls["settle"]) == (402, "kyt_risk_detected", 0)
    assert receipt(answer) | {"errorReason": "kyt_risk_detected", "success": False} == receipt(answer)
    assert trade.paid == 0


def test_a_facilitators_own_words_stay_inside(trade: Trade) -> None:
    for verb in ("verify", "settle"):
        trade.a.faults[verb] = "raw"
        answer = trade.get(trade.payment())
        assert (answer.status_code, reason(answer)) == (402, "payment_refused")
        assert "db-7" not in str(answer.headers) + answer.text
        trade.a.faults[verb] = ""
    trade.a.faults["settle"] = trade.b.faults["settle"] = "500"
    assert "10.0.0.7" not in trade.get(trade.payment()).text


def test_no_facilitator_is_503_and_the_payment_stays_good(trade: Trade) -> None:
    trade.a.faults["verify"] = trade.b.faults["verify"] = "500"
    payment = trade.payment()
    answer = trade.get(payment)
    assert (answer.status_code, answer.json["charged"], answer.headers["Retry-After"]) == (503, False, "10")
    assert answer.json["type"].endswith("/problems/facilitator-unavailable")
    trade.a.faults["verify"] = ""
    trade.restart()
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_settlements_that_reach_nobody_release_the_payment(trade: Trade) -> None:
    trade.a.faults["settle"] = trade.b.faults["settle"] = "429"
    payment = trade.payment()
    answer = trade.get(payment)
    assert (answer.status_code, answer.json["charged"], trade.row(payment).state) == (503, False, "released")
    trade.a.faults["settle"] = ""
    trade.restart()
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


_UNDONE: tuple[Fault, ...] = ("500", "html", "400", "hang", "drop", "lie-payer", "lie-network", "429", "trouble")
_UNTOLD: tuple[Fault, ...] = ("done-hang", "done-drop", "done-500", "done-html", "drip")
_TURNED_AWAY: tuple[Fault, ...] = ("done-307", "done-404", "done-409", "done-429", "done-duplicate")


def test_a_settlement_that_fails_goes_to_the_next_and_the_first_is_left_alone(trade: Trade) -> None:
    for number, fault in enumerate(_UNDONE, 1):
        version = 1 + number % 2
        trade.restart()
        trade.a.faults["settle"] = fault
        answers = [trade.get(trade.payment(version), version=version) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200], fault
        assert trade.a.calls["settle"] == number, f"{fault}: skipped"
        assert trade.paid == 2 * number * PRICE, fault


def test_a_settlement_that_was_done_and_not_told_is_seen_on_the_chain(trade: Trade) -> None:
    """Check that the chain decides after any response but success, before a client hears that nothing was charged."""
    for number, fault in enumerate([*_UNTOLD, *_TURNED_AWAY], 1):
        trade.restart()
        trade.a.faults["settle"] = fault
        answer = trade.get(trade.payment())
        assert (answer.status_code, trade.paid) == (200, number * PRICE), fault
        assert receipt(answer)["transaction"] == trade.book.transfers[-1]["tx"], fault


@pytest.mark.parametrize("fault", ["500", "drop", "done-drop", "pending"])
def test_without_a_node_a_doubt_is_503_and_stays_unknown(trade: Trade, fault: Fault) -> None:
    trade.without_node()
    trade.a.faults["settle"] = trade.b.faults["settle"] = fault
    payment = trade.payment()
    answer = trade.get(payment)
    assert answer.status_code == 503
    assert answer.json["type"].endswith("/problems/settlement-unknown")
    assert answer.headers["Retry-After"]
    assert "PAYMENT-REQUIRED" not in answer.headers
    assert trade.row(payment).state == "unknown"
    other = trade.get(payment, PATH + "?more=1")
    assert (other.status_code, other.json["type"].rpartition("/")[2]) == (409, "payment-bound")
    trade.a.faults["settle"] = trade.b.faults["settle"] = ""
    trade.without_node()
    served = trade.get(payment)
    if fault == "done-drop":  # a used authorization does not prove that it paid this payee
        assert (served.status_code, trade.row(payment).state) == (503, "unknown")
        trade.restart(rpc_url=trade.node.url)
        served = trade.get(payment)
    assert served.status_code == 200
    assert receipt(served)["success"]
    assert trade.get(payment).data == served.data
    assert trade.paid == PRICE


@pytest.mark.parametrize("fault", ["done-drop", "done-404", "pending"])
def test_one_that_leaves_doubts_is_left_alone_and_takes_no_other_with_it(trade: Trade, fault: Fault) -> None:
    trade.a.faults["settle"] = fault
    assert [trade.get(trade.payment()).status_code for _ in range(3)] == [200] * 3
    assert trade.a.calls["verify"] == 1, "the second settles what follows"
    assert trade.paid == 3 * PRICE


def test_a_settlement_that_is_pending_is_asked_again_once(trade: Trade) -> None:
    trade.a.faults["settle"] = "pending-once"
    assert trade.get(trade.payment()).status_code == 200
    assert (trade.paid, trade.a.calls["settle"]) == (PRICE, 2)


def test_a_payer_whose_money_is_gone_at_settlement_gets_nothing(trade: Trade) -> None:
    settle = trade.book.settle

    def emptied(question: dict[str, Any]) -> dict[str, Any]:
        trade.book.balances[BUYER.lower()] = 0
        return settle(question)

    trade.a.core = type("Emptied", (), {"verify": staticmethod(trade.book.verify), "settle": staticmethod(emptied)})()
    payment = trade.payment()
    answer = trade.get(payment)
    assert (answer.status_code, reason(answer)) == (402, "invalid_exact_evm_insufficient_balance")
    assert receipt(answer) == {
        "success": False,
        "payer": BUYER.lower(),
        "transaction": "",
        "network": "eip155:8453",
        "errorReason": "invalid_exact_evm_insufficient_balance",
    }
    assert trade.row(payment).state == "failed"
    assert reason(trade.get(payment)) == "invalid_exact_evm_insufficient_balance"


FAR = str(1 << 40)


class Wallet:
    """Another payer than the trade's, with its own money."""

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


def nested(levels: int) -> Any:
    return {"in": nested(levels - 1)} if levels else {}


ODD: tuple[tuple[str, Any], ...] = (
    ("accepted.extra", 5),
    ("accepted.extra", None),
    ("accepted.extra", {"name": {"deep": [1]}, "version": 7}),
    ("accepted.maxTimeoutSeconds", ...),
    ("accepted.maxTimeoutSeconds", "soon"),
    ("resource", 5),
    ("extensions", 5),
    ("extensions", {"bazaar": {"info": 5}}),
    ("extensions", nested(300)),
    ("accepted.description", nested(300)),
    ("payload.more", {"x": 1}),
    ("payload.authorization.more", 5),
    ("more", [1]),
)
"""What a client may write into an otherwise valid payment. `...` leaves the field out."""


def odd(payment: str, path: str, value: Any) -> str:
    document = json.loads(base64.b64decode(payment))
    *parts, name = path.split(".")
    part = document
    for each in parts:
        part = part[each]
    part[name] = value
    if value is ...:
        del part[name]
    return buyer.header(document)


class Strict:
    """A facilitator's core that fails on what the official SDK's types do not read."""

    def __init__(self, trade: Trade) -> None:
        self.trade, self.seen = trade, list[dict[str, Any]]()

    def verify(self, question: dict[str, Any]) -> dict[str, Any]:
        self.seen.append(question)
        PaymentPayload.model_validate(question["paymentPayload"])
        if not isinstance(question["paymentPayload"]["accepted"]["extra"]["name"], str):
            raise ValueError("extra")
        return self.trade.book.verify(question)

    def settle(self, question: dict[str, Any]) -> dict[str, Any]:
        return self.trade.book.settle(question)


@pytest.mark.parametrize(("path", "value"), ODD)
def test_facilitators_see_nothing_of_a_client_but_what_it_signed(trade: Trade, path: str, value: Any) -> None:
    core = trade.a.core = trade.b.core = Strict(trade)
    honest = trade.payment()
    assert trade.get(honest).status_code == 200
    answer = trade.get(odd(trade.payment(), path, value))
    assert answer.status_code == 200
    first, second = core.seen
    for each in (first, second):
        each["paymentPayload"]["payload"] = {}
    assert first == second
    assert first["paymentPayload"]["resource"] == trade.offered()["resource"]
    assert first["paymentPayload"]["extensions"] == trade.offered()["extensions"]


def test_clients_without_money_stop_no_payment(trade: Trade) -> None:
    poor = [Wallet(trade, number) for number in (0, 1)]
    trade.a.core = trade.b.core = Strict(trade)
    for wallet in poor:
        trade.book.balances[wallet.address.lower()] = 0
    statuses = []
    for number in range(20):
        attack = odd(poor[number % 2].payment(), *ODD[number % len(ODD)])
        assert trade.get(attack).status_code == 402
        statuses.append(trade.get(trade.payment()).status_code)
    assert statuses == [200] * 20


@pytest.mark.parametrize("fault", ["500", "drop", "html", "400", "429"])
def test_what_a_client_may_cause_opens_no_circuit_for_others(trade: Trade, fault: Fault) -> None:
    """Use a contract wallet's signature, which any client can invent. A 4xx is never the facilitator's fault."""
    wallets = [Wallet(trade, number) for number in (0, 1)]
    trade.a.faults["verify"] = trade.b.faults["verify"] = fault
    for wallet in wallets:
        payment = wallet.payment()
        if fault in ("500", "drop"):
            payment = odd(payment, "payload.signature", "0x" + secrets.token_hex(96))
        assert trade.get(payment).status_code == 503
    trade.a.faults["verify"] = trade.b.faults["verify"] = ""
    assert trade.get(trade.payment()).status_code == 200
    assert trade.a.calls["settle"] == 1


def test_a_half_open_circuit_lets_one_payment_a_second_through() -> None:
    now = [0.0]
    circuits = Circuits(lambda: now[0])

    def admitted(second: float, payers: int = 5) -> int:
        now[0] = second
        return sum(circuits.admit("a", f"payer {n}", f"{second} {n}", "verify") for n in range(payers))

    assert admitted(0) == 5
    circuits.open("a", "verify", EVERYONE)
    assert [admitted(second) for second in (0.1, 9.9, 10.0, 10.9, 11.0, 11.5, 12.0)] == [0, 0, 1, 0, 1, 0, 1]
    for second in ("10.0 0", "12.0 0"):
        assert circuits.admit("a", "payer 0", second, "settle"), "its settlement comes after its verification"
    circuits.close("a", "settle")
    assert admitted(12.1) == 0, "the endpoint that failed has not responded yet"
    circuits.open("a", "verify", "payer 0", own_fault=True)
    assert [admitted(second) for second in (13.0, 22.0, 22.2)] == [0, 0, 1], "one failed trial opens it again"
    circuits.close("a", "verify")
    assert admitted(22.3) == 5
    circuits.open("a", "verify", "payer 0", own_fault=True)
    circuits.open("a", "verify", "payer 1")
    assert admitted(22.4) == 3, "a failure that a client may have caused is its own"
    circuits.open("a", "verify", "payer 2", own_fault=True)
    assert admitted(22.5) == 0


def test_payers_without_money_hold_no_half_open_circuit() -> None:
    """Check that payments are verified while `settle` fails. Only confirmed ones take the one trial per second."""
    now = [0.0]
    circuits = Circuits(lambda: now[0])
    circuits.open("a", "settle", EVERYONE)
    assert not circuits.admit("a", "poor", "1", "verify"), "nothing passes during the pause"
    now[0] = 10.0
    assert all(circuits.admit("a", "poor", f"{n}", "verify") for n in range(20))
    assert circuits.admit("a", "honest", "h", "verify")
    assert circuits.admit("a", "honest", "h", "settle")
    assert not circuits.admit("a", "other", "o", "settle")
    circuits.close("a", "settle")
    assert circuits.admit("a", "other", "o", "settle")


def test_a_doubt_whose_transaction_was_reverted_ends(trade: Trade) -> None:
    bad, tx = Wallet(trade, 0), "0x" + secrets.token_hex(32)
    refusal = {"success": False, "network": "eip155:8453", "errorReason": "transaction_failed", "transaction": tx}
    core = {"verify": staticmethod(trade.book.verify), "settle": staticmethod(lambda _: refusal)}
    trade.a.core = trade.b.core = type("Core", (), core)()
    payment = bad.payment()
    assert trade.get(payment).status_code == 503, "in no block yet"
    trade.node.reverted.add(tx)
    trade.gate.x402.reconcile()
    asked = trade.a.calls["settle"]
    for each in (payment, payment, bad.payment()):
        answer = trade.get(each)
        assert (answer.status_code, reason(answer)) == (402, "transaction_failed")
    assert trade.a.calls["settle"] == asked + 1, "what was reverted is sent no second time"
    assert trade.ledger.counts() == {"failed": 2}
