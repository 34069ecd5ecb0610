"""Whose rows an answer gives: windows of several publishers, means, long windows, samples."""

from __future__ import annotations

from typing import Any

import pytest

from warehouse.market.clock import DAY, HOUR, instant
from warehouse.store.storage import Folder


def test_rows_name_their_source_where_the_window_mixes_several(ask: Any, market: Any) -> None:
    mixed = ask("/v1/demand/US-NYISO")
    assert mixed["sources"] == ["north", "south"]
    assert {(row["resolution"], row["source"]) for row in mixed["data"]} == {("1h", "south"), ("5m", "north")}
    assert mixed["attribution"] == "© North Market Operator; © South Market Operator"
    pure = ask(f"/v1/demand/US-NYISO?start={market.now - 3 * HOUR}")
    assert pure["sources"] == ["north"]
    assert "source" not in pure["data"][0]


@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=GB&"])
def test_means_name_every_source_of_the_rows_that_they_are_taken_of(rig: Any, path: str) -> None:
    """Also of those behind the window's end, in the interval that begins before it."""
    start = instant("2026-03-30T00:00:00Z")
    rig.put("south.hourly", "GB", "demand", rig.every(start, HOUR, 5), "MW", "1h")
    rig.put("north.grid", "GB", "demand", rig.every(start + 5 * HOUR + 1800, 300, 6), "MW", "5m")
    rig.publish()
    client = rig.client()
    headers = rig.key(client)
    for interval, end in (("1h", start + 5 * HOUR + 900), ("1d", start + 4 * HOUR)):
        begin = start - HOUR if interval == "1d" else start + 4 * HOUR  # Europe/London is an hour ahead
        answer = client.get(f"{path}interval={interval}&start={begin}&end={end}", headers=headers).get_json()
        named = {word for row in answer["data"] for word in row.get("source", "").split(", ")}
        assert answer["sources"] == ["north", "south"], interval
        assert interval == "1d" or named == {"north", "south"}
    before = client.get(f"{path}interval=1h&start={start}&end={start + 5 * HOUR}", headers=headers).get_json()
    assert before["sources"] == ["south"]


def test_the_sources_of_a_long_window_are_told_without_reading_its_months_whole(
    rig: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, step = instant("2025-12-01T00:00:00Z"), 28 * DAY
    for at, feed in enumerate(("north.grid", "south.hourly", "north.grid", "north.grid")):
        rig.put(feed, "GB", "demand", rig.every(first + at * step, HOUR, 24), "MW", "1h")
    rig.publish()
    client = rig.client()
    headers, get = rig.key(client), Folder.get

    def get_no_month(folder: Folder, key: str) -> bytes | None:
        assert not key.startswith("series/")
        return get(folder, key)

    monkeypatch.setattr(Folder, "get", get_no_month)
    page = client.get(f"/v1/demand/GB?start={first}&limit=1", headers=headers).get_json()
    assert (page["count"], page["truncated"], page["sources"]) == (1, True, ["north", "south"])


@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=GB,AU-NSW&"])
def test_sources_are_those_of_the_rows_that_means_leave_out_too(ask: Any, path: str) -> None:
    body = ask(f"{path}interval=1d&start=2026-03-30T00:00:00Z&end=2026-03-30T03:00:00Z")
    assert body["data"] == []
    assert body["sources"] == ask(f"{path}start=2026-03-30T00:00:00Z&end=2026-03-30T03:00:00Z")["sources"] != []


def test_a_page_of_a_sample_names_the_sources_of_all_its_rows(market: Any) -> None:
    client = market.client()
    end = market.now - market.now % HOUR - 15 * HOUR
    path = f"/v1/demand/US-NYISO?sample=true&start={market.now - 200 * HOUR}&end={end}"
    whole, page = (client.get(f"{path}{more}").get_json() for more in ("", "&limit=7"))
    assert whole["sources"] == page["sources"] == ["north", "south"]
    assert page["attribution"] == whole["attribution"]
    assert page["data"] == whole["data"][:7]
    newest = client.get("/v1/demand/US-NYISO?stats=true&sample=true&start=2026-03-28").get_json()
    assert (newest["sources"], newest["attribution"]) == (["north"], "© North Market Operator")
