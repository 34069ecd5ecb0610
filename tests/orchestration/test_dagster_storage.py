"""Dagster's storage is made once, however many processes are the first to open it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.orchestration.conftest import in_simulated

_OPENER = """
import sys
from pathlib import Path
from orchestration.jobs import recording
sys.stdin.readline()
instance = recording.instance(Path(sys.argv[1]))
print(instance is not None and instance.get_runs_count(), flush=True)
"""


@pytest.mark.slow
def test_processes_that_first_open_dagsters_storage_at_once_make_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_simulated(monkeypatch, tmp_path)
    command = [sys.executable, "-c", _OPENER, str(tmp_path)]
    pipe = subprocess.PIPE
    openers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=120)[0].strip() for opener in openers]
    assert said == ["0"] * 4
