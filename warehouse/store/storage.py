"""Store bytes by key in a local folder. A `Storage` is a folder or a bucket. For keys, see `warehouse.store.layout`.

A write is atomic: the bytes go to a scratch file, which is renamed. A reader finds the old bytes or the new ones, even
if the writer is killed. `update` replaces bytes on condition that they are still those that it read. The modification
time of a file is the version (nanoseconds) of its bytes. Failures of the operating system are raised as StorageError or
DamagedFile with the key in the message.
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
"""Errors of a read that are due to the file itself. Other errors, such as too many open files, are temporary."""
_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})


def _unreadable(key: str, error: OSError) -> StorageError:
    """Return the typed error for a read that the operating system refused."""
    reason = f"cannot be read: {os.strerror(error.errno) if error.errno else error}"
    return DamagedFile(key, reason) if error.errno in _OF_THE_FILE else StorageError(f"{key} {reason}")


def _unwritable(key: str, error: OSError) -> StorageError:
    """Return the typed error for a write that the operating system refused."""
    return StorageError(f"cannot write {key}: {os.strerror(error.errno) if error.errno else error}")


def _identity(status: os.stat_result) -> Identity:
    return Identity(status.st_mtime_ns, status.st_size, status.st_ino)


class Folder:
    """A local folder (EMDS_HOME) as storage. Safe for many processes and threads on one machine."""

    def __init__(self, root: Path | str) -> None:
        self.root = self.local = Path(root).absolute()
        """`local` is for files that need a disk, such as SQLite databases and logs."""

    def __str__(self) -> str:
        return str(self.root)

    def path(self, key: str) -> Path:
        """Return the path of a key. Raises StorageError for a key that would leave the folder."""
        return self.root / checked_key(key)

    def get(self, key: str) -> bytes | None:
        """Return the bytes, None if there are none. Raises DamagedFile for an unreadable file."""
        stored = self.read(key)
        return None if stored is None else stored.body

    def read(self, key: str) -> Stored | None:
        """Return the bytes and their matching identity. Raises as `get` does."""
        # Without pathlib: a server reads thousands of monthly files, and joining a path costs more than opening it.
        # Unbuffered: reading a whole file needs neither a buffer nor the system calls that determine its size.
        try:
            with open(f"{self.root}/{checked_key(key)}", "rb", buffering=0) as file:
                return Stored(file.read(), _identity(os.fstat(file.fileno())))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None

    def part(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        """Return at most `length` bytes from `start`, None if the file is missing or not the one of the identity.

        Raises DamagedFile for an unreadable file.
        """
        try:
            file = os.open(f"{self.root}/{checked_key(key)}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                status = os.fstat(file)
                # Compared as a tuple, for speed: a day of all zones needs two dozen parts.
                same = (status.st_mtime_ns, status.st_size, status.st_ino) == identity
                return os.pread(file, length, start) if same else None
            finally:
                os.close(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None

    def stat(self, key: str) -> Identity | None:
        """Return version, size and inode of a key's file, or None. Raises DamagedFile for an inaccessible file."""
        try:
            status = os.stat(f"{self.root}/{checked_key(key)}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _unreadable(key, error) from None
        return _identity(status)

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        """Write bytes atomically. `version` (ns) becomes the version of their identity, by default the time.

        Durable bytes are on the disk before their name, and the name before this method returns: a power loss leaves
        the old file or the new one. Bytes that are not durable can be rebuilt. Raises StorageError.
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
        """Write what `change` returns for the stored bytes, under a lock; return whether they changed.

        Bytes that the operating system refuses to read count as empty: `change` finds them damaged. Raises
        StorageError.
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
        """Do nothing: a folder has no cache."""

    def delete(self, key: str) -> None:
        """Delete a key if it exists. Raises StorageError."""
        try:
            self.path(key).unlink(missing_ok=True)
        except NotADirectoryError:
            return
        except OSError as error:
            raise _unwritable(key, error) from None

    def copy(self, key: str, target: str) -> None:
        """Link the bytes of a key, if it exists, to another key, without reading them. Raises StorageError.

        On file systems without hard links, the file is moved.
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
        """Return every key below a prefix that ends in `/`, sorted, without unreadable subfolders (`unreadable`).

        Raises StorageError if the prefix's own folder cannot be listed, since it must not appear empty.
        """
        base = str(self.path(prefix))

        def refuse(error: OSError) -> None:
            if error.filename == base and error.errno not in _NOTHING_THERE:
                raise StorageError(f"cannot list {prefix}: {error.strerror}") from None

        root = len(str(self.root)) + 1  # strings, because joining paths costs more than the walk
        return sorted(f"{folder}/{name}"[root:] for folder, _, names in os.walk(base, onerror=refuse) for name in names)

    def listing(self, prefix: str) -> dict[str, str]:
        """Return every key below a prefix that ends in `/`, sorted, with a stamp that changes with each write.

        The stamp of an inaccessible file is empty. Raises as `keys` does.
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
            raise StorageError(f"cannot list {prefix}: {error.strerror}") from None
        return [key for name in sorted(set(names).intersection(there)) for key in self.keys(f"{prefix}{name}/")]

    def unreadable(self, prefix: str = "") -> list[str]:
        """Return the folders below a prefix that cannot be listed, each with the reason."""
        errors: list[OSError] = []
        for _ in os.walk(str(self.path(prefix)), onerror=errors.append):
            pass
        there = [error for error in errors if error.errno not in _NOTHING_THERE]
        return [f"{error.filename}: {os.strerror(error.errno or 0)}" for error in there]

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Hold a key's lock. The lock ends with the process, even if it is killed."""
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
                except BlockingIOError:  # a stopped process may hold the lock indefinitely
                    if time.monotonic() > deadline:
                        raise StorageError(
                            f"{key} has been locked by another process for {WAIT_S:.0f} s; try again"
                        ) from None
                    time.sleep(0.01)
            yield

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Delete the scratch files that killed writers left behind; return their number."""
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
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Storage: TypeAlias = "Folder | Bucket"
"""The storage of a warehouse. Both types give the same guarantees."""
