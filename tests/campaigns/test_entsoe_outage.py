"""Check which feeds fill each series during ENTSO-E's outage of 30 August to 9 September 2026, simulated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from assets.ingest.context import PipelineContext
from assets.ingest.runs import ingest_days
from assets.sources import feeds, sources
from orchestration.work.environment import open_context
from warehouse.documents import catalogue, health
from warehouse.errors import NotPublished
from warehouse.market import clock
from warehouse.market.clock import DAY, RESOLUTIONS, instant, market_days

pytestmark = pytest.mark.campaign
AWAY = "2026-08-30T19:10Z/2026-09-09T06:00Z"
FIRST, LAST = date(2026, 8, 31), date(2026, 9, 8)
DURING, AFTER = "2026-09-08T15:00:00Z", "2026-09-10T15:00:00Z"
ZONES = frozenset(feeds()["entsoe.price"].zones)
WEB_API = ("entsoe.price", "entsoe.demand", "entsoe.flows")
FILES = ("entsoe_files.price", "entsoe_files.load", "entsoe_files.flows")
OTHERS = (
    "energinet.price",
    "energinet.flows",
    "omie.price",
    "pse.price",
    "pse.demand",
    "rte.eco2mix",
    "rte.market_price",
)


class Served(NamedTuple):
    """A served net row."""

    zone: str
    metric: str
    ts: int
    seconds: int
    source: str


def pipeline(home: Path, away: Iterable[str]) -> PipelineContext:
    """Return a simulated pipeline with the terms of a live one, so that it withholds the same data."""
    faults = ", ".join(f"{name}:503@{AWAY}" for name in away)
    opened = open_context({"EMDS_HOME": str(home), "EMDS_FEEDS": "simulated", "EMDS_SIMULATED_FAULTS": faults})
    return replace(opened, ranks=catalogue.ranks(sources(), (), "live"))


def ingest(context: PipelineContext, names: Iterable[str]) -> set[str]:
    """Fetch the days of the outage from these feeds and return the feeds that failed."""
    failed = set()
    for name in names:
        feed = feeds()[name]
        report = ingest_days(context, feed, market_days(FIRST, LAST, feed.tz))
        if not all(isinstance(failure, NotPublished) for failure in report.failures):
            failed.add(name)
    return failed


def served(home: Path) -> Iterator[Served]:
    """Read the files, and yield every served net row (not by fuel) of the outage's nine complete days."""
    start, end = instant("2026-08-30T22:00Z"), instant("2026-09-08T22:00Z")
    for path in sorted((home / "series").glob("metric=*/zone=*/*.parquet")):
        table = pq.read_table(path, partitioning=None)
        zone, metric = path.parent.name.removeprefix("zone="), path.parents[1].name.removeprefix("metric=")
        for row in table.to_pylist():
            if row.get("counterparty") is None and row.get("fuel") is None and start <= row["ts"] < end:
                yield Served(zone, metric, row["ts"], RESOLUTIONS[row["resolution"]], row["source"])


def states(context: PipelineContext) -> set[tuple[str, str]]:
    """Return the state and last error of the Web API's feeds, as reported in `/v1/status`."""
    known = [(zone, feeds()[zone.feed]) for zone in health.load(context.storage, "entsoe") if zone.feed in WEB_API]
    now = clock.now()
    return {(health.state(z, f, now), z.last_error[:30]) for z, f in known}


def seconds_by_zone(rows: Iterable[Served], metric: str) -> dict[str, int]:
    """Return the seconds with a row by zone."""
    covered: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.metric == metric:
            covered[row.zone] += row.seconds
    return dict(covered)


def assert_nothing_twice(rows: list[Served]) -> None:
    """Check that no two rows of a series overlap, even from different feeds."""
    series: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        series[row.zone, row.metric].append((row.ts, row.ts + row.seconds))
    for key, intervals in series.items():
        intervals.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(intervals)), key


def test_with_the_web_api_away_the_file_library_fills_all_twelve_zones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_NOW", DURING)
    away = pipeline(tmp_path, ("entsoe", "energy_charts"))
    assert ingest(away, (*WEB_API, "energy_charts.price")) == {*WEB_API, "energy_charts.price"}
    assert states(away) == {("down", "web-api.tp.entsoe.eu returned ")}
    assert not ingest(away, FILES)
    rows = list(served(tmp_path))
    assert {row.source for row in rows} == {"entsoe_files"}
    assert seconds_by_zone(rows, "price") == dict.fromkeys(ZONES, 9 * DAY)
    demand = seconds_by_zone(rows, "demand")
    assert set(demand) == ZONES
    assert all(seconds >= 8 * DAY for seconds in demand.values()), demand
    assert_nothing_twice(rows)
    monkeypatch.setenv("EMDS_NOW", AFTER)
    back = pipeline(tmp_path, ())
    assert not ingest(back, WEB_API)
    assert {error for _, error in states(back)} == {""}
    rows = list(served(tmp_path))
    assert {row.source for row in rows} == {"entsoe"}
    assert_nothing_twice(rows)


def test_with_the_whole_origin_away_independent_publishers_fill_what_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMDS_NOW", DURING)
    away = pipeline(tmp_path, ("entsoe", "entsoe_files", "energy_charts"))
    ingest(away, (*WEB_API, *FILES, "energy_charts.price"))
    assert not list(served(tmp_path))
    assert not ingest(away, OTHERS)
    rows = list(served(tmp_path))
    assert seconds_by_zone(rows, "price") == dict.fromkeys(("DE-LU", "DK-1", "NO-2", "SE-3", "ES", "PL"), 9 * DAY)
    newest = {
        (row.zone, row.metric): instant(DURING) - row.ts - row.seconds
        for row in sorted(rows, key=lambda row: row.ts)
        if row.metric in ("demand", "interchange")
    }
    assert set(newest) == {("FR", "demand"), ("PL", "demand"), ("FR", "interchange"), ("DK-1", "interchange")}
    assert newest["FR", "demand"] < 3600 < 10 * 3600 <= newest["PL", "demand"] < 11 * 3600
    assert newest["DK-1", "interchange"] < 900
    assert_nothing_twice(rows)
    monkeypatch.setenv("EMDS_NOW", AFTER)
    assert not ingest(pipeline(tmp_path, ()), WEB_API)
    rows = list(served(tmp_path))
    assert {row.source for row in rows if row.metric in ("price", "demand")} == {"entsoe"}
    assert_nothing_twice(rows)
