"""`make faults` (`python -m tests.faults [SECONDS] [SEED]`): the fault campaign, by default an hour; 1: a bad case."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.campaign import run

if __name__ == "__main__":
    seconds, seed = float((sys.argv[1:2] or ["3600"])[0]), int((sys.argv[2:3] or ["1"])[0])
    with tempfile.TemporaryDirectory() as folder:
        result = run(Path(folder), seconds, seed, lambda line: print(line, file=sys.stderr, flush=True))
    print(*result.lines(), sep="\n")
    sys.exit(1 if result.bad else 0)
