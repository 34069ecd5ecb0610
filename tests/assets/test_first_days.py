"""Check that the first day of a feed's partitions is noted once and only moves back, even with concurrent writers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path

from assets.ingest import first_days
from assets.sources import feeds
from warehouse.store import layout
from warehouse.store.storage import Folder

FEED = feeds()["neso.generation"]


def test_only_an_older_day_is_written(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    first_days.note(storage, FEED, [])
    assert storage.stat(layout.FIRST_DAYS) is None
    first_days.note(storage, FEED, [date(2026, 3, 2), date(2026, 3, 1)])
    before = storage.stat(layout.FIRST_DAYS)
    first_days.note(storage, FEED, [date(2026, 3, 5)])
    assert storage.stat(layout.FIRST_DAYS) == before
    first_days.note(storage, FEED, [date(2025, 1, 1)])
    assert first_days.load(storage) == {FEED.id: date(2025, 1, 1)}


def test_writers_at_once_lose_no_day(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    chosen = list(feeds().values())
    with ThreadPoolExecutor(8) as pool:
        for n, feed in enumerate(chosen):
            pool.submit(first_days.note, storage, feed, [date(2026, 1, 1) + timedelta(days=n)])
    assert first_days.load(storage) == {f.id: date(2026, 1, 1) + timedelta(days=n) for n, f in enumerate(chosen)}
