"""Run every benchmark in turn: `python -m tests.bench`, or `python -m tests.bench NAME ...`. Exit 1 on a miss."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = sorted(
    p.stem for p in Path(__file__).parent.glob("*.py") if "if __name__" in p.read_text() and p.stem != "__main__"
)


def main() -> int:
    """Run each benchmark in a separate process, so that none warms the caches of another."""
    missed = []
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], check=False).returncode:
            missed.append(name)
    print(f"budgets missed in: {', '.join(missed)}" if missed else "every budget kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
