"""`get_changes`: was yesterday corrected? By series, in both text and structure, equal to what REST lists."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import NOW, Make, _put
from warehouse.market.clock import HOUR, iso
from warehouse.store.storage import Folder

YESTERDAY = NOW - NOW % HOUR - 24 * HOUR


@pytest.fixture
def corrected(make: Make, warehouse: Path, tmp_path: Path) -> Any:
    """A caller of a warehouse in which two prices of yesterday were corrected, and Germany's demand only grew."""
    home = tmp_path / "corrected"
    shutil.copytree(warehouse, home)
    shutil.rmtree(home / "changes")
    _put(Folder(home), "north.price", "GB", "price", YESTERDAY, 2, lambda i: 900 + i, "GBP/MWh")
    _put(Folder(home), "north.grid", "DE-LU", "demand", NOW - NOW % HOUR + HOUR, 3, lambda i: 30000, "MW")
    return make(home)


def test_a_correction_is_told_by_series_and_span(corrected: Any) -> None:
    result = corrected.call("get_changes", since=int(time.time()) - HOUR)
    structured, text = result["structuredContent"], result["content"][0]["text"]
    (price,) = structured["corrected"]
    assert (price["zone"], price["metric"], price["changed"], price["withdrawn"]) == ("GB", "price", 2, 0)
    assert (price["first_time"], price["last_time"]) == (iso(YESTERDAY), iso(YESTERDAY + 1800))
    assert structured["only_new"] == {"DE-LU": ["demand"]}
    assert "GB price: 2 rows changed, 0 withdrawn, 0 added; corrected within " + iso(YESTERDAY) in text
    assert "New rows alone: DE-LU demand." in text
    rest = corrected.app.test_client().get("/v1/changes").json
    assert (structured["entries"], structured["next"]) == (rest["count"], rest["next"])


@pytest.mark.parametrize(
    ("arguments", "count"),
    [({"zone": "gb"}, 1), ({"zone": "DE-LU"}, 0), ({"metric": "price"}, 1), ({"zone": "GB", "metric": "demand"}, 0)],
    ids=str,
)
def test_zone_and_metric_narrow_it(corrected: Any, arguments: dict[str, Any], count: int) -> None:
    assert len(corrected.call("get_changes", **arguments)["structuredContent"]["corrected"]) == count


def test_it_goes_on_from_next_and_refuses_what_is_no_time(corrected: Any) -> None:
    following = corrected.call("get_changes")["structuredContent"]["next"]
    assert corrected.call("get_changes", since=following)["structuredContent"]["entries"] == 0
    gone = corrected.call("get_changes", since="00000000-3")
    assert gone["isError"] is True
    assert "kept for 30 days" in gone["content"][0]["text"]
    assert "since: " in corrected.call("get_changes", since="lately")["content"][0]["text"]
