"""Keys, counts and limits over MCP: the same gate as for REST, with refusals as tool results."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from api.access.usage import CALLS_PER_DAY
from tests.mcp.conftest import MODERN, VERSIONS
from tests.mcp.counted_calls import ARGUMENTS, use_up, used


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


def test_work_that_fails_gives_its_call_back(mcp: Any, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.series.page.answer", lambda *_: 1 / 0)
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
def test_a_wrong_key_is_said_to_be_wrong_and_gives_no_sample(mcp: Any, version: str) -> None:
    wrong = "emds_" + "x" * 43
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


@pytest.mark.parametrize("header", ["Basic YTpi", "Bearer ", "sk-123"])
def test_any_other_authorization_is_a_wrong_key(mcp: Any, header: str) -> None:
    mcp.headers["Authorization"] = header
    assert mcp.call("get_latest", zone="GB")["isError"] is True
    assert mcp.call("list_zones")["structuredContent"]["zones"]
    assert mcp.ask(MODERN, "tools/list").status_code == 200


def test_an_empty_key_is_none(mcp: Any) -> None:
    assert mcp.call("get_latest", zone="GB", api_key="")["structuredContent"]["sample"] is True


def test_a_spent_quota_says_when_the_next_day_begins(mcp: Any, key: str) -> None:
    use_up(mcp.app, key)
    result = mcp.call("get_latest", zone="GB", api_key=key)
    assert result["isError"] is True
    assert "the next day begins in" in result["content"][0]["text"]
    assert used(mcp.app, key) == CALLS_PER_DAY


def test_free_tools_and_samples_are_limited_by_the_minute_and_listing_is_not(make: Any) -> None:
    mcp = make(free_calls_per_minute=2)
    results = [
        mcp.call(tool, **given)
        for tool, given in (("list_zones", {}), ("get_latest", {"zone": "GB"}), ("get_status", {}))
    ]
    assert ["isError" in result for result in results] == [False, False, True]
    assert mcp.ask(MODERN, "tools/list").status_code == 200
