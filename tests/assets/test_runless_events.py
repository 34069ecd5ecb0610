"""Many events reported at once stand in Dagster's tables as its own call, which takes one, would have left them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import orjson
import pytest
from sqlalchemy import text

from assets import runless_events
from assets.event_tables import tables
from assets.runless_events import RunlessEvent

KEY, OTHER = dg.AssetKey(["elexon", "demand"]), dg.AssetKey(["nyiso", "load"])
VERSION = "dagster/data_version"
TABLES = {
    "event_logs": "id, run_id, dagster_event_type, asset_key, partition, step_key, event",
    "asset_event_tags": "event_id, asset_key, key, value",
    "asset_keys": "asset_key, last_materialization, last_run_id, last_materialization_timestamp is null as never",
    "asset_check_executions": "asset_key, check_name, partition, run_id, execution_status, evaluation_event,"
    " evaluation_event_storage_id, materialization_event_storage_id",
}


@pytest.fixture
def instances(tmp_path: Path) -> Iterator[list[dg.DagsterInstance]]:
    folders = [tmp_path / name for name in ("one_by_one", "at_once")]
    for folder in folders:
        folder.mkdir()
    with (
        dg.DagsterInstance.local_temp(str(folders[0])) as one_by_one,
        dg.DagsterInstance.local_temp(str(folders[1])) as at_once,
    ):
        yield [one_by_one, at_once]


def materialised(key: dg.AssetKey, day: str | None, version: str) -> dg.AssetMaterialization:
    metadata = {"rows": 48, "plot": dg.MetadataValue.md("![](x)"), "first": dg.MetadataValue.timestamp(1.0)}
    return dg.AssetMaterialization(key, metadata=metadata, partition=day, tags={VERSION: version, "other": "tag"})


def evaluated(check: str, passed: bool, day: str | None = "2026-11-01") -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(KEY, check, passed, {"count": 1}, severity=dg.AssetCheckSeverity.WARN, partition=day)


EVENTS: list[RunlessEvent] = [
    materialised(KEY, "2026-11-01", "a"),
    materialised(KEY, "2026-11-02", "b"),
    materialised(OTHER, None, "c"),
    dg.AssetObservation(KEY, description="asked", partition="2026-11-01"),
    dg.AssetObservation(dg.AssetKey("seen"), partition="2026-11-01"),
    evaluated("complete", False),
    evaluated("believed", True),
    evaluated("fresh", True, None),
]


def rows(instance: dg.DagsterInstance) -> dict[str, list[dict[str, Any]]]:
    """The tables without the instants at which events were reported."""
    with tables(instance) as connection:
        read = {
            table: [dict(row) for row in connection.execute(text(f"select {columns} from {table}")).mappings()]
            for table, columns in TABLES.items()
        }
    for table in read.values():
        for row in table:
            for name in ("event", "last_materialization", "evaluation_event"):
                if row.get(name):
                    row[name] = timeless(orjson.loads(row[name]))
    return read


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: timeless(part) for name, part in value.items() if name != "timestamp" or "user_message" not in value
        }
    return [timeless(part) for part in value] if isinstance(value, list) else value


def test_all_tables_are_as_after_dagsters_own_calls(instances: list[dg.DagsterInstance]) -> None:
    one_by_one, at_once = instances
    for event in EVENTS:
        one_by_one.report_runless_asset_event(event)
    runless_events.report(at_once, EVENTS)
    expected, found = rows(one_by_one), rows(at_once)
    assert all(expected.values())
    assert found == expected
    assert at_once.get_materialized_partitions(KEY) == {"2026-11-01", "2026-11-02"}


def test_the_last_evaluation_of_a_check_and_partition_stays(instances: list[dg.DagsterInstance]) -> None:
    instance = instances[1]
    runless_events.report(instance, [evaluated("complete", False), evaluated("complete", True, "2026-11-02")])
    runless_events.report(instance, [evaluated("complete", False, "2026-11-02"), evaluated("complete", True)])
    kept = {(row["partition"], row["execution_status"]) for row in rows(instance)["asset_check_executions"]}
    assert kept == {("2026-11-01", "SUCCEEDED"), ("2026-11-02", "FAILED")}


def test_all_events_or_none(instances: list[dg.DagsterInstance], monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends in between leaves no event without the tag by which its rows are known again."""
    instance = instances[1]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runless_events, "_store_evaluation", killed)
    with pytest.raises(KeyboardInterrupt):
        runless_events.report(instance, EVENTS)
    assert not any(rows(instance).values())


def test_nothing_to_report_opens_nothing() -> None:
    runless_events.report(None, [])  # type: ignore[arg-type]
