"""What is not charged: errors, empty answers, 304, HEAD, samples, and what a key pays for."""

from __future__ import annotations

import base64
import json

import pytest

from api.access import sign_up as sign_ups
from api.access.keys import digest_of
from api.access.sign_up import SignUp
from api.access.usage import CALLS_PER_DAY
from tests.stand_ins.trade import PATH, PRICE, RECEIPT, Trade


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
    key = sign_ups.sign_up(trade.gate.database, SignUp("a@example.org", "x"), 0, trade.gate.now).key
    payment, bearer = trade.payment(), {"Authorization": f"Bearer {key}"} if "key" in credentials else {}
    path = PATH + "?sample=true" if "sample" in credentials else PATH
    assert trade.http.get(path, headers=bearer).json["method"] == credentials.partition(" ")[0]
    assert trade.get(payment, path, **bearer).json["method"] == credentials.partition(" ")[0]
    assert trade.paid == trade.a.calls["verify"] == 0
    assert trade.get(payment).json["method"] == "payment"


def test_a_payment_beside_a_key_that_will_not_do_is_used(trade: Trade) -> None:
    accounts = trade.gate.usage
    key = sign_ups.sign_up(accounts.database, SignUp("a@example.org", "x"), 0, trade.gate.now).key
    for _ in range(CALLS_PER_DAY):
        accounts.reserve(digest_of(key), trade.gate.now)
    for credentials in (f"Bearer {key}", "Bearer wrong"):
        assert trade.get(trade.payment(), Authorization=credentials).json["method"] == "payment"
    assert trade.paid == 2 * PRICE
    refused = trade.http.get(PATH, headers={"Authorization": f"Bearer {key}"})
    assert refused.status_code == 429
    assert json.loads(base64.b64decode(refused.headers["PAYMENT-REQUIRED"]))["accepts"][0]["amount"] == "1000"
    assert refused.json["detail"].endswith("A payment (x402) is taken now.")
    wrong = trade.http.get(PATH, headers={"Authorization": "Bearer wrong"})
    assert wrong.status_code == 401
    assert "PAYMENT-REQUIRED" in wrong.headers
