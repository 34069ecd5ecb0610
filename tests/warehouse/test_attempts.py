"""How feeds were asked: counts add up, spans go on over short pauses and month ends, a damaged file stops nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.documents import attempts
from warehouse.errors import DamagedFile
from warehouse.market.clock import instant
from warehouse.store import layout
from warehouse.store.storage import Folder

FEED = "elexon.price"
T = instant("2026-11-20T00:00:00Z")


def test_requests_and_failures_add_up(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    attempts.note(storage, FEED, T, 3, {"server": 1}, None)
    attempts.note(storage, FEED, T + 60, 2, {"server": 1, "network": 2}, None)
    attempts.note(storage, "elexon.demand", T, 1, {}, None)
    kept = attempts.load(storage, "elexon", "2026-11")
    assert kept[FEED] == attempts.Attempts(2, 5, {"server": 2, "network": 2}, ())
    assert kept["elexon.demand"].requests == 1
    assert attempts.load(storage, "elexon", "2026-10") == {}


def test_a_run_that_asks_for_past_days_only_watches_nothing(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    attempts.note(storage, FEED, T, 1, {}, 900)
    attempts.note(storage, FEED, T + 600, 1, {}, None)
    assert attempts.load(storage, "elexon", "2026-11")[FEED].watched == ((T, T),)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"feeds": {"elexon.price": {}}}', b'{"feeds": 3}', b"null"])
def test_a_damaged_file_is_typed_for_readers_and_begun_anew_by_writers(tmp_path: Path, body: bytes) -> None:
    storage = Folder(tmp_path)
    storage.put(layout.attempts("elexon", "2026-11"), body)
    with pytest.raises(DamagedFile):
        attempts.load(storage, "elexon", "2026-11")
    attempts.note(storage, FEED, T, 1, {}, 900)
    assert attempts.load(storage, "elexon", "2026-11")[FEED].runs == 1
