"""Measure how long `publish` takes for all 25 zones, over 35 days of all simulated feeds.

    python -m tests.bench.publish

The budget is 2 s on two cores for all briefs and latests. The exit code is 1 if it is missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assets.documents.publish import publish
from tests.bench.servers import ROOT
from warehouse.market.clock import instant
from warehouse.store.storage import Folder

BUDGET_S = 2.0
NOW = "2026-11-20T12:00:00Z"


def main() -> int:
    """Print the best, middle and worst of five calls in one line."""
    with tempfile.TemporaryDirectory(prefix="emds-publish-") as home:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("EMDS_")}
        environ |= {"DAGSTER_HOME": "", "EMDS_HOME": home, "EMDS_NOW": NOW}
        argv = [sys.executable, "-m", "orchestration.cli", "backfill", "--days", "35"]
        subprocess.run(argv, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, check=True)
        took = []
        for turn in range(5):  # each call is a minute later and writes every document again
            began = time.perf_counter()
            done = publish(Folder(Path(home)), instant(NOW) + 60 * turn)
            took.append(time.perf_counter() - began)
    best, _, middle, _, worst = sorted(took)
    figures = f"{middle:.2f} s (best {best:.2f}, worst {worst:.2f}); budget {BUDGET_S:.0f} s"
    print(f"publish: {len(done.put)} documents, {figures}")
    return int(middle > BUDGET_S)


if __name__ == "__main__":
    sys.exit(main())
