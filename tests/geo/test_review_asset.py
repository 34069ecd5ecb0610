"""The review of newer lists of plants as an asset: a table of changes in its event, a file, and nothing taken."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from assets import plants_review
from geo_data import fetch, records

HEADING = "id,Name,Fueltype,Technology,Set,Country,Capacity,Efficiency,DateIn,DateRetrofit,DateOut,lat,lon,EIC\n"
ROWS = "0,New Plant,Nuclear,Steam Turbine,PP,France,1650.0,,2026.0,,,48.0,1.0,{}\n"


def run(mode: str, folder: str = "") -> dg.ExecuteInProcessResult:
    config = {"ops": {"geo__plants_review": {"config": {"folder": folder}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [plants_review.plants_review()],
            resources={"warehouse": SimpleNamespace(mode=mode)},
            run_config=config,
            instance=instance,
            raise_on_error=False,
        )


def metadata(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    [event] = result.asset_materializations_for_node("geo__plants_review")
    return dict(event.metadata)


def test_changes_stand_in_the_event_and_in_a_file(tmp_path: Path) -> None:
    before = (records.TABLES / "plants.csv").read_bytes()
    (tmp_path / "powerplants.csv").write_text(HEADING + ROWS)
    shown = metadata(run("simulated", str(tmp_path)))
    europeans = sum(plant.country not in ("US", "AU") for plant in records.plants())
    assert (shown["new"].value, shown["gone"].value, shown["changed"].value) == (1, europeans, 0)
    kept = list(csv.DictReader((tmp_path / "plants_review.csv").read_text().splitlines()))
    rows = [record.data for record in shown["changes"].records]
    assert [row["name"] for row in rows] == [row["name"] for row in kept]
    assert rows[-1] == {
        "kind": "new", "zone": "FR", "id": "", "name": "New Plant", "what": "1650 MW nuclear",
        "source": "powerplantmatching",
    }  # fmt: skip
    assert shown["rows shown"].text == f"{europeans + 1} of {europeans + 1}"
    assert (records.TABLES / "plants.csv").read_bytes() == before


def test_a_warehouse_that_is_not_live_asks_no_publisher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "fetch", lambda folder, files: pytest.fail("asked"))
    result = run("simulated")
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert "name a folder" in str(failure.step_failure_data)


def test_a_live_one_fetches_both_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def put(folder: Path, files: list[str]) -> None:
        asked.extend(file.rsplit("/", 1)[1] for file in files)
        (folder / "powerplants.csv").write_text(HEADING + ROWS)

    monkeypatch.setenv("EMDS_NOW", "2026-11-22T12:00:00Z")
    monkeypatch.setattr(fetch, "fetch", put)
    assert metadata(run("live"))["new"].value == 1
    assert asked == ["august_generator2026.xlsx", "powerplants.csv"]


def test_a_folder_without_lists_is_said(tmp_path: Path) -> None:
    result = run("live", str(tmp_path))
    assert not result.success
    [failure] = [event for event in result.all_events if event.is_step_failure]
    assert "has no *_generator*.xlsx" in str(failure.step_failure_data)
