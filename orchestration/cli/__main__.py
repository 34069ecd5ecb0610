"""`python -m orchestration.cli`: the command line where no script is installed."""

from __future__ import annotations

import sys

from orchestration.cli import main

sys.exit(main())
