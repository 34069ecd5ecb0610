"""Test what `emds repair` and the next run repair, and the commands of docs/operating.md on damage and backup."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assets.ingest import first_days, refresh
from assets.sources import feeds
from orchestration.cli import main
from orchestration.work import verify
from tests.orchestration.conftest import in_simulated
from tests.stand_ins import damage, stored_rows
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.succession import identities
from warehouse.rows.versions import LIVE
from warehouse.series import damaged, folding, month_versions, monthfile
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
ROOT = Path(__file__).resolve().parents[2]
NOW = clock.instant("2026-11-20T12:00:00Z")
SPAN = Window(NOW - 5 * clock.DAY, NOW + 2 * clock.DAY)
CHANCE = random.Random(7)


@pytest.fixture
def storage(tmp_path: Path, backfilled: Callable[..., Folder]) -> Folder:
    """Return a simulated warehouse with three days of GB's mix."""
    return backfilled(tmp_path / "home", "neso.generation")


def mix(storage: Folder) -> list[tuple[int, str, float]]:
    table = stored_rows.read(storage, "GB", "generation", SPAN)
    return list(zip(*(table.column(name).to_pylist() for name in ("ts", "fuel", "value")), strict=True))


MONTH = layout.series("generation", "GB", "2026-11")


def test_a_repair_makes_every_kind_of_file_good(storage: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    before, snapshot = mix(storage), artefact.load(storage, layout.SNAPSHOT)
    body = storage.keys(layout.RAW)[0]
    damage.empty(storage.path(MONTH), CHANCE)
    damage.flip(storage.path(layout.published(layout.latest("GB"))), CHANCE)
    damage.cut(storage.path(layout.published("geo/plants.csv")), CHANCE)
    damage.cut(storage.path(layout.published(layout.geo_hashes("zones"))), CHANCE)
    damage.endless_link(storage.path(layout.published(layout.SNAPSHOT)), CHANCE)
    (storage.root / layout.MODE).write_bytes(b"simul")
    storage.put(f"{layout.RAW}neso/generation/2026-01-01/1-1-deadbeefdeadbeef.json.zst", b"torn")
    assert main(["verify"]) == 1
    capsys.readouterr()
    assert main(["repair"]) == 1, "emds cannot tell whether this data is simulated"
    assert "write the mode of the warehouse into the file" in capsys.readouterr().err
    storage.put(layout.MODE, b"simulated")
    assert main(["repair"]) == 0
    output = capsys.readouterr().out
    assert "\n6 damaged files moved aside, 0 problems remain" in output
    assert f"{MONTH}: rebuilt from the raw archive. Run `emds gaps` to see what is still missing" in output
    assert mix(storage) == before
    assert storage.stat(body) is not None
    assert artefact.load(storage, layout.SNAPSHOT)["zones"] == snapshot["zones"]
    assert len(artefact.get(storage, "geo/plants.csv").body) > 10_000  # type: ignore[union-attr]
    assert main(["verify"]) == 0


def test_a_repair_decodes_and_publishes_what_it_repairs_alone(
    tmp_path: Path,
    backfilled: Callable[..., Folder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    storage = backfilled(tmp_path / "home", "neso.generation", "rte.eco2mix")
    before, decoded, published = mix(storage), list[str](), list[object]()
    read, publish = monthfile.month, refresh.publish
    monkeypatch.setattr(monthfile, "month", lambda storage, key: decoded.append(key) or read(storage, key))
    monkeypatch.setattr(
        refresh, "publish", lambda storage, zones=None: published.append(zones) or publish(storage, zones=zones)
    )
    assert main(["repair"]) == 0
    assert (decoded, published) == ([], [])
    damage.flip(storage.path(MONTH), CHANCE)
    assert main(["repair"]) == 0
    assert (decoded, published) == ([MONTH], [{"GB"}])
    assert mix(storage) == before


def test_a_repair_of_named_files_reads_no_other(
    storage: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, body = mix(storage), storage.keys(layout.RAW)[0]
    damage.flip(storage.path(MONTH), CHANCE)
    damage.flip(storage.path(layout.published(layout.SNAPSHOT)), CHANCE)
    monkeypatch.setattr(Folder, "unreadable", lambda *_: pytest.fail("walks through the warehouse"))
    assert main(["repair", layout.published(layout.SNAPSHOT)]) == 0
    assert "1 damaged files moved aside, 0 problems remain" in capsys.readouterr().out
    assert main(["repair", MONTH, body]) == 0
    assert mix(storage) == before
    assert main(["repair", "month/GB.parquet"]) == 2
    monkeypatch.undo()
    in_simulated(monkeypatch, storage.root)
    assert main(["verify"]) == 0


def test_the_next_ingest_heals_by_itself(storage: Folder) -> None:
    """Check that the whole month and every document return, although the run stores only today's rows."""
    before = mix(storage)
    for harm in (damage.empty, damage.flip, damage.endless_link):
        harm(storage.path(MONTH), CHANCE)
        assert main(["ingest", "--feed", "neso.carbon_intensity"]) == 0
        assert mix(storage) == before, harm.__name__
        assert artefact.load(storage, layout.latest("GB"))["generation_mix"]["unit"] == "%"
    assert verify.faults(storage) == []
    assert [key.endswith(MONTH) for key in storage.keys(layout.DAMAGED)] == [True] * 3


@pytest.mark.parametrize("loss", ["cut", "gone"])
def test_rows_lost_with_their_kept_bytes_are_gaps_until_they_were_asked_for_again(
    storage: Folder, capsys: pytest.CaptureFixture[str], loss: str
) -> None:
    before = mix(storage)
    for key in (MONTH, *storage.keys(layout.raw_prefix("neso.generation"))):
        if loss == "cut":
            damage.cut(storage.path(key), CHANCE)
        else:
            storage.delete(key)
    assert main(["repair"]) == 0
    told = capsys.readouterr().out
    assert "Run `emds gaps` to see what is still missing" in told
    assert mix(storage) == []
    assert main(["verify"]) == 0
    gaps = ["gaps", "--feed", "neso.generation", "--days", "2"]
    assert main(gaps) == 1
    assert "neso.generation            GB        generation       2026-11-18   48 intervals" in capsys.readouterr().out
    assert main(["backfill", *gaps[1:], "--missing"]) == 0
    assert mix(storage) == before


@pytest.mark.parametrize("verb", ["repair", "publish"])
def test_a_month_file_that_is_gone_is_named_and_made_again(
    storage: Folder, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    before = mix(storage)
    storage.delete(MONTH)
    assert main(["verify"]) == 1
    assert f"{MONTH}: {damaged.GONE}\n1 broken" in capsys.readouterr().out
    assert main([verb]) == 0
    assert mix(storage) == before
    assert main(["verify"]) == 0
    assert damaged.waiting(storage) == []


def test_a_warehouse_without_its_mode_is_refused_as_a_copy_that_was_stopped(
    storage: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.delete(layout.MODE)
    for verb in ("ingest", "publish", "rebuild", "repair"):
        assert main([verb]) == 1
        assert "If a copy was interrupted, run `emds copy` again" in capsys.readouterr().err
    assert storage.stat(layout.MODE) is None


@pytest.mark.parametrize(("lost", "verb"), [("series", "rebuild"), ("history", "repair")])
def test_a_restore_of_one_file_without_the_other_is_named_and_made_good(
    storage: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lost: str, verb: str
) -> None:
    rows = Rows()
    rows.extend(SeriesKey("GB", "generation", "%", "30m", "wind"), [NOW - 2 * clock.DAY], [99.0])
    ranks = {one.id: one.rank for one in feeds().values()}
    folding.fold(storage, "neso.generation", rows, {}, ranks, NOW + 60, "simulated")
    served, [history] = mix(storage), storage.keys(layout.history_prefix("generation", "GB"))
    storage.delete(MONTH if lost == "series" else history)
    assert main(["verify"]) == 1
    assert (MONTH if lost == "series" else history) in capsys.readouterr().out
    assert main([verb]) == 0
    assert main(["verify"]) == 0
    assert len(mix(storage)) == len(served)
    whole = month_versions.read(storage, month_versions.Month("generation", "GB", "2026-11"))
    live = whole.take(whole.superseded_at == LIVE)
    readings = identities(live)
    assert len(np.unique(readings)) == len(readings), "no reading is live twice"


def test_simulated_files_in_a_live_warehouse_are_named_and_stay_where_they_are(
    storage: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.put(layout.MODE, b"live")
    assert main(["repair"]) == 1
    assert f"{MONTH} contains simulated rows, but this warehouse is live" in capsys.readouterr().out
    assert storage.stat(MONTH) is not None
    assert not [name for name in storage.keys(layout.DAMAGED) if "parquet" in name]


def _blocks(heading: str) -> list[str]:
    page = (ROOT / "docs" / "operating.md").read_text()
    section = page[page.index(f"\n## {heading}\n") :].split("\n## ")[1]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def test_every_command_of_the_page_runs(
    storage: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sqlite3

    with sqlite3.connect(storage.path(layout.ACCOUNTS)) as accounts:
        accounts.execute("CREATE TABLE keys (id INTEGER PRIMARY KEY)")
        accounts.execute("INSERT INTO keys VALUES (41)")
    accounts.close()
    before = mix(storage)
    sections = [_blocks(name) for name in ("Back up and restore", "Repair damaged files")]
    assert [len(blocks) for blocks in sections] == [2, 1]
    backup, restore = sections[0]
    _shell(backup, tmp_path)
    copy, *verbs = restore.splitlines()
    _shell(copy, tmp_path)
    assert verbs == ['EMDS_HOME="$RESTORED" emds verify', 'EMDS_HOME="$RESTORED" emds publish']
    monkeypatch.setenv("EMDS_HOME", str(tmp_path / "restored"))
    assert [main(["verify"]), main(["publish"])] == [0, 0], capsys.readouterr()
    monkeypatch.setenv("EMDS_HOME", str(storage.root))
    damage.cut(storage.path(MONTH), CHANCE)
    restored = Folder(tmp_path / "restored")
    assert mix(restored) == before
    with sqlite3.connect(restored.path(layout.ACCOUNTS)) as accounts:
        assert accounts.execute("SELECT id FROM keys").fetchall() == [(41,)]
    accounts.close()
    assert re.findall(r"^emds (\w+) +#", sections[1][0], re.MULTILINE) == ["verify", "repair"]
    assert [main(["verify"]), main(["repair"])] == [1, 0], capsys.readouterr()
    assert mix(storage) == before


def _shell(commands: str, place: Path) -> None:
    extra = {"BACKUP": str(place / "backup"), "RESTORED": str(place / "restored")}
    done = subprocess.run(
        ["bash", "-ec", commands], env=os.environ | extra, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


HARMS = {
    layout.FIRST_DAYS: b'{"aemo',
    layout.attempts("elexon", "2026-11"): b"garbage",
    layout.PRUNED: b"\xff not a number",
    "published/health/elexon.json": b'{"source": "elexon", "fee',
}
"""Damaged bookkeeping, which is stored beside rows and documents."""


@pytest.mark.parametrize("body", [b'{"aemo', b"[]", b'{"elexon.demand": "x"}', b'{"elexon.demand": 3}'])
def test_damaged_first_days_are_written_over_by_no_note(tmp_path: Path, body: bytes) -> None:
    storage = Folder(tmp_path)
    storage.put(layout.FIRST_DAYS, body)
    assert first_days.load(storage) == {}
    with pytest.raises(DamagedFile):
        first_days.note(storage, feeds()["neso.generation"], [clock.local_date(NOW, "UTC")])
    assert storage.get(layout.FIRST_DAYS) == body, "a repair may still set it aside"


def test_damaged_bookkeeping_costs_no_row_and_no_document_and_is_mended(storage: Folder) -> None:
    for key, body in HARMS.items():
        storage.put(key, body)
    for path in (storage.root / "dagster").rglob("*.db"):
        path.write_bytes(b"garbage" * 1000)
    assert main(["doctor"]) in (0, 1)
    assert main(["ingest", "--feed", "elexon.demand"]) == 0
    latest = artefact.load(storage, layout.latest("GB"))
    assert {"demand"} <= set(latest["metrics"])
    assert latest["generation_mix"]["unit"] == "%"
    assert main(["repair"]) == 0
    assert {fault.key for fault in verify.faults(storage)} == set()


def test_rows_are_stored_where_dagsters_home_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_simulated(monkeypatch, tmp_path)
    (tmp_path / "dagster").touch()
    assert main(["ingest", "--feed", "neso.generation"]) == 0
    assert "Dagster's storage: FileExistsError" in caplog.text
    assert list(Folder(tmp_path).keys(layout.series_prefix()))
