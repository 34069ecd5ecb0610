"""Check keys, counts and limits over MCP: the gate is the one of REST, and refusals are tool results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.access.keys import CALLS_PER_DAY
from tests.mcp.conftest import MODERN, VERSIONS
from tests.mcp.counted_calls import ARGUMENTS, use_up, used
from warehouse.market.clock import DAY

JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def test_a_key_in_the_header_and_as_an_argument_is_the_same_key(mcp: Any, key: str) -> None:
    mcp.call("get_latest", zone="GB", api_key=key)
    mcp.headers["Authorization"] = f"Bearer {key}"
    whole = mcp.call("get_history", zone="GB", metric="demand")
    mcp.call("get_history", zone="GB", metric="demand", api_key=key)
    assert whole["structuredContent"]["count"] == 200
    assert "isError" not in mcp.call("get_latest", zone="GB", api_key="emds_old"), "the connection's key goes first"
    assert used(mcp.app, key) == 4


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
    monkeypatch.setattr("api.series.page.read_page", lambda *_: 1 / 0)
    answer = mcp.ask(
        MODERN, "tools/call", name="get_history", arguments={"zone": "GB", "metric": "price", "api_key": key}
    )
    assert answer.json["error"]["code"] == -32603
    assert used(mcp.app, key) == 0


def test_a_single_call_carries_the_count_and_those_of_a_batch_are_counted_one_by_one(mcp: Any, key: str) -> None:
    params = {"name": "get_latest", "arguments": {"zone": "GB", "api_key": key}}
    single = mcp.ask(MODERN, "tools/call", **params)
    assert single.headers["RateLimit"].startswith('"day";r=499;')
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    answer = mcp.send([{**call, "id": number} for number in range(20)])
    assert (len(answer.json), used(mcp.app, key), "RateLimit" in answer.headers) == (20, 21, False)
    use_up(mcp.app, key)
    refused = mcp.call("get_latest", zone="GB", api_key=key)
    assert (refused["isError"], "structuredContent" in refused) == (True, False)
    assert used(mcp.app, key) == CALLS_PER_DAY


@pytest.mark.parametrize("header", ["Bearer emds_" + "x" * 43, "Basic YTpi", "Bearer ", "sk-123"])
def test_a_wrong_key_is_said_to_be_wrong_and_gives_no_sample(mcp: Any, header: str) -> None:
    wrong = header.removeprefix("Bearer ")
    by_argument = mcp.call("get_latest", zone="GB", api_key=wrong)
    assert ("isError" in by_argument) == bool(wrong), "an empty key is none"
    mcp.headers["Authorization"] = header
    result = mcp.call("get_latest", zone="GB")
    assert (result["isError"], "structuredContent" in result) == (True, False)
    [part] = result["content"]
    assert "/v1/keys/signup" in part["text"]
    assert "sample=true" not in part["text"]
    assert not wrong or wrong not in part["text"]
    assert mcp.call("list_zones")["structuredContent"]["zones"], "what is free needs no key"


def test_a_key_in_another_header_or_in_the_url_gives_no_sample(mcp: Any, key: str) -> None:
    mcp.headers["Api-Key"] = key
    for _ in range(2):
        result = mcp.call("get_latest", zone="GB")
        assert (result["isError"], "structuredContent" in result) == (True, False)
        assert "The key is in the header Api-Key, which this service does not read." in result["content"][0]["text"]
    assert mcp.call("list_zones")["structuredContent"]["zones"], "what is free needs no key"
    assert "isError" not in mcp.call("get_latest", zone="GB", api_key=key)
    del mcp.headers["Api-Key"]
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert mcp.app.test_client().post("/mcp?session=1", data=message, headers=JSON).status_code == 200
    for name in ("api_key", "key", "token"):
        answer = mcp.app.test_client().post(f"/mcp?{name}={key}", data=message, headers=JSON)
        assert answer.status_code == 400
        assert answer.json["error"]["message"].startswith("Do not send a key in the URL. Send the key as ")
        assert key not in answer.text


def test_free_tools_and_samples_are_limited_by_the_minute_and_listing_is_not(make: Any) -> None:
    mcp = make(free_calls_per_minute=2)
    results = [
        mcp.call(tool, **given)
        for tool, given in (("list_zones", {}), ("get_latest", {"zone": "GB"}), ("get_status", {}))
    ]
    assert ["isError" in result for result in results] == [False, False, True]
    assert mcp.ask(MODERN, "tools/list").status_code == 200


def test_without_accounts_samples_go_on_and_a_key_is_told_of_them_in_words_of_tools(make: Any, key: str) -> None:
    mcp = make(database_url="sqlite:////proc/none/accounts.sqlite")
    [part] = mcp.call("get_latest", zone="GB", api_key=key)["content"]
    assert part["text"].endswith("or call without a key to get a sample.")
    assert mcp.call("get_latest", zone="GB")["structuredContent"]["sample"] is True


def test_refused_tool_calls_are_limited(make: Any) -> None:
    mcp = make(free_calls_per_minute=3)
    mcp.app.extensions["emds"].gate._clock = lambda: 20_000.5 * DAY
    texts = [mcp.call("get_latest", MODERN, zone="XX")["content"][0]["text"] for _ in range(4)]
    assert ["Limit reached: 3" in text for text in texts] == [False] * 3 + [True]
    assert mcp.call("get_latest", MODERN, zone="GB")["isError"]


def test_more_than_100_arguments_are_one_fault(mcp: Any) -> None:
    refused = mcp.call("get_latest", MODERN, **{f"a{i}": 1 for i in range(101)})
    assert "at most 100 parameters" in refused["content"][0]["text"]
