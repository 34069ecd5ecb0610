"""Check marts over any storage: they equal exact sums over rows, and only changed monthly files rebuild them."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.mart_assets import first_partition
from assets.sources import feeds, sources
from assets.sql.mart_queries import MARTS, refresh, refresh_records, stale_months
from tests.stand_ins.declared import feed
from tests.stand_ins.places import Place
from warehouse.documents import manifest
from warehouse.figures import feed_stats, marts
from warehouse.market.clock import HOUR, RESOLUTIONS, Window, instant
from warehouse.market.metrics import BY_FUEL, SCALAR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import month_versions
from warehouse.series.folding import fold
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.store import layout, modes
from warehouse.store.storage import Folder, Storage

DAILY, PROFILE, BORDERS, REVISIONS = MARTS
RANKS = {"a.x": 1, "b.y": 2, "c.z": 3}
Reading = tuple[int, float, str]


def put(
    storage: Storage, zone: str, metric: str, rows: list[Reading], feed: str = "a.x", known_at: int = 1, **of: Any
) -> None:
    batch = Rows()
    for ts, value, resolution in rows:
        batch.extend(SeriesKey(zone, metric, "EUR/MWh", resolution, **of), [ts], [value])
    fold(storage, feed, batch, {}, RANKS, known_at, "live")


def run(storage: Storage, mart: Any = DAILY, months: set[str] | None = None) -> list[dict[str, Any]]:
    """Refresh a mart, and return the rows of its files."""
    with duckdb.connect() as connection:
        refresh(storage, connection, mart, months, frozenset({"c.z"}), "live")
        if mart is DAILY:
            refresh_records(storage, connection, "live")
    keys = [key for key in storage.keys("marts/") if f"/{mart.name}/" in key]
    return [row for key in keys for row in marts.decode(storage.get(key) or b"", key, "live").rows.to_pylist()]


@st.composite
def series(draw: st.DrawFn) -> list[Reading]:
    """Draw rows of mixed resolutions with gaps, over clock changes and the turn of a year."""
    at = instant(
        f"{draw(st.sampled_from(['2025-10-20', '2025-12-25', '2026-03-06', '2026-03-25', '2026-10-01']))}T13:00:00Z"
    )
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        resolution = draw(st.sampled_from(["5m", "15m", "30m"]))
        at += draw(st.sampled_from([0, 0, 0, 1800, 7 * HOUR, 3 * 86400]))
        scale = draw(st.sampled_from([1, 10**3, 10**6]))
        for _ in range(draw(st.integers(1, 60))):
            rows.append((at, draw(st.integers(-(10**5), 10**11 // scale)) * scale / 10**6, resolution))
            at += RESOLUTIONS[resolution]
        at += -at % 1800
    return rows


def runs_of(rows: list[Reading]) -> list[tuple[int, int]]:
    """Return the start and the end of each run of negative values."""
    runs: list[tuple[int, int]] = []
    for ts, value, resolution in rows:
        end = ts + RESOLUTIONS[resolution]
        if value < 0:
            if runs and runs[-1][1] == ts:
                runs[-1] = (runs[-1][0], end)
            else:
                runs.append((ts, end))
    return runs


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=series(), zone=st.sampled_from(["AU-SA", "US-NYISO", "GB", "DE-LU"]))
def test_days_and_records_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Reading], zone: str
) -> None:
    storage, tz = Folder(tmp_path_factory.mktemp("home")), ZoneInfo(ZONES[zone].tz)
    modes.ensure(storage, "live")
    put(storage, zone, "price", rows)
    days: dict[Any, list[Reading]] = defaultdict(list)
    for reading in rows:
        days[datetime.fromtimestamp(reading[0], tz).date()].append(reading)
    made = run(storage)
    assert [row["date"] for row in made] == sorted(days)
    for row in made:
        group = days[row["date"]]
        seconds = [RESOLUTIONS[resolution] for _, _, resolution in group]
        values = [value for _, value, _ in group]
        total = sum((Fraction(str(value)) * step for value, step in zip(values, seconds, strict=True)), Fraction(0))
        assert row["mean"] == round(total / sum(seconds) * 10**6) / 10**6
        assert (row["seconds_covered"], row["samples"]) == (sum(seconds), len(group))
        assert Fraction(row["total"]) == total
        assert (row["min"], row["min_ts"]) == min((value, ts) for ts, value, _ in group)
        assert (row["max"], -row["max_ts"]) == max((value, -ts) for ts, value, _ in group)
        below = sum(step for step, value in zip(seconds, values, strict=True) if value < 0)
        assert row["negative_hours"] == below / 3600
        assert [(run["start"], run["end"]) for run in row["negative_runs"]] == runs_of(group)
    found = marts.records(Reader(storage, 1_000_000), zone, "price") or []
    for period in {record.period for record in found}:
        own = [r for r in rows if period in ("all", str(datetime.fromtimestamp(r[0], tz).year))]
        longest = max(runs_of(own), key=lambda run: (run[1] - run[0], -run[0]), default=None)
        by_kind = {record.kind: record for record in found if record.period == period}
        assert (by_kind["highest"].value, -by_kind["highest"].ts) == max((value, -ts) for ts, value, _ in own)
        assert (by_kind["lowest"].value, by_kind["lowest"].ts) == min((value, ts) for ts, value, _ in own)
        run_ = by_kind.get("longest_negative")
        assert (run_ and (run_.ts, run_.end, run_.value)) == (
            None if longest is None else (*longest, (longest[1] - longest[0]) / 3600)
        )
    assert {r.period for r in found} == {"all", *(str(day.year) for day in days)}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("GB", "demand", "2026-09-20", {})], "2026-09"),
        ([("US-NYISO", "interchange", "2026-09-20", {"counterparty": "US-PJM"})], "2026-08"),
        ([("GB", "capacity", "2021-01-01", {"fuel": "wind"})], "2026-10"),
        ([], "2026-10"),
    ],
    ids=["a net", "a border, whose file begins on 31 August in New York", "a metric without marts", "nothing"],
)
def test_the_months_of_marts_begin_with_the_earliest_rows_not_with_the_first_day_that_was_fetched(
    tmp_path: Path, rows: list[tuple[str, str, str, dict[str, str]]], expected: str
) -> None:
    storage = Folder(tmp_path)
    modes.ensure(storage, "live")
    for zone, metric, day, key in rows:
        put(storage, zone, metric, [(instant(f"{day}T00:00:00Z"), 1.0, "1h")], **key)
    manifest.publish(storage, instant("2026-11-28T12:00:00Z"), lambda place: 10)
    firsts = dict.fromkeys(feeds(), date(2026, 10, 24))
    assert first_partition(storage, sources(), firsts) == expected


@pytest.fixture
def storage(place: Place) -> Storage:
    """Return an empty warehouse, first in a folder and then in a bucket."""
    storage = place.open()
    modes.ensure(storage, "live")
    return storage


def hourly(start: str, hours: int, value: float = 1.0) -> list[Reading]:
    return [(instant(start) + i * HOUR, value + i, "1h") for i in range(hours)]


def test_only_months_whose_files_changed_are_made_again(storage: Storage) -> None:
    put(storage, "GB", "price", hourly("2025-11-01T00:00:00Z", 24 * 90))
    put(storage, "DE-LU", "price", hourly("2025-11-01T00:00:00Z", 24 * 90))
    assert stale_months(storage, "live", of=[DAILY]) == [
        "2025-11",
        "2025-12",
        "2026-01",
        "2026-02",
    ]  # January's file contains an hour of it
    first = run(storage)
    assert stale_months(storage, "live", of=[DAILY]) == []
    identities = {key: storage.stat(key) for key in storage.keys("marts/daily/")}
    run(storage)
    assert {key: storage.stat(key) for key in storage.keys("marts/daily/")} == identities
    put(storage, "GB", "price", [(instant("2025-12-10T12:00:00Z"), 9999.0, "1h")], known_at=2)
    assert stale_months(storage, "live", of=[DAILY]) == ["2025-12"]
    again = run(storage)
    assert [row["date"].isoformat() for row in again if row not in first] == ["2025-12-10"]
    assert storage.stat(layout.mart("daily", "price", "DE-LU")) == identities[layout.mart("daily", "price", "DE-LU")]
    assert [row["max"] for row in again if row["max"] == 9999.0] == [9999.0]


def test_marts_that_were_found_up_to_date_are_not_opened_again(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 48))
    put(storage, "DE-LU", "price", hourly("2026-01-01T00:00:00Z", 48))
    run(storage)
    assert stale_months(storage, "live", "2026-01", [DAILY]) == [], (
        "an hour of February in Berlin is not to be made yet"
    )
    opened, read = list[str](), type(storage).get
    monkeypatch.setattr(type(storage), "get", lambda self, key: opened.append(key) or read(self, key))
    assert stale_months(storage, "live", "2026-01", [DAILY]) == []
    assert opened == [layout.MARTS_CHECKED]
    put(storage, "GB", "price", [(instant("2026-01-10T12:00:00Z"), 9999.0, "1h")], known_at=2)
    opened.clear()
    assert stale_months(storage, "live", "2026-01", [DAILY]) == ["2026-01"]
    assert opened == [layout.MARTS_CHECKED, layout.mart("daily", "price", "GB")]
    run(storage)
    assert stale_months(storage, "live", "2026-01", [DAILY]) == []
    assert stale_months(storage, "live", "2026-02", [DAILY]) == [], "a run makes every month that is asked for"
    storage.put(layout.MARTS_CHECKED, b"not JSON")
    assert stale_months(storage, "live", "2026-01", [DAILY]) == []


def test_a_month_of_a_run_leaves_the_others_as_they_are(storage: Storage) -> None:
    put(storage, "GB", "price", hourly("2025-11-01T00:00:00Z", 24 * 90))
    assert {row["month"] for row in run(storage, months={"2025-12"})} == {"2025-12"}
    assert {row["month"] for row in run(storage, months={"2025-11"})} == {"2025-11", "2025-12"}
    assert stale_months(storage, "live", of=[DAILY]) == ["2026-01"]


def test_a_corrected_record_is_withdrawn_and_withheld_feeds_hold_none(storage: Storage) -> None:
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 48))
    put(storage, "GB", "price", [(instant("2026-01-03T00:00:00Z"), 5000.0, "1h")], "c.z")
    put(storage, "GB", "price", [(instant("2026-01-02T00:00:00Z"), 4000.0, "1h")], known_at=2)
    run(storage)
    reader = Reader(storage, 1_000_000)
    (highest,) = [r for r in marts.records(reader, "GB", "price") or [] if (r.kind, r.period) == ("highest", "all")]
    assert (highest.value, highest.feeds, highest.since) == (4000.0, "a.x", "2026-01-01")
    put(storage, "GB", "price", [(instant("2026-01-02T00:00:00Z"), 3.0, "1h")], known_at=3)
    run(storage)
    (highest,) = [r for r in marts.records(reader, "GB", "price") or [] if (r.kind, r.period) == ("highest", "all")]
    assert (highest.value, highest.ts) == (48.0, instant("2026-01-02T23:00:00Z"))


def test_a_damaged_mart_is_made_again_and_read_by_nobody(storage: Storage) -> None:
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 48))
    run(storage)
    key = layout.mart("daily", "price", "GB")
    body = bytearray(storage.get(key) or b"")
    body[40] ^= 1
    storage.put(key, bytes(body))
    assert marts.days(Reader(storage, 1_000_000), "GB", "price") is None
    assert stale_months(storage, "live", of=[DAILY]) == ["2026-01"]
    assert len(run(storage)) == 2
    assert marts.days(Reader(storage, 1_000_000), "GB", "price") is not None


def test_profiles_borders_and_revisions(storage: Storage) -> None:
    put(storage, "DE-LU", "price", hourly("2026-03-28T23:00:00Z", 23 + 24))
    profile = {(row["month"], row["hour"]): row for row in run(storage, PROFILE)}
    assert (2, "2026-03") not in profile
    assert (profile["2026-03", 3]["mean"], profile["2026-03", 3]["days"]) == ((3 + 27) / 2, 2)
    assert profile["2026-03", 2]["days"] == 1  # the hour that the clocks skip
    flows = [(ts, (-1) ** i * 10.0, step) for i, (ts, _, step) in enumerate(hourly("2026-01-01T00:00:00Z", 24))]
    put(storage, "GB", "interchange", flows,
        counterparty="FR", link="ifa")  # fmt: skip
    (border,) = run(storage, BORDERS)
    assert (border["import_mwh"], border["export_mwh"], border["mean"], border["seconds_covered"]) == (
        120,
        120,
        0,
        86400,
    )
    assert (border["counterparty"], border["link"]) == ("FR", "ifa")
    put(storage, "FR", "interchange", hourly("2026-01-01T00:00:00Z", 24), counterparty="BE")
    exports = {str(row["export_mwh"]) for row in run(storage, BORDERS) if row["zone"] == "FR"}
    assert exports == {"0.0"}, "not -0.0"
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 24), known_at=100)
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 2, 6.0), known_at=250)
    (revised,) = [row for row in run(storage, REVISIONS) if row["zone"] == "GB" and row["metric"] == "price"]
    assert (revised["intervals"], revised["revised"], revised["withdrawn"]) == (24, 2, 0)
    assert (revised["mean_change"], revised["largest_change"], revised["last_after_s"]) == (5.0, 5.0, 150)


def test_the_mart_of_revisions_counts_as_the_publishers_document_does(storage: Storage) -> None:
    """Of four hours, one is corrected, one is withdrawn and then restated unchanged, and one is withdrawn."""
    start = instant("2026-01-01T00:00:00Z")
    day = Window(start, start + 24 * HOUR)
    for known_at, values in ((100, [1.0, 2.0, 3.0, 4.0]), (200, [1.0, 9.0]), (300, [1.0, 9.0, 3.0])):
        rows = Rows()
        rows.extend(SeriesKey("GB", "price", "GBP/MWh", "1h"), [start + i * HOUR for i in range(len(values))], values)
        fold(storage, "a.x", rows, {("GB", "price"): [day]}, RANKS, known_at, "live")
    (row,) = run(storage, REVISIONS)
    stats = feed_stats.FeedStats(
        feed("a.x", ("GB",), (Metric.PRICE,), "1h"), "2026-01", (np.empty(0, np.int64),) * 2, start
    )
    feed_stats.add(stats, "price", month_versions.read(storage, Month("price", "GB", "2026-01")), True)
    assert (row["intervals"], row["revised"], row["withdrawn"]) == (stats.rows, stats.revised, stats.withdrawn)
    assert (stats.rows, stats.revised, stats.withdrawn) == (4, 1, 1)


def test_every_column_has_one_type_in_all_files(tmp_path: Path) -> None:
    """Any reader can therefore take the folder of a mart as one table."""
    storage = Folder(tmp_path)
    modes.ensure(storage, "live")
    put(storage, "GB", "price", hourly("2026-01-01T00:00:00Z", 48))
    put(storage, "DE-LU", "demand", hourly("2026-01-01T00:00:00Z", 48, -5.0))
    run(storage)
    tables = [marts.decode(storage.get(key) or b"", key, "live").rows for key in storage.keys("marts/daily/")]
    assert all(one.schema.equals(other.schema) for one, other in pairwise(tables))
    query = f"SELECT count(*), sum(seconds_covered) FROM '{storage.root}/marts/daily/*/*.parquet'"
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [(5, 4 * 86400)]


def test_every_metric_whose_records_can_be_requested_has_a_daily_mart() -> None:
    [daily] = [mart for mart in MARTS if mart.name == "daily"]
    assert {*SCALAR, Metric.PRICE_DAY_AHEAD} <= {*daily.metrics}
    assert not {*daily.metrics} & BY_FUEL
