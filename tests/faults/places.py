"""Where the campaign's copies lie, in a folder or in a bucket: how each is made, opened, harmed and removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol
from unittest import mock

from assets.ingest.context import PipelineContext
from orchestration.work import copy as copying
from tests.faults.objects import Objects
from tests.faults.warehouse import LATER, opened
from tests.stand_ins.buckets import CREDENTIALS, object_store
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder


class Copy(Protocol):
    """One copy of the base warehouse, to be harmed behind the pipeline's back."""

    def opened(self, now: int = LATER) -> PipelineContext:
        """The pipeline over it, as a process that starts has it."""

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder that hold bytes."""

    def read(self, key: str) -> bytes:
        """The bytes of a key."""

    def overwrite(self, key: str, body: bytes) -> None:
        """In place and with its old version, as a disk does it."""

    def write(self, key: str, body: bytes) -> None:
        """As a person does it by hand."""

    def remove(self, key: str) -> None:
        """The key is gone."""

    def clear(self) -> None:
        """Nothing of the copy is left."""


class Place(Protocol):
    """Gives copies of the base warehouse."""

    def copy(self, name: str) -> Copy:
        """A new one."""


@dataclass(frozen=True)
class FolderCopy:
    """A copy in a folder."""

    home: Path

    def opened(self, now: int = LATER) -> PipelineContext:
        """The pipeline over it."""
        return opened(self.home, now)

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder that hold bytes."""
        return [key for key in Folder(self.home).keys(prefix) if (self.home / key).stat().st_size]

    def read(self, key: str) -> bytes:
        """The bytes of a key."""
        return (self.home / key).read_bytes()

    def overwrite(self, key: str, body: bytes) -> None:
        """In place and with its old time."""
        path, times = self.home / key, (self.home / key).stat()
        path.write_bytes(body)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def write(self, key: str, body: bytes) -> None:
        """As an editor does it: a new file."""
        (self.home / key).unlink(missing_ok=True)
        (self.home / key).write_bytes(body)

    def remove(self, key: str) -> None:
        """The file is gone."""
        (self.home / key).unlink()

    def clear(self) -> None:
        """The folder is gone."""
        shutil.rmtree(self.home, ignore_errors=True)


@dataclass(frozen=True)
class FolderPlace:
    """Copies beside the base warehouse's folder."""

    base: Path

    def copy(self, name: str) -> FolderCopy:
        """A new folder."""
        return FolderCopy(Path(shutil.copytree(self.base, self.base.parent / name)))


@dataclass(frozen=True)
class BucketCopy:
    """A copy below a prefix of its own. A process that opened it may not fork any more."""

    objects: Objects
    local: Path

    def address(self, endpoint: str = "") -> str:
        """Its EMDS_HOME, over the server itself or over a line to it."""
        return f"s3://emds/{self.objects.prefix}?endpoint={endpoint or self.server}"

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.objects.port}"

    def opened(self, now: int = LATER, endpoint: str = "") -> PipelineContext:
        """The pipeline over it, with a client that gives up after seconds, so that a case takes no minutes."""
        bounds = {"request_s": 1.5, "retries": 2, "retry_s": 4.0}
        with mock.patch("warehouse.store.bucket.Bucket", partial(Bucket, **bounds)):
            return opened(self.address(endpoint), now, self.local)

    def keys(self, prefix: str) -> list[str]:
        """The keys below a folder that hold bytes."""
        return self.objects.keys(prefix)

    def read(self, key: str) -> bytes:
        """The bytes of a key."""
        return self.objects.read(key)

    def overwrite(self, key: str, body: bytes) -> None:
        """Other bytes under the old metadata."""
        self.objects.overwrite(key, body)

    def write(self, key: str, body: bytes) -> None:
        """As another tool does it: without version and number."""
        self.objects.write(key, body)

    def remove(self, key: str) -> None:
        """The object is gone."""
        self.objects.remove(key)

    def clear(self) -> None:
        """No object and no local file is left."""
        self.objects.clear()
        shutil.rmtree(self.local, ignore_errors=True)


@dataclass(frozen=True)
class BucketPlace:
    """Copies below prefixes of a bucket, each with a folder of this machine."""

    base: Objects
    folder: Path

    def copy(self, name: str) -> BucketCopy:
        """A new prefix."""
        return BucketCopy(self.base.copy(name), self.folder / f"{name}.local")


@contextmanager
def bucket_place(base: Path) -> Iterator[BucketPlace]:
    """A bucket of a server on loopback that holds the base warehouse, copied there as `emds copy` does."""
    os.environ.update(CREDENTIALS)
    with object_store() as endpoint:
        place = BucketPlace(Objects(int(endpoint.rsplit(":", 1)[1]), "base"), base.parent)
        pid = os.fork()  # a client belongs to the process that opened it, and cases are forked from this one
        if pid == 0:
            target = Bucket(f"s3://emds/base?endpoint={endpoint}", base.parent / "base.local")
            copying.copy(Folder(base), target)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0, "the base warehouse was not copied"
        yield place
