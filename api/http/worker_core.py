"""Keeps the threads of a worker on one core, each worker on another, and moves them where others need that core.

Threads hand Python's global lock to each other at every system call; spread over cores, each hand-over wakes another
core, and a call costs up to twice the time. nginx has this as `worker_cpu_affinity auto`. `gunicorn.conf.py` alone
calls this; where the system has no such call, or forbids it, nothing happens. How many cores there are to use is told
here too.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_LOOK_S = 2
_CROWDED, _ROOMIER = 0.3, 0.2
"""A worker moves where others take so much of its core, and so much less of the other."""
_TWIN = 0.5
"""What two threads of one physical core take from each other, about."""
_TOPOLOGY = Path("/sys/devices/system/cpu")
_CGROUP, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_QUOTAS = (("", ("cpu.max",)), ("cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us")))
"""Where cgroups v2, and v1, say how many microseconds of CPU time a group may take in how many of time.

By the controller, whose folder it is in v1. https://docs.kernel.org/admin-guide/cgroup-v2.html,
https://docs.kernel.org/scheduler/sched-bwc.html
"""
_IDLE = slice(3, 5)
"""Idle and waiting for a disk, among the columns of /proc/stat; the first eight add up to all time (proc(5))."""


class Ticks(NamedTuple):
    """What a core did since the machine started."""

    busy: int
    all: int


def usable(cgroup: Path = _CGROUP, own_groups: Path = _OWN_GROUPS) -> int:
    """How many cores this process may use: those of its container's cpuset and quota, not all of the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, math.ceil(_quota(cgroup, own_groups)) or cores)


def _quota(cgroup: Path, own_groups: Path) -> float:
    """How many cores' time this process may take, as its group and all above it allow; 0 for no limit.

    `docker run --cpus`, a limit of Kubernetes and `CPUQuota=` of systemd set it.
    """
    limits = [
        _limit([folder / name for name in names])
        for controller, names in _QUOTAS
        for folder in _folders(cgroup / controller, controller, own_groups)
    ]
    return min(filter(None, limits), default=0.0)


def _folders(mount: Path, controller: str, own_groups: Path) -> list[Path]:
    """The folders of this process's group and of all above it; a container mostly sees its own alone, as the mount."""
    group = "/"
    with contextlib.suppress(OSError, ValueError):  # cgroups(7): a line is number:controllers:path
        lines = [line.split(":", 2) for line in own_groups.read_text().splitlines()]
        group = next((path for _, controllers, path in lines if controller in controllers.split(",")), group)
    inner = PurePosixPath(group).parts[1:]
    return [mount.joinpath(*inner[:depth]) for depth in range(len(inner) + 1)]


def _limit(files: Iterable[Path]) -> float:
    """Microseconds of CPU time by those of time, as a group's files say them; 0 for no limit."""
    # A file that is not there is of the other version; "max" is no limit in v2, -1 in v1.
    with contextlib.suppress(OSError, ValueError, ArithmeticError):
        most, period = [int(word) for file in files for word in file.read_text().split()]
        return max(0.0, most / period)
    return 0.0


def keep_to_one(number: int, siblings: Iterable[int]) -> None:
    """Binds this process to one of its cores, and looks on. `number` tells apart workers that start together.

    `siblings`: process ids of the other workers.
    """
    # Only Linux has it, a sandbox may forbid it, and there may be no room for a thread: a worker serves all the same.
    with contextlib.suppress(AttributeError, OSError, RuntimeError):
        physical = physical_cores(os.sched_getaffinity(0), _TOPOLOGY)
        if len(physical) > 1:
            core = choose(physical, _held(siblings), number)
            _bind(core)
            threading.Thread(target=_look_on, args=(core, physical), name="own core", daemon=True).start()


def physical_cores(cores: Iterable[int], topology: Path) -> dict[int, int]:
    """The first thread of the physical core of each core, from `topology`; the first threads come first.

    The kernel calls each thread of a physical core a core; two that are at work are far from twice as fast as one.
    """
    physical = {}
    for core in sorted(cores):
        try:
            twins = (topology / f"cpu{core}" / "topology" / "thread_siblings_list").read_text()
            physical[core] = int(re.split("[-,]", twins)[0])
        except (OSError, ValueError):  # a sandbox may not show it
            physical[core] = core
    ranks = Counter[int]()
    ordered = []
    for core, first in physical.items():
        ordered.append((ranks[first], core))
        ranks[first] += 1
    return {core: physical[core] for _, core in sorted(ordered)}


def choose(physical: Mapping[int, int], held: Iterable[int], number: int) -> int:
    """Of the cores that the fewest siblings hold, physical ones first, the `number`th, counted round and round.

    `physical`: as `physical_cores` gives them.
    """
    on_core = Counter(held)
    on_physical = Counter(physical.get(core, core) for core in on_core.elements())
    holders = {core: (on_physical[first], on_core[core]) for core, first in physical.items()}
    free = [core for core, each in holders.items() if each == min(holders.values())]
    apart = [
        core for place, core in enumerate(free) if physical[core] not in {physical[other] for other in free[:place]}
    ]
    return apart[number % len(apart)]


def roomier(core: int, own: float, busy: Mapping[int, float]) -> int | None:
    """A core on which others leave more room than on `core`; None where it is as well to stay.

    `own`: the part of `core` that this process took; `busy`: as `taken` gives it.
    """
    others = busy.get(core, 0.0) - own
    if others < _CROWDED:
        return None
    least = min((other for other in busy if other != core), key=lambda other: busy[other], default=core)
    return least if busy[least] + _ROOMIER < others else None


def ticks(text: str, cores: Collection[int]) -> dict[int, Ticks]:
    """What each of some cores did, from the text of /proc/stat."""
    found = {}
    for line in text.splitlines():
        name, *columns = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            spent = [int(column) for column in columns[:8]]
            found[int(name[3:])] = Ticks(sum(spent) - sum(spent[_IDLE]), sum(spent))
    return found


def taken(before: Mapping[int, Ticks], after: Mapping[int, Ticks], physical: Mapping[int, int]) -> dict[int, float]:
    """The part of each core that was taken between two moments, by whomever, and by what its twins did."""
    there = {core: then for core, then in before.items() if core in after}
    passed = {core: (after[core].busy - then.busy, after[core].all - then.all) for core, then in there.items()}
    alone = {core: busy / whole for core, (busy, whole) in passed.items() if whole > 0}
    together: defaultdict[int, float] = defaultdict(float)
    for core, part in alone.items():
        together[physical[core]] += part
    return {core: part + _TWIN * (together[physical[core]] - part) for core, part in alone.items()}


def _held(siblings: Iterable[int]) -> list[int]:
    """The cores to which siblings are bound."""
    held: list[int] = []
    for sibling in siblings:
        with contextlib.suppress(OSError):  # it ended meanwhile
            cores = os.sched_getaffinity(sibling)
            held += cores if len(cores) == 1 else []
    return held


def _bind(core: int) -> None:
    """All threads; those to come take it over from the one that starts them.

    Until none is new, for a thread may be started by one that is not bound yet, and then is not in the list. Each
    once, so that what somebody else binds meanwhile stays.
    """
    bound: set[str] = set()
    while new := {*os.listdir("/proc/self/task")} - bound:
        for thread in new:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), {core})
        bound |= new


def _look_on(core: int, physical: Mapping[int, int]) -> None:
    """Moves again and again, until somebody else, as with `taskset`, has bound this process otherwise."""
    # A core may go away, and /proc be closed or say something else: then it stays where it is.
    with contextlib.suppress(OSError, ValueError):
        before, own, at = _ticks_now(physical), time.process_time(), time.monotonic()
        while True:
            time.sleep(_LOOK_S)
            if not os.sched_getaffinity(0) == os.sched_getaffinity(os.getpid()) == {core}:  # this and the main thread
                return
            after, spent, now = _ticks_now(physical), time.process_time(), time.monotonic()
            better = roomier(core, (spent - own) / (now - at), taken(before, after, physical))
            if better is not None and random.getrandbits(1):  # two that would both go do not both go
                core = better
                _bind(core)
            before, own, at = after, spent, now


def _ticks_now(cores: Collection[int]) -> dict[int, Ticks]:
    return ticks(Path("/proc/stat").read_text(), cores)
