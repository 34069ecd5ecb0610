"""Check which rows a brief uses: those of 30 days and future ones, found without opening other months."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from assets.documents.figures import recent
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.series.reader import Reader
from warehouse.store import layout
from warehouse.store.storage import Folder

HOUR, DAY = 3600, 86400
NOW = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
RANKS = {"one.a": 1, "two.b": 2}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def fold(folder, start, count, feed="one.a", resolution="1h", step=HOUR, **key):
    rows = Rows()
    ts = [start + i * step for i in range(count)]
    rows.extend(SeriesKey("GB", "price", "GBP/MWh", resolution, **key), ts, [float(i) for i in range(count)])
    folding.fold(folder, feed, rows, {}, RANKS, 1, "live")


def read(folder, now=NOW, withheld=()):
    return recent(Reader(folder, 1_000_000), "GB", "price", now, withheld)


def test_nothing_where_nothing_has_begun(folder):
    assert read(folder) is None
    fold(folder, NOW + 1, 5)
    assert read(folder) is None


def test_the_rows_of_thirty_days_and_ahead(folder):
    fold(folder, NOW - 40 * DAY, 960)
    fold(folder, NOW, 10, "two.b", "15m", 900)
    recent = read(folder)
    assert recent.seconds().tolist() == [HOUR] * (len(recent.ts) - 10) + [900] * 10
    assert recent.labels[recent.label[-1]][3:7] == ("GBP/MWh", "15m", "two", "two.b")
    assert recent.ts[0] <= NOW - 30 * DAY
    assert recent.ts[-1] == NOW + 9 * 900


def test_no_other_month_is_opened(folder, monkeypatch):
    fold(folder, NOW - 400 * DAY, 402 * 24)
    keys = set()
    real = Folder.part
    monkeypatch.setattr(Folder, "part", lambda self, key, *place: keys.add(key) or real(self, key, *place))
    read(folder)
    assert keys == {layout.series("price", "GB", month) for month in ("2026-10", "2026-11")}


def test_rows_that_stopped_long_ago_are_found_with_their_30_days(folder):
    last = NOW - 500 * DAY
    fold(folder, last - 31 * DAY, 31 * 24 + 1)
    recent = read(folder)
    assert recent.ts[-1] == last
    assert recent.ts[0] <= last - 30 * DAY


def test_rows_of_withheld_feeds_are_left_out(folder):
    fold(folder, NOW - DAY, 12)
    fold(folder, NOW - 12 * HOUR, 12, "two.b")
    assert len(read(folder).ts) == 24
    assert read(folder, withheld={"two.b"}).ts[-1] == NOW - 13 * HOUR
    assert read(folder, withheld={"one.a", "two.b"}) is None


def test_a_month_that_is_replaced_between_finding_and_reading_is_found_again(folder):
    """Feeds of one zone finish at the same time: another feed's rows arrive right after every second `stat`."""

    class Busy(Folder):
        looks = 0

        def stat(self, key):
            identity = super().stat(key)
            self.looks += 1
            if identity is not None and self.looks % 2:
                fold(folder, NOW - 5 * DAY, self.looks, "two.b", counterparty="IE")
            return identity

    fold(folder, NOW - 5 * DAY, 5 * 24 + 1)
    expected = read(folder).ts.tolist()
    assert read(Busy(folder.root)).ts.tolist() == expected
    window = Window(NOW - 5 * DAY, NOW + 1)
    assert Reader(Busy(folder.root), 0).read("GB", "price", "net", window).ts.tolist() == expected
