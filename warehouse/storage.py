"""Bytes by key: a local folder now; an object store fits behind the same few calls. Which keys there are is `warehouse.layout`'s business.

A put is whole or not at all: bytes go to a scratch file and are renamed into place, so that a reader or a kill at any
moment finds the old bytes or the new. A version (nanoseconds) travels with the bytes as the file's modification time.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from warehouse.errors import StorageError

LOCK_WAIT_S = 120.0


class Identity(NamedTuple):
    """Which bytes a key holds right now: equal identities mean equal bytes."""

    version: int
    size: int
    inode: int


class Storage(Protocol):
    """What the warehouse asks of a place that keeps bytes."""

    def get(self, key: str) -> bytes | None: ...
    def stat(self, key: str) -> Identity | None: ...
    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None: ...
    def touch(self, key: str, version: int) -> None: ...
    def delete(self, key: str) -> None: ...
    def keys(self, prefix: str) -> list[str]: ...
    def locked(self, keys: Iterable[str], wait_s: float = LOCK_WAIT_S) -> ExitStack: ...


def _checked(key: str) -> str:
    """The key. Raises StorageError for one that would leave the folder."""
    if key.startswith("/") or "\0" in key or (".." in key and ".." in key.split("/")):
        raise StorageError(f"not a key: {key!r}")
    return key


class Folder:
    """A local folder (EMDS_HOME) as storage. Safe for many processes and threads on one machine."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).absolute()

    def path(self, key: str) -> Path:
        """Where a key's bytes lie. Raises StorageError for a key that would leave the folder."""
        return self.root / _checked(key)

    def get(self, key: str) -> bytes | None:
        """The bytes, or None where there are none."""
        try:
            return self.path(key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stat(self, key: str) -> Identity | None:
        """Version, size and inode of what a key holds, or None."""
        # A server asks this several times a request, and joining by pathlib would cost four times the system call.
        try:
            found = os.stat(f"{self.root}/{_checked(key)}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Identity(found.st_mtime_ns, found.st_size, found.st_ino)

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        """Puts bytes in place whole; `version` (ns) becomes their identity's version, else the time of writing.

        Durable bytes are on the disk before their name is: a loss of power leaves the old or the new. What can be had
        again need not wait for the disk.
        """
        target = self.path(key)
        scratch = self.root / "scratch" / f"{os.getpid()}-{secrets.token_hex(8)}"
        try:
            stream = scratch.open("xb")
        except FileNotFoundError:
            scratch.parent.mkdir(parents=True, exist_ok=True)
            stream = scratch.open("xb")
        try:
            with stream:
                stream.write(body)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            if version is not None:
                os.utime(scratch, ns=(version, version))
            self._place(scratch, target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise

    def _place(self, scratch: Path, target: Path) -> None:
        try:
            scratch.replace(target)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            scratch.replace(target)

    def touch(self, key: str, version: int) -> None:
        """Gives unchanged bytes a newer version."""
        os.utime(self.path(key), ns=(version, version))

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none."""
        self.path(key).unlink(missing_ok=True)

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted."""
        base = self.path(prefix)
        if not base.is_dir():
            return []
        root = len(str(self.root)) + 1  # strings: pathlib's joining costs more than the walk
        return sorted(f"{folder}/{name}"[root:] for folder, _, names in os.walk(str(base)) for name in names)

    def locked(self, keys: Iterable[str], wait_s: float = LOCK_WAIT_S) -> ExitStack:
        """Holds the locks of these keys, taken in key order so that two writers never wait for each other."""
        with ExitStack() as held:
            for key in sorted(set(keys)):
                held.enter_context(self._lock(key, wait_s))
            return held.pop_all()

    @contextmanager
    def _lock(self, key: str, wait_s: float) -> Iterator[None]:
        with self._lock_file(key) as stream:
            deadline = time.monotonic() + wait_s
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise StorageError(f"another writer has held {key} for {wait_s:.0f} s") from None
                    time.sleep(0.01)
            yield

    def _lock_file(self, key: str) -> IO[bytes]:
        path = self.root / "locks" / key.replace("/", "~")
        try:
            return path.open("ab")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("ab")

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Removes scratch files that a killed writer left behind; returns how many."""
        removed = 0
        for path in (self.root / "scratch").glob("*"):
            try:
                if time.time() - path.stat().st_mtime > older_than_s:
                    path.unlink()
                    removed += 1
            except FileNotFoundError:
                continue
        return removed
