"""What one 402 offers to both protocol versions, and what a right payment gets."""

from __future__ import annotations

import base64
import json

import pytest

from tests.stand_ins.chain import BUYER
from tests.stand_ins.trade import PATH, PAY_TO, PRICE, Trade, receipt


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
    assert second["resource"]["serviceName"] == "Electricity Market Data Service"
    assert second["extensions"]["bazaar"]["routeTemplate"] == "/v1/latest/:zone"
    assert second["extensions"]["bazaar"]["info"]["input"] == {
        "type": "http",
        "method": "GET",
        "pathParams": {"zone": "GB"},
    }
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
