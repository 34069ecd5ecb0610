"""Test monthly files that are read once and cached by identity: parts per window, eviction, concurrent writers."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.stand_ins import stored_rows
from warehouse.caches import TtlCache
from warehouse.market.clock import DAY, Window, instant
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.series.reader import MonthFile, Reader
from warehouse.series.replaced_files import FileReplaced
from warehouse.store import layout
from warehouse.store.storage import Folder
from warehouse.store.stored_bytes import Identity

RANKS = {"fine.all": 1, "hourly.all": 9}
MAY = instant("2026-05-01T00:00:00Z")


class Counting(Folder):
    """A folder that records which keys are read and looked up."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.got: list[str] = []
        self.parts: list[tuple[str, int, int]] = []
        self.tried: list[str] = []

    def get(self, key: str) -> bytes | None:
        self.got += [] if key == layout.MODE else [key]
        return super().get(key)

    def part(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        body = super().part(key, identity, start, length)
        self.parts.append((key, start, len(body or b"")))
        return body

    def stat(self, key: str):  # type: ignore[no-untyped-def]
        self.tried.append(key)
        return super().stat(key)


@pytest.fixture(scope="module")
def _filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Folder(tmp_path_factory.mktemp("ten-years"))
    rows = Rows()
    rows.extend(
        SeriesKey("GB", "demand", "MW", "1h"),
        [MAY - day * DAY for day in range(3650)],
        [float(day) for day in range(3650)],
    )
    rows.extend(SeriesKey("GB", "interchange", "MW", "5m"), [MAY + i * 300 for i in range(500)], [1.0] * 500)
    rows.extend(
        SeriesKey("GB", "interchange", "MW", "5m", counterparty="FR", link="ifa"),
        [MAY + i * 300 for i in range(500)],
        [2.0] * 500,
    )
    folding.fold(folder, "fine.all", rows, {}, RANKS, 1, "live")
    return folder.root


@pytest.fixture
def storage(_filled: Path, tmp_path: Path) -> Counting:
    """Return a copy of ten years of days with one row each, and a month of 5-minute rows with a border."""
    shutil.copytree(_filled, tmp_path, dirs_exist_ok=True)
    return Counting(tmp_path)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds of a monotonic clock that only the test moves."""
    seconds = [50.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    return seconds


@pytest.mark.slow
def test_a_day_opens_one_file_however_long_the_history_is(storage: Counting) -> None:
    reader = Reader(storage, 10_000_000)
    files = reader.files("GB", "demand", Window(MAY - 2 * DAY, MAY - DAY))
    assert [file.month for file in files] == ["2026-04"]
    assert len(storage.tried) == 1
    reader.rows(files[0], "net")
    assert storage.got == []
    assert {key for key, _, _ in storage.parts} == {"series/metric=demand/zone=GB/2026-04.parquet"}


MONTH = [float(at % 997) / 10 for at in range(31 * 288)]


@pytest.fixture
def month(storage: Counting) -> MonthFile:
    """Return the file of May with all 5-minute prices of GB."""
    rows = Rows()
    rows.extend(SeriesKey("GB", "price", "GBP/MWh", "5m"), [MAY + at * 300 for at in range(len(MONTH))], MONTH)
    folding.fold(storage, "fine.all", rows, {}, RANKS, 1, "live")
    [file] = Reader(storage, 0).files("GB", "price", Window(MAY, MAY + DAY))
    storage.got.clear()
    storage.parts.clear()
    return file


def assert_day(reader: Reader, month: MonthFile, first: int) -> None:
    """Check 288 rows of the month, starting at row `first`."""
    rows = reader.rows(month, "net", Window(MAY + first * 300, MAY + (first + 288) * 300))
    assert rows.value.tolist() == MONTH[first : first + 288]
    assert rows.ts.tolist() == [MAY + at * 300 for at in range(first, first + 288)]
    assert [label.source for label in rows.labels] == ["fine"]


def test_a_window_reads_its_own_parts_of_a_month(storage: Counting, month: MonthFile) -> None:
    reader = Reader(storage, 10_000_000)
    apart = (0, 1024, 3000, 8000)
    for first in apart:
        assert_day(reader, month, first)
    assert storage.got == []
    assert sum(length for _, _, length in storage.parts) < 4096 + 6 * 8192 + 4096
    for first in (*apart, 5, 1000, len(MONTH) - 288):
        assert_day(reader, month, first)
    before = len(storage.parts)
    assert len(reader.rows(month, "net", Window(MAY, MAY + DAY))) == 288
    assert len(reader.rows(month, "net", Window(MAY - DAY, MAY))) == 0
    assert {label.source for label in reader.labels(month, "net", Window(MAY, MAY + DAY))} == {"fine"}
    assert len(storage.parts) == before, "what is kept is not read again"
    for whole in (Window(MAY, MAY + 31 * DAY), Window(0, MAY + 400 * DAY)):
        assert reader.rows(month, "net", whole).value.tolist() == MONTH
    assert storage.got == []


def test_a_part_of_a_replaced_file_is_no_answer(storage: Counting, month: MonthFile) -> None:
    for known in (False, True):
        reader = Reader(storage, 10_000_000)
        [file] = reader.files("GB", "price", Window(MAY, MAY + DAY))
        if known:
            reader.rows(file, "net", Window(MAY, MAY + DAY))
        body = storage.get(file.key) or b""
        storage.put(file.key, body)
        with pytest.raises(FileReplaced):
            reader.rows(file, "net", Window(MAY + 20 * DAY, MAY + 21 * DAY))


def test_the_place_of_a_window_in_a_run_is_that_in_any_rows(storage: Counting) -> None:
    reader = Reader(storage, 10_000_000)
    [file] = reader.files("GB", "interchange", Window(MAY, MAY + DAY))
    run = reader.rows(file, "net")
    assert run.run
    assert not run.take(slice(None, None, -1)).run
    assert not run.take(np.arange(3)).run
    windows = [Window(MAY + at, MAY + at + long) for at in range(-600, 9000, 750) for long in (0, 1, 300, 3000, DAY)]
    for part in (run, run.take(slice(10, 20)), run.take(slice(5, 5))):
        any_ = replace(part, run=False)
        assert [part.between(window) for window in windows] == [any_.between(window) for window in windows]


def test_the_net_and_its_borders_are_apart(storage: Counting) -> None:
    reader = Reader(storage, 10_000_000)
    [file] = reader.files("GB", "interchange", Window(MAY, MAY + DAY))
    assert set(reader.rows(file, "net").value) == {1.0}
    assert {label.link for label in reader.rows(file, "borders").labels} == {"ifa"}


def test_the_past_is_what_series_read_as_of_gives(storage: Counting) -> None:
    rows = Rows()
    rows.extend(SeriesKey("GB", "interchange", "MW", "5m"), [MAY + i * 300 for i in range(100, 300)], [7.0] * 200)
    folding.fold(storage, "fine.all", rows, {}, RANKS, 5, "live")
    reader = Reader(storage, 1_000_000)
    [file] = reader.files("GB", "interchange", Window(MAY, MAY + DAY))
    for at in (0, 1, 4, 5, 4, 0):
        past = reader.past(file, None, at, RANKS)["net"]
        expected = stored_rows.net(
            stored_rows.read_as_of(storage, "GB", "interchange", Window(MAY, MAY + 30 * DAY), at, RANKS)
        )
        assert past.ts.tolist() == expected.column("ts").to_pylist()
        assert past.value.tolist() == expected.column("value").to_pylist()
        assert (7.0 in past.value) == (at == 5)


def test_a_new_file_is_another_identity(storage: Counting) -> None:
    reader = Reader(storage, 10_000_000)
    window = Window(MAY - 2 * DAY, MAY)
    [before] = reader.files("GB", "demand", window)
    old = [reader.rows(before, "net").value.tolist() for _ in range(2)]
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [MAY - DAY], [777.0])
    folding.fold(storage, "fine.all", rows, {}, RANKS, 2, "live")
    [after] = reader.files("GB", "demand", window)
    assert after != before
    assert 777.0 in reader.rows(after, "net").value
    assert reader.rows(before, "net").value.tolist() == old[0], "what was read twice may still be finished with"


def test_a_document_that_was_replaced_meanwhile_is_read_anew(storage: Counting) -> None:
    reader = Reader(storage, 0, ttl_s=60.0)
    for body in (b"one", b"another"):
        storage.put("records", body)
        assert reader.document("records", lambda body, key, mode: (body, len(body))) == body


def test_what_was_found_is_trusted_for_a_moment(now: list[float]) -> None:
    values = iter("abcdef")
    recent = TtlCache(0.2)
    assert recent.get("key", lambda: next(values)) == "a"
    now[0] += 0.19
    assert recent.get("key", lambda: next(values)) == "a"
    now[0] += 0.02
    assert recent.get("key", lambda: next(values)) == "b"
    recent.forget("key")
    assert recent.get("key", lambda: next(values)) == "c"
    assert [TtlCache(0).get("key", lambda: next(values)) for _ in range(2)] == ["d", "e"], (
        "nothing is trusted for no time"
    )


def test_a_reader_that_trusts_sees_a_new_file_within_its_time_and_never_mixes_two(
    storage: Counting, now: list[float]
) -> None:
    reader = Reader(storage, 10_000_000, ttl_s=0.2)
    window = Window(MAY - 2 * DAY, MAY)
    [before] = reader.files("GB", "demand", window)
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [MAY - DAY], [777.0])
    folding.fold(storage, "fine.all", rows, {}, RANKS, 2, "live")
    assert reader.files("GB", "demand", window) == [before]
    with pytest.raises(FileReplaced):
        reader.rows(before, "net")
    [after] = reader.files("GB", "demand", window)
    assert 777.0 in reader.rows(after, "net").value
