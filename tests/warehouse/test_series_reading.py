"""Test readings of the series store: what was known at a time, windows, the newest rows, and other programs."""

from __future__ import annotations

from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from assets.documents.figures import newest
from tests.stand_ins import stored_rows
from tests.warehouse.series_model import BASE, EVERYTHING, FEEDS, RANKS, WIDE, fold, resolve_again, tuples
from warehouse.market.clock import Window
from warehouse.market.feeds import Terms
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import empty
from warehouse.series import folding, month_versions, restore
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.store import layout


@pytest.mark.slow
def test_what_a_reader_got_before_is_what_as_of_gives(folder):
    """Compare the rows that were served after each fold with the rows as of the time of that fold."""
    random, then = np.random.default_rng(7), {}
    for now in range(10, 40):
        feed = FEEDS[now % 4]
        hours = int(random.integers(1, 6))
        start = BASE + int(random.integers(0, 6)) * 3600
        stated = random.integers(0, 3, hours).tolist()
        fold(folder, feed, start, stated, known_at=now, spans=[Window(start - 3600, start + hours * 3600)])
        then[now] = tuples(stored_rows.read(folder, "GB", "demand", EVERYTHING))
    for now, rows in then.items():
        assert tuples(stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, now, RANKS)) == rows


def test_newest_gives_all_fuels_of_the_last_begun_interval(folder):
    def fuels(at):
        rows = newest(Reader(folder, 0), "GB", "generation", BASE - 86400, at, ())
        return None if rows is None else [rows.labels[code].fuel for code in rows.label]

    for fuel, n in (("gas", 3), ("wind", 2)):
        fold(folder, "one.fast", BASE, range(n), metric="generation", fuel=fuel)
    assert fuels(BASE + 3600) == ["gas", "wind"]
    assert fuels(BASE + 7200) == ["gas"]
    assert fuels(BASE - 1) is None


SHAPES = {"demand": {}, "interchange": {"counterparty": "FR", "link": "ifa"}, "generation": {"fuel": "wind"}}


def test_the_series_folder_and_each_file_alone_give_other_readers_each_served_row_once(folder):
    """Read `series` and one of its files with pandas, polars and DuckDB: with borders, with fuels, with neither."""
    for zone, (metric, key) in product(("GB", "NO-2"), SHAPES.items()):
        for feed, stated in (("three.back", [1, 2, 3]), ("one.fast", [10, 20]), ("one.fast", [11, 20])):
            rows = Rows()
            for parts in ({}, key) if metric == "interchange" else (key,):
                ts = [BASE + i * 3600 for i in range(len(stated))]
                rows.extend(SeriesKey(zone, metric, "MW", "1h", **parts), ts, stated)
            folding.fold(folder, feed, rows, {}, RANKS, int(stated[0]), "live")
    columns = ["zone", "metric", "ts", "value"]
    expected = [
        tuple(row.values())
        for zone, metric in product(("GB", "NO-2"), SHAPES)
        for row in stored_rows.read(folder, zone, metric, WIDE).select(columns).to_pylist()
    ]
    assert [row[-1] for row in expected if row[1] == "demand"] == [11, 20, 3] * 2
    files = sorted(str(folder.path(key)) for key in folder.keys(layout.series_prefix()))
    apart = [row for file in files for row in by_other_readers(file, "", columns)]
    root = str(folder.root / "series")
    for rows in (by_other_readers(root, "/**/*.parquet", columns), apart):
        assert sorted(rows) == sorted(expected)


def by_other_readers(path, below, columns):
    """Return the rows that pandas, polars and DuckDB all find in a folder or file."""
    table = pd.read_parquet(path)
    assert {table[name].dtype.name for name in ("zone", "metric")} == {"category"}
    by_pandas = sorted(table[columns].astype({"zone": str, "metric": str}).itertuples(index=False, name=None))
    assert sorted(pl.scan_parquet(path).select(columns).collect().rows()) == by_pandas
    assert sorted(duckdb.sql(f"SELECT {', '.join(columns)} FROM '{path}{below}'").fetchall()) == by_pandas
    return by_pandas


TERMS = {
    "one": Terms("One Grid", "One Grid: CC BY 4.0", "Figures of One, \u00a9 2026"),
    "two": Terms("Two Grid", "Two Grid: its own", "Two"),
    "three": Terms("Three", "Three: none", "Three"),
}


def test_every_way_to_write_a_month_states_the_terms_of_its_rows_and_no_others(folder):
    place, feeds = Month("demand", "GB", "2026-10"), ("one.fast", "two.slow")
    for feed, start in zip(feeds, (0, 3600), strict=True):
        rows = Rows()
        rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [BASE + start], [1.0])
        folding.fold(folder, feed, rows, {}, RANKS, 1, "live", TERMS)
    both = Terms("One Grid, Two Grid", "One Grid: CC BY 4.0; Two Grid: its own", "Figures of One, \u00a9 2026; Two")
    assert terms_of(folder, place) == both
    only_two = {feed: rank for feed, rank in RANKS.items() if feed != "one.fast"}
    resolve_again(folder, place, only_two, TERMS)
    assert terms_of(folder, place) == TERMS["two"]
    folder.put(layout.series(*place), b"spoilt")
    restore.put(folder, place, empty(), RANKS, "live", None, TERMS)
    assert terms_of(folder, place) == TERMS["one"], "what the history holds"
    restore.put(folder, place, month_versions.read(folder, place), only_two, "live", None, TERMS)
    assert pq.ParquetFile(folder.path(layout.series(*place))).metadata.num_rows == 0
    assert terms_of(folder, place) is None


def terms_of(folder, place):
    """Return the terms that pyarrow reads in a file, or None if the file has none."""
    metadata = pq.read_metadata(folder.path(layout.series(*place))).metadata
    stated = {name: metadata[name.encode()].decode() for name in Terms._fields if name.encode() in metadata}
    return Terms(**stated) if stated else None
