"""Settings and arguments that cannot be are told in one line that names them, before anything is done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.cli import main
from tests.orchestration.conftest import in_simulated
from tests.stand_ins.ports import free_port


@pytest.mark.parametrize(
    ("verb", "name", "value", "told"),
    [
        ("up", "EMDS_PAY_TO", "nope", "is not an address of 0x and 40 hex digits with its right checksum (EIP-55)"),
        ("serve", "WEB_CONCURRENCY", "x", "is not a number of workers from 1 to 1000"),
    ],
)
def test_a_setting_with_which_the_api_cannot_start_is_told_before_anything_is_done(
    verb: str, name: str, value: str, told: str, tmp_path: Path
) -> None:
    environ = {**os.environ, "EMDS_HOME": str(tmp_path / "home"), name: value}
    port = ("--port", str(free_port()))
    done = subprocess.run(
        [sys.executable, "-m", "orchestration.cli", verb, *port],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"emds: {name} {told}\n")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("verb", ["doctor", "serve", "copy"])
@pytest.mark.parametrize("place", ["file", "below/nothing"])
def test_a_home_that_is_no_folder_is_named(
    verb: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "below").symlink_to("/proc")
    home = (tmp_path / place).resolve()
    argv = [*verb.split(), *(("--port", str(free_port())) if verb == "serve" else ())]
    if verb == "copy":
        in_simulated(monkeypatch, tmp_path / "from")
        assert main(["publish"]) == 0
        capsys.readouterr()
        argv += [str(tmp_path / "from"), str(home)]
    in_simulated(monkeypatch, home)
    assert main(argv) == 1
    assert capsys.readouterr().err.startswith(f"emds: {home} is no folder, and cannot be made one: ")
