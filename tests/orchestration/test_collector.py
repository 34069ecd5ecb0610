"""The collector of cycles is held back while a process loads, works afterwards, and leaves alone what was loaded."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration import code_server, collector, run_processes

_WITH_DUCKDB = """
import duckdb
from orchestration import collector
duckdb.connect().execute("SELECT 1").fetchall()
collector.leave_all()
"""


def _output(*argv: str, home: Path) -> str:
    environ = {"EMDS_HOME": str(home), "PATH": "/usr/bin:/bin", "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_command_that_used_duckdb_ends_without_a_word(tmp_path: Path) -> None:
    assert not _output(sys.executable, "-c", _WITH_DUCKDB, home=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["code", "webserver", "daemon"])
def test_every_server_of_dagsters_is_started_that_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    argv = code_server.commands(tmp_path, 3000, "127.0.0.1")[name]
    assert argv[:3] == [sys.executable, "-m", "orchestration.dagster_process"]
    assert "version" in _output(*argv[:4], "--version", home=tmp_path)


def test_a_program_begins_with_the_collector_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from orchestration import dagster_process  # which holds the collector back as it is imported

    monkeypatch.setattr(run_processes, "fork_from_one", lambda: None)  # it is for the whole of a process
    seen: list[tuple[bool, list[str]]] = []
    program = type("Program", (), {"load": lambda _: lambda: seen.append((gc.isenabled(), sys.argv))})()
    monkeypatch.setattr(dagster_process, "entry_points", lambda **_: [program])
    monkeypatch.setattr(sys, "argv", ["-m"])
    collector.hold_back()  # where it was imported before
    dagster_process.main(["dagster", "api", "grpc", "--module-name", "no.such.module"])
    assert seen == [(True, ["dagster", "api", "grpc", "--module-name", "no.such.module"])]
