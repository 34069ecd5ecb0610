"""Check that Dagster's storage is created once, however many processes open it first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.orchestration.conftest import in_simulated

_OPENERS = """
import os, sys
from multiprocessing import Barrier
from pathlib import Path
from orchestration.jobs import recording
barrier = Barrier(4)
for _ in range(4):
    if os.fork() == 0:
        barrier.wait()
        instance = recording.instance(Path(sys.argv[1]))
        print(instance is not None and instance.get_runs_count(), flush=True)
        os._exit(0)
for _ in range(4):
    os.wait()
"""


@pytest.mark.slow
def test_processes_that_first_open_dagsters_storage_at_once_make_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulated(monkeypatch, tmp_path)
    command = [sys.executable, "-c", _OPENERS, str(tmp_path)]
    opened = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert opened.stdout.split() == ["0"] * 4, opened.stderr
