"""Answers of series that are kept, by which validator, and what is looked at before the gate."""

from __future__ import annotations

import pytest

from tests.api.conftest import Rig
from warehouse.market.clock import HOUR, instant
from warehouse.series.reader import Reader


def reads(*_: object) -> None:
    """In the place of what reads rows."""
    raise AssertionError("rows were read")


@pytest.mark.parametrize("path", ["/v1/price/DE-LU?", "/v1/price?zones=GB,DE-LU&"])
def test_what_has_not_changed_is_told_without_reading_a_row(
    market: Rig, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = market.client()
    key = market.key(client)
    path += f"start={market.now - 6 * HOUR}&end={market.now}"
    before, again = (client.get(path, headers=key) for _ in range(2))
    assert again.data == before.data
    known = {**key, "If-None-Match": before.headers["ETag"]}
    with monkeypatch.context() as patch:
        patch.setattr(Reader, "rows", reads)
        assert client.get(path, headers=key).data == before.data
        unchanged = client.get(path, headers=known)
        assert (unchanged.status_code, unchanged.data) == (304, b"")
    at = market.now - market.now % HOUR - 2 * HOUR
    market.put("north.price", "DE-LU", "price", [(at, 4321.0)], "EUR/MWh", "15m")
    after = client.get(path, headers=known)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert 4321.0 in {row["value"] for row in after.get_json()["data"]}


@pytest.mark.parametrize("interval", ["1h", "1d"])
@pytest.mark.parametrize("path", ["/v1/demand/GB?", "/v1/demand?zones=AU-SA,GB&"])
def test_a_hole_at_the_end_is_told_once_its_whole_interval_is_due(
    rig: Rig, path: str, interval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window ends amid an interval: the validator changes when the hole comes, behind the window's end."""
    start = instant("2026-03-29T23:00:00Z") if interval == "1d" else instant("2026-03-30T09:00:00Z")
    span = 24 * HOUR if interval == "1d" else HOUR
    for zone in ("GB", "AU-SA"):
        rig.put("north.grid", zone, "demand", rig.every(start, 300, span // 300))
    rig.publish()
    client = rig.client()
    key = rig.key(client)
    path += f"start={start}&end={start + span * 3 // 2}&interval={interval}"
    seen = {}
    for hours in (1.55, 2.6, 9.0):
        at = start + int(hours * span)
        monkeypatch.setenv("EMDS_NOW", str(at))
        kept, fresh = client.get(path, headers=key), rig.client().get(path, headers=key)
        assert kept.get_json()["gaps"] == fresh.get_json()["gaps"]
        seen[hours] = kept
    assert not [gap for gap in seen[1.55].get_json()["gaps"] if gap.get("zone", "GB") == "GB"]
    assert [gap for gap in seen[9.0].get_json()["gaps"] if gap.get("zone", "GB") == "GB"]
    assert seen[1.55].headers["ETag"] != seen[9.0].headers["ETag"]
