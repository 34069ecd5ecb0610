"""Keys, counts, limits and payments over MCP: the same gate as for REST, with refusals as tool results."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from eth_account import Account

from api.access.accounts.key_format import digest_of
from api.access.accounts.store import CALLS_PER_DAY
from api.settings import Facilitator as Listed
from tests.stand_ins import buyer
from tests.stand_ins.book import Book
from tests.stand_ins.chain import BUYER, KEYS
from tests.stand_ins.facilitator import Facilitator

MODERN = "2026-07-28"
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25", MODERN)
PAY_TO = "0x00000000000000000000000000000000DeaDBeef"
PRICES = {"get_latest": 1000, "get_zone_brief": 20_000, "get_map_snapshot": 2000, "get_history": 10_000}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_latest": {"zone": "GB"},
    "get_zone_brief": {"zone": "GB"},
    "get_map_snapshot": {},
    "get_history": {"zone": "GB", "metric": "price"},
}


def used(app: Any, key: str) -> int:
    """The calls counted for a key today, as the service reports them."""
    answer = app.test_client().get("/v1/usage", headers={"Authorization": f"Bearer {key}"})
    return int(answer.json["quota"]["used"])


def use_up(app: Any, key: str, but: int = 0) -> None:
    """Counts calls until `but` are left."""
    gate = app.extensions["emds"].gate
    while used(app, key) < CALLS_PER_DAY - but:
        gate.accounts.reserve(digest_of(key), gate.now)


# Keys


def test_a_key_in_the_header_and_as_an_argument_is_the_same_key(mcp: Any, key: str) -> None:
    mcp.call("get_latest", zone="GB", api_key=key)
    mcp.headers["Authorization"] = f"Bearer {key}"
    whole = mcp.call("get_history", zone="GB", metric="demand")
    mcp.call("get_history", zone="GB", metric="demand", api_key=key)
    assert whole["structuredContent"]["count"] == 200
    assert used(mcp.app, key) == 3


def test_calls_over_mcp_and_rest_are_counted_together(mcp: Any, key: str) -> None:
    mcp.headers["Authorization"] = f"Bearer {key}"
    http = mcp.app.test_client()
    for tool, arguments in ARGUMENTS.items():
        for version in VERSIONS:
            mcp.call(tool, version, **arguments)
    for path in ("/v1/latest/GB", "/v1/price/GB", "/v1/map/snapshot"):
        assert http.get(path, headers=mcp.headers).status_code == 200
    assert used(mcp.app, key) == 4 * 4 + 3


def test_what_is_no_answer_of_a_data_tool_is_not_counted(mcp: Any, key: str) -> None:
    mcp.headers["Authorization"] = f"Bearer {key}"
    for version in VERSIONS:
        mcp.ask(version, "tools/list")
        mcp.ask(version, "ping")
        mcp.ask(version, "tools/call", name="nope")
        mcp.ask(version, "tools/call", name="get_latest", arguments={"zone": "XX"})
        mcp.call("list_zones", version)
        mcp.call("get_status", version)
        mcp.call("get_latest", version, zone="FR")
        mcp.call("get_history", version, zone="FR", metric="generation")
        mcp.call("get_history", version, zone="US-PJM", metric="price")
    assert used(mcp.app, key) == 0


def test_windows_and_statistics_count_once_each_and_refused_ones_not(mcp: Any, key: str) -> None:
    mcp.headers["Authorization"] = f"Bearer {key}"
    mcp.call("find_window", zone="DE-LU", hours=1)
    mcp.call("get_statistics", zone="GB", metric="price")
    assert used(mcp.app, key) == 2
    for tool, arguments in (
        ("find_window", {"zone": "XX"}),
        ("find_window", {"zone": "DE-LU", "hours": 0.3}),
        ("find_window", {"zone": "DE-LU", "metric": "demand"}),
        ("get_statistics", {"zone": "GB", "metric": "nonsense"}),
        ("get_statistics", {"zone": "GB", "metric": "price", "above": "1e999"}),
    ):
        assert mcp.call(tool, **arguments)["isError"] is True
    assert used(mcp.app, key) == 2


def test_work_that_fails_gives_its_call_back(mcp: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.series.query.answer", lambda *_: 1 / 0)
    answer = mcp.ask(
        MODERN, "tools/call", name="get_history", arguments={"zone": "GB", "metric": "price", "api_key": key}
    )
    assert answer.json["error"]["code"] == -32603
    assert used(mcp.app, key) == 0


def test_calls_of_a_batch_are_counted_one_by_one(mcp: Any, key: str) -> None:
    call = {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "get_latest", "arguments": {"zone": "GB", "api_key": key}},
    }
    answer = mcp.send([{**call, "id": number} for number in range(20)])
    assert len(answer.json) == 20
    assert used(mcp.app, key) == 20
    assert "RateLimit" not in answer.headers


def test_the_http_answer_to_a_single_call_carries_the_count(mcp: Any, key: str) -> None:
    answer = mcp.ask(MODERN, "tools/call", name="get_latest", arguments={"zone": "GB", "api_key": key})
    assert answer.headers["RateLimit"].startswith('"day";r=499;')
    assert "RateLimit" not in mcp.ask(MODERN, "tools/call", name="get_latest", arguments={"zone": "GB"}).headers


def test_five_hundred_calls_and_not_one_more_over_both_ways(mcp: Any, key: str) -> None:
    """Eight threads ask over MCP and REST at once."""
    use_up(mcp.app, key, but=60)

    def one(number: int) -> bool:
        if number % 2:
            answer = mcp.app.test_client().get("/v1/latest/GB", headers={"Authorization": f"Bearer {key}"})
            return bool(answer.status_code == 200)
        return "isError" not in type(mcp)(mcp.app).call("get_latest", zone="GB", api_key=key)

    with ThreadPoolExecutor(8) as pool:
        served = sum(pool.map(one, range(100)))
    assert served == 60
    assert used(mcp.app, key) == CALLS_PER_DAY


@pytest.mark.slow
def test_five_hundred_calls_and_not_one_more_over_both_ways_and_workers(served: Any) -> None:
    """Two workers, sixteen connections, the key now in the header and now as an argument."""
    key = served.new_key()
    bearer = {"Authorization": f"Bearer {key}"}
    sessions = threading.local()

    def one(number: int) -> bool:
        http = sessions.http = getattr(sessions, "http", None) or requests.Session()
        if number % 3 == 0:
            return bool(http.get(f"{served.url}/v1/latest/GB", headers=bearer, timeout=30).status_code == 200)
        given = {"zone": "GB", "api_key": key} if number % 3 == 1 else {"zone": "GB"}
        message = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "get_latest", "arguments": given},
        }
        headers = {"MCP-Protocol-Version": "2025-11-25"} | (bearer if number % 3 == 2 else {})
        result = http.post(served.endpoint, json=message, headers=headers, timeout=30).json()["result"]
        return "sample" not in result.get("structuredContent", {"sample": True})

    with ThreadPoolExecutor(16) as pool:
        whole = sum(pool.map(one, range(560)))
    assert whole == CALLS_PER_DAY
    assert served.used(key) == CALLS_PER_DAY


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("wrong", ["emds_" + "x" * 43, "sk-123", "emds_"])
def test_a_wrong_key_is_said_to_be_wrong_and_gives_no_sample(mcp: Any, version: str, wrong: str) -> None:
    mcp.headers["Authorization"] = f"Bearer {wrong}"
    by_header = mcp.call("get_latest", version, zone="GB")
    mcp.headers = {}
    by_argument = mcp.call("get_latest", version, zone="GB", api_key=wrong)
    for result in (by_header, by_argument):
        assert result["isError"] is True
        assert "structuredContent" not in result
        assert len(result["content"]) == 1
        assert "Leave it out for a sample" in result["content"][0]["text"]
        assert "/v1/keys/signup" in result["content"][0]["text"]
        assert wrong not in result["content"][0]["text"]


def test_a_mistyped_key_is_told_apart_from_an_unknown_one(mcp: Any, key: str) -> None:
    mistyped = mcp.call("get_latest", zone="GB", api_key=key[:-1])["content"][0]["text"]
    assert "mistyped or cut" in mistyped
    assert "sample=true" not in mistyped
    foreign = mcp.call("get_latest", zone="GB", api_key="sk-123")["content"][0]["text"]
    assert "unknown or revoked" in foreign
    assert "sample=true" not in foreign


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer", "Bearer ", "emds_x"])
def test_any_other_authorization_is_a_wrong_key(mcp: Any, header: str) -> None:
    mcp.headers["Authorization"] = header
    assert mcp.call("get_latest", zone="GB")["isError"] is True
    assert mcp.call("list_zones")["structuredContent"]["zones"]
    assert mcp.ask(MODERN, "tools/list").status_code == 200


def test_an_empty_key_is_none(mcp: Any) -> None:
    assert mcp.call("get_latest", zone="GB", api_key="")["structuredContent"]["sample"] is True


@pytest.mark.parametrize("version", VERSIONS)
def test_a_spent_quota_says_when_the_next_day_begins(mcp: Any, key: str, version: str) -> None:
    use_up(mcp.app, key)
    result = mcp.call("get_latest", version, zone="GB", api_key=key)
    assert result["isError"] is True
    assert "Quota exceeded" in result["content"][0]["text"]
    assert "the next day begins in" in result["content"][0]["text"]
    assert used(mcp.app, key) == CALLS_PER_DAY


# Samples and free calls


def test_samples_are_limited_by_address(make: Any) -> None:
    mcp = make(sample_calls_per_day=3)
    for _ in range(3):
        assert "isError" not in mcp.call("get_latest", zone="GB")
    refused = mcp.call("get_latest", zone="GB")
    assert refused["isError"] is True
    assert "At most 3 samples a day" in refused["content"][0]["text"]
    assert "isError" not in mcp.call("list_zones")


def test_free_tools_and_samples_are_limited_by_the_minute_and_listing_is_not(make: Any) -> None:
    mcp = make(free_calls_per_minute=2)
    results = [
        mcp.call(tool, **given)
        for tool, given in (("list_zones", {}), ("get_latest", {"zone": "GB"}), ("get_status", {}))
    ]
    assert ["isError" in result for result in results] == [False, False, True]
    assert mcp.ask(MODERN, "tools/list").status_code == 200


# Payments


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


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_sample_carries_the_offer_for_the_whole(trade: Trade, tool: str) -> None:
    offer = trade.offer(tool)
    assert (offer["amount"], offer["payTo"], offer["network"]) == (str(PRICES[tool]), PAY_TO, "eip155:8453")


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


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_payment_buys_the_whole_answer_and_a_receipt(trade: Trade, tool: str, version: str) -> None:
    result = trade.pay(tool, buyer.pay_v2(trade.offer(tool)), version)
    receipt = result["_meta"]["x402/payment-response"]
    assert (receipt["success"], receipt["payer"], receipt["network"]) == (True, BUYER.lower(), "eip155:8453")
    assert receipt["transaction"].startswith("0x")
    assert trade.paid == PRICES[tool]
    assert "SAMPLE" not in result["content"][0]["text"]
    if version != "2025-03-26":
        assert "sample" not in result["structuredContent"]


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
    payment = buyer.pay_v2(trade.offer())
    trade.pay("get_latest", payment)
    other = trade.pay("get_latest", payment, zone="DE-LU")
    assert other["isError"] is True
    assert json.loads(other["content"][0]["text"])["error"] == "invalid_exact_evm_nonce_already_used"
    by_rest = trade.mcp.app.test_client().get("/v1/latest/GB", headers={"PAYMENT-SIGNATURE": buyer.header(payment)})
    assert by_rest.status_code == 402
    assert trade.paid == 1000


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("wrong", [{"value": "1"}, {"to": BUYER}, {"validBefore": "1000"}])
def test_a_wrong_payment_gets_the_offer_as_text(trade: Trade, wrong: dict[str, str], version: str) -> None:
    offer = trade.offer()
    result = trade.pay("get_latest", buyer.pay_v2(offer, buyer.authorization(offer, **wrong)), version)
    body = json.loads(result["content"][0]["text"])
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert body["x402Version"] == 2
    assert body["accepts"] == [offer]
    assert body["error"] in result["content"][1]["text"]
    assert trade.paid == 0


@pytest.mark.parametrize("payment", ["nonsense", "", 5, [], {}, {"x402Version": 9}, {"a": [[[1]]]}], ids=str)
def test_what_is_no_payment_is_refused_and_costs_nothing(trade: Trade, payment: Any) -> None:
    result = trade.pay("get_latest", payment)
    if payment == "":
        assert result["structuredContent"]["sample"] is True
        return
    assert result["isError"] is True
    assert "Invalid payment" in result["content"][0]["text"]


def test_a_payment_too_deep_to_be_sent_on_is_refused(trade: Trade) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert trade.pay("get_latest", {"x402Version": 2, "payload": deep})["isError"] is True


def test_an_answer_without_rows_and_an_error_cost_nothing(trade: Trade) -> None:
    window = {"zone": "GB", "metric": "price", "start": 86400, "end": 2 * 86400}
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


def test_no_facilitator_is_said_without_asking_for_another_payment(trade: Trade) -> None:
    payment = buyer.pay_v2(trade.offer())
    trade.facilitator.close()
    result = trade.pay("get_latest", payment)
    assert result["isError"] is True
    assert len(result["content"]) == 1
    assert "Nothing was charged" in result["content"][0]["text"]


def test_a_payment_beside_a_wrong_key_is_taken_and_beside_a_good_one_left(trade: Trade) -> None:
    key = trade.mcp.app.test_client().post("/v1/keys/signup", json={"email": "a@example.org"}).json["api_key"]
    payment = buyer.pay_v2(trade.offer())
    trade.pay("get_latest", payment, zone="GB", api_key=key)
    assert trade.paid == 0
    assert used(trade.mcp.app, key) == 1
    trade.pay("get_latest", payment, zone="GB", api_key="emds_wrong")
    assert trade.paid == 1000


def test_where_nothing_is_sold_a_payment_is_told_the_other_ways(mcp: Any) -> None:
    result = mcp.call("get_latest", meta={"x402/payment": {"x402Version": 2}}, zone="GB")
    body = json.loads(result["content"][0]["text"])
    assert result["isError"] is True
    assert body["accepts"] == []
    assert "/v1/keys/signup" in body["error"]
    assert "x402/payment-required" not in mcp.call("get_latest", zone="GB")["_meta"]


def test_used_up_samples_can_be_bought(make: Any, trade: Trade) -> None:
    mcp = make(pay_to=PAY_TO, facilitators=(Listed(trade.facilitator.url),), sample_calls_per_day=1)
    mcp.call("get_latest", zone="GB")
    refused = mcp.call("get_latest", zone="GB")
    assert json.loads(refused["content"][0]["text"])["accepts"][0]["amount"] == "1000"
    assert "At most 1 samples a day" in refused["content"][1]["text"]


class ForX402:
    """Adapts our caller to x402's own MCP client."""

    def __init__(self, mcp: Any) -> None:
        self.mcp = mcp

    async def call_tool(self, params: dict[str, Any], **_: Any) -> SimpleNamespace:
        result = self.mcp.call(params["name"], MODERN, params.get("_meta"), **params["arguments"])
        return SimpleNamespace(
            content=result["content"],
            isError=result.get("isError", False),
            _meta=result.get("_meta", {}),
            structuredContent=result.get("structuredContent"),
        )


def test_x402s_own_mcp_client_pays_once_a_quota_is_spent(trade: Trade) -> None:
    from x402.client import x402Client
    from x402.mcp import x402MCPClient
    from x402.mechanisms.evm.exact import register_exact_evm_client
    from x402.mechanisms.evm.signers import EthAccountSigner

    key = trade.mcp.app.test_client().post("/v1/keys/signup", json={"email": "a@example.org"}).json["api_key"]
    use_up(trade.mcp.app, key)
    wallet = register_exact_evm_client(x402Client(), EthAccountSigner(Account.from_key(KEYS[2])))
    client = x402MCPClient(ForX402(trade.mcp), wallet)
    bought = asyncio.run(client.call_tool("get_latest", {"zone": "GB", "api_key": key}))
    assert bought.payment_made
    assert not bought.is_error
    assert bought.payment_response.success
    assert "price 50 GBP/MWh" in bought.content[0]["text"]
    assert trade.paid == 1000


def test_neither_key_nor_payment_is_logged(
    trade: Trade, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = trade.mcp.app.test_client().post("/v1/keys/signup", json={"email": "a@example.org"}).json["api_key"]
    payment = buyer.pay_v2(trade.offer())
    trade.pay("get_latest", payment, zone="GB")
    trade.mcp.call("get_latest", zone="GB", api_key=key)
    trade.mcp.call("get_latest", zone="GB", api_key=key + "x")
    written = "".join(capfd.readouterr()) + caplog.text
    assert '"route":"mcp.get_latest"' in written
    assert payment["payload"]["signature"] not in written
    assert key not in written
    assert "a@example.org" not in written


def test_the_accounts_hold_no_key(tmp_path: Path, make: Any) -> None:
    mcp = make()
    key = mcp.app.test_client().post("/v1/keys/signup", json={"email": "a@example.org"}).json["api_key"]
    mcp.call("get_latest", zone="GB", api_key=key)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes()
