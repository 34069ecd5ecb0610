"""Check resources and prompts: their contents in each version, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from api.endpoints.guides import DOC_PAGES
from tests.mcp.conftest import MODERN, VERSIONS

PROMPTS = {
    "market_briefing": {"zone": "gb"},
    "plan_flexible_load": {"zone": "FR", "hours": "1.50h"},
    "compare_zones": {"zones": "FR, de_lu", "metric": "price"},
}


def result(mcp: Any, method: str, version: str = MODERN, **params: Any) -> Any:
    answer = ask(mcp, method, version, **params)
    assert answer.status_code == 200, answer.data
    return answer.json["result"]


def ask(mcp: Any, method: str, version: str = MODERN, **params: Any) -> Any:
    """Send a request, with the header that repeats its name if the version requires it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    named = params.get("uri") if method == "resources/read" else params.get("name")
    headers = {"Mcp_Name": str(named)} if version == MODERN and method in ("resources/read", "prompts/get") else {}
    return mcp.send(message, version, **headers)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_listed_resource_can_be_read(mcp: Any, version: str) -> None:
    listed = result(mcp, "resources/list", version)
    uris = [resource["uri"] for resource in listed["resources"]]
    assert uris == ["emds://zones", "emds://catalogue", *(f"emds://docs/{page}" for page in DOC_PAGES)]
    for resource in listed["resources"]:
        assert ("title" in resource) == (version != "2025-03-26")
        read = result(mcp, "resources/read", version, uri=resource["uri"])
        assert [(part["uri"], part["mimeType"]) for part in read["contents"]] == [
            (resource["uri"], resource["mimeType"])
        ]
        assert ("ttlMs" in read) == ("ttlMs" in listed) == (version == MODERN)


def test_resources_hold_what_the_service_says(mcp: Any) -> None:
    def text(uri: str) -> str:
        return str(result(mcp, "resources/read", uri=uri)["contents"][0]["text"])

    assert json.loads(text("emds://zones")) == mcp.call("list_zones")["structuredContent"]
    assert text("emds://docs/brief").startswith("# The brief")
    catalogue = mcp.app.test_client().get("/catalog").json["zones"]
    entry = json.loads(text("emds://catalogue"))["GB"]["carbon_intensity"]
    assert entry["rows"] == catalogue["GB"]["metrics"]["carbon_intensity"]["rows"]
    assert entry["last_time"] == "2026-03-30T12:00:00Z"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "uri", ["emds://docs/none", "emds://docs/../README", "emds://catalogue/XX/price", "emds://catalogue/FR", "x:", ""]
)
def test_an_unknown_resource_is_an_error_of_its_version(mcp: Any, version: str, uri: str) -> None:
    answer = ask(mcp, "resources/read", version, uri=uri)
    assert answer.status_code == (400 if version == MODERN else 200)
    error = answer.json["error"]
    assert (error["code"], error["data"]) == (-32602 if version == MODERN else -32002, {"uri": uri})


def test_reading_is_counted_by_address_like_free_calls(make: Any) -> None:
    mcp = make(free_calls_per_minute=2)
    answers = [ask(mcp, "resources/read", uri="emds://zones") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].json["error"]["code"] == 429
    assert ask(mcp, "resources/list").status_code == 200


@pytest.mark.parametrize("version", VERSIONS)
def test_prompts_name_tools_and_arguments_that_there_are(mcp: Any, version: str) -> None:
    tools = {tool["name"] for tool in result(mcp, "tools/list", version)["tools"]}
    listed = result(mcp, "prompts/list", version)["prompts"]
    assert [prompt["name"] for prompt in listed] == list(PROMPTS)
    for prompt in listed:
        filled = result(mcp, "prompts/get", version, name=prompt["name"], arguments=PROMPTS[prompt["name"]])
        assert filled["messages"][0]["role"] == "user"
        assert all(word in filled["messages"][0]["content"]["text"] for word in PROMPTS[prompt["name"]].values())
        text = filled["messages"][0]["content"]["text"]
        assert "{" not in text
        named = set(re.findall(r"\b(?:get|find|list)_\w+", text))
        assert named
        assert named <= tools


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("market_briefing", {}, "zone is required"),
        ("market_briefing", {"zone": 5}, "must be strings"),
        ("nonsense", {}, "Use one of market_briefing"),
    ],
    ids=str,
)
def test_prompts_refuse_what_does_not_fit(mcp: Any, name: str, arguments: dict[str, Any], words: str) -> None:
    error = ask(mcp, "prompts/get", name=name, arguments=arguments).json["error"]
    assert error["code"] == -32602
    assert words in error["message"]


@pytest.mark.parametrize("name", ["plan_flexible_load", "compare_zones"])
def test_what_a_prompt_can_do_without_has_a_default(mcp: Any, name: str) -> None:
    listed = {prompt["name"]: prompt for prompt in result(mcp, "prompts/list")["prompts"]}[name]
    needed = {each["name"]: "FR" for each in listed["arguments"] if each["required"]}
    assert len(needed) < len(listed["arguments"])
    text = result(mcp, "prompts/get", name=name, arguments=needed)["messages"][0]["content"]["text"]
    assert "{" not in text
    assert "None" not in text
