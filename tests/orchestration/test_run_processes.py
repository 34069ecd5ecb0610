"""A run's process is forked from one that has loaded, builds its own definitions, tells its end, and ends with it."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

_AS_A_CODE_SERVER = """
import json, os, signal
from orchestration import run_processes
from tests.orchestration.test_run_processes import as_a_run
run_processes.fork_from_one()
from dagster._grpc import server
context, told = server.multiprocessing.get_context("spawn"), []
for _ in range(2):
    here, there = context.Pipe()
    run = context.Process(target=as_a_run, args=[there])
    run.start()
    told.append(here.recv() | {"pid": run.pid})
    os.kill(told[-1]["parent"], signal.SIGTERM)
    os.kill(told[-1]["parent"], signal.SIGALRM)
    os.kill(run.pid, signal.SIGTERM)
    run.join(60)
    told[-1]["ended"] = run.exitcode
os.kill(told[0]["parent"], signal.SIGALRM)
os.waitid(os.P_PID, told[0]["parent"], os.WEXITED | os.WNOWAIT)
here, there = context.Pipe()
run = context.Process(target=as_a_run, args=[there])
run.start()
there.close()
told.append(here.recv())
os.kill(told[-1]["parent"], signal.SIGKILL)
run.join(60)
try:
    here.recv()
except EOFError:
    told.append("the run has ended too")
print(json.dumps(told))
"""
_TOLD_TO_END = """
import json, os, signal
from dagster._utils.interrupts import setup_interrupt_handlers
from orchestration import run_processes
from tests.orchestration.test_run_processes import as_a_long_run
run_processes.fork_from_one()
run_processes.end_all.__defaults__ = (0.3,)
setup_interrupt_handlers()
from dagster._grpc import server
context, runs = server.multiprocessing.get_context("spawn"), []
for deaf in (False, True):
    here, there = context.Pipe()
    runs.append(context.Process(target=as_a_long_run, args=[deaf, there]))
    runs[-1].start()
    here.recv()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
except KeyboardInterrupt:
    for run in runs:
        run.join(60)
    print(json.dumps([run.exitcode for run in runs]))
"""


def as_a_long_run(deaf: bool, told: Connection) -> None:
    """A run that is not done by itself; `deaf`: nor ends when it is told to."""
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    told.send("begun")
    while True:
        signal.pause()


def as_a_run(told: Connection) -> None:
    """What a run's process does, and what it finds there."""
    held, loaded = not gc.isenabled(), {"orchestration.definitions", "pandas"} <= sys.modules.keys()
    from orchestration import definitions

    begun = time.process_time()
    made = definitions.defs()
    built = time.process_time() - begun > 0.01  # not those of another process
    again = definitions.defs() is made
    collects = gc.isenabled() and gc.get_freeze_count() > 100_000
    if not (child := os.fork()):
        os._exit(0)
    lets_fork = os.waitpid(child, 0)[1] == 0
    told.send({"parent": os.getppid(), "is": [held, loaded, built, again, collects, lets_fork]})
    signal.pause()


@pytest.mark.slow
def test_a_run_is_forked_with_all_loaded_and_builds_its_own_definitions(tmp_path: Path) -> None:
    environ = {"EMDS_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _AS_A_CODE_SERVER], env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first, second, third, end = json.loads(done.stdout)
    assert first["is"] == second["is"] == third["is"] == [True] * 6
    assert first["parent"] == second["parent"], "the process that runs are forked from stays while it has a run"
    assert first["parent"] != third["parent"], "where it has none it ends in time, and the next run starts another"
    assert first["ended"] == second["ended"] == -signal.SIGTERM, "how a run ended is known"
    assert first["pid"] != second["pid"]
    assert end == "the run has ended too", "it would be taken for ended, and started again beside itself"


@pytest.mark.slow
def test_a_code_server_that_is_told_to_end_waits_for_no_run_to_be_done(tmp_path: Path) -> None:
    environ = {"EMDS_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _TOLD_TO_END], env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [-signal.SIGTERM, -signal.SIGKILL]
