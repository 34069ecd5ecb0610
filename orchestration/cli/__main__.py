"""Run the command line as `python -m orchestration.cli` if no script is installed."""

from __future__ import annotations

import sys

from orchestration.cli import main

sys.exit(main())
