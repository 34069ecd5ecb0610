"""Bytes by key in a local folder. Keys: see `warehouse.store.layout`. A `Storage` is this, or a bucket.

A put is whole or not at all: bytes go to a scratch file and are renamed into place, so that a reader or a kill at any
moment finds the old bytes or the new. `update` replaces bytes on condition that they are still those that it read. A
version (nanoseconds) travels with the bytes as the file's modification time. What the operating system refuses is
raised as StorageError or DamagedFile, with the key in its text.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from warehouse.errors import DamagedFile, StorageError
from warehouse.store.stored_bytes import WAIT_S, Change, Identity, Stored, checked_key

if TYPE_CHECKING:
    from warehouse.store.bucket import Bucket

_OF_THE_FILE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR, errno.ELOOP, errno.EBADMSG, errno.EUCLEAN, errno.ENODATA}
)
"""What a read fails with because of this very file; anything else (too many open files) passes by itself."""
_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})


def _unreadable(key: str, error: OSError) -> StorageError:
    """The typed error of a read that the operating system refused."""
    reason = f"cannot be read: {os.strerror(error.errno) if error.errno else error}"
    return DamagedFile(key, reason) if error.errno in _OF_THE_FILE else StorageError(f"{key} {reason}")


def _unwritable(key: str, error: OSError) -> StorageError:
    """The typed error of a write that the operating system refused."""
    return StorageError(f"{key} cannot be written: {os.strerror(error.errno) if error.errno else error}")


def _identity(status: os.stat_result) -> Identity:
    return Identity(status.st_mtime_ns, status.st_size, status.st_ino)


class Folder:
    """A local folder (EMDS_HOME) as storage. Safe for many processes and threads on one machine."""

    def __init__(self, root: Path | str) -> None:
        self.root = self.local = Path(root).absolute()
        """`local`: for what needs a disk, as SQLite and logs do."""

    def __str__(self) -> str:
        return str(self.root)

    def path(self, key: str) -> Path:
        """Where a key's bytes lie. Raises StorageError for a key that would leave the folder."""
        return self.root / checked_key(key)

    def get(self, key: str) -> bytes | None:
        """The bytes, or None where there are none. Raises DamagedFile for a file that cannot be read."""
        stored = self.read(key)
        return None if stored is None else stored.body

    def read(self, key: str) -> Stored | None:
        """The bytes and their identity, which belong together. Raises as `get` does."""
        # Not by pathlib: a server reads month files by the thousand, and joining a path costs more than opening it.
        # Unbuffered: a file read whole needs no buffer, nor the system calls that find one's size.
        try:
            with open(f"{self.root}/{checked_key(key)}", "rb", buffering=0) as file:
                return Stored(file.read(), _identity(os.fstat(file.fileno())))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None

    def part(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        """At most `length` bytes from an offset on; None where they cannot be had by themselves: `get` tells why.

        Of no other bytes than the identity's. Raises DamagedFile for a file that cannot be read.
        """
        try:
            file = os.open(f"{self.root}/{checked_key(key)}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                status = os.fstat(file)
                # Compared without being made: a day of all zones asks for two dozen parts.
                same = (status.st_mtime_ns, status.st_size, status.st_ino) == identity
                return os.pread(file, length, start) if same else None
            finally:
                os.close(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None

    def stat(self, key: str) -> Identity | None:
        """Version, size and inode of what a key holds, or None. Raises DamagedFile for one out of reach."""
        try:
            status = os.stat(f"{self.root}/{checked_key(key)}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None
        return _identity(status)

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        """Puts bytes in place whole; `version` (ns) becomes their identity's version, else the time of writing.

        Durable bytes are on the disk before their name is, and the name before this returns: a loss of power leaves
        the old or the new. Bytes that are not durable can be made again. Raises StorageError.
        """
        try:
            self._put(self.path(key), body, version, durable)
        except OSError as error:
            raise _unwritable(key, error) from None

    def _put(self, target: Path, body: bytes, version: int | None, durable: bool) -> None:
        scratch = self.root / "scratch" / f"{os.getpid()}-{secrets.token_hex(8)}"
        _make_folders(scratch.parent, target.parent)
        try:
            with scratch.open("xb") as stream:
                stream.write(body)
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            if version is not None:
                os.utime(scratch, ns=(version, version))
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
        if durable:
            _sync(target.parent)

    def update(self, key: str, change: Change, version: int | None = None, durable: bool = True) -> bool:
        """Puts what `change` makes of what a key holds, under a lock; whether it differed. Raises StorageError.

        Bytes that the operating system does not let us read count as empty ones: `change` finds them damaged.
        """
        with self._locked(key):
            try:
                stored = self.read(key)
            except DamagedFile:
                stored = Stored(b"", Identity(0, 0, 0))
            body = change(stored)
            if body is None or (stored is not None and stored.body == body):
                return False
            self.put(key, body, version, durable)
            return True

    def refresh(self, key: str) -> None:
        """Forgets what was seen of a key: nothing is kept of a folder."""

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Raises StorageError."""
        try:
            self.path(key).unlink(missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise _unwritable(key, error) from None

    def copy(self, key: str, target: str) -> None:
        """Puts what a key holds, if anything, under another key too, without reading it. Raises StorageError.

        What cannot be linked, on some file systems, is moved.
        """
        try:
            _make_folders(self.path(target).parent)
            try:
                self.path(target).hardlink_to(self.path(key))
            except PermissionError:
                self.path(key).rename(self.path(target))
            _sync(self.path(target).parent)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise _unwritable(key, error) from None

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted; without unreadable folders below: `unreadable` names them.

        Raises StorageError where the prefix's own folder cannot be listed: that must not look like an empty one.
        """
        base = str(self.path(prefix))

        def refuse(error: OSError) -> None:
            if error.filename == base and error.errno not in _NOTHING_THERE:
                raise StorageError(f"{prefix} cannot be listed: {error.strerror}") from None

        root = len(str(self.root)) + 1  # strings: pathlib's joining costs more than the walk
        return sorted(f"{folder}/{name}"[root:] for folder, _, names in os.walk(base, onerror=refuse) for name in names)

    def listing(self, prefix: str) -> dict[str, str]:
        """Every key below a prefix that ends in `/`, sorted, with a stamp that another put changes.

        The stamp of a file that is out of reach is empty. Raises as `keys` does.
        """
        stamps = {}
        for key in self.keys(prefix):
            try:
                status = os.stat(f"{self.root}/{key}")
                stamps[key] = f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"
            except FileNotFoundError:
                continue
            except OSError:
                stamps[key] = ""
        return stamps

    def keys_within(self, prefix: str, names: Collection[str]) -> list[str]:
        """Return every key below these folders of a prefix, sorted. Lists the prefix once, then the folders that exist.

        Raises as `keys` does.
        """
        try:
            there = os.listdir(self.path(prefix))
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                return []
            raise StorageError(f"{prefix} cannot be listed: {error.strerror}") from None
        return [key for name in sorted(set(names).intersection(there)) for key in self.keys(f"{prefix}{name}/")]

    def unreadable(self, prefix: str = "") -> list[str]:
        """The folders below a prefix that cannot be listed, each with the reason."""
        errors: list[OSError] = []
        for _ in os.walk(str(self.path(prefix)), onerror=errors.append):
            pass
        there = [error for error in errors if error.errno not in _NOTHING_THERE]
        return [f"{error.filename}: {os.strerror(error.errno or 0)}" for error in there]

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Holds a key's lock, which a process that ends frees, however it ends."""
        path = self.root / "locks" / key.replace("/", "~")
        try:
            _make_folders(path.parent)
            stream = path.open("ab")
        except OSError as error:
            raise _unwritable(f"locks/{path.name}", error) from None
        with stream:
            deadline = time.monotonic() + WAIT_S
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:  # a process that was stopped may hold it for ever
                    if time.monotonic() > deadline:
                        raise StorageError(f"another writer has held {key} for {WAIT_S:.0f} s") from None
                    time.sleep(0.01)
            yield

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Removes scratch files that a killed writer left behind; returns how many."""
        removed = 0
        for path in (self.root / "scratch").glob("*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > older_than_s:
                    path.unlink()
                    removed += 1
        return removed


def _make_folders(*paths: Path) -> None:
    for path in paths:
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)


def _sync(path: Path) -> None:
    """Waits until a file's bytes, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Storage: TypeAlias = "Folder | Bucket"
"""Where a warehouse keeps its bytes; both give the same promises."""
