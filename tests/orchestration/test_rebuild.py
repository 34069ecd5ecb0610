"""Test `emds rebuild`: the raw archive gives the same rows without the network, and monthly files are rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from assets.ingest.runs import ingest_days, reparse_days
from assets.sources import feed
from orchestration.cli import main
from orchestration.work import replay
from orchestration.work.backfill import days_of, monthly_tasks
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from tests.stand_ins import stored_rows
from warehouse.market import clock
from warehouse.market.clock import Window, month_window
from warehouse.series import folding, month_versions
from warehouse.store import artefact
from warehouse.store.storage import Folder, Storage

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
NOW = clock.instant("2026-11-20T12:00:00Z")


@pytest.fixture
def storage(tmp_path: Path, backfilled: Callable[..., Folder]) -> Folder:
    """Return a simulated warehouse with three days of GB's mix."""
    return backfilled(tmp_path, "neso.generation")


def mix(storage: Folder) -> list[tuple[int, str, float]]:
    table = stored_rows.read(storage, "GB", "generation", Window(NOW - 5 * clock.DAY, NOW))
    return list(zip(*(table.column(name).to_pylist() for name in ("ts", "fuel", "value")), strict=True))


def _first_known(storage: Storage) -> int:
    [place] = folding.places(storage, "generation", "GB")
    return int(month_versions.read(storage, month_versions.Month(*place)).known_at.min())


def test_what_is_served_is_made_again_from_the_kept_bytes(
    storage: Folder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, known = mix(storage), _first_known(storage)
    assert len(before) > 2 * 48 * 9
    for key in [*storage.keys("series/"), *storage.keys("published/")]:
        storage.delete(key)
    monkeypatch.setenv("EMDS_SIMULATED_FAULTS", "neso:503")
    monkeypatch.setenv("EMDS_NOW", str(NOW + 3600))
    assert main(["rebuild"]) == 0
    assert mix(storage) == before
    assert _first_known(storage) == known
    assert artefact.load(storage, "latest/GB.json")["generation_mix"]["unit"] == "%"
    assert "ranks changed in 0 monthly files" in capsys.readouterr().out
    files = {key: storage.stat(key) for key in storage.keys("series/")}
    assert main(["rebuild"]) == 0
    assert files == {key: storage.stat(key) for key in storage.keys("series/")}


def test_a_rebuild_of_all_feeds_changes_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Include ISO-NE, whose final prices of days a week ago arrive in the same second as the first ones.

    Feeds whose days take a hundred responses or more are left out.
    """
    in_simulated(monkeypatch, tmp_path)
    pipeline = open_context()
    many = ("aemo.trading", "aemo.dispatch", "entsoe.flows", "spp.lmp_rt")
    feeds = [one for source in pipeline.sources.values() for one in source.feeds if one.id not in many]
    tasks = [task for one in feeds for task in monthly_tasks(one, [date(2026, 11, 14), date(2026, 11, 19)])]
    tasks += monthly_tasks(feed("isone.lmp_rt"), [date(2026, 11, day) for day in (11, 12)])
    for task in tasks:
        ingest_days(pipeline, feed(task.feed), days_of(task))
    before = _rows(pipeline.storage)
    assert len(before.column("feed").unique()) > 30
    values = before.column("value").to_numpy()
    assert (values == np.round(values, 6)).all(), "no value has more than six decimals"
    for task in replay.plan(pipeline, feeds, None, None):
        reparse_days(pipeline, feed(task.feed), days_of(task))
    assert _rows(pipeline.storage).equals(before)


def _rows(storage: Storage) -> pa.Table:
    tables = [
        stored_rows.read(storage, zone, metric, month_window(month)) for metric, zone, month in folding.places(storage)
    ]
    return pa.concat_tables(tables)


def test_only_the_days_that_are_named_are_parsed_again(storage: Folder) -> None:
    pipeline = open_context()
    day = date(2026, 11, 19)
    (task,) = replay.plan(pipeline, [feed("neso.generation")], day, day)
    assert task.days == (day,)
    (whole,) = replay.plan(pipeline, [feed("neso.generation")], None, None)
    assert whole.days == (date(2026, 11, 18), day, date(2026, 11, 20))
    assert replay.plan(pipeline, [feed("neso.carbon_intensity")], None, None) == []


def test_months_that_never_had_a_row_are_not_called_rebuilt(
    tmp_path: Path, backfilled: Callable[..., Folder], capsys: pytest.CaptureFixture[str]
) -> None:
    backfilled(tmp_path, "entsoe.capacity")
    capsys.readouterr()
    assert main(["rebuild", "--feed", "entsoe.capacity"]) == 0
    assert ", 0 months rebuilt, " in capsys.readouterr().out


def test_months_are_resolved_by_the_rights_of_now(storage: Folder) -> None:
    pipeline, feeds = open_context(), [feed("neso.generation")]
    assert replay.resolve(replace(pipeline, ranks={}), feeds, None, date(2026, 10, 1)) == (0, []), "no month of it"
    assert replay.resolve(replace(pipeline, ranks={}), [feed("aemo.dispatch")], None, None) == (0, [])
    taken = replace(pipeline, ranks={name: rank for name, rank in pipeline.ranks.items() if name != "neso.generation"})
    assert replay.resolve(taken, feeds, None, None) == (1, [])
    assert mix(storage) == []
    assert replay.resolve(pipeline, feeds, None, None) == (1, [])
    assert replay.resolve(pipeline, feeds, None, None) == (0, [])
    assert mix(storage)
