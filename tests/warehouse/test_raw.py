"""Test the raw archive: complete bodies, no repeats of the newest response, search by day, and retention."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.errors import DamagedFile, WrongMode
from warehouse.market.feeds import Request
from warehouse.series import raw
from warehouse.store import layout
from warehouse.store.storage import Folder

DAY = date(2026, 10, 25)


def question(url: str = "https://example.org/a", *days: date) -> Request:
    return Request("aemo.dispatch", url, params=(("from", "x"),), days=days or (DAY,), zone="GB", ext="csv")


def keep(storage: Folder, request: Request, body: bytes, fetched_at: int, mode: str) -> str | None:
    """Write a body to the raw archive as a separate run does."""
    return raw.KeptAnswers(storage, request.feed).keep(request, body, fetched_at, mode)


@given(body=st.binary(max_size=300))
@settings(max_examples=30)
def test_a_kept_body_is_a_zstd_file_with_its_question(tmp_path_factory: pytest.TempPathFactory, body: bytes) -> None:
    storage = Folder(tmp_path_factory.mktemp("raw"))
    key = keep(storage, question(), body, 1000, "live")
    assert key is not None
    assert re.fullmatch(r"raw/aemo/dispatch/2026-10-25/\d{13}-1000-[0-9a-f]{16}\.csv\.zst", key)
    kept = list(raw.find(storage, "aemo.dispatch"))
    assert [(k.body, k.request, k.fetched_at) for k in kept] == [(body, question(), 1000)]
    stored = storage.get(key) or b""
    with zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True) as stream:
        assert stream.read() == body


def test_an_equal_answer_is_not_kept_again_but_a_changed_back_one_is(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    kept = [
        keep(storage, question(), body, ts, "live") is not None
        for ts, body in enumerate([b"A", b"A", b"B", b"A", b"A"])
    ]
    assert kept == [True, False, True, True, False]
    assert [k.body for k in raw.find(storage, "aemo.dispatch")] == [b"A", b"B", b"A"]


def test_bodies_are_found_in_the_order_in_which_they_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch many responses within one second, with a clock that was ahead and is then set right."""
    storage = Folder(tmp_path)
    bodies = [str(number).encode() for number in range(20)]
    for number, body in enumerate(bodies):
        if number == 10:
            monkeypatch.setattr(time, "time_ns", lambda: 10**15)
        keep(storage, question(), body, 1000 - number, "live")
    assert [(k.body, k.fetched_at) for k in raw.find(storage, "aemo.dispatch")] == [
        (body, 1000 - number) for number, body in enumerate(bodies)
    ]


def test_a_body_comes_after_those_of_other_days_that_may_hold_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Folder(tmp_path)
    tomorrow = date(2026, 10, 26)
    ahead = 10**15
    monkeypatch.setattr(time, "time_ns", lambda: ahead * 1_000_000)
    keep(storage, question("https://example.org/a", tomorrow), b"by a clock ahead", 1, "live")
    monkeypatch.undo()
    raw.KeptAnswers(storage, "aemo.dispatch", DAY, tomorrow).keep(question(), b"later", 2, "live")
    assert [k.body for k in raw.find(storage, "aemo.dispatch")] == [b"by a clock ahead", b"later"]


def test_what_only_defeats_caches_makes_no_other_question(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    requests = [replace(question(), params=(("_", str(ts)), ("a", "1")), nonce=("_",)) for ts in (1, 2, 3)]
    assert [keep(storage, r, b"A", ts, "live") is not None for ts, r in enumerate(requests)] == [True, False, False]
    assert next(raw.find(storage, "aemo.dispatch")).request == requests[0]


def test_an_equal_answer_is_told_by_one_listing_and_no_body_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Folder(tmp_path)
    requests = [question(f"https://example.org/{number}") for number in range(30)]
    for request in requests:
        keep(storage, request, b"A", 1, "live")
    read, listed = list[str](), list[str]()
    monkeypatch.setattr(storage, "read", lambda key, of=storage.read: read.append(key) or of(key))
    monkeypatch.setattr(storage, "keys_within", lambda *of, keys=storage.keys_within: listed.append(of[0]) or keys(*of))
    kept = raw.KeptAnswers(storage, "aemo.dispatch", DAY, DAY)
    assert [kept.keep(request, b"A", 2, "live") for request in requests] == [None] * 30
    assert set(read) == {layout.MODE}
    assert len(listed) == 1


def test_an_answer_is_found_by_its_whole_question_under_whichever_day_it_lies(tmp_path: Path) -> None:
    """Distinguish files of one URL that differ only in their parameters."""
    storage, later = Folder(tmp_path), date(2026, 10, 26)
    files = [replace(question("https://example.org/a", DAY, later), params=(("id", id_),), once=True) for id_ in "123"]
    for file in files:
        keep(storage, file, file.params[0][1].encode(), 1, "live")
    kept = raw.KeptAnswers(storage, "aemo.dispatch", later, later)
    for file in files:
        found = kept.find(replace(file, days=(later,)))
        assert found is not None
        assert found.body == file.params[0][1].encode()
    assert kept.find(replace(files[0], params=(("id", "4"),))) is None


def test_find_takes_bodies_whose_days_touch_the_asked_ones(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    keep(storage, question("https://example.org/a", date(2026, 10, 1), date(2026, 10, 31)), b"month", 1, "live")
    keep(storage, question("https://example.org/b", date(2026, 11, 2)), b"later", 2, "live")
    assert [k.body for k in raw.find(storage, "aemo.dispatch", DAY, DAY)] == [b"month"]
    assert [k.body for k in raw.find(storage, "aemo.dispatch", date(2026, 11, 1))] == [b"later"]


def test_prune_keeps_the_last_answer_to_each_question_and_the_recent_ones(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    for ts, body in [(1, b"A"), (2, b"B"), (50, b"C"), (60, b"D")]:
        keep(storage, question(), body, ts, "live")
    keep(storage, question("https://example.org/b"), b"other", 1, "live")
    assert raw.prune(storage, "aemo.dispatch", before=50) == 2
    assert sorted(k.body for k in raw.find(storage, "aemo.dispatch")) == [b"C", b"D", b"other"]


def test_a_body_that_was_torn_is_set_aside_and_kept_again(tmp_path: Path) -> None:
    """Check the bytes as well, since the hash in a file's name does not prove them."""
    storage = Folder(tmp_path)
    key = keep(storage, question(), b"whole" * 100, 1, "live")
    assert key is not None
    storage.put(key, (storage.get(key) or b"")[:-9])
    with pytest.raises(DamagedFile, match="1-"):
        raw.opened(storage, key)
    assert not list(raw.find(storage, "aemo.dispatch"))
    again = keep(storage, question(), b"whole" * 100, 2, "live")
    assert again is not None
    assert [kept.body for kept in raw.find(storage, "aemo.dispatch")] == [b"whole" * 100]
    [aside] = storage.keys(layout.DAMAGED)
    assert aside.endswith(key)


def test_damaged_bodies_and_strange_files_stop_neither_search_nor_pruning(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    for ts, body in ((10, b"A"), (20, b"B"), (30, b"C")):
        keep(storage, question(), body, ts, "live")
    folder = layout.raw_prefix("aemo.dispatch", str(DAY))
    storage.put(f"{folder}15-15-deadbeefdeadbeef.csv.zst", b"no frame")
    storage.put(f"{folder}notes.txt", b"mine")
    assert len(list(raw.find(storage, "aemo.dispatch"))) == 3
    storage.put(f"{folder}16-16-deadbeefdeadbeef.csv.zst", b"")
    assert raw.prune(storage, "aemo.dispatch", before=100) == 2
    assert [kept.body for kept in raw.find(storage, "aemo.dispatch")] == [b"C"]
    assert len(storage.keys(layout.DAMAGED)) == 2


def test_bodies_of_another_mode_are_neither_kept_nor_found(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    keep(storage, question(), b"A", 1, "live")
    with pytest.raises(WrongMode):
        keep(storage, question(), b"B", 2, "simulated")
    storage.put(layout.MODE, b"simulated")
    with pytest.raises(WrongMode, match="contains live rows"):
        list(raw.find(storage, "aemo.dispatch"))
    assert not storage.keys(layout.DAMAGED)


def test_secrets_are_not_kept(tmp_path: Path) -> None:
    from warehouse.market.feeds import Secret

    storage = Folder(tmp_path)
    request = Request(
        "eia.demand", "https://example.org", days=(DAY,), secrets=(Secret("query", "api_key", ("EIA_API_KEY",)),)
    )
    keep(storage, request, b"x", 1, "live")
    assert next(raw.find(storage, "eia.demand")).request.secrets == ()
