"""Payments through facilitators that work, fail and lie: what is answered, what is charged, and that it is charged once.

The money is a book in memory, the transport is real; on a chain, with official clients: `test_x402_chain`.
"""

from __future__ import annotations

import base64
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.accounts.ledger import LedgerEntry
from api.access.accounts.store import CALLS_PER_DAY, SignUp, digest_of
from api.access.accounts.tables import AccountsUnavailable
from api.access.gate import Gate
from api.access.values import Answer, Call, Grant, Refusal
from api.access.x402.cdp_token import token
from api.access.x402.facilitators import Patience
from api.access.x402.json_post import JsonReply, NotReached, post
from api.access.x402.payload import decode
from api.access.x402.resource_server import Spans, X402ResourceServer
from api.http.guard import call_of
from api.settings import Facilitator as Listed
from api.settings import Settings
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.chain import BUYER, KEYS
from tests.stand_ins.facilitator import Facilitator, Fault
from tests.stand_ins.shop import shop

PAY_TO = "0x00000000000000000000000000000000DeaDBeef"
PATH = "/v1/latest/GB"
PRICE = 1000
SPANS = Spans(lease=60, confirm=0.3, patience=Patience(connect=2, verify=2, settle=2, pending=0.01))
"""Long enough that a machine at work elsewhere is not taken for a facilitator that hangs; each that does costs so much."""
HEADER = {1: "X-PAYMENT", 2: "PAYMENT-SIGNATURE"}
RECEIPT = {1: "X-PAYMENT-RESPONSE", 2: "PAYMENT-RESPONSE"}


@dataclass
class Trade:
    """A service that sells, two facilitators over one book, and a buyer with a cent."""

    gate: Gate
    http: FlaskClient
    a: Facilitator
    b: Facilitator
    book: Book
    shift: list[float]

    def offer(self, version: int = 2, path: str = PATH) -> dict[str, Any]:
        answer = self.http.get(path)
        document = answer.json if version == 1 else json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
        element: dict[str, Any] = document["accepts"][0]
        return element

    def payment(self, version: int = 2, **other: Any) -> str:
        """A right payment, but for replaced parts of its authorization."""
        offer = self.offer(version)
        signed = buyer.authorization(offer, **other)
        return buyer.header(buyer.pay_v1(offer, signed) if version == 1 else buyer.pay_v2(offer, signed))

    def get(self, payment: str, path: str = PATH, version: int = 2, **headers: str) -> TestResponse:
        return self.http.get(path, headers={HEADER[version]: payment, **headers})

    @property
    def paid(self) -> int:
        return self.book.balances.get(PAY_TO.lower(), 0)

    def row(self, payment: str) -> LedgerEntry:
        """What the ledger holds of a payment."""
        found = self.gate.accounts.ledger.find(self.gate.x402._asked(decode(payment), Call(PATH, "latest", "")))
        assert found
        return found

    def restart(self, spans: Spans = SPANS) -> None:
        """Another worker, whose circuit breakers know nothing."""
        settings, ledger = self.gate.settings, self.gate.accounts.ledger
        self.gate.x402 = X402ResourceServer(settings, ledger, True, lambda: time.time() + self.shift[0], spans)


@pytest.fixture
def trade(tmp_path: Path) -> Iterator[Trade]:
    book = Book({BUYER.lower(): 100_000})
    a, b = Facilitator(book), Facilitator(book)
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'accounts.sqlite'}",
        pay_to=PAY_TO,
        facilitators=(Listed(a.url), Listed(b.url)),
        base_url="https://emds.example",
        free_calls_per_minute=0,
    )
    shift = [0.0]
    gate = Gate.open(settings, "live", lambda: time.time() + shift[0])
    built = Trade(gate, shop(gate).test_client(), a, b, book, shift)
    built.restart()
    yield built
    for thread in threading.enumerate():
        if thread.name == "emds-reconcile":
            thread.join()
    a.close()
    b.close()
    gate.close()


def receipt(answer: TestResponse, version: int = 2) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(base64.b64decode(answer.headers[RECEIPT[version]]))
    return document


def reason(answer: TestResponse) -> str:
    """Why a 402 or 400 refused the payment; both versions must say the same."""
    if answer.status_code == 402:
        assert json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))["error"] == answer.json["error"]
        assert answer.json["accepts"]
        return str(answer.json["error"])
    return str(answer.json["code"])


# What is offered, and what a right payment gets


def test_one_402_offers_both_versions(trade: Trade) -> None:
    answer = trade.http.get(PATH)
    common = {
        "scheme": "exact",
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "payTo": PAY_TO,
        "maxTimeoutSeconds": 120,
        "extra": {"name": "USD Coin", "version": "2"},
    }
    assert trade.offer(2) == common | {"network": "eip155:8453", "amount": "1000"}
    first = trade.offer(1)
    assert {name: first[name] for name in common} == common
    assert (first["network"], first["maxAmountRequired"], first["resource"]) == (
        "base",
        "1000",
        "https://emds.example" + PATH,
    )
    second = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
    assert second["resource"]["url"] == "https://emds.example" + PATH
    assert second["extensions"]["bazaar"]["info"]["input"] == {"type": "http", "method": "GET"}
    assert len(answer.headers["PAYMENT-REQUIRED"]) < 3000
    assert trade.http.get("/v1/price/GB").json["accepts"][0]["maxAmountRequired"] == "10000"
    assert trade.a.seen == {"verify": 0, "settle": 0}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("other_header", [False, True])
def test_a_right_payment_is_served_with_a_receipt(trade: Trade, version: int, other_header: bool) -> None:
    payment = trade.payment(version)
    answer = trade.get(payment, version=3 - version if other_header else version)
    assert (answer.status_code, answer.json["method"]) == (200, "payment")
    assert answer.headers["Cache-Control"] == "private, no-store"
    told = receipt(answer, version)
    assert told["success"]
    assert told["payer"] == BUYER.lower()
    assert told["network"] == ("base" if version == 1 else "eip155:8453")
    assert told["transaction"] == trade.row(payment).tx
    assert (trade.paid, trade.row(payment).state) == (PRICE, "settled")
    assert trade.a.seen == {"verify": 1, "settle": 1}


def test_url_safe_base64_without_padding_is_read(trade: Trade) -> None:
    payment = trade.payment().rstrip("=").replace("+", "-").replace("/", "_")
    assert trade.get(payment).status_code == 200


# What fits no offer costs nothing


def _v2(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(2, **other)


def _v1(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(1, **other)


def _signed_for(**other: Any) -> Callable[[Trade], str]:
    """The payload says what is wanted; the signature is for another domain."""

    def build(trade: Trade) -> str:
        offer = trade.offer()
        signed = buyer.authorization(offer)
        return buyer.header(buyer.pay_v2(offer, signed, buyer.sign(signed, **other)))

    return build


def _accepting(**other: Any) -> Callable[[Trade], str]:
    """The payload names another offer than ours, and is signed for it."""

    def build(trade: Trade) -> str:
        offer = trade.offer() | other
        return buyer.header(buyer.pay_v2(offer, buyer.authorization(offer)))

    return build


def _edited(change: Callable[[dict[str, Any]], Any], version: int = 2) -> Callable[[Trade], str]:
    def build(trade: Trade) -> str:
        document = json.loads(base64.b64decode(trade.payment(version)))
        return buyer.header(change(document))

    return build


def _forged(document: dict[str, Any]) -> dict[str, Any]:
    document["payload"]["signature"] = "0x" + "00" * 65
    return document


def _moved(document: dict[str, Any]) -> dict[str, Any]:
    document["payload"]["authorization"]["nonce"] = "0x" + "77" * 32
    return document


def _poor(trade: Trade) -> str:
    trade.book.balances[BUYER.lower()] = 10
    return trade.payment()


_IN = "invalid_exact_evm_payload_authorization_"
_FITS_NOT: list[Any] = [
    ("pays too little", _v2(value="999"), _IN + "value_mismatch"),
    ("pays too much", _v2(value="1001"), _IN + "value_mismatch"),
    ("v1 pays too little", _v1(value="1"), _IN + "value_mismatch"),
    ("pays another", _v2(to="0x" + "22" * 20), "invalid_exact_evm_payload_recipient_mismatch"),
    ("accepts less", _accepting(amount="1"), "no_matching_payment_requirements"),
    ("accepts another asset", _accepting(asset="0x" + "33" * 20), "no_matching_payment_requirements"),
    ("accepts another payee", _accepting(payTo="0x" + "22" * 20), "no_matching_payment_requirements"),
    ("accepts another network", _accepting(network="eip155:84532"), "invalid_network"),
    ("another scheme", _accepting(scheme="upto"), "unsupported_scheme"),
    ("v1 with v2's network", _edited(lambda d: d | {"network": "eip155:8453"}, 1), "invalid_network"),
    ("expired", _v2(validBefore="1000"), _IN + "valid_before"),
    ("expires at once", _v2(validBefore=str(int(time.time()) + 3)), _IN + "valid_before"),
    ("not yet valid", _v2(validAfter="99999999999", validBefore="999999999999"), _IN + "valid_after"),
    ("signed on another chain", _signed_for(chainId=84532), "invalid_exact_evm_payload_signature"),
    (
        "signed for another token",
        _signed_for(verifyingContract="0x" + "33" * 20),
        "invalid_exact_evm_payload_signature",
    ),
    ("signed for Sepolia's name", _signed_for(name="USDC"), "invalid_exact_evm_payload_signature"),
    ("a forged signature", _edited(_forged), "invalid_exact_evm_payload_signature"),
    ("another nonce than signed", _edited(_moved), "invalid_exact_evm_payload_signature"),
    ("no money", _poor, "invalid_exact_evm_insufficient_balance"),
]


@pytest.mark.parametrize(("build", "code"), [pytest.param(build, code, id=name) for name, build, code in _FITS_NOT])
def test_what_fits_no_offer_is_402_with_its_reason(trade: Trade, build: Callable[[Trade], str], code: str) -> None:
    answer = trade.get(build(trade))
    assert (answer.status_code, reason(answer)) == (402, code)
    assert trade.a.seen["settle"] == trade.paid == 0
    assert trade.get(trade.payment()).status_code == (200 if code != "invalid_exact_evm_insufficient_balance" else 402)


_MALFORMED: list[Any] = [
    ("not base64", lambda _: "!!!", "invalid_payload"),
    ("not ASCII", lambda _: "Ã¼", "invalid_payload"),
    ("not JSON", lambda _: base64.b64encode(b"{x").decode(), "invalid_payload"),
    ("text", lambda _: buyer.header("pay"), "invalid_payload"),
    ("a list", lambda _: buyer.header([]), "invalid_payload"),
    ("nothing in it", lambda _: buyer.header({}), "invalid_x402_version"),
    ("version 3", _edited(lambda d: d | {"x402Version": 3}), "invalid_x402_version"),
    ("version true", _edited(lambda d: d | {"x402Version": True}), "invalid_x402_version"),
    ("version 1 written as 1.0", _edited(lambda d: d | {"x402Version": "1"}), "invalid_x402_version"),
    ("no accepted", _edited(lambda d: {k: v for k, v in d.items() if k != "accepted"}), "invalid_payload"),
    ("no payload", _edited(lambda d: {k: v for k, v in d.items() if k != "payload"}), "invalid_payload"),
    ("no authorization", _edited(lambda d: d | {"payload": {"signature": "0x00"}}), "invalid_payload"),
    ("v1 without scheme", _edited(lambda d: {k: v for k, v in d.items() if k != "scheme"}, 1), "invalid_payload"),
    ("a short nonce", _edited(lambda d: _set(d, "nonce", "0x77")), "invalid_payload"),
    ("a negative value", _edited(lambda d: _set(d, "value", "-1000")), "invalid_payload"),
    ("a value of another script", _edited(lambda d: _set(d, "value", "١٠٠٠")), "invalid_payload"),
    ("a number, not a string", _edited(lambda d: _set(d, "value", 1000)), "invalid_payload"),
    ("an address with a line break", _edited(lambda d: _set(d, "from", BUYER + "\n")), "invalid_payload"),
    ("nested too deep", lambda _: base64.b64encode(b"[" * 9000).decode(), "invalid_payload"),
    ("nested deep and closed", _edited(lambda d: d | {"extensions": _deep(300)}), "invalid_payload"),
    ("20 kB", lambda _: "A" * 20_000, "invalid_payload"),
]


def _set(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    document["payload"]["authorization"][name] = value
    return document


def _deep(levels: int) -> Any:
    nested: Any = {}
    for _ in range(levels):
        nested = {"in": nested}
    return nested


@pytest.mark.parametrize(("build", "code"), [pytest.param(build, code, id=name) for name, build, code in _MALFORMED])
def test_what_is_no_payment_is_400(trade: Trade, build: Callable[[Trade], str], code: str) -> None:
    answer = trade.get(build(trade))
    assert (answer.status_code, reason(answer)) == (400, code)
    assert answer.content_type == "application/problem+json"
    assert answer.json["charged"] is False
    assert trade.a.seen["verify"] == 0


# Nothing is charged for nothing


@pytest.mark.parametrize(
    "path",
    [
        PATH + "?status=404",
        PATH + "?status=500",
        PATH + "?status=302",
        PATH + "?status=206",
        PATH + "?rows=0",
        PATH + "?raise=1",
    ],
)
def test_an_error_or_an_empty_answer_costs_nothing_and_frees_the_payment(trade: Trade, path: str) -> None:
    payment = trade.payment()
    answer = trade.get(payment, path)
    assert answer.status_code == (500 if "raise" in path else int(path.rpartition("=")[2]) or 200)
    assert not set(RECEIPT.values()) & set(answer.headers.keys())
    assert (trade.paid, trade.a.seen["settle"], trade.row(payment).state) == (0, 0, "released")
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_304_and_head_cost_nothing(trade: Trade) -> None:
    payment = trade.payment()
    unchanged = trade.get(payment, **{"If-None-Match": '"tag"'})
    assert (unchanged.status_code, trade.row(payment).state) == (304, "released")
    head = trade.http.head(PATH, headers={"PAYMENT-SIGNATURE": payment})
    assert (head.status_code, trade.row(payment).state) == (200, "released")
    assert trade.paid == 0


# Keys and samples before payments


def test_a_key_goes_before_a_payment_and_a_sample_before_both(trade: Trade) -> None:
    key = trade.gate.accounts.sign_up(SignUp("a@example.org", "x"), 0, trade.gate.now)
    payment, bearer = trade.payment(), {"Authorization": f"Bearer {key}"}
    assert trade.get(payment, **bearer).json["method"] == "key"
    assert trade.get(payment, PATH + "?sample=true", **bearer).json["method"] == "sample"
    assert trade.paid == trade.a.seen["verify"] == 0
    assert trade.get(payment).json["method"] == "payment"


def test_a_payment_beside_a_key_that_will_not_do_is_used(trade: Trade) -> None:
    accounts = trade.gate.accounts
    key = accounts.sign_up(SignUp("a@example.org", "x"), 0, trade.gate.now)
    for _ in range(CALLS_PER_DAY):
        accounts.reserve(digest_of(key), trade.gate.now)
    for shown in (f"Bearer {key}", "Bearer wrong"):
        assert trade.get(trade.payment(), Authorization=shown).json["method"] == "payment"
    assert trade.paid == 2 * PRICE
    refused = trade.http.get(PATH, headers={"Authorization": f"Bearer {key}"})
    assert refused.status_code == 429
    assert json.loads(base64.b64decode(refused.headers["PAYMENT-REQUIRED"]))["accepts"][0]["amount"] == "1000"
    assert refused.json["detail"].endswith("A payment (x402) is taken now.")
    wrong = trade.http.get(PATH, headers={"Authorization": "Bearer wrong"})
    assert wrong.status_code == 401
    assert "PAYMENT-REQUIRED" in wrong.headers


# The same payment again


@pytest.mark.parametrize("version", [1, 2])
def test_a_lost_answer_is_given_again_three_times_within_five_minutes(trade: Trade, version: int) -> None:
    payment = trade.payment(version)
    first = trade.get(payment, version=version)
    for _ in range(3):
        again = trade.get(payment, version=version)
        assert (again.status_code, again.data) == (200, first.data)
        assert again.headers["X-Idempotent-Replay"] == "true"
        assert again.headers["ETag"] == first.headers["ETag"]
        assert receipt(again, version) == receipt(first, version)
    spent = trade.get(payment, version=version)
    assert (spent.status_code, reason(spent)) == (402, "invalid_exact_evm_nonce_already_used")
    assert (trade.paid, trade.a.seen) == (PRICE, {"verify": 1, "settle": 1})


def test_a_lost_answer_is_not_given_again_after_five_minutes(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    assert trade.get(payment).status_code == 200
    trade.shift[0] = 299
    assert trade.get(payment).status_code == 200
    trade.shift[0] = 301
    assert reason(trade.get(payment)) == "invalid_exact_evm_nonce_already_used"
    trade.gate.x402.reconcile()
    with trade.gate.accounts.ledger._engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT answer_body FROM payments").one() == (None,)


def test_a_payment_buys_one_answer(trade: Trade) -> None:
    payment = trade.payment()
    assert trade.get(payment, PATH + "?more=1").status_code == 200
    for path in (PATH, PATH + "?more=2", "/v1/latest/FR?more=1"):
        other = trade.get(payment, path)
        assert (other.status_code, reason(other)) == (402, "invalid_exact_evm_nonce_already_used")
    other = trade.get(payment, PATH + "?more=1", Accept="text/csv")
    assert other.status_code == 402
    assert trade.paid == PRICE


def test_the_order_of_a_query_makes_no_other_request(trade: Trade) -> None:
    payment = trade.payment()
    first = trade.get(payment, PATH + "?more=1&rows=2")
    assert trade.get(payment, PATH + "?rows=2&more=1").data == first.data


def test_an_authorization_in_the_other_versions_clothes_is_the_same(trade: Trade) -> None:
    payment = trade.payment(1)
    assert trade.get(payment, version=1).status_code == 200
    payload = json.loads(base64.b64decode(payment))["payload"]
    dressed = buyer.header({"x402Version": 2, "payload": payload, "accepted": trade.offer(2)})
    assert reason(trade.get(dressed)) == "invalid_exact_evm_nonce_already_used"
    shouted = json.loads(base64.b64decode(payment))
    shouted["payload"]["authorization"]["nonce"] = (
        shouted["payload"]["authorization"]["nonce"].upper().replace("0X", "0x")
    )
    assert reason(trade.get(buyer.header(shouted))) == "invalid_exact_evm_nonce_already_used"
    assert trade.paid == PRICE


def _at_once(calls: list[Callable[[], TestResponse]]) -> list[TestResponse]:
    answers: list[TestResponse] = []
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], TestResponse]) -> None:
        start.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_fifty_copies_at_once_are_charged_once_and_the_work_is_done_once(trade: Trade) -> None:
    trade.restart(Spans())  # fifty verifications at once take a while
    payment = trade.payment()
    app = trade.http.application
    path = PATH + "?sleep=0.2"
    answers = _at_once([lambda: app.test_client().get(path, headers={"PAYMENT-SIGNATURE": payment})] * 50)
    by_status = {status: [each for each in answers if each.status_code == status] for status in (200, 402, 409)}
    assert sum(map(len, by_status.values())) == 50
    assert 1 <= len(by_status[200]) <= 4
    assert len({each.data for each in by_status[200]}) == 1
    assert all(each.headers["Retry-After"] == "2" for each in by_status[409])
    assert (trade.paid, trade.a.seen["settle"]) == (PRICE, 1)


def test_twelve_payments_at_once_are_twelve_charges(trade: Trade) -> None:
    trade.restart(Spans())
    app = trade.http.application
    payments = [trade.payment() for _ in range(12)]
    calls = [
        lambda payment=payment: app.test_client().get(PATH, headers={"PAYMENT-SIGNATURE": payment})
        for payment in payments
    ]
    assert {each.status_code for each in _at_once(calls)} == {200}
    assert trade.paid == 12 * PRICE


# Facilitators that fail


@pytest.mark.parametrize("fault", ["500", "429", "html", "hang", "drop", "trouble", "lie-payer", "drip"])
def test_a_verification_that_fails_goes_to_the_next(trade: Trade, fault: Fault) -> None:
    trade.a.faults["verify"] = fault
    assert trade.get(trade.payment()).status_code == 200
    assert (trade.paid, trade.a.seen["settle"], trade.b.seen["settle"]) == (PRICE, 0, 1)


def test_a_facilitator_that_did_not_answer_is_asked_last_for_a_while(trade: Trade) -> None:
    trade.a.faults["verify"] = "hang"
    for _ in range(3):
        assert trade.get(trade.payment()).status_code == 200
    assert (trade.a.seen["verify"], trade.b.seen["verify"]) == (1, 3)


def test_a_facilitator_that_is_down_is_passed_over(trade: Trade) -> None:
    trade.a.close()
    assert trade.get(trade.payment()).status_code == 200
    assert trade.paid == PRICE


def test_a_refusal_is_final_and_nobody_else_is_asked(trade: Trade) -> None:
    trade.a.faults["verify"] = "screened"
    answer = trade.get(trade.payment())
    assert (answer.status_code, reason(answer), trade.b.seen["verify"]) == (402, "kyt_risk_detected", 0)
    trade.a.faults = {"verify": "", "settle": "screened"}
    answer = trade.get(trade.payment())
    assert (answer.status_code, reason(answer), trade.b.seen["settle"]) == (402, "kyt_risk_detected", 0)
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
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


@pytest.mark.parametrize("fault", ["429", "trouble", "down"])
def test_a_settlement_that_surely_moved_nothing_goes_to_the_next(trade: Trade, fault: Any) -> None:
    payment = trade.payment()
    if fault == "down":
        path = PATH + "?sleep=0.2"
        closing = threading.Timer(0.1, trade.a.close)
        closing.start()
        answer = trade.get(payment, path)
        closing.join()
    else:
        trade.a.faults["settle"] = fault
        answer = trade.get(payment)
    assert answer.status_code == 200
    assert receipt(answer)["transaction"]
    assert (trade.paid, trade.b.seen["settle"]) == (PRICE, 1)


def test_settlements_that_reach_nobody_release_the_payment(trade: Trade) -> None:
    trade.a.faults["settle"] = trade.b.faults["settle"] = "429"
    payment = trade.payment()
    answer = trade.get(payment)
    assert (answer.status_code, answer.json["charged"], trade.row(payment).state) == (503, False, "released")
    trade.a.faults["settle"] = ""
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


_DOUBTS: list[Fault] = [
    "500",
    "html",
    "hang",
    "drop",
    "done-hang",
    "done-drop",
    "done-500",
    "done-html",
    "drip",
    "pending",
    "lie-payer",
    "lie-network",
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("fault", _DOUBTS)
def test_a_settlement_in_doubt_is_503_then_served_for_the_same_payment(
    trade: Trade, fault: Fault, version: int
) -> None:
    trade.a.faults["settle"] = fault
    payment = trade.payment(version)
    answer = trade.get(payment, version=version)
    assert answer.status_code == 503
    assert answer.json["type"].endswith("/problems/settlement-unknown")
    assert answer.headers["Retry-After"]
    assert "PAYMENT-REQUIRED" not in answer.headers
    assert trade.row(payment).state == "unknown"
    assert trade.b.seen["settle"] == 0  # never over to another after a settlement in doubt
    other = trade.get(payment, PATH + "?more=1", version=version)
    assert (other.status_code, other.json["type"].rpartition("/")[2]) == (409, "payment-bound")
    trade.a.faults["settle"] = ""
    served = trade.get(payment, version=version)
    assert served.status_code == 200
    assert receipt(served, version)["success"]
    assert trade.get(payment, version=version).data == served.data
    assert trade.paid == PRICE


def test_a_doubt_that_stays_is_503_every_time_and_never_402(trade: Trade) -> None:
    trade.a.faults["settle"] = trade.b.faults["settle"] = "done-drop"
    trade.a.faults["verify"] = ""
    payment = trade.payment()
    assert trade.get(payment).status_code == 503
    trade.a.faults["verify"] = trade.b.faults["verify"] = "500"
    for shift in (0, 200, 4000):  # past validBefore too
        trade.shift[0] = shift
        assert trade.get(payment).status_code == 503
    trade.a.faults["verify"] = ""
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_a_500_that_brings_its_settlement_is_believed(trade: Trade) -> None:
    trade.a.faults["settle"] = "done-500-told"
    answer = trade.get(trade.payment())
    assert (answer.status_code, trade.paid, trade.b.seen["settle"]) == (200, PRICE, 0)
    assert receipt(answer)["transaction"]


def test_a_settlement_that_is_pending_is_asked_again_once(trade: Trade) -> None:
    trade.a.faults["settle"] = "pending-once"
    assert trade.get(trade.payment()).status_code == 200
    assert (trade.paid, trade.a.seen["settle"]) == (PRICE, 2)


def test_the_next_facilitator_that_finds_it_spent_confirms_the_first(trade: Trade) -> None:
    """A says by its own account that it failed, and had moved the money."""
    settle = trade.book.settle

    def failing(question: dict[str, Any]) -> dict[str, Any]:
        told = settle(question)
        return told | {"success": False, "transaction": "", "errorReason": "unexpected_settle_error"}

    trade.a.core = type("Failing", (), {"verify": staticmethod(trade.book.verify), "settle": staticmethod(failing)})()
    answer = trade.get(trade.payment())
    assert (answer.status_code, trade.paid) == (200, PRICE)


def test_a_payer_whose_money_is_gone_at_settlement_gets_nothing(trade: Trade) -> None:
    emptied = threading.Timer(0.1, lambda: trade.book.balances.update({BUYER.lower(): 0}))
    emptied.start()
    payment = trade.payment()
    answer = trade.get(payment, PATH + "?sleep=0.3")
    emptied.join()
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


# Workers that die


def test_what_a_dead_worker_held_is_free_after_its_lease(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    asked = decode(payment)
    with trade.http.application.test_request_context(PATH, headers={"PAYMENT-SIGNATURE": payment}) as context:
        entry = trade.gate.admit(call_of(context.request, "latest", ()))  # and is never heard of again
    assert trade.row(payment).state == "verified"
    assert trade.get(payment).status_code == 409
    trade.shift[0] = SPANS.lease + 1
    assert trade.get(payment).status_code == 200
    assert (trade.paid, asked.nonce in trade.book.spent) == (PRICE, True)
    assert isinstance(entry, Grant)
    late = entry.settle(Answer(200, 1, b"late"))
    assert isinstance(late, Refusal)  # the slow worker's answer must not go out a second time
    assert (late.status, trade.paid) == (409, PRICE)


def test_what_died_while_settling_is_in_doubt_then_served(trade: Trade) -> None:
    trade.a.faults["settle"] = "done-hang"
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    assert trade.get(payment).status_code == 503
    with (
        trade.gate.accounts.ledger._engine.begin() as connection
    ):  # as if the worker had died before it wrote that down
        connection.exec_driver_sql("UPDATE payments SET state = 'settling'")
    assert trade.get(payment).status_code == 409
    trade.shift[0] = SPANS.lease + 1
    trade.a.faults["settle"] = ""
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_a_ledger_that_fails_after_the_money_moved_leaves_a_doubt(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))

    def fails(*_: object, **__: object) -> None:
        raise AccountsUnavailable("OperationalError")

    with monkeypatch.context() as patch:
        patch.setattr(type(trade.gate.accounts.ledger), "settled", fails)
        answer = trade.get(payment)
    assert (answer.status_code, answer.json["type"].rpartition("/")[2]) == (503, "settlement-unknown")
    assert trade.paid == PRICE
    trade.shift[0] = SPANS.lease + 1
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


# Where payments are off


def _closed(tmp_path: Path, mode: str, **changes: Any) -> tuple[Gate, TestResponse]:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'accounts.sqlite'}",
        pay_to=PAY_TO,
        facilitators=(Listed("https://far.example"),),
    )
    gate = Gate.open(replace(settings, **changes), mode)
    return gate, shop(gate).test_client().get(PATH, headers={"X-PAYMENT": "junk"})


@pytest.mark.parametrize(
    ("mode", "changes", "sells"),
    [
        ("live", {}, True),
        ("recorded", {}, True),
        ("live", {"pay_to": ""}, False),
        ("live", {"facilitators": ()}, False),
        ("simulated", {}, False),
        ("", {}, False),
        ("simulated", {"facilitators": (Listed("http://127.0.0.1:9"),)}, True),
        ("simulated", {"facilitators": (Listed("http://localhost:9"),)}, True),
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


def test_a_simulated_warehouse_never_asks_a_far_facilitator(tmp_path: Path) -> None:
    near = Listed("http://127.0.0.1:9")
    gate, _ = _closed(tmp_path, "simulated", facilitators=(Listed("https://far.example"), near))
    assert list(gate.x402._facilitators.listed) == [near]
    gate.close()


# What is shown to facilitators, and to nobody


def test_facilitators_are_shown_their_tokens(trade: Trade) -> None:
    trade.gate.settings = replace(trade.gate.settings, facilitators=(Listed(trade.a.url, "bearer", "hush"),))
    trade.restart()
    assert trade.get(trade.payment()).status_code == 200
    assert trade.a.authorization == "Bearer hush"


def test_coinbases_token_is_a_signed_jwt_for_one_address() -> None:
    key = Ed25519PrivateKey.generate()
    secret = base64.b64encode(key.private_bytes_raw() + key.public_key().public_bytes_raw()).decode()
    made = token(
        f"organizations/a/apiKeys/b:{secret}", "POST", "https://api.cdp.coinbase.com/platform/v2/x402/verify", 1000
    )
    header, claims, signature = (base64.urlsafe_b64decode(part + "==") for part in made.split("."))
    key.public_key().verify(signature, made.rpartition(".")[0].encode())
    assert json.loads(header)["kid"] == "organizations/a/apiKeys/b"
    assert json.loads(claims) == {
        "sub": "organizations/a/apiKeys/b",
        "iss": "cdp",
        "nbf": 1000,
        "exp": 1120,
        "uris": ["POST api.cdp.coinbase.com/platform/v2/x402/verify"],
    }


def test_the_log_tells_every_change_and_no_signature(trade: Trade, caplog: pytest.LogCaptureFixture) -> None:
    payment = trade.payment()
    with caplog.at_level(logging.INFO, "emds.payments"):
        trade.get(payment)
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "emds.payments"]
    assert [line["payment"] for line in lines] == ["verified", "settled"]
    assert lines[-1]["tx"].startswith("0x")
    signature = json.loads(base64.b64decode(payment))["payload"]["signature"]
    assert signature not in caplog.text
    assert payment not in caplog.text
    assert KEYS[2] not in caplog.text


# The wire to facilitators


class _Secure(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307 if self.path == "/moved" else 200)
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(b'{"path": "%s"}' % self.path.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on loopback whose certificate is trusted as long as the test runs."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Secure)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_https_is_spoken_and_redirects_are_not_followed(secure: str) -> None:
    assert post(secure + "/verify?a=1", {}, {}, 1, 1) == JsonReply(200, {"path": "/verify?a=1"})
    assert post(secure + "/moved", {}, {}, 1, 1).status == 307


def test_a_certificate_that_nobody_vouches_for_is_not_asked(secure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(NotReached):
        post(secure + "/verify", {}, {}, 1, 1)


def test_nobody_at_the_address_is_not_reached() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(NotReached):
            post(f"http://127.0.0.1:{held.getsockname()[1]}/settle", {}, {}, 1, 1)
