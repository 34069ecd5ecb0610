"""Check payments over MCP: samples carry an offer, paid responses carry a receipt, and refusals cost nothing."""

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
        """Return the payment offer in the `_meta` of a sample."""
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


def test_several_zones_cost_a_call_each(trade: Trade) -> None:
    arguments = {"metric": "price", "start": "2026-03-30T10:00:00Z"}
    assert trade.offer("get_history", zone="GB", **arguments)["amount"] == "10000"
    assert trade.offer("get_history", zones=["GB", "DE-LU", "AU-NSW"], **arguments)["amount"] == "30000"
    payment = buyer.pay_v2(trade.offer("get_history", zones=["GB", "DE-LU"], **arguments))
    result = trade.pay("get_history", payment, zones=["GB", "DE-LU"], **arguments)
    assert "sample" not in result["structuredContent"]
    assert trade.paid == 20000


def test_a_payment_of_each_kind_buys_the_whole_answer_and_a_receipt_once(trade: Trade) -> None:
    for (tool, price), version in zip(PRICES.items(), VERSIONS, strict=True):
        before, offer = trade.paid, trade.offer(tool)
        assert (offer["amount"], offer["payTo"], offer["network"]) == (str(price), PAY_TO, "eip155:8453")
        payment: Any = buyer.pay_v2(offer)
        payment = json.dumps(payment) if version == MODERN else payment
        result = trade.pay(tool, payment, version)
        receipt = result["_meta"]["x402/payment-response"]
        assert (receipt["success"], receipt["payer"], receipt["network"]) == (True, BUYER.lower(), "eip155:8453")
        assert receipt["transaction"].startswith("0x")
        assert trade.paid - before == price
        assert "SAMPLE" not in result["content"][0]["text"]
        assert version == "2025-03-26" or "sample" not in result["structuredContent"]
        again = trade.pay(tool, payment, version)
        assert (again["content"], again["_meta"]["x402/payment-response"]) == (result["content"], receipt)
        assert trade.paid - before == price, "the same payment is charged once"
    assert "x402/payment-required" not in trade.mcp.call("list_zones")["_meta"]
    path = trade.mcp.app.test_client().get("/v1/latest/GB").json["accepts"][0]
    first = trade.pay("get_latest", buyer.pay_v1(path))
    assert first["_meta"]["x402/payment-response"]["network"] == "base"


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
    for payment in ("nonsense", 5, [], {}, {"x402Version": 9}, {"a": [[[1]]]}):
        assert trade.pay("get_latest", payment)["isError"] is True, payment
    assert trade.pay("get_latest", "")["structuredContent"]["sample"] is True
    assert trade.paid == 0


def test_an_answer_without_rows_and_an_error_cost_nothing(trade: Trade) -> None:
    window = {"zone": "GB", "metric": "price", "start": "1970", "end": "1971"}
    payment = buyer.pay_v2(trade.offer("get_history", **window))
    empty = trade.pay("get_history", payment, **window)
    assert empty["structuredContent"]["count"] == 0
    assert "_meta" not in empty or "x402/payment-response" not in empty["_meta"]
    assert trade.pay("get_history", payment, zone="FR", metric="generation")["isError"] is True
    assert trade.paid == 0
    assert trade.pay("get_history", payment)["_meta"]["x402/payment-response"]["success"] is True


def test_overdue_figures_cost_nothing(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    payment = buyer.pay_v2(trade.offer())
    monkeypatch.setenv("EMDS_NOW", "2026-04-02T00:00:00Z")
    result = trade.pay("get_latest", payment)
    assert result["content"][0]["text"].startswith("STALE: newer data was due at 2026-03-")
    assert ("x402/payment-response" in result["_meta"], trade.paid) == (False, 0)


def test_a_settlement_that_fails_withholds_the_answer(trade: Trade) -> None:
    payment = buyer.pay_v2(trade.offer())
    trade.facilitator.faults["settle"] = "screened"
    result = trade.pay("get_latest", payment)
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["error"] == "kyt_risk_detected"
    assert result["_meta"]["x402/payment-response"]["success"] is False
    assert "50.0" not in json.dumps(result)
