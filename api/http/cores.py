"""How many cores this process may use: those of its cpuset and of its container's CPU quota, not all of the machine."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path, PurePosixPath

_CGROUP, _OWN_GROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def usable(cgroup: Path = _CGROUP, own_group: Path = _OWN_GROUP) -> int:
    """Return at least 1. `docker run --cpus`, a limit of Kubernetes and systemd's CPUQuota set the quota.

    https://docs.kernel.org/admin-guide/cgroup-v2.html; under cgroups v1 the cpuset alone counts.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    inner: tuple[str, ...] = ()
    with contextlib.suppress(OSError):  # a container mostly sees its own group alone, as the mount
        groups = [line.removeprefix("0::/") for line in own_group.read_text().splitlines() if line.startswith("0::/")]
        inner = PurePosixPath(*groups).parts
    quotas = [_quota(cgroup.joinpath(*inner[:depth], "cpu.max")) for depth in range(len(inner) + 1)]
    return max(1, int(min([cores, *quotas])))


def _quota(file: Path) -> float:
    """Return how many cores' time a group may take; infinity without a limit."""
    try:
        most, period = file.read_text().split()
        return math.ceil(int(most) / int(period))
    except (OSError, ValueError, ArithmeticError):  # there is no such file, or it says "max"
        return math.inf
