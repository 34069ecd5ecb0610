"""How often one client address may call: fixed windows, counted in one small file shared by all workers of a host.

A database write costs 60 microseconds, this 3; a free call is cheaper than the former. What must be exact across hosts
(quotas, sign-ups, payments) is not here but in `api.access.accounts.store`.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from api.settings import Settings

_SLOT = struct.Struct("<QII")
"""A hash of what is counted, when its window ends (Unix seconds), how many calls it saw."""
_SLOTS = 1 << 16
_PROBES = 8


@dataclass(frozen=True, slots=True)
class Spent:
    """The window's calls are used up; the next window begins in `wait` seconds."""

    wait: int


class RateLimits:
    """A table of counters in a mapped file; a record lock keeps workers apart, a lock in memory the threads of one.

    Record locks belong to a process, so that workers forked with the file already open still exclude each other.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(
            self._file, 0, _SLOTS * _SLOT.size
        )  # on a full disk it fails here, and not as a fault in memory
        self._table = mmap.mmap(self._file, _SLOTS * _SLOT.size)
        self._lock = threading.Lock()

    def take(self, what: str, client: str, limit: int, window: int, now: int) -> Spent | None:
        """Counts one call of `client` in the window of `window` seconds that `now` lies in; `limit` 0 is unlimited."""
        if not limit:
            return None
        tag = int.from_bytes(hashlib.blake2b(f"{what}\n{client}".encode(), digest_size=8).digest(), "little") or 1
        end = (now // window + 1) * window
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                at, count = self._find(tag, end, now)
                if count >= limit:
                    return Spent(end - now)
                _SLOT.pack_into(self._table, at, tag, end, count + 1)
                return None
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self._table.close()
        os.close(self._file)

    def _find(self, tag: int, end: int, now: int) -> tuple[int, int]:
        """The slot of a tag and its count; else a free slot near it, or the one there that saw the fewest calls."""
        near: list[tuple[int, int]] = []
        for probe in range(_PROBES):
            at = ((tag + probe) % _SLOTS) * _SLOT.size
            held, until, count = _SLOT.unpack_from(self._table, at)
            if held == tag:
                return at, count if until == end else 0
            near.append((count if held and until > now else -1, at))
        return min(near)[1], 0


def limits_path(settings: Settings) -> Path:
    """Beside the accounts where these are a file; else in the host's scratch folder, since EMDS_HOME may be read-only."""
    if settings.database_url.startswith("sqlite:///"):
        return Path(settings.database_url.removeprefix("sqlite:///")).with_suffix(".limits")
    name = hashlib.sha256(f"{settings.home}\n{settings.base_url}".encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"emds-{os.getuid()}" / f"{name}.limits"
