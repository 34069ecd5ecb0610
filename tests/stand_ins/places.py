"""Where a test's warehouse lies: a folder, or a prefix of a bucket behind a line; each kills its writers where told."""

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
"""What the children would each import, up to 1.7 s of CPU: the modules that hold their work are among it."""

Work = Callable[[Storage], object]
"""What a writer does; one that a bucket's child can be given: a module's function, or a partial of one."""


@dataclass(frozen=True)
class FolderPlace:
    """A folder of this machine."""

    root: Path
    fork_killed_at: Callable[[Callable[[], object], int], bool]

    @property
    def address(self) -> str:
        return str(self.root)

    def open(self, cache_s: float = 0.0) -> Storage:
        """Its storage."""
        return Folder(self.root)

    def killed_at(self, work: Work, step: int) -> bool:
        """Runs `work` in a child that is killed before file operation `step`; false once it came to its end."""
        return self.fork_killed_at(lambda: work(self.open()), step)


@dataclass(frozen=True)
class BucketPlace:
    """A prefix of a bucket, behind a line of its own."""

    line: BadLine
    prefix: str
    local: Path

    @property
    def address(self) -> str:
        return f"s3://emds/{self.prefix}?endpoint={self.line.url}"

    def open(self, cache_s: float = 0.0, **bounds: Any) -> Bucket:
        """Its storage as one process has it; another call is another process's."""
        return Bucket(self.address, self.local, cache_s=cache_s, **bounds)

    def killed_at(self, work: Work, step: int) -> bool:
        """Kills a child before request 1 is forwarded, before its answer comes back, before request 2 and so on."""
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
    """A process's id, which its own first request may come before."""
    while child.pid is None:
        time.sleep(0.001)
    return int(child.pid)


def _in_child(address: str, local: str, work: Work) -> None:
    os.environ.update(CREDENTIALS)  # its environment is that of whoever first forked one in this process
    work(Bucket(address, local, cache_s=0.0))
    os._exit(0)
