"""Reading the series store: what was known at an instant, windows, the newest rows, and by other programs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, WIDE, fold, tuples, values
from warehouse.errors import StorageError
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store import layout
from warehouse.store.storage import Folder


def test_what_a_reader_got_before_is_what_as_of_gives(folder):
    """The rows served after each fold, asked for later by the instant of that fold."""
    random, then = np.random.default_rng(7), {}
    for now in range(10, 40):
        feed = FEEDS[now % 4]
        hours = int(random.integers(1, 6))
        start = BASE + int(random.integers(0, 6)) * 3600
        stated = random.integers(0, 3, hours).tolist()
        fold(folder, feed, start, stated, known_at=now, spans=[Window(start - 3600, start + hours * 3600)])
        then[now] = tuples(series.read(folder, "GB", "demand", EVERYTHING))
    for now, rows in then.items():
        assert tuples(series.read_as_of(folder, "GB", "demand", EVERYTHING, now, RANKS)) == rows


def opened(folder, monkeypatch):
    keys = []
    real = Folder.get

    def get(self, key):
        if key != layout.MODE:
            keys.append(key)
        return real(self, key)

    monkeypatch.setattr(Folder, "get", get)
    return keys


def test_a_reader_opens_only_the_months_of_its_window(folder, monkeypatch):
    hours = 24 * 400
    fold(folder, "one.fast", BASE - hours * 3600, range(hours))
    keys = opened(folder, monkeypatch)
    assert len(values(folder, Window(BASE - 86400, BASE))) == 24
    assert keys == [layout.series("demand", "GB", "2026-10")]
    keys.clear()
    assert len(values(folder, Window(BASE - 31 * 86400, BASE - 30 * 86400 + 1))) == 25
    assert keys == [layout.series("demand", "GB", month) for month in ("2026-09", "2026-10")]
    keys.clear()
    assert series.newest(folder, "GB", "demand", BASE).column("value").to_pylist() == [hours - 1]
    assert keys == [layout.series("demand", "GB", "2026-10")]


def test_windows_are_half_open_and_months_join(folder):
    fold(folder, "one.fast", BASE, range(8))
    assert values(folder, Window(BASE + 3600, BASE + 6 * 3600)) == [1, 2, 3, 4, 5]
    assert values(folder, Window(BASE + 1, BASE + 3600)) == []
    assert values(folder, Window(BASE, BASE)) == []
    assert len(folder.keys("series/")) == 2


def test_newest_gives_all_fuels_of_the_last_begun_interval(folder):
    for fuel, n in (("gas", 3), ("wind", 2)):
        fold(folder, "one.fast", BASE, range(n), metric="generation", fuel=fuel)
    at = BASE + 3600
    assert series.newest(folder, "GB", "generation", at).column("fuel").to_pylist() == ["gas", "wind"]
    assert series.newest(folder, "GB", "generation", at + 3600).column("fuel").to_pylist() == ["gas"]
    assert series.newest(folder, "GB", "generation", BASE - 1).num_rows == 0


def test_a_file_that_does_not_decode_is_an_error(folder):
    folder.put(layout.series("demand", "GB", "2026-10"), b"PAR1 not really PAR1")
    with pytest.raises(StorageError, match="is damaged"):
        values(folder)


def test_the_series_folder_gives_other_readers_each_served_row_once(folder):
    """pandas, polars and DuckDB over `series`; zone and metric come from the folders' names."""
    import duckdb
    import pandas as pd
    import polars as pl

    for zone in ("GB", "NO-2"):
        for feed, stated in (("three.back", [1, 2, 3]), ("one.fast", [10, 20]), ("one.fast", [11, 20])):
            rows = Rows()
            rows.extend(SeriesKey(zone, "demand", "MW", "1h"), [BASE + i * 3600 for i in range(len(stated))], stated)
            series.fold(folder, feed, rows, {}, RANKS, int(stated[0]), "live")
    columns, root = ["zone", "metric", "ts", "value"], str(folder.root / "series")
    served = [series.read(folder, zone, "demand", WIDE).select(columns).to_pylist() for zone in ("GB", "NO-2")]
    expected = [tuple(row.values()) for rows_of_zone in served for row in rows_of_zone]
    assert [value for *_, value in expected] == [11, 20, 3] * 2
    table = pd.read_parquet(root)
    assert sorted(table[columns].astype({"zone": str, "metric": str}).itertuples(index=False, name=None)) == expected
    assert sorted(pl.scan_parquet(root).select(columns).collect().rows()) == expected
    statement = f"SELECT zone, metric, ts, value FROM read_parquet('{root}/**/*.parquet', hive_partitioning=true)"
    assert sorted(duckdb.sql(statement).fetchall()) == expected
