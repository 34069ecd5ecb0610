"""Run the fault campaign briefly: every kind over a folder, and bad connections over a bucket; see `make faults`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.faults import counts, run
from tests.campaigns.kinds import KINDS

pytestmark = pytest.mark.campaign
ROOT = Path(__file__).resolve().parents[2]


def test_no_fault_loses_a_row_serves_a_wrong_one_or_stops_another_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "EMDS_HOME",
        "EMDS_LOCAL_DIR",
        "EMDS_NOW",
        "EMDS_FEEDS",
        "EMDS_SIMULATED_FAULTS",
        "EMDS_REDISTRIBUTABLE_SOURCES",
    ):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # restored afterwards, whatever the campaign sets
    verdicts = run(tmp_path, seconds=0, seed=1)
    assert {verdict.kind for verdict in verdicts} == set(KINDS["folder"])
    assert all(verdict.good for verdict in verdicts), "\n".join(counts(verdicts))


@pytest.mark.timeout(1200)
def test_nor_does_one_in_a_bucket(thorough: bool) -> None:
    """Run in a process that opens no client, because another test may have opened one here.

    A case takes 25 seconds of CPU, so all faults of the connection are one case; a thorough run includes every kind.
    """
    kinds = set(KINDS["bucket"]) if thorough else {"line"}
    command = (sys.executable, "-m", "tests.campaigns.faults", "0", "1", "bucket", *kinds)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1150)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"\n{len(kinds)} faults: lost 0, silently wrong 0" in done.stdout
