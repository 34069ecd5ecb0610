"""Copies of the small warehouse, in a folder or in a bucket: each opened by the pipeline and harmed behind its back."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from unittest import mock

from assets.ingest.context import PipelineContext
from orchestration.work import copy as copying
from tests.campaigns.small import LATER, opened
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.object_store import Objects, Server, bound
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder


@dataclass(frozen=True)
class FolderCopy:
    """A copy in a folder."""

    home: Path

    def opened(self, now: int = LATER) -> PipelineContext:
        """The pipeline over it, as a process that starts has it."""
        return opened(self.home, now)

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder that hold bytes."""
        return [key for key in Folder(self.home).keys(prefix) if (self.home / key).stat().st_size]

    def read(self, key: str) -> bytes:
        return (self.home / key).read_bytes()

    def overwrite(self, key: str, body: bytes) -> None:
        """In place and with its old time, as a disk does it."""
        path, times = self.home / key, (self.home / key).stat()
        path.write_bytes(body)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def write(self, key: str, body: bytes) -> None:
        """As an editor does it: a new file."""
        (self.home / key).unlink(missing_ok=True)
        (self.home / key).write_bytes(body)

    def remove(self, key: str) -> None:
        (self.home / key).unlink()


@dataclass(frozen=True)
class BucketCopy:
    """A copy in a bucket served by this process, over the objects of a folder.

    The server starts at first use. A process that runs it, or that has opened a client, must not fork.
    """

    folder: Path

    @cached_property
    def _server(self) -> Server:
        server = bound(self.folder, 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def objects(self) -> Objects:
        return self._server.RequestHandlerClass.objects  # type: ignore[attr-defined]

    def opened(self, now: int = LATER, endpoint: str = "") -> PipelineContext:
        """The pipeline over it, or over a line to it, with a client that gives up after seconds."""
        bounds = {"request_s": 1.5, "retries": 2, "retry_s": 4.0}
        with mock.patch("warehouse.store.bucket.Bucket", partial(Bucket, **bounds)):
            address = f"s3://emds/base?endpoint={endpoint or self.server}"
            return opened(address, now, self.folder.with_suffix(".local"))

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder that hold bytes."""
        listed = self.objects.listed(f"emds/base/{prefix}", "", 10**9)
        return [key.removeprefix("emds/base/") for key, found in listed if found.body]

    def read(self, key: str) -> bytes:
        found = self.objects.get(f"emds/base/{key}")
        assert found is not None
        return found.body

    def overwrite(self, key: str, body: bytes) -> None:
        """Other bytes under the old metadata: version and number of the put stay."""
        found = self.objects.get(f"emds/base/{key}")
        assert found is not None
        self.objects.put(f"emds/base/{key}", body, found.headers)

    def write(self, key: str, body: bytes) -> None:
        """As another tool does it: without version and number."""
        self.objects.put(f"emds/base/{key}", body, {})

    def remove(self, key: str) -> None:
        self.objects.delete(f"emds/base/{key}")


Copy = FolderCopy | BucketCopy


def into_bucket(home: Path, objects: Path) -> None:
    """Copies a warehouse into a bucket as `emds copy` does, in a process of its own."""
    os.environ.update(CREDENTIALS)
    pid = os.fork()
    if pid == 0:
        target = Bucket(f"s3://emds/base?endpoint={BucketCopy(objects).server}", objects.with_suffix(".local"))
        copying.copy(Folder(home), target)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, "the warehouse was not copied"


def copied(place: str, base: Path, name: str) -> Copy:
    """A new copy beside the base; `base`: the warehouse's folder, or that of a bucket's objects."""
    folder = Path(shutil.copytree(base, base.parent / name))
    return FolderCopy(folder) if place == "folder" else BucketCopy(folder)
