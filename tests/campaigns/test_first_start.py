"""Kill a first start at each of its steps and start it again: every start gets further than the one before.

All starts share a warehouse, and a copy of the project with three publishers, so that a fill takes seconds. Each must
end within seconds of its signal and leave no process; the last one runs the whole service.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestration.servers import up
from tests.orchestration import dagster_servers
from tests.stand_ins.ports import free_port
from tests.stand_ins.processes import descendants, runs
from tests.stand_ins.receiver import patient

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
ENVIRON = {
    name: value for name, value in os.environ.items() if name not in ("EMDS_NOW", "EMDS_FEEDS", "EMDS_SIMULATED_FAULTS")
}
ROOMS = ("api", "assets", "geo_data", "orchestration", "warehouse")
SOURCES = ("elexon", "energy_charts", "neso")
"""The remaining publishers: those of Great Britain, and one that serves several zones."""
STEP_WITHIN_S = 300.0
"""The time limit for a start to reach its step; a start that waits for a slot of a dead run exceeds it."""
FILL_ENDS_WITHIN_S, ALL_END_WITHIN_S = up.STOP_WITHIN_S + 10.0, 120.0
"""The time limits for `emds up` after a signal: during the fill, and once Dagster runs, whose runs end unaided."""


@dataclass(frozen=True)
class Start:
    """A run of `emds up` over the warehouse."""

    home: Path
    process: subprocess.Popen[bytes]
    log: Path
    port: int
    ui_port: int
    before: set[object] = field(default_factory=set)
    """The runs of the killed starts."""
    launched: list[str] = field(default_factory=list)
    """The jobs that were launched as the UI does."""

    def output(self) -> str:
        return self.log.read_text()

    def rows(self, file: str, query: str) -> list[tuple[object, ...]]:
        """Return rows of a Dagster database, or nothing while the database is missing or being created."""
        path = self.home / "dagster" / "history" / file
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()
        return []


Reached = Callable[[Start], object]


def prints(words: str) -> Reached:
    return lambda start: words in start.output()


def has_file(pattern: str) -> Reached:
    return lambda start: next(start.home.glob(pattern), None)


def runs_a_job(condition: str) -> Reached:
    """Return a condition that is true while a run in the fill's process is in progress."""
    query = f"SELECT run_id FROM runs WHERE status = 'STARTED' AND {condition}"
    return lambda start: {run for (run,) in start.rows("runs.db", query)} - start.before


def answers(start: Start) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{start.port}/readyz", timeout=5) as response:
        return bool(response.status == 200)
    return False


def holds_a_slot(start: Start) -> object:
    """Return the daemon's runs that occupy a slot of a pool; a run is launched here, since schedules are too slow."""
    if not start.launched and "stops everything" in start.output():
        selector = {**dagster_servers.SELECTOR, "jobName": "publish_documents"}
        launch = "mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename } }"
        dagster_servers.ask(f"http://127.0.0.1:{start.ui_port}", launch, p={"selector": selector})
        start.launched.append("publish_documents")
    query = "SELECT run_id FROM concurrency_slots WHERE run_id IS NOT NULL"
    return {run for (run,) in start.rows("runs/index.db", query)} - start.before


STEPS: list[tuple[str, Reached, signal.Signals]] = [
    ("the lock is taken", has_file("up.lock"), signal.SIGKILL),
    ("Dagster's storage is being made", has_file("dagster/history"), signal.SIGKILL),
    ("Dagster's tables are being made", has_file("dagster/history/runs/index.db"), signal.SIGTERM),
    ("the fill begins", prints("first start: "), signal.SIGINT),
    ("a first response is stored", has_file("raw/*/*/*/*.zst"), signal.SIGKILL),
    ("a first month is written", has_file("series/*/*/*.parquet"), signal.SIGTERM),
    ("all documents are published", prints("publishing the documents of all zones"), signal.SIGINT),
    ("the publishers are measured", prints("measuring the publishers"), signal.SIGTERM),
    ("the fill is recorded", runs_a_job("pipeline_name = 'command_line'"), signal.SIGKILL),
    ("marts are made", runs_a_job("pipeline_name = 'marts'"), signal.SIGKILL),
    ("marts are made again", runs_a_job("pipeline_name = 'marts'"), signal.SIGTERM),
    ("records are made", runs_a_job("pipeline_name = '__ASSET_JOB' AND run_body LIKE '%records%'"), signal.SIGKILL),
    ("documents are made in Dagster", runs_a_job("run_body LIKE '%warehouse_duckdb%'"), signal.SIGKILL),
    ("documents are made in Dagster again", runs_a_job("run_body LIKE '%warehouse_duckdb%'"), signal.SIGINT),
    ("the API answers", answers, signal.SIGKILL),
    ("Dagster's servers start", prints("\nAPI:     "), signal.SIGKILL),
    ("everything runs", prints("stops everything"), signal.SIGTERM),
    ("a run of the daemon's holds a slot", holds_a_slot, signal.SIGKILL),
]


def copy_project(folder: Path) -> None:
    """Copy the service with only these publishers."""
    for room in ROOMS:
        shutil.copytree(up.ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder / "assets" / "sources").glob("[!_]*"):
        if path.stem not in SOURCES:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def begin(home: Path, number: int) -> Start:
    project = home.parent / "project"
    port, ui_port, log = free_port(), free_port(), home.parent / f"{number}.log"
    argv = [sys.executable, "-u", "-m", "orchestration.cli", "up", "--home", str(home), "--days", "1"]
    ports = ["--port", str(port), "--ui-port", str(ui_port)]
    with log.open("wb") as out:
        # Dagster's programs look for the project in PYTHONPATH, and python in its working folder.
        environ = ENVIRON | {"DAGSTER_HOME": "", "PYTHONPATH": str(project)}
        process = subprocess.Popen([*argv, *ports], env=environ, stdout=out, stderr=out, cwd=project)
    start = Start(home, process, log, port, ui_port)
    start.before.update(run for (run,) in start.rows("runs.db", "SELECT run_id FROM runs"))
    return start


def reach(start: Start, name: str, reached: Reached) -> None:
    deadline = time.monotonic() + STEP_WITHIN_S
    while not reached(start):
        assert start.process.poll() is None, f"{name}: it ended by itself\n{start.output()[-3000:]}"
        assert time.monotonic() < deadline, f"not reached: {name}\n{start.output()[-3000:]}"
        time.sleep(0.01)


def end(start: Start, name: str, number: signal.Signals, within_s: float) -> None:
    below = descendants(start.process.pid)
    start.process.send_signal(number)
    assert patient(lambda: not any(map(runs, below)), within_s), f"{name}: processes outlive `emds up`"
    assert start.process.wait(30) == (-number if number == signal.SIGKILL else 0), name


def test_a_first_start_that_is_killed_at_each_of_its_steps_is_started_again(tmp_path: Path) -> None:
    home, have_servers = tmp_path / "home", False
    copy_project(tmp_path / "project")
    for number, (name, reached, kill) in enumerate(STEPS):
        begun, start = time.monotonic(), begin(home, number)
        try:
            reach(start, name, reached)
            have_servers |= name == "Dagster's servers start"
            end(start, name, kill, ALL_END_WITHIN_S if have_servers else FILL_ENDS_WITHIN_S)
            # this is quicker than the signal, and the next start would record no fill
            if name == "the publishers are measured":
                (home / "published" / "publishers.json").unlink(missing_ok=True)
        finally:
            start.process.kill()
        print(f"{name}: {kill.name} after {time.monotonic() - begun:.0f} s")
    last = begin(home, len(STEPS))
    try:
        reach(last, "everything runs", prints("stops everything"))
        with urllib.request.urlopen(f"http://127.0.0.1:{last.port}/v1/status", timeout=20) as response:
            assert response.status == 200
        dead = "SELECT run_id FROM runs WHERE status IN ('FAILURE', 'CANCELED', 'SUCCESS')"
        ended = {run for (run,) in last.rows("runs.db", dead)}
        assert patient(
            lambda: (
                not ended.intersection(
                    run for (run,) in last.rows("runs/index.db", "SELECT DISTINCT run_id FROM pending_steps")
                )
            )
        ), "runs that have ended hold slots"
        end(last, "the whole service", signal.SIGTERM, ALL_END_WITHIN_S)
    finally:
        last.process.kill()
