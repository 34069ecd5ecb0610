"""`make faults` (`python -m tests.faults [SECONDS] [SEED] [folder|bucket]`): the fault campaign; 1: a bad case.

By default an hour over copies in a folder.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import run

if __name__ == "__main__":
    seconds, seed, place = (*sys.argv[1:], *("3600", "1", "folder")[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            Path(folder), float(seconds), int(seed), place, lambda line: print(line, file=sys.stderr, flush=True)
        )
    print(*result.lines(), sep="\n")
    sys.exit(1 if result.bad else 0)
