"""Run every query of docs/sql.md in order, in the folder of a simulated warehouse, and check that it returns rows."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import duckdb
import pytest

from assets import analyst
from assets.ingest.runs import ingest_days
from assets.sources import feeds
from assets.sql.database import resource
from orchestration.work.environment import open_context
from tests.stand_ins import stored_rows
from warehouse.market.clock import Window, instant, market_days
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import layout
from warehouse.store.storage import Folder

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sql.md").read_text()
SQL, PYTHON = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("sql", "python"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ingest three simulated days of a few feeds, and return the folder."""
    folder = tmp_path_factory.mktemp("o'neill")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_HOME", str(folder))
        patch.setenv("EMDS_NOW", "2026-11-20T12:00:00Z")
        patch.delenv("EMDS_FEEDS", raising=False)
        pipeline = open_context()
        for name in ("elexon.demand", "elexon.price", "elexon.interconnectors", "neso.generation", "entsoe.price"):
            feed = feeds()[name]
            ingest_days(pipeline, feed, market_days(date(2026, 11, 18), date(2026, 11, 20), feed.tz))
    analyst.build(folder, resource(folder))
    return folder


def at_noon(query: str) -> str:
    """Return `query` with the simulated time instead of `now()`."""
    return query.replace("now()", "TIMESTAMPTZ '2026-11-20 12:00:00+00'")


@pytest.mark.parametrize("query", SQL, ids=lambda q: q.splitlines()[0][:40])
def test_a_query_in_sql_runs(query: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        rows = connection.execute(at_noon(query)).fetchall()
    assert rows


def test_the_current_price_is_no_price_of_tomorrow(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulated auction reaches beyond the time of the query."""
    monkeypatch.chdir(home)
    query = at_noon(SQL[0])
    assert query != SQL[0]
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        current = {zone: local for zone, local, *_ in connection.execute(query).fetchall()}
        [[newest]] = connection.execute("SELECT max(starts_at) FROM price WHERE zone = 'DE-LU'").fetchall()
    assert newest.timestamp() > instant("2026-11-20T12:00:00Z")
    assert current["DE-LU"].isoformat() == "2026-11-20T13:00:00"


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
        assert connection.execute(query).fetchall() == []
        tables = connection.execute("SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal").fetchall()
        assert {name for name, comment in tables if comment} == {"zones", "feeds", "resolutions", "tolerances"}
        macros = "SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal"
        assert {name for name, comment in connection.execute(macros).fetchall() if comment} == {"months", "as_of"}


def test_as_of_is_what_the_store_reads_as_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows have ranks, corrections and two resolutions. Both readings are compared at several times."""
    storage, key = Folder(tmp_path), SeriesKey("US-NYISO", "demand", "MW", "1h")
    ranks = {"nyiso.load": 1, "eia.demand": 9}

    def fold(feed: str, values: list[float], known_at: int, resolution: str = "1h") -> None:
        rows, step = Rows(), 3600 if resolution == "1h" else 300
        rows.extend(key._replace(resolution=resolution), [i * step for i in range(len(values))], values)
        folding.fold(storage, feed, rows, {}, ranks, known_at, "live")

    fold("eia.demand", [1.0, 2.0, 3.0], 100)
    fold("nyiso.load", [float(i) for i in range(24)], 200, "5m")
    fold("eia.demand", [1.0, 2.0, 4.0], 300)
    fold("nyiso.load", [float(-i) for i in range(24)], 400, "5m")
    analyst.build(tmp_path, resource(tmp_path))
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        for at in (50, 100, 250, 300, 399, 400):
            expected = stored_rows.read_as_of(storage, "US-NYISO", "demand", Window(0, 90000), at, ranks)
            query = f"SELECT ts, value, feed FROM as_of(to_timestamp({at})) ORDER BY ts"
            rows = connection.execute(query).fetchall()
            assert rows == list(zip(*(expected[name].to_pylist() for name in ("ts", "value", "feed")), strict=True)), at


@pytest.fixture(scope="module")
def five_years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 1,500 monthly files of demand. DuckDB can read only two: Great Britain's May 2023, and the first file.

    DuckDB takes the columns of a view from the first file.
    """
    home = tmp_path_factory.mktemp("years")
    storage = Folder(home)
    for zone, first in (("GB", "2023-05"), (min(ZONES), "2021-01")):
        begin, rows = instant(f"{first}-01T00:00:00Z"), Rows()
        stamps = list(range(begin, begin + 31 * 86400, 6 * 3600))
        rows.extend(SeriesKey(zone, "demand", "MW", "1h"), stamps, [1.0] * len(stamps))
        folding.fold(storage, "eia.demand", rows, {}, {"eia.demand": 1}, 1, "live")
    analyst.build(home, resource(home))
    for zone in ZONES:
        for month in (f"{year}-{number:02}" for year in range(2021, 2026) for number in range(1, 13)):
            path = home / layout.series("demand", zone, month)
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"no Parquet")
    return home


@pytest.mark.parametrize(
    ("table", "listed"),
    [
        ("months('GB', 'demand', '2023-05')", 1),
        ("months('GB', 'demand', '2023-0[5]')", 1),
        ("demand WHERE zone = 'GB' AND month = '2023-05'", 1500),
        ("series WHERE metric = 'demand' AND zone = 'GB' AND month = '2023-05'", 1500),
    ],
)
def test_of_five_years_one_zone_and_month_opens_one_file(
    five_years: Path, monkeypatch: pytest.MonkeyPatch, table: str, listed: int
) -> None:
    monkeypatch.chdir(five_years)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        assert connection.execute(f"SELECT count(*), sum(value) FROM {table}").fetchone() == (124, 124.0)
        plan = str(connection.execute(f"EXPLAIN ANALYZE SELECT sum(value) FROM {table}").fetchall())
    assert re.search(r"Total Files Read: 1\b", plan), plan
    filtered = re.search(r"Scanning Files: 1/(\d+)", plan)
    assert (int(filtered[1]) if filtered else 1) == listed, plan


def test_a_pattern_of_months_is_a_span_and_none_that_is_held_is_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    with duckdb.connect(analyst.NAME, read_only=True) as connection:
        pattern = connection.execute("SELECT * FROM months('GB', 'demand', '2026-*') ORDER BY ts").fetchall()
        assert pattern == connection.execute("SELECT * FROM demand WHERE zone = 'GB' ORDER BY ts").fetchall()
        assert pattern
        with pytest.raises(duckdb.IOException, match="No files found"):
            connection.execute("SELECT * FROM months('GB', 'demand', '1999-*')")
