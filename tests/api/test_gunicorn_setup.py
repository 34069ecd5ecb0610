"""What gunicorn's start-up changes in a worker, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import gc, sys
from api.http import gunicorn_setup

gunicorn_setup.collect_rarely()
kept = gc.get_freeze_count()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(info["generation"]) if phase == "start" else None)
held = [[] for _ in range(9_000)]
few = list(seen)
held = [[] for _ in range(12_000)]
print(kept > 5_000, len(few), len(seen) >= 1)
"""


@pytest.mark.slow
def test_what_stands_at_start_is_not_collected_and_what_comes_is_seldom() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["True", "0", "True"]
