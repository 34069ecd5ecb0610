"""Limit how often one client may call: fixed windows, counted in one small file shared by all workers of a host.

A database write costs 60 microseconds, this 3; a free call is cheaper than the former. What must be exact across hosts
(quotas, sign-ups, payments) is in `api.access.accounts`. Where the file cannot be made (full disk, read-only home),
each worker counts for itself. A hash with a secret places each counter: nobody can tell which clients share a place,
and push his own counter out by calling as those.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import mmap
import os
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api.settings import Settings

_LOG = logging.getLogger("emds.limits")
_SLOT = struct.Struct("<QII")
"""A hash of what is counted, when its window ends (Unix seconds), how many calls it saw."""
_SLOTS = 1 << 16
_PROBES = 8
_SECRET_BYTES = 16
"""They lie behind the slots; the first worker makes them."""
_LENGTH = _SLOTS * _SLOT.size + _SECRET_BYTES


@dataclass(frozen=True, slots=True)
class Spent:
    """The window's calls are used up; the next window begins in `wait` seconds."""

    wait: int


class RateLimits:
    """A table of counters in a mapped file: a record lock excludes other workers, a lock in memory other threads.

    Record locks belong to a process: workers forked with the file already open still exclude each other.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._file: int | None = _open(path)
        except OSError as fault:
            _LOG.warning("limits are counted by each worker alone: %s", fault)
            self._file = None
        self._table = mmap.mmap(-1 if self._file is None else self._file, _LENGTH)
        with self._locked():
            if not any(self._table[-_SECRET_BYTES:]):
                self._table[-_SECRET_BYTES:] = os.urandom(_SECRET_BYTES)
            self._secret = self._table[-_SECRET_BYTES:]

    def take(self, what: str, client: str, limit: int, window: int, now: int) -> Spent | None:
        """Count one call of `client` in the window of `window` seconds that `now` lies in; `limit` 0 is unlimited."""
        if not limit:
            return None
        tag, end = self._tag(what, client), (now // window + 1) * window
        with self._locked():
            at, count = self._find(tag, end, now)
            if count >= limit:
                return Spent(end - now)
            _SLOT.pack_into(self._table, at, tag, end, count + 1)
        return None

    def give_back(self, what: str, client: str, calls: int, window: int, now: int) -> None:
        """Take calls of the window that `now` lies in back, as far as there are any."""
        tag, end = self._tag(what, client), (now // window + 1) * window
        with self._locked():
            at, count = self._find(tag, end, now)
            if count:
                _SLOT.pack_into(self._table, at, tag, end, max(0, count - calls))

    def count(self, what: str, client: str, window: int, now: int) -> int:
        """Return the calls of the window that `now` lies in."""
        with self._locked():
            return self._find(self._tag(what, client), (now // window + 1) * window, now)[1]

    def close(self) -> None:
        self._table.close()
        if self._file is not None:
            os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep out the threads of this worker, and where the table is a file the other workers."""
        with self._lock:
            if self._file is None:
                yield
                return
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _tag(self, what: str, client: str) -> int:
        text = f"{what}\n{client}".encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=8).digest(), "little") or 1

    def _find(self, tag: int, end: int, now: int) -> tuple[int, int]:
        """Return a tag's place and count; else a free place near it, or the one there with the fewest calls."""
        near: list[tuple[int, int]] = []
        for probe in range(_PROBES):
            at = ((tag + probe) % _SLOTS) * _SLOT.size
            stored, until, count = _SLOT.unpack_from(self._table, at)
            if stored == tag:
                return at, count if until == end else 0
            near.append((count if stored and until > now else -1, at))
        return min(near)[1], 0


def _open(path: Path) -> int:
    """Open the file at its full length: on a full disk it fails here, not as a fault in mapped memory."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, _LENGTH)
    except OSError:
        os.close(file)
        raise
    return file


def limits_path(settings: Settings) -> Path:
    """Return a path beside the accounts where these are a file, else in scratch: EMDS_HOME may be read-only."""
    if settings.database_url.startswith("sqlite:///"):
        return Path(settings.database_url.removeprefix("sqlite:///")).with_suffix(".limits")
    name = hashlib.sha256(f"{settings.home}\n{settings.base_url}".encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"emds-{os.getuid()}" / f"{name}.limits"
