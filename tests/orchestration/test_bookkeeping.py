"""An ingest by the command line over a warehouse whose bookkeeping is damaged.

Rows are stored and documents published.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.documents.publish import publish
from assets.ingest.context import PipelineContext
from assets.sources import feed
from orchestration.cli import main
from orchestration.jobs import recording
from orchestration.work import backfill, commands
from orchestration.work.backfill import Task
from orchestration.work.resources import open_context
from warehouse.market.clock import instant, local_date
from warehouse.store import artefact, layout

NOW = instant("2026-11-18T12:00:00Z")
FEEDS = ("elexon.demand", "neso.generation")


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    for name in ("EMDS_FEEDS", "EMDS_FAULTS", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", str(NOW))
    # In this process: the feeds of one source would otherwise need two workers.
    monkeypatch.setattr(backfill, "WORKERS", 1)
    monkeypatch.setattr(commands.backfill, "run", lambda tasks, again: _here(tasks, again))
    return open_context()


_run = backfill.run


def _here(tasks, again):  # type: ignore[no-untyped-def]
    return _run(tasks, again, workers=1)


def tasks() -> list[Task]:
    return [Task(name, (local_date(NOW, feed(name).tz),)) for name in FEEDS]


def garbage_in_dagsters_storage(home: Path) -> None:
    instance = recording.instance(home)
    assert instance is not None
    instance.dispose()
    for path in (home / "dagster").rglob("*.db"):
        path.write_bytes(b"garbage" * 1000)


def pruned_is_garbage(home: Path) -> None:
    (home / layout.PRUNED).write_bytes(b"\xff not a number")


def health_is_cut(home: Path) -> None:
    folder = home / "published" / "health"
    folder.mkdir(parents=True)
    for source in ("elexon", "neso"):
        (folder / f"{source}.json").write_bytes(b'{"source": "elexon", "fee')


def pictures_fail(home: Path) -> None:
    from assets.ingest import plots

    plots._svg = lambda ts, values: min([])  # type: ignore[assignment,return-value]


@pytest.mark.parametrize("harm", [garbage_in_dagsters_storage, pruned_is_garbage, health_is_cut, pictures_fail])
def test_damaged_bookkeeping_costs_no_row_and_no_document(
    pipeline: PipelineContext, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assets.ingest import plots

    monkeypatch.setattr(plots, "_svg", plots._svg)
    harm(pipeline.storage.root)
    assert commands.run(tasks()) == 0
    latest = artefact.load(pipeline.storage, layout.latest("GB"))
    assert {"demand"} <= set(latest["metrics"])
    assert latest["generation_mix"]["unit"] == "%"


def test_a_damaged_month_file_is_named_by_every_verb_and_stops_none(
    pipeline: PipelineContext, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert commands.run(tasks()) == 0
    (key,) = pipeline.storage.keys(layout.series_prefix("demand", "GB"))
    whole = pipeline.storage.get(key)
    assert whole is not None
    pipeline.storage.put(key, b"")
    assert main(["gaps", "--feed", "elexon.demand", "--days", "2"]) == 1
    assert key in capfd.readouterr().err
    caplog.clear()
    main(["publish"])
    assert key in caplog.text
    assert pipeline.storage.get(key) not in (b"", None), "it is made again from the kept bytes"
    latest = artefact.load(pipeline.storage, layout.latest("GB"))
    assert latest["generation_mix"]["unit"] == "%"
    assert publish(pipeline.storage) == []
