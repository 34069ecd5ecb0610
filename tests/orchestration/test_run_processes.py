"""A run's process is forked from one that has its definitions, tells its end, and ends with it."""

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
_OVER_A_BUCKET = """
from orchestration import run_processes
from tests.orchestration.test_run_processes import as_a_run_over_a_bucket
run_processes.fork_from_one()
from dagster._grpc import server
context = server.multiprocessing.get_context("spawn")
here, there = context.Pipe()
run = context.Process(target=as_a_run_over_a_bucket, args=[there])
run.start()
print(here.recv())
run.join(60)
"""
_TOLD_TO_END = """
import json, os, signal
from dagster._utils.interrupts import setup_interrupt_handlers
from orchestration import run_processes
from tests.orchestration.test_run_processes import as_a_long_run
run_processes.fork_from_one()
run_processes.end_all.__defaults__ = (2.0,)
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
    loaded = {"orchestration.definitions", "pandas"} <= sys.modules.keys()
    from orchestration import definitions

    begun = time.process_time()
    repository = definitions.defs().get_repository_def()
    found = time.process_time() - begun < 0.01 and repository.has_job("history")  # to make them takes far longer
    alone = len(os.listdir("/proc/self/task")) == 1
    collects = gc.isenabled() and gc.get_freeze_count() > 100_000
    if not (child := os.fork()):
        os._exit(0)
    lets_fork = os.waitpid(child, 0)[1] == 0
    told.send({"parent": os.getppid(), "is": [loaded, found, alone, collects, lets_fork]})
    signal.pause()


def as_a_run_over_a_bucket(told: Connection) -> None:
    """A run that says whether the client of a bucket was loaded before it began."""
    told.send("obstore" in sys.modules)


def ended(script: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of Python's that has ended."""
    argv = [sys.executable, "-c", script]
    return subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_a_run_is_forked_with_all_loaded_and_its_definitions_made(tmp_path: Path) -> None:
    environ = {"EMDS_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = ended(_AS_A_CODE_SERVER, environ)
    assert done.returncode == 0, done.stderr
    first, second, third, end = json.loads(done.stdout)
    assert first["is"] == second["is"] == third["is"] == [True] * 5
    assert first["parent"] == second["parent"], "the process that runs are forked from stays while it has a run"
    assert first["parent"] != third["parent"], "where it has none it ends in time, and the next run starts another"
    assert first["ended"] == second["ended"] == -signal.SIGTERM, "how a run ended is known"
    assert first["pid"] != second["pid"]
    assert end == "the run has ended too", "it would be taken for ended, and started again beside itself"


@pytest.mark.slow
def test_a_code_server_that_is_told_to_end_waits_for_no_run_to_be_done(tmp_path: Path) -> None:
    environ = {"EMDS_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "DAGSTER_DISABLE_TELEMETRY": "1"}
    done = ended(_TOLD_TO_END, environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [-signal.SIGTERM, -signal.SIGKILL]


@pytest.mark.slow
def test_over_a_bucket_a_run_makes_its_own_definitions(tmp_path: Path) -> None:
    environ = {"EMDS_HOME": "s3://nowhere/emds", "EMDS_LOCAL": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = ended(_OVER_A_BUCKET, environ)
    assert done.stdout == "False\n", f"it has threads, which no fork takes along: {done.stderr}"
