"""Test what a 402 offers to both versions, what a payment buys and repeats, and what is not charged."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from api.access import sign_up as sign_ups
from api.access.key_spelling import digest_of
from api.access.keys import CALLS_PER_DAY
from api.access.x402.payment import decode
from api.access.x402.server import PaymentLimits
from tests.stand_ins import buyer
from tests.stand_ins.chain import BUYER
from tests.stand_ins.trade import PATH, PAY_TO, PRICE, RECEIPT, Trade, at_once, reason, receipt


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
    assert len(answer.headers["PAYMENT-REQUIRED"]) < 3000
    assert answer.headers.getlist("Content-Type") == ["application/json"]
    assert trade.http.get("/v1/price/GB").json["accepts"][0]["maxAmountRequired"] == "10000"
    assert trade.a.calls == {"verify": 0, "settle": 0}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("other_header", [False, True])
def test_a_right_payment_is_served_with_a_receipt(trade: Trade, version: int, other_header: bool) -> None:
    payment = trade.payment(version)
    answer = trade.get(payment, version=3 - version if other_header else version)
    assert (answer.status_code, answer.json["method"]) == (200, "payment")
    assert answer.headers["Cache-Control"] == "private, no-store"
    settlement = receipt(answer, version)
    assert settlement["success"]
    assert settlement["payer"] == BUYER.lower()
    assert settlement["network"] == ("base" if version == 1 else "eip155:8453")
    assert settlement["transaction"] == trade.row(payment).tx
    assert (trade.paid, trade.row(payment).state) == (PRICE, "settled")
    assert trade.a.calls == {"verify": 1, "settle": 1}


def test_url_safe_base64_without_padding_is_read(trade: Trade) -> None:
    payment = trade.payment().rstrip("=").replace("+", "-").replace("/", "_")
    assert trade.get(payment).status_code == 200


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
    assert (trade.paid, trade.a.calls) == (PRICE, {"verify": 1, "settle": 1})


def test_a_lost_answer_is_not_given_again_after_five_minutes(trade: Trade) -> None:
    payment = trade.payment(validBefore=str(int(time.time()) + 4000))
    assert trade.get(payment).status_code == 200
    trade.shift[0] = 270  # not 299, because the clock runs between the calls
    assert trade.get(payment).status_code == 200
    trade.shift[0] = 301
    assert reason(trade.get(payment)) == "invalid_exact_evm_nonce_already_used"
    trade.gate.x402.reconcile()
    with trade.gate.database.connect() as connection:
        assert connection.exec_driver_sql("SELECT answer_body FROM payments").one() == (None,)


def test_a_payment_buys_one_answer(trade: Trade) -> None:
    payment = trade.payment()
    assert trade.get(payment, PATH + "?more=1").status_code == 200
    for path in (PATH, PATH + "?more=2", "/v1/latest/FR?more=1"):
        other = trade.get(payment, path)
        assert (other.status_code, reason(other)) == (402, "invalid_exact_evm_nonce_already_used")
    assert trade.paid == PRICE


def test_the_order_of_a_query_makes_no_other_request(trade: Trade) -> None:
    payment = trade.payment()
    first = trade.get(payment, PATH + "?more=1&rows=2")
    assert trade.get(payment, PATH + "?rows=2&more=1").data == first.data


def test_an_authorization_in_the_other_versions_clothes_is_the_same(trade: Trade) -> None:
    payment = trade.payment(1)
    assert trade.get(payment, version=1).status_code == 200
    payload = json.loads(base64.b64decode(payment))["payload"]
    rewrapped = buyer.header({"x402Version": 2, "payload": payload, "accepted": trade.offer(2)})
    assert reason(trade.get(rewrapped)) == "invalid_exact_evm_nonce_already_used"
    uppercased = json.loads(base64.b64decode(payment))
    uppercased["payload"]["authorization"]["nonce"] = (
        uppercased["payload"]["authorization"]["nonce"].upper().replace("0X", "0x")
    )
    assert reason(trade.get(buyer.header(uppercased))) == "invalid_exact_evm_nonce_already_used"
    assert trade.paid == PRICE


@pytest.mark.slow
def test_copies_at_once_are_charged_once_and_the_work_is_done_once(trade: Trade) -> None:
    copies = 50
    trade.restart(PaymentLimits())  # fifty verifications at once take a while
    payment = trade.payment()
    app = trade.http.application
    path = PATH + "?sleep=0.2"
    answers = at_once([lambda: app.test_client().get(path, headers={"PAYMENT-SIGNATURE": payment})] * copies)
    by_status = {status: [each for each in answers if each.status_code == status] for status in (200, 402, 409, 503)}
    assert sum(map(len, by_status.values())) == copies
    assert 1 <= len(by_status[200]) <= 4
    assert len({each.data for each in by_status[200]}) == 1
    assert all(each.headers["Retry-After"] == "2" for each in by_status[409])
    assert (trade.paid, trade.a.calls["settle"]) == (PRICE, 1)


@pytest.mark.parametrize(
    "path", [PATH + "?status=404", PATH + "?status=500", PATH + "?status=206", PATH + "?rows=0", PATH + "?raise=1"]
)
def test_an_error_or_an_empty_answer_costs_nothing_and_frees_the_payment(trade: Trade, path: str) -> None:
    payment = trade.payment()
    answer = trade.get(payment, path)
    assert answer.status_code == (500 if "raise" in path else int(path.rpartition("=")[2]) or 200)
    assert not set(RECEIPT.values()) & set(answer.headers.keys())
    assert (trade.paid, trade.a.calls["settle"], trade.row(payment).state) == (0, 0, "released")
    assert trade.get(payment).status_code == 200
    assert trade.paid == PRICE


def test_304_and_head_cost_nothing(trade: Trade) -> None:
    payment = trade.payment()
    unchanged = trade.get(payment, **{"If-None-Match": '"tag"'})
    assert (unchanged.status_code, trade.row(payment).state) == (304, "released")
    assert "ETag" not in unchanged.headers, "a payment that nobody verified learns nothing of the answer"
    head = trade.http.head(PATH, headers={"PAYMENT-SIGNATURE": payment})
    assert (head.status_code, trade.row(payment).state) == (200, "released")
    assert not {"ETag", "Content-Length"} & set(head.headers.keys())
    assert trade.paid == 0


# Keys and samples before payments


@pytest.mark.parametrize("credentials", ["sample", "sample and key", "key"])
def test_a_key_goes_before_a_payment_and_a_sample_before_both(trade: Trade, credentials: str) -> None:
    key = sign_ups.sign_up(trade.gate.database, "a@example.org", "x", trade.gate.now)[0]
    payment, bearer = trade.payment(), {"Authorization": f"Bearer {key}"} if "key" in credentials else {}
    path = PATH + "?sample=true" if "sample" in credentials else PATH
    assert trade.http.get(path, headers=bearer).json["method"] == credentials.partition(" ")[0]
    assert trade.get(payment, path, **bearer).json["method"] == credentials.partition(" ")[0]
    assert trade.paid == trade.a.calls["verify"] == 0
    assert trade.get(payment).json["method"] == "payment"


def test_a_payment_beside_a_key_that_will_not_do_is_used(trade: Trade) -> None:
    accounts = trade.gate.keys
    key = sign_ups.sign_up(accounts.database, "a@example.org", "x", trade.gate.now)[0]
    for _ in range(CALLS_PER_DAY):
        accounts.reserve(digest_of(key), trade.gate.now)
    for credentials in (f"Bearer {key}", "Bearer wrong"):
        assert trade.get(trade.payment(), Authorization=credentials).json["method"] == "payment"
    assert trade.paid == 2 * PRICE
    refused = trade.http.get(PATH, headers={"Authorization": f"Bearer {key}"})
    assert refused.status_code == 429
    assert json.loads(base64.b64decode(refused.headers["PAYMENT-REQUIRED"]))["accepts"][0]["amount"] == "1000"
    assert refused.json["detail"].endswith("You can pay for this request now (x402).")
    wrong = trade.http.get(PATH, headers={"Authorization": "Bearer wrong"})
    assert wrong.status_code == 401
    assert "PAYMENT-REQUIRED" in wrong.headers


def _v2(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(2, **other)


def _v1(**other: Any) -> Callable[[Trade], str]:
    return lambda trade: trade.payment(1, **other)


def _signed_for(**other: Any) -> Callable[[Trade], str]:
    """Return a builder of payloads that fit the offer but are signed for another EIP-712 domain."""

    def build(trade: Trade) -> str:
        offer = trade.offer()
        signed = buyer.authorization(offer)
        return buyer.header(buyer.pay_v2(offer, signed, buyer.sign(signed, **other)))

    return build


def _accepting(**other: Any) -> Callable[[Trade], str]:
    """Return a builder of payloads that name, and are signed for, an offer with other terms."""

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


def _without_money(trade: Trade) -> str:
    trade.book.balances[BUYER.lower()] = 10
    return trade.payment()


_AUTHORIZATION = "invalid_exact_evm_payload_authorization_"
_MISMATCHES: list[Any] = [
    ("pays too little", _v2(value="999"), _AUTHORIZATION + "value_mismatch"),
    ("v1 pays too little", _v1(value="1"), _AUTHORIZATION + "value_mismatch"),
    ("pays another", _v2(to="0x" + "22" * 20), "invalid_exact_evm_payload_recipient_mismatch"),
    ("accepts less", _accepting(amount="1"), "no_matching_payment_requirements"),
    ("accepts another network", _accepting(network="eip155:84532"), "invalid_network"),
    ("another scheme", _accepting(scheme="upto"), "unsupported_scheme"),
    ("v1 with v2's network", _edited(lambda d: d | {"network": "eip155:8453"}, 1), "invalid_network"),
    ("expired", _v2(validBefore="1000"), _AUTHORIZATION + "valid_before"),
    ("beyond the ledger's dates", _v2(validBefore=str((1 << 256) - 1)), _AUTHORIZATION + "valid_before"),
    ("expires at once", _v2(validBefore=str(int(time.time()) + 3)), _AUTHORIZATION + "valid_before"),
    ("not yet valid", _v2(validAfter="99999999999", validBefore="999999999999"), _AUTHORIZATION + "valid_after"),
    ("signed on another chain", _signed_for(chainId=84532), "invalid_exact_evm_payload_signature"),
    (
        "signed for another token",
        _signed_for(verifyingContract="0x" + "33" * 20),
        "invalid_exact_evm_payload_signature",
    ),
    ("a forged signature", _edited(_forged), "invalid_exact_evm_payload_signature"),
    ("another nonce than signed", _edited(_moved), "invalid_exact_evm_payload_signature"),
    ("no money", _without_money, "invalid_exact_evm_insufficient_balance"),
]


def test_what_fits_no_offer_is_402_with_its_reason(trade: Trade) -> None:
    for number, (name, build, code) in enumerate(_MISMATCHES):
        answer = trade.get(build(trade))
        assert (answer.status_code, reason(answer)) == (402, code), name
        assert trade.paid == number * PRICE, name
        assert trade.get(trade.payment()).status_code == (200 if build is not _without_money else 402), name
    assert trade.a.calls["settle"] == len(_MISMATCHES) - 1


_MALFORMED: list[Any] = [
    ("must be base64", lambda _: "!!!", "invalid_payload"),
    ("not ASCII", lambda _: "Ã¼", "invalid_payload"),
    ("not JSON", lambda _: base64.b64encode(b"{x").decode(), "invalid_payload"),
    ("nothing in it", lambda _: buyer.header({}), "invalid_x402_version"),
    ("version 3", _edited(lambda d: d | {"x402Version": 3}), "invalid_x402_version"),
    ("no accepted", _edited(lambda d: {k: v for k, v in d.items() if k != "accepted"}), "invalid_payload"),
    ("no authorization", _edited(lambda d: d | {"payload": {"signature": "0x00"}}), "invalid_payload"),
    ("v1 without scheme", _edited(lambda d: {k: v for k, v in d.items() if k != "scheme"}, 1), "invalid_payload"),
    ("a short nonce", _edited(lambda d: _set(d, "nonce", "0x77")), "invalid_payload"),
    ("a negative value", _edited(lambda d: _set(d, "value", "-1000")), "invalid_payload"),
    ("a value of another script", _edited(lambda d: _set(d, "value", "١٠٠٠")), "invalid_payload"),
    ("an address with a line break", _edited(lambda d: _set(d, "from", BUYER + "\n")), "invalid_payload"),
    ("nested too deep", lambda _: base64.b64encode(b"[" * 2000).decode(), "invalid_payload"),
    ("20 kB", _edited(lambda d: d | {"extensions": {"echo": "x" * 15_000}}), "invalid_payload"),
]


def _set(document: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    document["payload"]["authorization"][name] = value
    return document


def test_what_is_no_payment_is_400(trade: Trade) -> None:
    for name, build, code in _MALFORMED:
        answer = trade.get(build(trade))
        assert (answer.status_code, reason(answer)) == (400, code), name
        assert answer.content_type == "application/problem+json"
        assert answer.json["charged"] is False, name
    assert trade.a.calls["verify"] == 0


def test_a_payment_as_pythons_first_client_writes_it_is_taken(trade: Trade) -> None:
    """Send version 1 with a validAfter in the past and with numbers as text."""
    now = int(time.time())
    payment = trade.payment(1, validAfter=str(now - 60), validBefore=str(now + 60))
    assert trade.get(payment, version=1).status_code == 200
    assert trade.paid == PRICE


def test_a_wallet_that_signs_with_a_recovery_id_pays(trade: Trade) -> None:
    """Check that the facilitator gets 27 or 28 as `v`, because USDC reverts a transfer with 0 or 1."""
    document = json.loads(base64.b64decode(trade.payment()))
    signature = document["payload"]["signature"]
    document["payload"]["signature"] = f"{signature[:-2]}{int(signature[-2:], 16) - 27:02x}"
    payment = buyer.header(document)
    assert decode(payment).signature == signature
    assert (trade.get(payment).status_code, trade.paid) == (200, PRICE)
