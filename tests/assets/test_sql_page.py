"""Every query of docs/sql.md runs, in order, in the folder of a simulated warehouse, and returns rows."""

from __future__ import annotations

import re
import time
from datetime import date
from pathlib import Path

import duckdb
import pytest

from assets import analyst
from assets.ingest.runs import ingest_days
from assets.sources import feeds
from orchestration.resources import open_context
from warehouse import series
from warehouse.clock import Window, instant, market_days
from warehouse.schema import Rows, SeriesKey
from warehouse.storage import Folder

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text()
SQL, PYTHON = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("sql", "python"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three simulated days of a few feeds."""
    folder = tmp_path_factory.mktemp("o'neill")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_HOME", str(folder))
        patch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
        patch.delenv("EMDS_FEEDS", raising=False)
        pipeline = open_context()
        for name in ("elexon.demand", "elexon.price", "elexon.interconnectors", "neso.generation", "entsoe.price"):
            feed = feeds()[name]
            ingest_days(pipeline, feed, market_days(date(2026, 11, 18), date(2026, 11, 20), feed.tz))
    analyst.build(folder)
    return folder


def test_the_page_shows_ten_queries() -> None:
    assert len(SQL) + len(PYTHON) == 10


@pytest.mark.parametrize("query", SQL, ids=lambda q: q.splitlines()[0][:40])
def test_a_query_in_sql_runs(query: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        rows = connection.execute(query).fetchall()
    # With a fixed instant all rows were first seen after the instant of the last query.
    assert rows or "as_of" in query


@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # DuckDB's own use of pandas
@pytest.mark.parametrize("program", PYTHON, ids=lambda p: p.splitlines()[0])
def test_a_query_in_python_runs(program: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    names: dict[str, object] = {}
    exec(program, names)
    assert 96 < len(names["frame"]) <= 144  # type: ignore[arg-type]


def test_day_ahead_holds_europes_headline_and_interchange_no_border(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        zones = {row[0] for row in connection.execute("SELECT DISTINCT zone FROM day_ahead").fetchall()}
        assert {"DE-LU", "FR"} <= zones
        assert "GB" not in zones
        net = connection.execute("SELECT count(*), count(DISTINCT ts) FROM interchange").fetchone()
        assert net is not None
        assert net[0] == net[1] > 0
        assert connection.execute("SELECT count(*) FROM borders WHERE counterparty IS NULL").fetchone() == (0,)


def test_every_view_and_column_has_a_comment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        views = connection.execute("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").fetchall()
        assert len(views) >= 7
        assert all(comment for _, comment in views)
        query = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
        bare = {row[0] for row in connection.execute(query).fetchall()}
        assert bare <= {"feeds", "resolutions"}


def test_as_of_is_what_the_store_reads_as_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks, corrections and two resolutions, at several instants."""
    storage, key = Folder(tmp_path), SeriesKey("US-NYISO", "demand", "MW", "1h")
    ranks = {"nyiso.load": 1, "eia.demand": 9}

    def fold(feed: str, values: list[float], known_at: int, resolution: str = "1h") -> None:
        rows, step = Rows(), 3600 if resolution == "1h" else 300
        rows.extend(key._replace(resolution=resolution), [i * step for i in range(len(values))], values)
        series.fold(storage, feed, rows, {}, ranks, known_at, "live")

    fold("eia.demand", [1.0, 2.0, 3.0], 100)
    fold("nyiso.load", [float(i) for i in range(24)], 200, "5m")
    fold("eia.demand", [1.0, 2.0, 4.0], 300)
    fold("nyiso.load", [float(-i) for i in range(24)], 400, "5m")
    analyst.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        for at in (50, 100, 250, 300, 399, 400):
            expected = series.read_as_of(storage, "US-NYISO", "demand", Window(0, 90000), at, ranks)
            query = f"SELECT ts, value, feed FROM as_of(to_timestamp({at})) ORDER BY ts"
            rows = connection.execute(query).fetchall()
            assert rows == list(zip(*(expected[name].to_pylist() for name in ("ts", "value", "feed")), strict=True)), at


def test_one_zone_and_month_opens_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 5 years of 25 zones; the time is the least of five, in CPU seconds."""
    storage = Folder(tmp_path)
    begin = instant("2021-01-01T00:00:00Z")
    from warehouse.zones import ZONES

    rows = Rows()
    for zone in ZONES:
        stamps = list(range(begin, begin + 5 * 365 * 86400, 6 * 3600))
        rows.extend(SeriesKey(zone, "demand", "MW", "1h"), stamps, [1.0] * len(stamps))
    series.fold(storage, "eia.demand", rows, {}, {"eia.demand": 1}, 1, "live")
    analyst.build(tmp_path)
    monkeypatch.chdir(tmp_path)
    query = "SELECT count(*) FROM demand WHERE zone = 'GB' AND month = '2023-05'"
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        plan = str(connection.execute(f"EXPLAIN ANALYZE {query}").fetchall())
        assert re.search(r"Total Files Read: 1\b", plan), plan
        assert connection.execute(query).fetchone() == (124,)
        took = []
        for _ in range(5):
            begun = time.process_time()
            connection.execute(query).fetchall()
            took.append(time.process_time() - begun)
    assert min(took) < 0.1, took
