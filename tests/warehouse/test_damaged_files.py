"""Check every bit: `emds verify` names each damaged, cut or unreadable file, and no response contains its data."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import date
from itertools import combinations
from pathlib import Path

import orjson
import pytest

from orchestration.work import verify
from tests.stand_ins import damage, stored_rows
from warehouse.errors import DamagedFile, StorageError, WrongMode
from warehouse.market.clock import Window
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import empty
from warehouse.series import damaged, folding, raw, restore
from warehouse.series.month_versions import Month
from warehouse.series.reader import Reader
from warehouse.store import artefact, layout, modes
from warehouse.store.storage import Folder

pytestmark = pytest.mark.slow

DAY = date(2026, 11, 2)
START = 1793577600
RANKS = {"neso.generation": 1, "eia.demand": 9}
EVERYTHING = Window(START - 86400 * 40, START + 86400 * 40)


def fold(folder: Folder, feed: str, zone: str, metric: str, values: list[float], known_at: int) -> None:
    rows = Rows()
    rows.extend(SeriesKey(zone, metric, "MW", "1h"), [START + i * 3600 for i in range(len(values))], values)
    folding.fold(folder, feed, rows, {}, RANKS, known_at, "live")


def build(home: Path) -> Folder:
    """Return a warehouse with a file of every type that has a checksum."""
    folder = Folder(home)
    for zone in ("GB", "FR"):
        fold(folder, "neso.generation", zone, "demand", [30000.5 + i for i in range(200)], 1)
        fold(folder, "neso.generation", zone, "demand", [30001.5 + i for i in range(20)], 2)
    for number in range(3):
        request = Request("neso.generation", f"https://example.org/{number}", days=(DAY,), ext="json")
        raw.KeptAnswers(folder, request.feed).keep(request, orjson.dumps({"data": [number] * 300}), number + 1, "live")
    artefact.put(folder, "latest/GB.json", orjson.dumps({"zone": "GB", "value": 30001.5}), 10)
    for layer, name, body in (
        ("plants", "geo/plants.csv", b"id,zone\r\n1,GB\r\n" * 20),
        ("zones", "geo/zones.parquet", bytes(range(256)) * 4),
    ):
        artefact.put(folder, name, body, 10)
        hashes = artefact.encode({"documents": {name: hashlib.sha256(body).hexdigest()}})
        artefact.put(folder, layout.geo_hashes(layer), hashes, 10)
    artefact.withdraw(folder, "latest/FR.json", 10)
    folder.put(layout.quarantine("neso.generation", str(DAY), "4f53cda1"), b"[]")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return build(tmp_path)


def answers(folder: Folder) -> dict[str, object]:
    """Return what each reader gets from each file, or None if it refuses the file."""
    by_reader: dict[str, object] = {}
    reader = Reader(folder, 10_000_000)

    def note(name: str, read):  # type: ignore[no-untyped-def]
        by_reader[name] = None
        with contextlib.suppress(StorageError):
            by_reader[name] = read()

    for zone in ("GB", "FR"):
        note(f"rows {zone}", lambda zone=zone: stored_rows.read(folder, zone, "demand", EVERYTHING).to_pydict())
        note(
            f"known {zone}",
            lambda zone=zone: stored_rows.read_as_of(folder, zone, "demand", EVERYTHING, 1, RANKS).to_pydict(),
        )
        note(
            f"columns {zone}",
            lambda zone=zone: [
                reader.rows(file, "net").value.tolist() for file in reader.files(zone, "demand", EVERYTHING)
            ],
        )
        note(
            f"short columns {zone}",
            lambda zone=zone: [
                reader.rows(file, "net", Window(START, START + 86400)).value.tolist()
                for file in Reader(folder, 0).files(zone, "demand", EVERYTHING)
            ],
        )
    for name in ("latest/GB.json", "latest/FR.json", "geo/plants.csv", "geo/zones.parquet"):
        note(name, lambda name=name: (document := artefact.get(folder, name)) and document.body)
    for key in folder.keys(layout.RAW):
        note(key, lambda key=key: (kept := raw.opened(folder, key)) and (kept.request, kept.body))
    return by_reader


def test_every_flipped_bit_is_found_and_none_reaches_an_answer(folder: Folder, thorough: bool) -> None:
    flips = 300 if thorough else 100
    assert verify.faults(folder) == []
    whole = answers(folder)
    assert None not in [whole[name] for name in whole if name != "latest/FR.json"]
    count = 0
    for key, _ in damage.harmed(folder.root, (damage.flip,), flips, seed=1):
        faults = verify.faults(folder)
        assert key in {fault.key for fault in faults}, key
        for name, answer in answers(folder).items():
            assert answer is None or answer == whole[name], (key, name)
        count += 1
    assert count >= flips - 10
    assert verify.faults(folder) == []


def test_cut_empty_zeroed_and_unreadable_files_are_named_and_cost_their_own_answers_alone(folder: Folder) -> None:
    whole = answers(folder)
    for key, harm in damage.harmed(folder.root, damage.HARMS, 120, seed=2):
        assert key in {fault.key for fault in verify.faults(folder)}, (key, harm)
        for name, answer in answers(folder).items():
            assert answer is None or answer == whole[name], (key, harm, name)
            zone = "GB" if "zone=GB" in key else "FR" if "zone=FR" in key else None
            if zone and not name.endswith(zone):
                assert answer == whole[name], (key, harm, name)


def test_files_that_were_swapped_are_found_and_neither_reaches_an_answer(folder: Folder) -> None:
    artefact.put(folder, "latest/BE.json", orjson.dumps({"zone": "BE", "value": 9000.5}), 10)
    whole = answers(folder)
    keys = [key for prefix in layout.KEPT for key in folder.keys(prefix)]
    for one, other in [*combinations(keys, 2)][::4]:
        bodies = folder.get(one) or b"", folder.get(other) or b""
        folder.put(one, bodies[1])
        folder.put(other, bodies[0])
        found = {fault.key for fault in verify.faults(folder)}
        assert {one, other} <= found or (layout.published("geo/") in one and {one, other} & found), (one, other)
        for name, answer in answers(folder).items():
            assert answer is None or answer == whole[name], (one, other, name)
        folder.put(one, bodies[0])
        folder.put(other, bodies[1])
    assert answers(folder) == whole


def test_a_damaged_month_stays_damaged_when_rows_are_folded(folder: Folder) -> None:
    served = layout.series("demand", "GB", "2026-11")
    [history] = folder.keys(layout.history_prefix("demand", "GB"))
    for key in (served, history):
        damage.empty(folder.path(key), damage.random.Random(1))
    fold(folder, "neso.generation", "GB", "demand", [1.0, 2.0], 5)
    with pytest.raises(DamagedFile):
        stored_rows.read(folder, "GB", "demand", EVERYTHING)
    assert folder.keys(layout.DAMAGED) == [layout.waiting(key) for key in (history, served)]
    assert {fault.key for fault in verify.faults(folder)} == set(damaged.waiting(folder)) == {served, history}


def test_a_history_that_is_gone_is_named_and_costs_what_it_held(folder: Folder) -> None:
    [history] = folder.keys(layout.history_prefix("demand", "GB"))
    folder.delete(history)
    assert [(fault.key, fault.movable) for fault in verify.faults(folder)] == [(history, True)]
    with pytest.raises(DamagedFile, match="is missing, but the month file refers to it"):
        stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 10**9, RANKS)
    fold(folder, "neso.generation", "GB", "demand", [1.0], 5)
    assert stored_rows.read(folder, "GB", "demand", EVERYTHING).num_rows == 200
    with pytest.raises(DamagedFile, match="is missing"):
        stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 10**9, RANKS)
    restore.put(folder, Month("demand", "GB", "2026-11"), empty(), RANKS, "live", None)
    assert stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 10**9, RANKS).num_rows == 200
    assert stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 4, RANKS).num_rows == 200


def test_a_history_without_its_months_file_is_named_and_kept_by_the_next_fold(folder: Folder) -> None:
    served = layout.series("demand", "GB", "2026-11")
    folder.delete(served)
    assert [(fault.key, fault.movable) for fault in verify.faults(folder)] == [(served, True)]
    fold(folder, "neso.generation", "GB", "demand", [1.0], 5)
    with pytest.raises(DamagedFile):
        stored_rows.read(folder, "GB", "demand", EVERYTHING)
    restore.put(folder, Month("demand", "GB", "2026-11"), empty(), RANKS, "live", None)
    assert stored_rows.read_as_of(folder, "GB", "demand", EVERYTHING, 1, RANKS).num_rows == 20, "what was superseded"
    assert [*map(str, verify.faults(folder))] == [f"{served}: is waiting for `emds repair`: {damaged.GONE}"]


def test_an_accounts_file_that_is_empty_cut_or_garbage_is_named(folder: Folder) -> None:
    import sqlite3

    path = folder.path(layout.ACCOUNTS)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE keys (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO keys (name) VALUES (?)", [("x" * 500,)] * 200)
        connection.commit()
    assert verify.faults(folder) == []
    body = path.read_bytes()
    for garbage in (b"", b"no database" * 900, body[: len(body) // 2], body[:8192] + bytes(4096) + body[12288:]):
        path.write_bytes(garbage)
        [line] = map(str, verify.faults(folder))
        assert line.startswith("accounts.sqlite: ")
        assert "restore it from a backup" in line


def test_accounts_that_a_full_disk_keeps_closed_are_not_called_damaged(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    def connect(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    folder.path(layout.ACCOUNTS).write_bytes(b"SQLite")
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert [*map(str, verify.faults(folder))] == ["accounts.sqlite: cannot be read: disk I/O error"]


def test_rows_of_another_mode_are_neither_folded_nor_read(folder: Folder) -> None:
    with pytest.raises(WrongMode, match="this warehouse contains live data, not simulated"):
        folding.fold(folder, "neso.generation", Rows(), {}, RANKS, 3, "simulated")
    folder.put(layout.MODE, b"simulated")
    with pytest.raises(WrongMode, match="contains live rows"):
        stored_rows.read(folder, "GB", "demand", EVERYTHING)
    rows = Rows()
    rows.extend(SeriesKey("GB", "demand", "MW", "1h"), [START], [1.0])
    with pytest.raises(WrongMode, match="contains live rows"):
        folding.fold(folder, "neso.generation", rows, {}, RANKS, 3, "simulated")


@pytest.mark.parametrize("word", [None, b"", b"liv", b"lIve", b"live simulated", b"\xff"])
def test_a_warehouse_with_rows_and_no_mode_is_refused_with_the_way_out(folder: Folder, word: bytes | None) -> None:
    if word is None:
        folder.delete(layout.MODE)
    else:
        folder.put(layout.MODE, word)
    for wanted in (None, "live", "simulated"):
        with pytest.raises(WrongMode, match="write the mode of the warehouse"):
            modes.ensure(folder, wanted)
    assert folder.get(layout.MODE) == word
    assert str(verify.faults(folder)[0]).startswith("mode: ")


def test_files_of_a_newer_release_are_refused_in_words_and_left_alone(folder: Folder) -> None:
    from warehouse.store import seal

    key = layout.series("demand", "GB", "2026-11")
    body = (folder.get(key) or b"").replace(b'{"schema":%d' % seal.SCHEMA_VERSION, b'{"schema":9')
    folder.put(key, seal.stamped(body))
    with pytest.raises(StorageError, match=r"written by another release \(schema 9"):
        fold(folder, "neso.generation", "GB", "demand", [1.0], 5)
    assert folder.keys(layout.DAMAGED) == []
