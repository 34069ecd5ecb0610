"""How feeds were asked: counts add up, spans go on over short pauses and month ends, a damaged file stops nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from warehouse.documents import attempts
from warehouse.documents.attempts import MOST_SPANS
from warehouse.errors import DamagedFile
from warehouse.market.clock import HOUR, instant
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


def test_asking_without_a_long_pause_is_one_span(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    for at in (T, T + 600, T + 1200, T + HOUR * 5, T + HOUR * 5 + 600):
        attempts.note(storage, FEED, at, 1, {}, 900)
    kept = attempts.load(storage, "elexon", "2026-11")[FEED]
    assert kept.watched == ((T, T + 1200), (T + HOUR * 5, T + HOUR * 5 + 600))


def test_a_run_that_asks_for_past_days_only_watches_nothing(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    attempts.note(storage, FEED, T, 1, {}, 900)
    attempts.note(storage, FEED, T + 600, 1, {}, None)
    assert attempts.load(storage, "elexon", "2026-11")[FEED].watched == ((T, T),)


def test_a_span_goes_on_over_the_end_of_a_month(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    end = instant("2026-12-01T00:00:00Z")
    attempts.note(storage, FEED, end - 500, 1, {}, 900)
    attempts.note(storage, FEED, end + 100, 1, {}, 900)
    attempts.note(storage, FEED, end + 700, 1, {}, 900)
    assert attempts.load(storage, "elexon", "2026-12")[FEED].watched == ((end - 500, end + 700),)


def test_the_number_of_spans_is_bounded(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    for number in range(MOST_SPANS + 20):
        attempts.note(storage, FEED, T + number * 1000, 1, {}, 900)
    watched = attempts.load(storage, "elexon", "2026-11")[FEED].watched
    assert len(watched) == MOST_SPANS
    assert watched[-1][0] == T + (MOST_SPANS + 19) * 1000, "the oldest go"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"feeds": {"elexon.price": {}}}', b'{"feeds": 3}', b"null"])
def test_a_damaged_file_is_typed_for_readers_and_begun_anew_by_writers(tmp_path: Path, body: bytes) -> None:
    storage = Folder(tmp_path)
    storage.put(layout.attempts("elexon", "2026-11"), body)
    with pytest.raises(DamagedFile):
        attempts.load(storage, "elexon", "2026-11")
    attempts.note(storage, FEED, T, 1, {}, 900)
    assert attempts.load(storage, "elexon", "2026-11")[FEED].runs == 1
