"""`make faults` (`python -m tests.faults [SECONDS [SEED [folder|bucket [KIND...]]]]`): the fault campaign.

By default an hour of all kinds over copies in a folder. Exit code 1: a bad case.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import run

if __name__ == "__main__":
    seconds, seed, place, *only = (*sys.argv[1:], *("3600", "1", "folder")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            Path(folder), float(seconds), int(seed), place, only, lambda line: print(line, file=sys.stderr, flush=True)
        )
    print(*result.lines(), sep="\n")
    sys.exit(1 if result.bad else 0)
