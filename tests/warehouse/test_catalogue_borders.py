"""Check that the catalogue names borders without data for 14 days while the zone's other borders report."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET

from tests.stand_ins.declared import feed, source
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import layout
from warehouse.store.storage import Folder

NOW = 1_795_305_600
FEED = feed("one.flows", ["GB", "DE-LU"], [Metric.INTERCHANGE], "1h")
SOURCE = source("one", [FEED])


def described(home: Path, silent_days: int) -> list[str]:
    storage = Folder(home)
    storage.put(layout.MODE, b"live")
    for area, days in (("FR", 0), ("NL", silent_days), (None, 0)):
        rows, stamps = Rows(), range(NOW - 30 * DAY, NOW - days * DAY, HOUR)
        key = SeriesKey("GB", "interchange", "MW", "1h", counterparty=area)
        rows.extend(key, list(stamps), [1.0] * len(stamps))
        fold(storage, FEED.id, rows, {}, {FEED.id: 1}, NOW, mode="live")
    document = catalogue.publish(storage, {"one": SOURCE}, "live", (), ("one",), NOW)
    assert document.zones["DE-LU"].metrics["interchange"].borders_without_data == ()
    assert document.zones["GB"].metrics["price"].borders_without_data is UNSET
    return list(document.zones["GB"].metrics["interchange"].borders_without_data or ())


def test_a_border_silent_for_two_weeks_is_named(tmp_path: Path) -> None:
    assert described(tmp_path / "thirteen", 13) == []
    assert described(tmp_path / "fourteen", 14) == ["NL"]
