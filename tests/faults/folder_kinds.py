"""The faults of the campaign that only a folder has: a kill at a file operation, foreign rights, a full disk."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.faults import kinds
from tests.faults.kinds import Harm, random_file, reported, zones_of
from tests.faults.places import FolderCopy
from warehouse.store.storage import Folder


def kill(copy: FolderCopy, chance: random.Random) -> Harm:
    """SIGKILL before a random file operation of an ingest."""
    step = chance.randrange(1, 1500)
    pid = os.fork()
    if pid == 0:
        _kill_self_at(step)
        reported(copy)
        os._exit(0)
    ended = os.waitpid(pid, 0)[1]
    said = reported(copy)
    return Harm(f"killed at file operation {step}" if ended else "ended before it was killed", reported=said)


def _kill_self_at(step: int) -> None:
    operations = ("open", "os.rename", "os.utime", "os.remove", "os.mkdir", "fcntl.flock")
    count = 0

    def hook(event: str, _: object) -> None:
        nonlocal count
        count += event in operations
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


class Refusing(Folder):
    """A folder of which one file cannot be read, as with foreign rights or a bad sector. Works for root too."""

    def __init__(self, root: Path, key: str, number: int) -> None:
        super().__init__(root)
        self.refused, self.number = key, number

    def get(self, key: str) -> bytes | None:
        if key == self.refused:
            raise PermissionError(self.number, os.strerror(self.number), key)
        return super().get(key)


def unreadable(copy: FolderCopy, chance: random.Random) -> Harm:
    """A kept file refuses to be read."""
    key = random_file(copy, chance)
    number = chance.choice([errno.EACCES, errno.EIO])
    refusing = replace(copy.opened(), storage=Refusing(copy.home, key, number))
    return Harm(f"{key}: {os.strerror(number)}", zones_of(key), reported(copy, refusing))


def full_disk(copy: FolderCopy, chance: random.Random) -> Harm:
    """No file may grow beyond some bytes: writes fail in the middle. Nothing is promised but that nothing is lost."""
    most = chance.choice([0, 100, 1000, 10_000])
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        pipeline = copy.opened()
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        os._exit(0 if reported(copy, pipeline) else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 1), f"a full disk ended the run with {status}"
    reported(copy)
    return Harm(f"no file beyond {most} bytes", reported=status == 0)


KINDS: dict[str, Callable[[FolderCopy, random.Random], Harm]] = {
    "kill": kill,
    "flip": kinds.flip,
    "cut": kinds.cut,
    "missing": kinds.missing,
    "unreadable": unreadable,
    "mode": kinds.mode,
    "full disk": full_disk,
    "clock": kinds.clock,
    "publisher": kinds.publisher,
}
