"""Test that each call in docs/corrections.md returns the values stated beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from tests.api.conftest import NOW, Rig
from warehouse.market.clock import HOUR, instant
from warehouse.store import layout

PAGE = (Path(__file__).parents[2] / "docs" / "corrections.md").read_text()
CALL = re.compile(r'^\$ curl (?:-H "\$KEY" )?"\$EMDS(/\S+)"\s+# (.*)$', re.M)
DAY, EVENING = instant("2026-03-28T23:00:00Z") + HOUR, instant("2026-03-29T17:00:00Z")
"""Midnight and 18:00 on the 29th in London. Clocks went forward in between."""


def members(text: str) -> dict[str, Any]:
    """Return the values that a comment states, by name."""
    return {name: orjson.loads(value) for name, value in re.findall(r'"(\w+)": (-?[\d.]+)', text)}


def parts(node: Any) -> list[dict[str, Any]]:
    """Return every object in a response."""
    if isinstance(node, list):
        return [part for each in node for part in parts(each)]
    return [node, *parts([*node.values()])] if isinstance(node, dict) else []


def test_each_call_gives_what_stands_beside_it(rig: Rig) -> None:
    preliminary = rig.every(DAY, 1800, 46, lambda i: 50.0 + i)
    preliminary = [(ts, 412.5 if ts == EVENING else value) for ts, value in preliminary]
    rig.put("north.price", "GB", "price", preliminary, "GBP/MWh", "30m", known_at=EVENING + HOUR)
    rig.put("north.price", "GB", "price", [(EVENING, 142.5)], "GBP/MWh", "30m", known_at=NOW - 5 * HOUR)
    rig.publish()
    rig.put_document(layout.PUBLISHERS, {"as_of": NOW, "method": "", "docs": "", "months": [], "publishers": []})
    client = rig.client()
    headers = rig.key(client)
    calls = CALL.findall(PAGE)
    assert len(calls) == 6
    for path, comment in calls:
        answer = client.get(path.replace("isone", "north"), headers=headers)
        assert answer.status_code == 200, (path, answer.text)
        stated = members(comment)
        assert stated or path.startswith("/v1/publishers"), path
        found = parts(answer.get_json())
        assert all(any(part.get(name) == value for part in found) for name, value in stated.items()), (
            path,
            answer.text,
        )
