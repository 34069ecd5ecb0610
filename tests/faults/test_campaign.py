"""The fault campaign in short: one fault of every kind. `make faults` runs it for an hour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults.campaign import run
from tests.faults.kinds import KINDS


def test_no_fault_loses_a_row_serves_a_wrong_one_or_stops_another_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EMDS_HOME", "EMDS_NOW", "EMDS_FEEDS", "EMDS_FAULTS", "EMDS_RIGHTS"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # put back afterwards, whatever the campaign sets
    result = run(tmp_path, seconds=0, seed=1)
    assert set(result.cases) == set(KINDS)
    assert result.bad == [], "\n".join(result.lines())
