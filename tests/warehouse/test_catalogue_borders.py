"""The catalogue names silent borders: without a reading for 14 days while the zone's others report."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR
from warehouse.market.market import Feed, Metric, Publication, Source
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.series import fold
from warehouse.store import layout
from warehouse.store.storage import Folder

NOW = 1_795_305_600


def _nothing(*_: Any) -> Any:
    raise AssertionError("nobody is asked")


FEED = Feed(
    id="one.flows",
    title="flows",
    zones=("GB", "DE-LU"),
    metrics=(Metric.INTERCHANGE,),
    rank=1,
    resolution="1h",
    stamps="start",
    tz="UTC",
    since=date(2020, 1, 1),
    publication=Publication(lag_minutes=5),
    requests=_nothing,
    parse=_nothing,
    every_minutes=60,
)
SOURCE = Source("one", "One", "https://one.example", ("one.example",), 60, "none", "", "One", "yes", (FEED,), False)


def described(home: Path, silent_days: int) -> list[str]:
    storage = Folder(home)
    storage.put(layout.MODE, b"live")
    for area, days in (("FR", 0), ("NL", silent_days), (None, 0)):
        rows, stamps = Rows(), range(NOW - 30 * DAY, NOW - days * DAY, HOUR)
        key = SeriesKey("GB", "interchange", "MW", "1h", counterparty=area)
        rows.extend(key, list(stamps), [1.0] * len(stamps))
        fold(storage, FEED.id, rows, {}, {FEED.id: 1}, NOW, mode="live")
    document = catalogue.publish(storage, {"one": SOURCE}, "live", (), ("one",), NOW)
    assert document["zones"]["DE-LU"]["metrics"]["interchange"]["silent_borders"] == []
    assert "silent_borders" not in document["zones"]["GB"]["metrics"]["price"]
    named: list[str] = document["zones"]["GB"]["metrics"]["interchange"]["silent_borders"]
    return named


def test_a_border_silent_for_two_weeks_is_named(tmp_path: Path) -> None:
    assert described(tmp_path / "thirteen", 13) == []
    assert described(tmp_path / "fourteen", 14) == ["NL"]
