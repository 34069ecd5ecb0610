"""Check the texts and structures of `find_window`, `get_statistics` and `get_changes`."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import NOW, Make, store_rows
from warehouse.market.clock import HOUR, iso
from warehouse.store.storage import Folder


@pytest.fixture
def keyed(agents: Any) -> Any:
    """Return a caller with a key for a warehouse whose European prices reach to the end of tomorrow."""
    return agents.with_key()


def test_a_window_is_spelled_in_utc_and_civil_time(keyed: Any) -> None:
    result = keyed.call("find_window", zone="FR", hours=2)
    found, text = result["structuredContent"], result["content"][0]["text"]
    assert found["available"] is True
    assert found["end"] - found["start"] == 2 * HOUR
    assert found["start_time"] == iso(found["start"])
    assert found["horizon"]["until_time"] == iso(found["horizon"]["until"])
    assert [block["start_time"] for block in found["alternatives"]] == [iso(b["start"]) for b in found["alternatives"]]
    assert f"{iso(found['start'])} to {iso(found['end'])} (" in text
    assert "Europe/Paris" in text
    assert text.count("Next best: ") == len(found["alternatives"]) == 3
    for block in found["alternatives"]:
        assert iso(block["start"]) in text
    assert f"Prices are known from {iso(found['horizon']['from'])} to {iso(found['horizon']['until'])}" in text


def test_the_length_of_a_charge_is_written_in_hours_and_minutes(keyed: Any) -> None:
    for power, length in ((11, "3 h 38 min"), (20, "2 h")):
        text = keyed.call("find_window", zone="FR", kwh=40, kw=power)["content"][0]["text"]
        assert f"FR price, cheapest {length} of the day-ahead prices: " in text


def test_statistics_name_their_instants_and_spans(keyed: Any) -> None:
    window = {"start": "2026-03-28", "end": "2026-03-30"}
    result = keyed.call("get_statistics", zone="AU-NSW", metric="price", below="0", **window)
    of, text = result["structuredContent"]["statistics"], result["content"][0]["text"]
    assert of["min_time"] == iso(of["min_ts"])
    assert f"min {of['min']:g} at {iso(of['min_ts'])}" in text
    assert f"Below 0: {of['below']['hours']:g} h in {of['below']['intervals']} intervals" in text
    assert f"{of['below']['first'][0]['start_time']} to {of['below']['first'][0]['end_time']}" in text
    none = keyed.call("get_statistics", zone="AU-NSW", metric="price", start="1970", end="1971")
    assert none["structuredContent"]["statistics"] is None
    assert "no rows in [1970-01-01T00:00:00Z" in none["content"][0]["text"]
    begins = none["structuredContent"]["available_range"]["first_time"]
    assert f"Data is available from {begins} to " in none["content"][0]["text"]
    longer = keyed.call("get_statistics", zone="AU-NSW", metric="price", start="2020-01-01", end="2026-03-30")
    assert f"The rows of this series begin at {begins}, after the start of" in longer["content"][0]["text"]
    assert "available_range" not in result["structuredContent"]


YESTERDAY = NOW - NOW % HOUR - 24 * HOUR


@pytest.fixture
def corrected(make: Make, warehouse: Path, tmp_path: Path) -> Any:
    """Return a caller of a warehouse with two corrected prices of yesterday and with additional German demand."""
    home = tmp_path / "corrected"
    shutil.copytree(warehouse, home)
    shutil.rmtree(home / "changes")
    store_rows(Folder(home), "north.price", "GB", "price", YESTERDAY, 2, lambda i: 900 + i, "GBP/MWh")
    store_rows(Folder(home), "north.grid", "DE-LU", "demand", NOW - NOW % HOUR + HOUR, 3, lambda i: 30000, "MW")
    return make(home)


def test_a_correction_is_told_by_series_and_span(corrected: Any) -> None:
    result = corrected.call("get_changes", since=int(time.time()) - HOUR)
    structured, text = result["structuredContent"], result["content"][0]["text"]
    (price,) = structured["corrected"]
    assert (price["zone"], price["metric"], price["changed"], price["withdrawn"]) == ("GB", "price", 2, 0)
    assert (price["first_time"], price["last_time"]) == (iso(YESTERDAY), iso(YESTERDAY + 1800))
    assert structured["new_rows_only"] == {"DE-LU": ["demand"]}
    assert "GB price: 2 rows changed, 0 withdrawn, 0 added; corrected within " + iso(YESTERDAY) in text
    assert "Only new rows: DE-LU demand." in text
    rest = corrected.app.test_client().get("/v1/changes").json
    assert (structured["entries"], structured["next"]) == (rest["count"], rest["next"])


def test_it_goes_on_from_next_and_refuses_what_is_no_time(corrected: Any) -> None:
    following = corrected.call("get_changes")["structuredContent"]["next"]
    assert corrected.call("get_changes", since=following)["structuredContent"]["entries"] == 0
    gone = corrected.call("get_changes", since="00000000-3")
    assert gone["isError"] is True
    assert "kept for 30 days" in gone["content"][0]["text"]
    assert "since: " in corrected.call("get_changes", since="lately")["content"][0]["text"]
