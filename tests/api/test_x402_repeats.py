"""The same payment again: its answer once more within bounds, never a second charge, never another answer."""

from __future__ import annotations

import base64
import json
import time

import pytest

from api.access.x402.server import Limits
from tests.stand_ins import buyer
from tests.stand_ins.trade import PATH, PRICE, Trade, at_once, reason, receipt


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
    trade.shift[0] = 270  # not 299: the clock runs on between the calls
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


@pytest.mark.parametrize("copies", [2, 50])
def test_copies_at_once_are_charged_once_and_the_work_is_done_once(trade: Trade, copies: int) -> None:
    trade.restart(Limits())  # fifty verifications at once take a while
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
