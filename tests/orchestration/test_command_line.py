"""Test the command line: before any work, wrong use exits with 2, and a failure with 1 and one line that names it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from api.application import create_app
from api.settings import Settings
from assets.sources import source
from orchestration.cli import emds, main
from orchestration.servers import dagster_home
from orchestration.work.disk_space import require_space
from orchestration.work.environment import open_context
from tests.orchestration.conftest import in_simulated
from tests.stand_ins.ports import free_port
from warehouse.market.feeds import Request
from warehouse.market.zones import ZONES
from warehouse.rows.versions import empty
from warehouse.series import monthfile, raw
from warehouse.store import artefact, layout, modes, zone_ids
from warehouse.store.seal import SCHEMA_VERSION
from warehouse.store.storage import Folder


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


def test_a_setting_with_which_the_api_cannot_start_is_told_before_anything_is_done(tmp_path: Path) -> None:
    environ = {**os.environ, "EMDS_HOME": str(tmp_path / "home"), "EMDS_PAY_TO": "nope"}
    argv = [sys.executable, "-m", "orchestration.cli", "up", "--port", str(free_port())]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False, timeout=60)
    reason = "must be 0x followed by 40 hexadecimal digits, with a valid checksum (EIP-55)"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"emds: EMDS_PAY_TO {reason}\n")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("command", [*sorted(emds.commands)])
def test_every_command_refuses_a_variable_under_its_old_name(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("EMDS_LOCAL", "here")
    (tmp_path / "MANIFEST.json").touch()
    arguments = {
        "backfill": ["--days", "1"],
        "copy": [str(tmp_path), str(tmp_path / "home")],
        "dagster": ["dagster", "--version"],
        "keys": ["list"],
        "record": [str(tmp_path / "home")],
        "replay": [str(tmp_path)],
        "webhooks": ["list"],
    }
    assert main([command, *arguments.get(command, ())]) == 1
    assert capsys.readouterr().err == "emds: EMDS_LOCAL is now called EMDS_LOCAL_DIR: rename the variable\n"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("verb", ["doctor", "serve"])
@pytest.mark.parametrize("place", ["file", "below/nothing"])
def test_a_home_that_is_no_folder_is_named(
    verb: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "below").symlink_to("/proc")
    home = (tmp_path / place).resolve()
    in_simulated(monkeypatch, home)
    assert main([verb, *(("--port", str(free_port())) if verb == "serve" else ())]) == 1
    assert capsys.readouterr().err.startswith(f"emds: cannot create the folder {home}: ")


def _month(folder: Folder) -> str:
    key = layout.series("price", "GB", "2026-11")
    folder.put(key, monthfile.encode(empty(), key, "simulated"))
    return key


def _response(folder: Folder) -> str:
    request = Request("neso.demand", "https://example.org/", days=(date(2026, 11, 20),), ext="json")
    key = raw.KeptAnswers(folder, request.feed).keep(request, b'{"schema":6,"sha256":"0"}', 1, "simulated")
    assert key is not None
    return key


def _document(folder: Folder, name: str = "brief/GB.json") -> str:
    artefact.put(folder, name, b'{"as_of":1}', 1)
    return layout.published(name)


def _catalogue(folder: Folder) -> str:
    _month(folder)
    return _document(folder, layout.CATALOGUE)


@pytest.mark.parametrize("has_damage", [False, True], ids=["", "broken_catalogue"])
@pytest.mark.parametrize("schema", [5, 9])
@pytest.mark.parametrize("file", [_catalogue, _month, _response, _document])
def test_another_schema_version_is_refused_by_every_verb_and_left_as_it_is(
    file: Callable[[Folder], str],
    schema: int,
    has_damage: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    in_simulated(monkeypatch, tmp_path)
    folder = Folder(tmp_path)
    modes.ensure(folder, "simulated")
    key = file(folder)
    folder.put(key, (folder.get(key) or b"").replace(b'{"schema":%d' % SCHEMA_VERSION, b'{"schema":%d' % schema, 1))
    if has_damage and file is not _catalogue:
        folder.put(layout.published(layout.CATALOGUE), b'{"as_of":1')
        folder.put(layout.series("demand", "GB", "2026-11"), b"")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    sentence = (
        f"emds: {key} was written by another release (schema {schema}, this one writes "
        f"{SCHEMA_VERSION}): use that release, or name another EMDS_HOME, back up the accounts database into it "
    )
    verbs = (
        ["ingest"],
        ["publish"],
        ["gaps"],
        ["rebuild"],
        ["repair"],
        ["doctor"],
        ["serve", "--port", "1"],
        ["verify"],
        ["up", "--port", "0", "--ui-port", "0"],
    )
    for verb in verbs:
        assert main(verb) == 1
        output = "".join(capsys.readouterr())
        assert sentence in output
        assert verb == ["doctor"] or len(output.splitlines()) == 1, verb
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_verify_refuses_a_warehouse_of_this_release_without_a_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    assert main(["verify"]) == 0, "an empty folder has nothing that is broken"
    modes.ensure(Folder(tmp_path), "simulated")
    _month(Folder(tmp_path))
    capsys.readouterr()
    assert main(["verify"]) == 1
    [line] = "".join(capsys.readouterr()).splitlines()
    assert line.startswith(f"emds: {tmp_path} has files but no catalogue: ")
    assert line.endswith("or write it with `emds publish`")
    assert [main(["publish"]), main(["verify"])] == [0, 0]


@pytest.mark.parametrize("verb", [["doctor"], ["gaps", "--days", "1"], ["publish"], ["serve", "--port", "1"]])
def test_a_process_that_lacks_a_zone_of_the_warehouse_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    zone_ids.ensure(Folder(tmp_path), [*ZONES, "DK-2"], adds=True)
    assert main(verb) == 1
    assert "this warehouse covers zones that EMDS_ZONES does not name: DK-2. " in "".join(capsys.readouterr())


def test_an_api_that_another_program_starts_logs_the_zones_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    in_simulated(monkeypatch, tmp_path)
    zone_ids.ensure(Folder(tmp_path), [*ZONES, "DK-2"], adds=True)
    app = create_app(Settings.from_environ(os.environ))
    assert "this warehouse covers zones that EMDS_ZONES does not name: DK-2. " in caplog.text
    assert app.test_client().get("/healthz").status_code == 200, "a replaced worker continues"


def test_serving_adds_no_zone_and_fetching_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    folder = Folder(tmp_path)
    zone_ids.ensure(folder, {*ZONES} - {"GB"}, adds=True)
    assert main(["serve", "--port", str(free_port())]) == 1
    assert "EMDS_ZONES names zones that this warehouse does not cover yet: GB. Add" in capsys.readouterr().err
    assert "GB" not in zone_ids.stored_ids(folder)
    open_context()
    assert zone_ids.stored_ids(folder) == {*ZONES}


@pytest.mark.parametrize("verb", [["doctor"], ["gaps", "--days", "1"]])
def test_what_only_reports_gives_an_empty_warehouse_no_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    for feeds in ("", "live"):
        monkeypatch.setenv("EMDS_FEEDS", feeds)
        main(verb)
        assert Folder(tmp_path).stat(layout.MODE) is Folder(tmp_path).stat(layout.ZONES) is None


@pytest.mark.parametrize(
    ("named", "feeds"),
    [
        (["--feed", "elexon.price", "--feed", "elexon.demand"], {"elexon.price", "elexon.demand"}),
        (["--source", "omie", "--source", "pse"], {f.id for code in ("omie", "pse") for f in source(code).feeds}),
        (["--source", "omie", "--source", "neso", "--feed", "neso.generation"], {"neso.generation"}),
    ],
)
def test_sources_and_feeds_may_be_named_several_times(
    named: list[str], feeds: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    in_simulated(monkeypatch, tmp_path)
    assert main(["backfill", "--days", "2", "--dry-run", *named]) == 0
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == feeds


@pytest.mark.parametrize("verb", ["serve", "up"])
def test_the_api_listens_on_loopback_unless_a_host_says_otherwise(verb: str) -> None:
    assert {param.name: param.default for param in emds.commands[verb].params}["host"] == "127.0.0.1"


def test_dagsters_settings_are_replaced_by_a_release_and_where_they_are_empty_but_never_an_owners_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    (tmp_path / "dagster").mkdir()
    file = tmp_path / "dagster" / "dagster.yaml"
    file.touch()  # as a full disk leaves it
    dagster_home.dagster_home(tmp_path)
    written = file.read_text()
    assert written.startswith("# Written by emds")
    (tmp_path / "dagster.yaml").write_text("nux: {enabled: false}\n")
    monkeypatch.setattr(dagster_home, "DEPLOY", tmp_path)
    dagster_home.dagster_home(tmp_path)
    assert file.read_text().endswith("\nnux: {enabled: false}\n")
    file.write_text(written.replace("limit: 1", "limit: 2"))
    dagster_home.dagster_home(tmp_path)
    assert "limit: 2" in file.read_text()


Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    "argv", [["backfill", "--days", "1", "--feed", "elexon.price"], ["fill"], ["publish"], ["up"]], ids=" ".join
)
def test_a_full_disk_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # `up` sets handlers
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**12, 10**12, 20_000_000))
    assert main(argv) == 1
    assert capsys.readouterr().err == (
        f"emds: the disk of {tmp_path} is full: 20 MB are free, and emds needs 100 MB. Free some space, then run the "
        "command again; it continues where it stopped.\n"
    )
    assert not (tmp_path / "dagster").exists(), "SQLite fails on a full disk, and Dagster's storage is not opened"


def test_the_disk_of_a_folder_that_does_not_exist_yet_has_space(tmp_path: Path) -> None:
    require_space(tmp_path / "local" / "emds")


def test_a_disk_that_fills_up_ends_the_workers_before_the_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fill the disk as the daemon may; a generator that is not closed prints a traceback."""
    in_simulated(monkeypatch, tmp_path)
    free, pool = [500_000_000, 500_000_000, 20_000_000], ProcessPoolExecutor.__exit__
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(10**12, 10**12, free.pop(0)))
    monkeypatch.setattr(ProcessPoolExecutor, "__exit__", lambda *of: sys.stderr.write("workers end\n") and pool(*of))
    assert (
        main(
            [
                "backfill",
                "--start=2026-11-18",
                "--end=2026-11-18",
                "--feed=elexon.price",
                "--feed=elexon.demand",
                "--feed=pse.price",
            ]
        )
        == 1
    )
    told = capsys.readouterr().err.splitlines()
    assert [line[:5] for line in told[:1]] == ["[1/3]"]
    assert told[-2] == "workers end"
    assert told[-1].startswith(f"emds: the disk of {tmp_path} is full: 20 MB are free")
    assert "Traceback" not in "".join(told)


def test_a_dagster_folder_of_another_user_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    in_simulated(monkeypatch, tmp_path)
    (tmp_path / "dagster").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["dagster", "dagster", "--version"]) == 1
    assert capsys.readouterr().err == (
        f"emds: the current user cannot write to {tmp_path / 'dagster'}; change its owner, or run emds as the user "
        "that owns it\n"
    )


ROOT = Path(__file__).resolve().parents[2]


def test_make_lists_its_targets() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory", "help"], capture_output=True, text=True, check=True
    )
    assert [line.split()[1] for line in listed.stdout.splitlines()] == targets


@pytest.mark.parametrize(
    ("program", "said"), [("", "and there is no"), ("#!/bin/sh\ntest $1 = -V && echo Python 3.9.2", "is Python 3.9.2.")]
)
def test_a_python_that_does_not_fit_is_one_sentence(tmp_path: Path, program: str, said: str) -> None:
    python = tmp_path / "python3"
    if program:
        python.write_text(program)
        python.chmod(0o755)
    command = [ROOT / ".ci" / "install.sh", "requirements.lock", tmp_path / "stamp"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHON": str(python)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("emds needs Python 3.11 or newer, and ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
