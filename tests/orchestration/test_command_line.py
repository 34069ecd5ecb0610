"""The command line: wrong use ends with 2, a failure with 1 and one line; replay lists what Dagster's log holds."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from assets.partitions import asset_key
from assets.sources import feeds
from orchestration.cli import main
from orchestration.jobs import recording
from orchestration.servers import dagster_home
from tests.orchestration.conftest import in_simulated
from tests.stand_ins import stored_rows
from warehouse.documents import catalogue, health
from warehouse.errors import UNKNOWN_MEMBER
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.store import layout
from warehouse.store.storage import Folder

MIX = {
    "data": [
        {
            "from": f"2026-10-25T{h:02d}:{m:02d}Z",
            "to": "",
            "generationmix": [
                {"fuel": fuel, "perc": 11.1}
                for fuel in ("biomass", "coal", "imports", "gas", "nuclear", "other", "hydro", "solar", "wind")
            ],
        }
        for h in range(24)
        for m in (0, 30)
    ]
}
for entry in MIX["data"]:
    hour, minute = int(str(entry["from"])[11:13]), int(str(entry["from"])[14:16])
    ends = hour * 60 + minute + 30
    entry["to"] = f"2026-10-{25 + ends // 1440}T{ends // 60 % 24:02d}:{ends % 60:02d}Z"


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a day of GB's mix, an error body, and an answer of a feed that nobody knows."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "mix.json").write_text(json.dumps(MIX))
    (folder / "denied.html").write_text("<html>denied</html>")
    (folder / "MANIFEST.json").write_text(
        json.dumps(
            [
                {"file": "mix.json", "feed": "neso.generation", "zone": "GB", "day": "2026-10-25", "http_status": 200},
                {
                    "file": "denied.html",
                    "feed": "neso.carbon_intensity",
                    "zone": "GB",
                    "day": "2026-10-25",
                    "http_status": 503,
                },
                {"file": "mix.json", "feed": "nobody.knows", "zone": None, "day": None, "http_status": 200},
            ]
        )
    )
    monkeypatch.setenv("EMDS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMDS_NOW", "2026-10-26T12:00:00Z")
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.delenv("EMDS_FEEDS", raising=False)
    return folder


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def test_replay_fills_a_recorded_warehouse_and_tells_dagster(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(recordings)]) == 0
    output = capsys.readouterr().out
    assert "neso.generation" in output
    assert "432 rows, 1 partitions: 2026-10-25 to 2026-10-25" in output
    assert "denied.html: FeedUnavailable" in output
    home = Path(os.environ["EMDS_HOME"])
    storage = Folder(home)
    rows = stored_rows.read(storage, "GB", "generation", Window(1792886400, 1792972800))
    assert rows.num_rows == 432
    assert (catalogue.load(storage) or {})["mode"] == "recorded"
    before = {key: storage.stat(key) for key in storage.keys("series/")}
    with recording.instance(home) as instance:
        feed = feeds()["neso.generation"]
        assert instance.get_materialized_partitions(asset_key(feed)) == {"2026-10-25"}
        keys = {key for key in instance.all_asset_keys() if instance.get_materialized_partitions(key)}
        assert keys == {asset_key(feed)}
    assert main(["replay", str(recordings)]) == 0
    assert before == {key: storage.stat(key) for key in storage.keys("series/")}


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def test_a_warehouse_keeps_its_mode(
    recordings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["replay", str(recordings)]) == 0
    monkeypatch.setenv("EMDS_FEEDS", "live")
    assert main(["publish"]) == 1
    assert "modes never mix" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def test_verify_finds_a_file_that_does_not_decode(recordings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["replay", str(recordings)])
    assert main(["verify"]) == 0
    storage = Folder(os.environ["EMDS_HOME"])
    month = layout.series("generation", "GB", "2026-10")
    storage.put(month, b"PAR1 and no more")
    assert main(["verify"]) == 1
    assert month in capsys.readouterr().out
    storage.delete(month)
    storage.put(f"{layout.series_prefix()}notes.txt", b"mine")
    for name in ("1-aaaaaaaa", "2-bbbbbbbb"):
        storage.put(f"raw/neso/generation/2026-10-25/{name}.json.zst", b"no frame")
    assert main(["verify"]) == 1
    output = capsys.readouterr().out
    assert all(word in output for word in ("notes.txt: no month file", "1-aaaaaaaa", "2-bbbbbbbb", "4 broken"))
    assert f"{month}: is gone" in output


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["fly"],
        ["backfill"],
        ["backfill", "--days", "0"],
        ["backfill", "--start", "yesterday"],
        ["backfill", "--start", "2026-02-02", "--end", "2026-02-01"],
        ["ingest", "--feed", "neso.nothing"],
        ["replay", "/nowhere"],
        ["backfill", "--start", "9000-01-01"],
        ["backfill", "--days", "1", "--start", "2026-02-02"],
        ["backfill", "--days", "1", "--end", "2026-02-02"],
        ["rebuild", "--start", "2026-11-22", "--end", "2026-11-20"],
        ["publish", "--to", "nope://x"],
        ["keys"],
        ["dagster", "sh"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_2(argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path / "home"))
    assert main(argv) == 2
    assert not (tmp_path / "home").exists()


def test_a_new_release_replaces_its_own_dagster_settings_and_no_changed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    file = dagster_home.dagster_home(tmp_path) / "dagster.yaml"
    written = file.read_text()
    newer = tmp_path / "release"
    newer.mkdir()
    (newer / "dagster.yaml").write_text("nux: {enabled: false}\n")
    monkeypatch.setattr(dagster_home, "DEPLOY", newer)
    dagster_home.dagster_home(tmp_path)
    assert file.read_text().endswith("\nnux: {enabled: false}\n")
    file.write_text(written.replace("limit: 1", "limit: 2"))
    dagster_home.dagster_home(tmp_path)
    assert "limit: 2" in file.read_text(), "an owner's own"


def test_doctor_names_an_unknown_member_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    now = clock.now()
    fresh = health.Health("elexon.interconnectors", "GB", now, "", 0, now, 0, {"interchange": now})
    health.note(Folder(tmp_path), "elexon", [fresh])
    assert main(["doctor"]) == 0
    unknown = replace(fresh, last_error=f"{UNKNOWN_MEMBER}interconnector 'Germany (NeuConnect)'", last_error_at=now)
    health.note(Folder(tmp_path), "elexon", [unknown])
    capsys.readouterr()
    assert main(["doctor"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "elexon.interconnectors" in line]
    assert " ok " in line
    assert line.endswith("unknown to this service: interconnector 'Germany (NeuConnect)'")


@pytest.mark.parametrize("verb", [["doctor"], ["gaps", "--days", "1"]])
def test_what_only_reports_gives_an_empty_warehouse_no_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    main(verb)
    assert Folder(tmp_path).stat(layout.MODE) is None
    monkeypatch.setenv("EMDS_FEEDS", "live")
    main(verb)
    assert Folder(tmp_path).stat(layout.MODE) is None


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")
def test_rows_are_stored_where_dagsters_home_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_simulated(monkeypatch, tmp_path)
    (tmp_path / "dagster").touch()
    assert main(["ingest", "--feed", "neso.generation"]) == 0
    assert "Dagster's storage: FileExistsError" in caplog.text
    assert list(Folder(tmp_path).keys(layout.series_prefix()))


def test_dagsters_settings_that_a_full_disk_left_empty_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").touch()
    assert (dagster_home.dagster_home(tmp_path) / "dagster.yaml").read_text().startswith("# Written by emds")
