"""Payments over MCP: an offer beside each sample, a receipt beside each answer, and refusals that cost nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from api.settings import Facilitator as Listed
from tests.mcp.conftest import MODERN, VERSIONS
from tests.mcp.counted_calls import ARGUMENTS
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.chain import BUYER
from tests.stand_ins.facilitator import Facilitator

PAY_TO = "0x00000000000000000000000000000000DeaDBeef"
PRICES = {"get_latest": 1000, "get_zone_brief": 20_000, "get_map_snapshot": 2000, "get_history": 10_000}


@dataclass
class Trade:
    """A service that sells over MCP, a facilitator, and a buyer with ten cents."""

    mcp: Any
    facilitator: Facilitator
    book: Book

    @property
    def paid(self) -> int:
        return self.book.balances.get(PAY_TO.lower(), 0)

    def offer(self, tool: str = "get_latest", **arguments: Any) -> dict[str, Any]:
        """The payment offer in the `_meta` of a sample."""
        required = self.mcp.call(tool, **(arguments or ARGUMENTS[tool]))["_meta"]["x402/payment-required"]
        element: dict[str, Any] = required["accepts"][0]
        return element

    def pay(self, tool: str, payment: Any, version: str = MODERN, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.mcp.call(
            tool, version, {"x402/payment": payment}, **(arguments or ARGUMENTS[tool])
        )
        return result


@pytest.fixture
def trade(make: Any) -> Iterator[Trade]:
    book = Book({BUYER.lower(): 100_000})
    facilitator = Facilitator(book)
    yield Trade(make(pay_to=PAY_TO, facilitators=(Listed(facilitator.url),)), facilitator, book)
    for thread in threading.enumerate():
        if thread.name == "emds-reconcile":
            thread.join()
    facilitator.close()


def test_a_sample_carries_the_offer_for_the_whole(trade: Trade) -> None:
    for tool, price in PRICES.items():
        offer = trade.offer(tool)
        assert (offer["amount"], offer["payTo"], offer["network"]) == (str(price), PAY_TO, "eip155:8453")


def test_several_zones_cost_a_call_each(trade: Trade) -> None:
    arguments = {"metric": "price", "start": "2026-03-30T10:00:00Z"}
    assert trade.offer("get_history", zone="GB", **arguments)["amount"] == "10000"
    assert trade.offer("get_history", zones=["GB", "DE-LU", "AU-NSW"], **arguments)["amount"] == "30000"
    payment = buyer.pay_v2(trade.offer("get_history", zones=["GB", "DE-LU"], **arguments))
    result = trade.pay("get_history", payment, zones=["GB", "DE-LU"], **arguments)
    assert "sample" not in result["structuredContent"]
    assert trade.paid == 20000


def test_free_tools_and_keyed_answers_carry_none(trade: Trade) -> None:
    key = trade.mcp.app.test_client().post("/v1/keys/signup", json={"email": "a@example.org"}).json["api_key"]
    for result in (trade.mcp.call("list_zones"), trade.mcp.call("get_latest", zone="GB", api_key=key)):
        assert "x402/payment-required" not in result["_meta"]


def test_a_payment_buys_the_whole_answer_and_a_receipt(trade: Trade) -> None:
    for (tool, price), version in zip(PRICES.items(), VERSIONS, strict=True):
        before = trade.paid
        result = trade.pay(tool, buyer.pay_v2(trade.offer(tool)), version)
        receipt = result["_meta"]["x402/payment-response"]
        assert (receipt["success"], receipt["payer"], receipt["network"]) == (True, BUYER.lower(), "eip155:8453")
        assert receipt["transaction"].startswith("0x")
        assert trade.paid - before == price
        assert "SAMPLE" not in result["content"][0]["text"]
        assert version == "2025-03-26" or "sample" not in result["structuredContent"]


def test_a_payment_of_version_1_and_one_as_text_are_taken(trade: Trade) -> None:
    path = trade.mcp.app.test_client().get("/v1/latest/GB").json["accepts"][0]
    first = trade.pay("get_latest", buyer.pay_v1(path))
    assert first["_meta"]["x402/payment-response"]["network"] == "base"
    second = trade.pay("get_latest", json.dumps(buyer.pay_v2(trade.offer())))
    assert second["_meta"]["x402/payment-response"]["success"] is True
    assert trade.paid == 2000


def test_the_same_payment_gives_the_same_answer_again_and_is_charged_once(trade: Trade) -> None:
    payment = buyer.pay_v2(trade.offer())
    first, again = trade.pay("get_latest", payment), trade.pay("get_latest", payment, "2025-06-18")
    assert again["structuredContent"] == first["structuredContent"]
    assert again["content"] == first["content"]
    assert again["_meta"]["x402/payment-response"] == first["_meta"]["x402/payment-response"]
    assert trade.paid == 1000


def test_a_payment_buys_the_answer_it_was_sent_for_and_no_other(trade: Trade) -> None:
    payment, asked = buyer.pay_v2(trade.offer()), {"zone": "GB", "metric": "price"}
    trade.pay("get_latest", payment)
    other = trade.pay("get_latest", payment, zone="DE-LU")
    assert other["isError"] is True
    assert json.loads(other["content"][0]["text"])["error"] == "invalid_exact_evm_nonce_already_used"
    by_rest = trade.mcp.app.test_client().get("/v1/latest/GB", headers={"PAYMENT-SIGNATURE": buyer.header(payment)})
    assert by_rest.status_code == 402
    second = buyer.pay_v2(trade.offer("get_history", **asked, limit=5))
    first = trade.pay("get_history", second, **asked, limit=5)
    assert trade.pay("get_history", second, **asked, limit=7)["isError"] is True, "other arguments on the same path"
    assert trade.pay("get_history", second, **asked, limit=5, api_key="emds_wrong")["content"] == first["content"]
    assert trade.paid == 11_000


def test_a_wrong_payment_gets_the_offer_as_text(trade: Trade) -> None:
    offer = trade.offer()
    for wrong, version in zip(({"value": "1"}, {"to": BUYER}, {"validBefore": "1000"}), VERSIONS[1:], strict=True):
        result = trade.pay("get_latest", buyer.pay_v2(offer, buyer.authorization(offer, **wrong)), version)
        body = json.loads(result["content"][0]["text"])
        assert (result["isError"], "structuredContent" in result) == (True, False)
        assert (body["x402Version"], body["accepts"]) == (2, [offer])
        assert body["error"] in result["content"][1]["text"]
    assert trade.paid == 0


def test_what_is_no_payment_is_refused_and_costs_nothing(trade: Trade) -> None:
    for payment in ("nonsense", 5, [], {}, {"x402Version": 9}, {"a": [[[1]]]}):
        result = trade.pay("get_latest", payment)
        assert result["isError"] is True, payment
        assert "Invalid payment" in result["content"][0]["text"], payment
    assert trade.pay("get_latest", "")["structuredContent"]["sample"] is True


def test_an_answer_without_rows_and_an_error_cost_nothing(trade: Trade) -> None:
    window = {"zone": "GB", "metric": "price", "start": "1970", "end": "1971"}
    payment = buyer.pay_v2(trade.offer("get_history", **window))
    empty = trade.pay("get_history", payment, **window)
    assert empty["structuredContent"]["count"] == 0
    assert "_meta" not in empty or "x402/payment-response" not in empty["_meta"]
    assert trade.pay("get_history", payment, zone="FR", metric="generation")["isError"] is True
    assert trade.paid == 0
    assert trade.pay("get_history", payment)["_meta"]["x402/payment-response"]["success"] is True


def test_a_settlement_that_fails_withholds_the_answer(trade: Trade) -> None:
    payment = buyer.pay_v2(trade.offer())
    trade.facilitator.faults["settle"] = "screened"
    result = trade.pay("get_latest", payment)
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["error"] == "kyt_risk_detected"
    assert result["_meta"]["x402/payment-response"]["success"] is False
    assert "50.0" not in json.dumps(result)


def test_where_nothing_is_sold_a_payment_is_told_the_other_ways(mcp: Any) -> None:
    result = mcp.call("get_latest", meta={"x402/payment": {"x402Version": 2}}, zone="GB")
    body = json.loads(result["content"][0]["text"])
    assert result["isError"] is True
    assert body["accepts"] == []
    assert "/v1/keys/signup" in body["error"]
    assert "x402/payment-required" not in mcp.call("get_latest", zone="GB")["_meta"]
