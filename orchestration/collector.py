"""Python's collector of cycles, held back while a process loads, and at its end.

A process of Dagster's makes some 400,000 objects as it imports, which stay until it ends. The collector goes through
them again and again meanwhile, through all of them whenever it looks at the oldest later on, and once more at the end:
two fifths of the CPU time of such a start.
"""

from __future__ import annotations

import gc
import sys


def hold_back() -> None:
    """No collection until `let_go`."""
    gc.disable()


def let_go() -> None:
    """Collects from here on what comes now; what stands stays out of it, at the end of the process too.

    Where that is DuckDB's, `gc.unfreeze` comes before the end (`leave_all` says why).
    """
    gc.freeze()
    gc.enable()


def seldom() -> None:
    """For a command that ends soon: it looks for cycles once in 100,000 new objects, some ten megabytes."""
    gc.set_threshold(100_000, 20, 50)


def leave_all() -> None:
    """At the end of a process: what is left goes with it, without being looked through.

    Not where DuckDB is loaded: its binding (nanobind) lists on standard error whatever of its own is left at the end.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
