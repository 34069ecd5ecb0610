"""Provide the locations of a test's warehouse, which are a folder and a prefix of a bucket behind a line.

Both can kill the processes that write to them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.stand_ins.bad_line import BadLine
from tests.stand_ins.buckets import CREDENTIALS
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder, Storage

_CHILDREN = get_context("forkserver")
_CHILDREN.set_forkserver_preload(
    [
        *("obstore.store", "warehouse.store.bucket", "warehouse.series.folding", "tests.stand_ins.places"),
        *("tests.warehouse.test_series_kills", "tests.warehouse.test_changes_bucket"),
        "tests.orchestration.test_copy",
    ]
)
"""The modules that each child would otherwise import, with up to 1.7 s of CPU time.

They include the modules that define the children's work.
"""

Work = Callable[[Storage], object]
"""The work of a writer. A child of a bucket accepts only a function of a module, or a partial of such a function."""


@dataclass(frozen=True)
class FolderPlace:
    """A folder on this machine."""

    root: Path
    fork_killed_at: Callable[[Callable[[], object], int], bool]

    @property
    def address(self) -> str:
        return str(self.root)

    def open(self, cache_s: float = 0.0) -> Storage:
        """Return the storage of the folder."""
        return Folder(self.root)

    def killed_at(self, work: Work, step: int) -> bool:
        """Run `work` in a child that is killed before file operation `step`. Return False if the work ended before."""
        return self.fork_killed_at(lambda: work(self.open()), step)


@dataclass(frozen=True)
class BucketPlace:
    """A prefix of a bucket behind a line of its own."""

    line: BadLine
    prefix: str
    local: Path

    @property
    def address(self) -> str:
        return f"s3://emds/{self.prefix}?endpoint={self.line.url}"

    def open(self, cache_s: float = 0.0, **bounds: Any) -> Bucket:
        """Return the storage as a single process has it. Each call stands for another process."""
        return Bucket(self.address, self.local, cache_s=cache_s, **bounds)

    def killed_at(self, work: Work, step: int) -> bool:
        """Run `work` in a child that is killed at `step`. Return False if the work ended before.

        Step 1 is before request 1 is forwarded, step 2 is before its response returns, step 3 is before request 2 is
        forwarded, and so on.
        """
        child = _CHILDREN.Process(target=_in_child, args=(self.address, str(self.local), work))
        before = len(self.line.requests)

        def kill(number: int) -> tuple[int, bool] | None:
            at, after = divmod(step - 1, 2)
            return (_id_of(child), bool(after)) if number - before == at + 1 else None

        self.line.kill = kill
        child.start()
        child.join(60)
        self.line.kill = lambda number: None
        assert child.exitcode in (0, -9), "the child failed by itself"
        return child.exitcode != 0


Place = FolderPlace | BucketPlace


def _id_of(child: Any) -> int:
    """Wait for the process ID of `child` and return it.

    The first request of the child may arrive before its ID is known.
    """
    while child.pid is None:
        time.sleep(0.001)
    return int(child.pid)


def _in_child(address: str, local: str, work: Work) -> None:
    os.environ.update(CREDENTIALS)  # The child's environment is that of the process that first forked it.
    work(Bucket(address, local, cache_s=0.0))
    os._exit(0)
