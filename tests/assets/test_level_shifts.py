"""Check level shifts in runs: a warning against the feed's past, an error without rows if another feed disagrees."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from assets.ingest.context import PipelineContext
from assets.ingest.reports import RunReport
from assets.ingest.runs import ingest_days
from assets.sources import feed
from orchestration.work.environment import open_context
from tests.stand_ins import stored_rows
from warehouse.market.clock import MarketDay, Window, instant
from warehouse.market.feeds import Feed, Request
from warehouse.rows.schema import Rows
from warehouse.series import folding

NOW = instant("2026-11-18T12:00:00Z")
TODAY = date(2026, 11, 18)
BEST, SECOND = "nyiso.load", "eia.demand"
"""Both feeds carry New York's demand."""


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    """Return a warehouse with nine days of New York's demand from its own operator."""
    for name in ("EMDS_FEEDS", "EMDS_SIMULATED_FAULTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", str(NOW))
    opened = open_context()
    report = run(opened, feed(BEST), 9, 1)
    assert {finding.check for finding in report.findings} <= {"dropped"}
    return opened


def run(pipeline: PipelineContext, of: Feed, first: int, last: int) -> RunReport:
    """Run over the days from `first` to `last` days ago."""
    days = [MarketDay(TODAY - timedelta(days=i), of.tz) for i in range(first, last - 1, -1)]
    return ingest_days(pipeline, of, days)


def scaled(of: Feed, factor: float) -> Feed:
    """Return the feed as if its publisher had changed the unit or the sign."""

    def parse(body: bytes, request: Request) -> Rows:
        return stored_rows.rows_of(row._replace(value=row.value * factor) for row in of.parse(body, request))

    return replace(of, parse=parse)


def levels_of(report: RunReport) -> list[tuple[str, str, str]]:
    return [(f.severity, f.zone, f.metric) for f in report.findings if f.check == "level"]


def stored(pipeline: PipelineContext) -> list[float]:
    today = MarketDay(TODAY, "America/New_York").window
    table = stored_rows.net(stored_rows.read(pipeline.storage, "US-NYISO", "demand", Window(today.start, NOW)))
    return table.column("value").to_pylist()  # type: ignore[no-any-return]


def test_an_ordinary_day_says_nothing(pipeline: PipelineContext) -> None:
    assert levels_of(run(pipeline, feed(BEST), 0, 0)) == []
    assert levels_of(run(pipeline, feed(SECOND), 2, 0)) == []


@pytest.mark.parametrize("factor", [2, 0.5])
def test_alone_it_is_a_warning_and_the_rows_are_served(pipeline: PipelineContext, factor: float) -> None:
    report = run(pipeline, scaled(feed(BEST), factor), 0, 0)
    assert levels_of(report) == [("warning", "US-NYISO", "demand")]
    assert len(stored(pipeline)) > 50


def test_where_another_feed_disagrees_too_it_is_an_error_and_the_rows_are_set_aside(pipeline: PipelineContext) -> None:
    run(pipeline, feed(SECOND), 1, 0)
    before = stored(pipeline)
    report = run(pipeline, scaled(feed(BEST), 2), 0, 0)
    assert levels_of(report) == [("error", "US-NYISO", "demand")]
    assert "eia.demand disagrees too" in next(f.detail for f in report.findings if f.check == "level")
    assert report.quarantined > 50
    assert stored(pipeline) == before, "what is served is the second feed's, as before"
    assert pipeline.storage.keys("quarantine/")
    assert levels_of(run(pipeline, feed(BEST), 0, 0)) == [], "the next right answer is taken in"
    assert stored(pipeline) != before


def test_where_another_feed_agrees_the_shift_is_noted(pipeline: PipelineContext) -> None:
    today = MarketDay(TODAY, "America/New_York")
    yesterday = stored_rows.net(stored_rows.read(pipeline.storage, "US-NYISO", "demand", today.next(-1).window))
    doubled = Rows()
    for row in yesterday.to_pylist():
        if row["ts"] % 3600 == 0 and row["ts"] + 86400 < NOW:
            doubled.add("US-NYISO", "demand", row["ts"] + 86400, 2 * row["value"], "MW", "1h")
    folding.fold(pipeline.storage, SECOND, doubled, {}, pipeline.ranks, NOW, pipeline.mode)
    report = run(pipeline, scaled(feed(BEST), 2), 0, 0)
    assert levels_of(report) == [("note", "US-NYISO", "demand")]
    assert "eia.demand agrees" in next(f.detail for f in report.findings if f.check == "level")
