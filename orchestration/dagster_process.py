"""Starts a program of Dagster's with the collector of cycles held back while it loads.

    python -m orchestration.dagster_process dagster-daemon run ...

A code server's runs are forked from a process that has loaded (`orchestration.run_processes`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points

from orchestration import collector, run_processes

collector.hold_back()


def main(argv: Sequence[str]) -> None:
    """Becomes the program `argv[0]`, one of Dagster's console scripts, with what follows as its arguments."""
    (program,) = entry_points(group="console_scripts", name=argv[0])
    begin = program.load()
    if argv[1:3] == ["api", "grpc"]:
        run_processes.fork_from_one()
    if "--module-name" in argv:
        with suppress(Exception):  # Dagster loads it once more, and tells what is wrong
            import_module(argv[argv.index("--module-name") + 1])
    collector.let_go()
    sys.argv = [*argv]
    begin()


if __name__ == "__main__":
    main(sys.argv[1:])
