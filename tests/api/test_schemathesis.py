"""Run schemathesis over the whole description, in all phases with a key, with 8 examples per operation.

A thorough run has 100. Most requests without a key end at the gate. schemathesis.toml at the root states the extra
rules and the command for other examples. The examples here are the same in every run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = 2
"""`revoke`, which would revoke the key of the run, and one operation that schemathesis does not select."""
LEAST_CASES = {"stranger": 800, "holder": 7000}
START = """
import gc
gc.disable()
import schemathesis.cli
gc.freeze()
gc.enable()
gc.set_threshold(100_000, 20, 50)
schemathesis.cli.schemathesis()
"""
"""Starts schemathesis with fewer runs of Python's cycle collector, which otherwise takes a sixth of its CPU time."""
SHARED = {"PYTHONPATH": str(ROOT), "HYPOTHESIS_STORAGE_DIRECTORY": str(ROOT / ".hypothesis"), "NO_PROXY": "127.0.0.1"}
"""What each run would otherwise compute: the Unicode tables and, for each call, whether there is a proxy."""


@pytest.mark.campaign
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("caller", ["holder", "stranger"])
def test_every_answer_is_documented_and_of_its_schema(
    everywhere: Any, serve: Any, tmp_path: Path, caller: str, thorough: bool
) -> None:
    served = serve(everywhere)
    paths = requests.get(f"{served.url}/openapi.json", timeout=30).json()["paths"]
    operations = sum(len(methods) for methods in paths.values()) - LEFT_OUT
    command = [
        sys.executable,
        "-c",
        START,
        "--config-file",
        str(ROOT / "schemathesis.toml"),
        "run",
        f"{served.url}/openapi.json",
        "--max-examples",
        "100" if thorough else "8",
        "--continue-on-failure",
        "--generation-deterministic",
    ]
    if caller == "holder":
        email = {"email": "reader@example.org"}
        key = requests.post(f"{served.url}/v1/keys/signup", json=email, timeout=10).json()["api_key"]
        command += ["-H", f"Authorization: Bearer {key}"]
    report = tmp_path / "report.txt"
    with report.open("wb") as lines:
        code = subprocess.run(
            command, cwd=tmp_path, env=os.environ | SHARED, stdout=lines, stderr=subprocess.STDOUT, timeout=1100
        ).returncode
    text = report.read_text()
    assert code == 0, text
    assert f"Tested: {operations}" in text, text
    cases = re.search(r"(\d+) generated, (\d+) passed", text)
    assert cases is not None, text
    assert int(cases[1]) == int(cases[2]) > LEAST_CASES[caller], text
    assert "Traceback" not in served.log.read_text()
