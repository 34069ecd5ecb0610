"""Check the views of warehouse.duckdb and of connections from the resource `duckdb`, over a folder and a bucket."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from assets import analyst
from assets.sql.database import open_views, resource
from tests.stand_ins.places import BucketPlace, FolderPlace
from warehouse.market.clock import instant
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store import layout
from warehouse.store.storage import Folder, Storage

RANKS = {"a.best": 1, "b.other": 2}


def fold(storage: Storage, feed: str, zone: str, values: list[float]) -> None:
    """Fold hourly demand from the last hour (UTC) of October onwards."""
    rows, begin = Rows(), instant("2026-10-31T23:00:00Z")
    rows.extend(SeriesKey(zone, "demand", "MW", "1h"), [begin + i * 3600 for i in range(len(values))], values)
    folding.fold(storage, feed, rows, {}, RANKS, 1, "live")


def test_views_hold_the_months_asked_for_with_every_version(place: FolderPlace | BucketPlace) -> None:
    storage = place.open()
    fold(storage, "b.other", "GB", [1.0, 2.0, 3.0])
    fold(storage, "a.best", "GB", [5.0, 6.0])
    fold(storage, "b.other", "FR", [7.0])
    duckdb = resource(storage.local)
    with open_views(duckdb, storage, ["2026-11"]) as connection:
        served = connection.sql("SELECT zone, metric, value, feed FROM series ORDER BY ts").fetchall()
        assert served == [("GB", "demand", 6.0, "a.best"), ("GB", "demand", 3.0, "b.other")]
        assert connection.sql("SELECT value FROM demand EXCEPT SELECT value FROM versions").fetchall() == []
        assert connection.execute("SELECT count(*) FROM versions").fetchone() == (3,)
        assert connection.execute("SELECT count(*) FROM price").fetchone() == (0,)
    with open_views(duckdb, storage, ["2026-10", "2026-11"]) as connection:
        assert connection.sql("SELECT zone, count(*) FROM demand GROUP BY ALL ORDER BY 1").fetchall() == [
            ("FR", 1),
            ("GB", 3),
        ]
    with open_views(duckdb, storage, ["1999-01"]) as connection:
        assert connection.execute("SELECT count(*) FROM series").fetchone() == (0,)


def test_a_file_with_columns_of_zone_and_metric_reads_as_one_without(place: FolderPlace | BucketPlace) -> None:
    """Only one of the two files in the view has these columns, as dictionaries."""
    storage = place.open()
    for zone in ("FR", "GB"):
        fold(storage, "a.best", zone, [1.0])
    key = layout.series("demand", "GB", "2026-10")
    table = pq.read_table(io.BytesIO(storage.get(key) or b""))
    for name, word in (("zone", "GB"), ("metric", "demand")):
        indices = pa.array([0] * table.num_rows, pa.int32())
        table = table.append_column(name, pa.DictionaryArray.from_arrays(indices, pa.array([word])))
    pq.write_table(table, out := io.BytesIO())
    storage.put(key, out.getvalue())
    with open_views(resource(storage.local), storage, ["2026-10"]) as connection:
        rows = connection.sql("SELECT zone, metric, value FROM demand ORDER BY zone").fetchall()
    assert rows == [("FR", "demand", 1.0), ("GB", "demand", 1.0)]


def test_an_empty_warehouse_has_views_without_rows_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    def count(view: str) -> tuple[int] | None:
        with duckdb.connect(str(tmp_path / analyst.NAME), read_only=True) as connection:
            connection.execute(f"SET file_search_path = '{tmp_path}'")
            return connection.execute(f"SELECT count(*) FROM {view}").fetchone()

    views = analyst.build(tmp_path, resource(tmp_path))
    assert count("day_ahead") == (0,)
    fold(Folder(tmp_path), "a.best", "GB", [1.0])
    assert analyst.build(tmp_path, resource(tmp_path)) == views
    assert count("demand") == (1,)
    assert not list((tmp_path / "scratch").glob(f"*{analyst.NAME}*"))


def test_a_damaged_month_costs_itself_and_no_other_its_comparison(tmp_path: Path) -> None:
    storage, duckdb = Folder(tmp_path), resource(tmp_path)
    for zone, values in (("GB", [1.0, 2.0, 3.0]), ("FR", [1.0, 2.0, 3.0, 4.0])):
        fold(storage, "a.best", zone, values)
    assert analyst.compare(duckdb, storage, ["2026-11"])[1:] == (5, [])
    month = tmp_path / layout.series("demand", "FR", "2026-11")
    month.write_bytes(month.read_bytes()[:-40])
    evaluations, compared, left_out = analyst.compare(duckdb, storage, ["2026-11"])
    assert compared == 2
    assert len(evaluations) == len(analyst.RULES)
    assert [line.partition(" ")[0] for line in left_out] == [layout.series("demand", "FR", "2026-11")]
