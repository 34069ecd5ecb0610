"""Run the rules across feeds as Dagster does: a warehouse without faults passes, and each rule finds its own fault."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.analyst import KEY, analyst_asset
from assets.ingest import stored_days
from assets.ingest.context import PipelineContext
from assets.ingest.runs import ingest_days
from assets.sources import feeds, sources
from assets.sql.database import resource
from assets.sql.rules import RULES
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from warehouse.market.clock import MarketDay, market_days
from warehouse.rows.schema import Rows
from warehouse.series import folding

FEEDS = (
    *("entsoe.price", "rte.market_price", "entsoe.flows", "elexon.interconnectors", "eia.demand", "nyiso.load"),
    *("neso.generation", "neso.carbon_intensity"),
)
Change = Callable[[list[int], list[float], list[float]], tuple[list[int], list[float]]]
"""A function that turns times and values of a day, and the values of the day before, into what is planted."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ingest four simulated days of feeds that state the same values twice, and return the folder."""
    home = tmp_path_factory.mktemp("filled") / "home"
    with pytest.MonkeyPatch.context() as patch:
        in_simulated(patch, home)
        pipeline = open_context()
        for feed in map(feeds().__getitem__, FEEDS):
            ingest_days(pipeline, feed, market_days(date(2026, 11, 17), date(2026, 11, 20), feed.tz))
    return home


@pytest.fixture
def pipeline(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Return a copy of the warehouse for one test."""
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    in_simulated(monkeypatch, tmp_path)
    return open_context()


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def evaluate(pipeline: PipelineContext) -> dict[str, list[dict[str, Any]]]:
    """Run the asset, and return the findings of each check. A check fails if and only if it has findings."""
    resources = {"warehouse": pipeline, "duckdb": resource(pipeline.storage.local)}
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.materialize([analyst_asset(sources())], resources=resources, instance=instance)
    assert run.success
    found = {}
    for evaluation in run.get_asset_check_evaluations():
        assert evaluation.asset_key == KEY
        table = evaluation.metadata["findings"]
        assert isinstance(table, dg.TableMetadataValue)
        found[evaluation.check_name] = [dict(record.data) for record in table.records]
        assert evaluation.passed == (evaluation.metadata["count"].value == 0) == (not table.records)
    return found


def plant(
    pipeline: PipelineContext, name: str, zone: str, change: Change, metric: str, counterparty: str | None = None
) -> None:
    """Fold what the feed's next response would state about a day if the publisher made this mistake."""
    feed = feeds()[name]
    today, before = (MarketDay(date(2026, 11, day), feed.tz).window for day in (19, 18))
    stored, rows = stored_days.read(pipeline.storage, feed, ["2026-11"]), Rows()
    yesterdays = {key: (ts, values) for key, ts, values in stored.within(before)}
    for key, ts, values in stored.within(today):
        if (key.zone, key.metric, key.counterparty) == (zone, metric, counterparty):
            rows.extend(key, *change(ts.tolist(), values.tolist(), yesterdays[key][1].tolist()))
    assert len(rows)
    covered = {(zone, metric): [today]} if counterparty is None else {}
    folding.fold(pipeline.storage, name, rows, covered, pipeline.ranks, None, "simulated")


def flip(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    return ts, [-value for value in values]


def repeat(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    return ts, before


def drop_one(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    assert len(ts) == 96
    return ts[:40] + ts[41:], values[:40] + values[41:]


def add_tenth(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    return ts, [value * 1.1 for value in values]


def add_euro(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    return ts, [value + (place == 40) for place, value in enumerate(values)]


def raise_much(ts: list[int], values: list[float], before: list[float]) -> tuple[list[int], list[float]]:
    return ts, [value * 2.5 for value in values]


def test_a_warehouse_without_a_fault_passes_every_rule(pipeline: PipelineContext) -> None:
    assert evaluate(pipeline) == {rule.name: [] for rule in RULES}


@pytest.mark.parametrize(
    ("rule", "fault", "zone", "detail"),
    [
        ("borders_mirror", ("entsoe.flows", "ES", flip, "interchange", "FR"), "ES", "ES (entsoe.flows) and FR"),
        ("borders_mirror", ("entsoe.flows", "FR", flip, "interchange", "GB"), "FR", "GB (elexon.interconnectors)"),
        ("days_differ", ("nyiso.load", "US-NYISO", repeat, "demand"), "US-NYISO", "nyiso.load: demand of US-NYISO"),
        ("volumes_agree", ("eia.demand", "US-NYISO", add_tenth, "demand"), "US-NYISO", "eia.demand and nyiso.load"),
        ("prices_agree", ("rte.market_price", "FR", add_euro, "price"), "FR", "entsoe.price and rte.market_price"),
        (
            "day_ahead_whole",
            ("entsoe.price", "IT-NO", drop_one, "price"),
            "IT-NO",
            "entsoe.price: 95 of 96 intervals of 15m",
        ),
        ("carbon_follows_mix", ("neso.carbon_intensity", "GB", raise_much, "carbon_intensity"), "GB", "the mix gives"),
    ],
)
def test_a_planted_fault_is_found_in_one_run_and_by_its_own_rule_alone(
    pipeline: PipelineContext, rule: str, fault: tuple[Any, ...], zone: str, detail: str
) -> None:
    plant(pipeline, *fault)
    found = evaluate(pipeline)
    assert {name for name, findings in found.items() if findings} == {rule}
    (finding,) = found[rule]
    assert (finding["day"], finding["zone"]) == ("2026-11-19", zone)
    assert detail in finding["detail"]
