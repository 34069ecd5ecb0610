"""Compare the parsers of emds with entsoe-py, gridstatus and NEMOSIS on the same bytes, in one run.

    python -m tests.bench.parsing

The peers have their own environment, `.venv-bench`, created here on first use. The budgets are 25 times entsoe-py and 3
times the others, in CPU seconds, so that a busy machine gives the same result. The exit code is 1 if a budget is
missed, or if the two sides do not find the same values.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from assets.sources import feed
from tests.bench.bodies import Body, bodies
from warehouse.market.clock import days_of
from warehouse.market.feeds import Request

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PEERS = ("entsoe-py==0.8.1", "gridstatus==0.37.0", "nemosis==3.8.1")
BUDGET = {
    "entsoe": ("entsoe-py", 25.0),
    "nyiso": ("gridstatus", 3.0),
    "caiso": ("gridstatus", 3.0),
    "miso": ("gridstatus", 3.0),
    "aemo": ("NEMOSIS", 3.0),
}
SECONDS, RUNS = 1.0, 5


def peers() -> Path:
    """Return the peers' Python, installed on first use. Raises CalledProcessError if the installation fails."""
    if not PYTHON.exists():
        venv.create(PYTHON.parents[1], with_pip=True)
    have = subprocess.run([PYTHON, "-m", "pip", "freeze"], capture_output=True, text=True, check=True).stdout.lower()
    if not all(peer in have for peer in PEERS):
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", *PEERS], check=True)
    return PYTHON


def ours(body: Body) -> tuple[float, int]:
    """Return the CPU seconds of the fastest parse by emds, and the number of times of its first zone and series."""
    product = feed(body.feed)
    request = Request(body.feed, "", days=days_of(body.day), zone=body.zone)
    times: list[float] = []
    while len(times) < RUNS or sum(times) < SECONDS:
        began = time.process_time()
        rows = product.parse(body.content, request)
        times.append(time.process_time() - began)
    series = [
        len(strip.ts)
        for key, strip in rows.readings.items()
        if key.metric == product.metrics[0] and body.zone in (None, key.zone)
    ]
    return min(times), sum(series) if body.feed.startswith("aemo") else max(series)


def theirs(all_bodies: list[Body]) -> dict[str, tuple[float, int]]:
    """Return, by body, the CPU seconds and the number of values of the peers."""
    with tempfile.TemporaryDirectory() as folder:
        for body in all_bodies:
            (Path(folder) / body.name).write_bytes(body.content)
        done = subprocess.run(
            [peers(), ROOT / "tests" / "bench" / "parsing_peers" / "parse.py", folder],
            capture_output=True,
            text=True,
            check=True,
        )
    seconds: dict[str, tuple[float, int]] = json.loads(done.stdout)
    return seconds


def main() -> int:
    """Print values per second of both sides, their ratio and the budget."""
    try:
        peer = theirs(bodies())
    except subprocess.CalledProcessError as error:
        print(f"the peers cannot be run: {str(error.stderr or error)[-500:]}")
        return 1
    print(f"{'body':14} {'peer':10} {'readings':>8} {'ours/s':>12} {'peer/s':>12} {'ratio':>7} {'budget':>7}")
    failed = False
    for body in bodies():
        name, budget = BUDGET[body.name.split("_")[0]]
        (mine, count), (other, counted) = ours(body), peer[body.name]
        missed = other / mine < budget or not count == counted == body.readings
        failed |= missed
        verdict = f" MISSED (readings: {count}, peer {counted})" if missed else ""
        print(
            f"{body.name:14} {name:10} {count:8} {count / mine:12.0f} {counted / other:12.0f} "
            f"{other / mine:7.1f} {budget:7.0f}{verdict}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
