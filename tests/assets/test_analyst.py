"""warehouse.duckdb: documented views over what is served and over every version, rebuilt whole. No service reads it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets import analyst
from assets.sql.database import resource
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store import layout
from warehouse.store.storage import Folder

HOUR = 3600
RANKS = {"a.best": 1, "b.other": 2}
VIEWS = 14


def fold(storage: Folder, feed: str, values: list[float], known_at: int) -> None:
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [i * HOUR for i in range(len(values))], values)
    series.fold(storage, feed, rows, {}, RANKS, known_at, "live")


def ask(home: Path, question: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home / analyst.NAME), read_only=True) as connection:
        connection.execute("SET file_search_path = '" + str(home).replace("'", "''") + "'")
        return connection.execute(question).fetchall()


def test_views_tell_what_is_served_and_every_version(tmp_path: Path) -> None:
    home = tmp_path / "o'neill"
    storage = Folder(home)
    fold(storage, "b.other", [10.0, 20.0, 30.0], 1)
    fold(storage, "a.best", [1.0, 2.0], 2)
    fold(storage, "a.best", [1.0, 2.5], 3)
    assert analyst.build(home, resource(home)) == VIEWS
    served = [(0, 1.0, "a.best"), (HOUR, 2.5, "a.best"), (2 * HOUR, 30.0, "b.other")]
    assert ask(home, "SELECT ts, value, feed FROM demand ORDER BY ts") == served
    assert ask(home, "SELECT ts, value, feed FROM series ORDER BY ts") == served
    assert ask(home, "SELECT value, superseded_at FROM versions WHERE superseded_at IS NOT NULL") == [(2.0, 3)]
    assert ask(home, "SELECT count(*) FROM versions") == [(6,)]
    comments = dict(ask(home, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"))  # type: ignore[arg-type]
    assert all(comments[name] for name in ("demand", "series", "versions"))


def test_an_empty_warehouse_has_views_without_rows_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    assert analyst.build(tmp_path, resource(tmp_path)) == VIEWS
    assert ask(tmp_path, "SELECT count(*) FROM day_ahead") == [(0,)]
    fold(Folder(tmp_path), "a.best", [1.0], 1)
    assert analyst.build(tmp_path, resource(tmp_path)) == VIEWS
    assert ask(tmp_path, "SELECT count(*) FROM demand") == [(1,)]
    assert not list((tmp_path / "scratch").glob(f"*{analyst.NAME}*"))


def test_a_damaged_month_costs_itself_and_no_other_its_comparison(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    fold(storage, "a.best", [1.0, 2.0], 1)
    rows = Rows()
    rows.extend(SeriesKey("FR", "demand", "MW", "1h"), [0, HOUR, 2 * HOUR], [1.0, 2.0, 3.0])
    series.fold(storage, "a.best", rows, {}, RANKS, 1, "live")
    assert analyst.compare(resource(tmp_path), storage, ["1970-01"])[1:] == (5, [])
    month = tmp_path / layout.series("demand", "FR", "1970-01")
    month.write_bytes(month.read_bytes()[:-40])
    verdicts, compared, left_out = analyst.compare(resource(tmp_path), storage, ["1970-01"])
    assert compared == 2
    assert len(verdicts) == len(analyst.RULES)
    assert [line.partition(" ")[0] for line in left_out] == [layout.series("demand", "FR", "1970-01")]
