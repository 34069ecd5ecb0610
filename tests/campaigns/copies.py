"""Copy the small warehouse into a folder or bucket, for the pipeline to open and for faults to damage unnoticed."""

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
        """Return the pipeline over the copy, as a starting process opens it."""
        return opened(self.home, now)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys below `prefix` whose files are not empty."""
        return [key for key in Folder(self.home).keys(prefix) if (self.home / key).stat().st_size]

    def read(self, key: str) -> bytes:
        return (self.home / key).read_bytes()

    def overwrite(self, key: str, body: bytes) -> None:
        """Overwrite in place and keep the old time, as a disk does."""
        path, times = self.home / key, (self.home / key).stat()
        path.write_bytes(body)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def write(self, key: str, body: bytes) -> None:
        """Write a new file, as an editor does."""
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
        """Return the pipeline over the copy or over `endpoint`, with a client that gives up after a few seconds."""
        bounds = {"request_s": 1.5, "retries": 2, "retry_s": 4.0}
        with mock.patch("warehouse.store.bucket.Bucket", partial(Bucket, **bounds)):
            address = f"s3://emds/base?endpoint={endpoint or self.server}"
            return opened(address, now, self.folder.with_suffix(".local"))

    def keys(self, prefix: str) -> list[str]:
        """Return the keys below `prefix` whose objects are not empty."""
        listed = self.objects.listed(f"emds/base/{prefix}", "", 10**9)
        return [key.removeprefix("emds/base/") for key, found in listed if found.body]

    def read(self, key: str) -> bytes:
        found = self.objects.get(f"emds/base/{key}")
        assert found is not None
        return found.body

    def overwrite(self, key: str, body: bytes) -> None:
        """Write other bytes under the old metadata, which keeps the version and number of the put."""
        found = self.objects.get(f"emds/base/{key}")
        assert found is not None
        self.objects.put(f"emds/base/{key}", body, found.headers)

    def write(self, key: str, body: bytes) -> None:
        """Write without version and number, as another tool does."""
        self.objects.put(f"emds/base/{key}", body, {})

    def remove(self, key: str) -> None:
        self.objects.delete(f"emds/base/{key}")


Copy = FolderCopy | BucketCopy


def into_bucket(home: Path, objects: Path) -> None:
    """Copy a warehouse into a bucket as `emds copy` does, in a separate process."""
    os.environ.update(CREDENTIALS)
    pid = os.fork()
    if pid == 0:
        target = Bucket(f"s3://emds/base?endpoint={BucketCopy(objects).server}", objects.with_suffix(".local"))
        copying.copy(Folder(home), target)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, "the warehouse was not copied"


def copied(place: str, base: Path, name: str) -> Copy:
    """Return a new copy beside `base`, the folder of the warehouse or of a bucket's objects."""
    folder = Path(shutil.copytree(base, base.parent / name))
    return FolderCopy(folder) if place == "folder" else BucketCopy(folder)
