"""`python -m orchestration.run`: the documented alias of `emds`. The command line itself is `orchestration.cli`."""

from __future__ import annotations

import sys

from orchestration.cli import process

if __name__ == "__main__":
    sys.exit(process())
