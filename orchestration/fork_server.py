"""What the process that runs are forked from does as it starts; imported by no other. See `run_processes`."""

from __future__ import annotations

import os
import signal
from importlib import import_module

from orchestration import collector

collector.hold_back()  # a run's process lets go once it has its definitions
# Who stops a code server tells all that it has started. It learns from this process how its runs end, so this one ends
# after them by itself.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))

for _module in (
    "orchestration.definitions",
    "dagster._grpc.impl",
    "dagster._core.storage.sqlite_storage",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.fs_io_manager",
    "assets.simulated.answer",
    "pandas",  # PyArrow looks for it as it makes its first array
):
    import_module(_module)
