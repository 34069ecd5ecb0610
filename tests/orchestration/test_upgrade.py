"""`emds upgrade`: a warehouse of the first release gives the same answers, wherever the upgrade was killed."""

from __future__ import annotations

import io
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from assets.event_tables import EVENTS, delete_events, tables
from assets.partitions import asset_key
from assets.sources import feeds
from orchestration import event_log, partition_status, upgrade, verify
from orchestration.cli import main
from orchestration.resources import open_context
from warehouse import artefact, clock, damaged, layout, modes, monthfile, raw, release, series
from warehouse.clock import Window
from warehouse.storage import Folder

pytestmark = pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
NOW = clock.instant("2026-11-20T12:00:00Z")
KEY = asset_key(feeds()["neso.generation"])
SPAN = Window(NOW - 5 * clock.DAY, NOW + 2 * clock.DAY)


@pytest.fixture
def old(tmp_path: Path, backfilled: Callable[..., Folder]) -> Folder:
    """A warehouse as the first release left it, with rows of two ranks and superseded values."""
    storage = backfilled(tmp_path / "home", "neso.generation", "elexon.interconnectors")
    _revise(storage)
    to_first_release(storage)
    return storage


def _revise(storage: Folder) -> None:
    """Some values of a month were other ones before."""
    rows = upgrade_rows(storage)
    series.fold(storage, "neso.generation", rows, {}, open_context().ranks, NOW + 60, "simulated")


def upgrade_rows(storage: Folder):  # type: ignore[no-untyped-def]
    from warehouse.schema import Rows, SeriesKey

    table = series.read(storage, "GB", "generation", SPAN)
    rows = Rows()
    for ts, fuel, value in zip(*(table.column(n).to_pylist()[:30] for n in ("ts", "fuel", "value")), strict=True):
        rows.extend(SeriesKey("GB", "generation", "%", "30m", fuel), [ts], [value + 1])
    return rows


def to_first_release(storage: Folder) -> None:
    """Rewrites a warehouse of this release into the first one's files."""
    for key in [*storage.keys(layout.series_prefix()), *storage.keys(layout.history_prefix())]:
        metric, zone, month, is_history = layout.of_series(key)
        table = monthfile.read(storage, key)
        assert table is not None
        out = io.BytesIO()
        pq.write_table(table, out, compression="zstd", store_schema=False, use_dictionary=True)
        storage.put(f"series/{metric}/{zone}/{month}{'.history' if is_history else ''}.parquet", out.getvalue())
        storage.delete(key)
    for key in storage.keys(layout.RAW):
        kept = raw.opened(storage, key)
        assert kept is not None
        head = orjson.dumps(kept.request)
        packed = zstandard.ZstdCompressor(level=6).compress(kept.body)
        storage.put(key, struct.pack("<II", 0x184D2A50, len(head)) + head + packed)
    for key in storage.keys(layout.published()):
        name = key.removeprefix(layout.published())
        if artefact.is_checksum(key):
            storage.delete(key)
        else:
            document, identity = artefact.get(storage, name), storage.stat(key)
            assert identity is not None
            storage.put(key, b"" if document is None else document.body, identity.version)
    for folder in [*storage.path("series").glob("metric=*/zone=*"), *storage.path("series").glob("metric=*")]:
        folder.rmdir()
    storage.delete(layout.SCHEMA)


def answers(storage: Folder) -> dict[str, object]:
    """Every series now and as of two instants, and every document but those that say when they were made."""
    ranks = open_context().ranks
    by_name: dict[str, object] = {}
    for metric, zone in sorted({place[:2] for place in series.held(storage)}):
        by_name[f"{metric} {zone}"] = series.read(storage, zone, metric, SPAN).to_pydict()
        for at in (NOW - 1, NOW + 30, NOW + 90):
            by_name[f"{metric} {zone} {at}"] = series.read_as_of(storage, zone, metric, SPAN, at, ranks).to_pydict()
    by_name["bodies"] = sorted(
        (kept.key, kept.body, kept.request) for feed in ("neso.generation",) for kept in raw.find(storage, feed)
    )
    by_name["latest"] = artefact.load(storage, layout.latest("GB"))["metrics"]
    return by_name


@pytest.fixture
def expected(old: Folder, tmp_path: Path) -> dict[str, object]:
    """What this release answers of the same rows; made from the old files by their own columns, not by `upgrade`."""
    by_name: dict[str, object] = {}
    for key in old.keys("series/"):
        _, metric, zone, name = key.split("/")
        if ".history." not in name:
            table = pq.ParquetFile(old.path(key)).read()
            by_name[f"{metric} {zone}"] = {
                column: table.column(column).cast(pa.string()).to_pylist()
                if pa.types.is_dictionary(table.column(column).type)
                else table.column(column).to_pylist()
                for column in table.column_names
            }
    return by_name


def quiet(what: str, done: int, of: int) -> None:
    pass


def test_every_verb_says_what_to_do_with_an_old_warehouse(old: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["ingest"], ["publish"], ["gaps"], ["rebuild"], ["repair"], ["doctor"], ["serve", "--port", "1"]):
        assert main(verb) == 1
        assert "run `emds upgrade`" in "".join(capsys.readouterr())
    assert main(["verify"]) == 1
    assert "run `emds upgrade`" in capsys.readouterr().out
    assert old.stat(layout.SCHEMA) is None


def test_an_upgraded_warehouse_serves_the_same_rows(
    old: Folder, expected: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    months = len(old.keys("series/"))
    forget_dagster(old)
    assert main(["upgrade"]) == 0
    assert f"{months} month files" in capsys.readouterr().out
    with event_log.instance(old.root) as instance:
        assert instance.get_materialized_partitions(KEY) == {"2026-11-18", "2026-11-19", "2026-11-20"}
        assert list(partition_status.differences(instance, open_context())) == []
    served = answers(old)
    assert {name: served[name] for name in expected} == expected
    assert served[f"generation GB {NOW - 1}"] != served[f"generation GB {NOW + 90}"]
    assert main(["verify"]) == 0
    assert not [key for key in old.keys("series/") if not layout.is_month_file(key)]
    assert main(["upgrade"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def forget_dagster(old: Folder) -> None:
    """Of the first release: no first days, and of a feed's days only some marked."""
    old.delete(layout.FIRST_DAYS)
    gone = (EVENTS.c.asset_key == KEY.to_string()) & EVENTS.c.partition.in_(["2026-11-18", "2026-11-19"])
    with event_log.instance(old.root) as instance, tables(instance) as connection:
        assert delete_events(connection, gone)


def _kept(storage: Folder) -> dict[str, bytes | None]:
    skipped = ("locks/", "scratch/", "dagster/")
    return {key: storage.get(key) for key in storage.keys("") if not key.startswith(skipped)}


def test_an_upgrade_that_is_killed_anywhere_goes_on(
    old: Folder, tmp_path: Path, killed_at: Callable[[Callable[[], object], int], bool]
) -> None:
    thin = [*old.keys(layout.RAW)[2:], *old.keys("dagster/"), *old.keys("published/geo/")[2:]]
    thin += [*old.keys("published/latest/")[4:], *old.keys("published/windows/")[4:]]
    for key in [*thin, *old.keys("published/brief/"), *old.keys("published/health/")]:
        old.delete(key)
    for folder in ("dagster", "locks"):
        shutil.rmtree(old.path(folder), ignore_errors=True)
    whole = Folder(tmp_path / "whole")
    shutil.copytree(old.root, whole.root)
    upgrade.upgrade(whole, quiet)
    wanted = _kept(whole)
    step, killed, tried = 1, True, 0
    while killed:
        copy = Folder(tmp_path / f"copy{step}")
        shutil.copytree(old.root, copy.root)
        killed = killed_at(lambda copy=copy: upgrade.upgrade(copy, quiet), step)
        upgraded = release.version_of(copy) == 2
        assert not upgraded or _kept(copy) == wanted, "the version is written last"
        upgrade.upgrade(copy, quiet)
        kept = _kept(copy)
        assert kept == wanted, step
        shutil.rmtree(copy.root)
        tried += 1
        step += 7
    assert tried > 5
    assert verify.broken(whole) == []


def test_damaged_old_files_are_set_aside_and_the_rest_is_upgraded(
    old: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    month = "series/generation/GB/2026-11.parquet"
    old.put(month, (old.get(month) or b"")[:200])
    body = old.keys("raw/elexon/")[0]
    old.put(body, (old.get(body) or b"")[:-5])
    old.put("published/snapshot.json", b'{"zones":')
    assert main(["upgrade"]) == 1
    assert "3 files were damaged" in capsys.readouterr().out
    assert {damage.key for damage in damaged.listed(old)} == {
        layout.series("generation", "GB", "2026-11"),
        body,
        "published/snapshot.json",
    }
    assert main(["repair"]) == 0
    assert series.read(old, "GB", "generation", SPAN).num_rows > 2 * 48 * 9


def test_a_newer_warehouse_is_refused_in_words(old: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    old.put(layout.SCHEMA, b"9\n")
    for verb in ("upgrade", "ingest", "repair", "publish"):
        assert main([verb]) == 1
        assert "written by a newer release (schema 9, this one knows 2)" in capsys.readouterr().err
    old.put(layout.SCHEMA, b"two")
    assert main(["upgrade"]) == 1
    assert "holds 'two' and no version" in capsys.readouterr().err


def test_an_old_warehouse_without_its_mode_is_not_guessed_at(old: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    old.delete(layout.MODE)
    assert main(["upgrade"]) == 1
    assert "mode" in capsys.readouterr().err
    old.put(layout.MODE, b"simulated")
    assert main(["upgrade"]) == 0
    assert modes.of(old) == "simulated"


def test_an_upgrade_that_was_killed_behind_its_last_file_brings_dagster_in_line(
    tmp_path: Path, backfilled: Callable[..., Folder], capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    backfilled(home, "neso.generation")
    shutil.rmtree(home / "dagster")
    (home / "dagster").mkdir()
    for said in ("of Dagster's partitions were another than what is held", ""):
        assert upgrade.main() == 0
        printed = capsys.readouterr().out
        assert "nothing to do: this warehouse is of this release" in printed
        assert (said in printed) if said else ("partitions" not in printed)


@pytest.mark.parametrize("whole", [True, False])
def test_an_upgrade_that_cannot_bring_dagster_in_line_says_so(
    old: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], whole: bool
) -> None:
    if not whole:
        assert upgrade.main() == 0
    monkeypatch.setattr(event_log, "instance", lambda _: None)
    assert upgrade.main() == 1
    assert "could not be brought in line" in capsys.readouterr().out
