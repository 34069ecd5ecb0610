"""Limit the rate of a client's requests by fixed windows, counted in a small file that all workers of a host share.

A database write costs 60 microseconds, which is more than a free request costs; this costs 3. The accounts database
has the counts that must be exact across hosts (quotas, payments). If the file cannot be created (full disk, read-only
home), each worker counts separately. A hash with a secret places each counter. Thus a client cannot find out which
clients share a place with it, and cannot displace its own counter by imitating them.
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
from pathlib import Path

from api.access.values import refuse_for
from api.http.problems import Problem
from api.settings import Settings
from warehouse.market.clock import DAY, HOUR

_LOG = logging.getLogger("emds.limits")
_SLOT = struct.Struct("<QII")
"""The hash of the counted name, the end of its window (Unix seconds), and the number of calls in it."""
_SLOTS = 1 << 16
_PROBES = 8
_SECRET_BYTES = 16
"""The secret follows the slots; the first worker generates it."""
_LENGTH = _SLOTS * _SLOT.size + _SECRET_BYTES
_POLICIES = {
    "minute": (60, "free and sample requests per minute for one client address"),
    "sample-day": (DAY, "samples per day for one client address"),
    "unpaid": (60, "requests per minute for one client address without a valid key or payment"),
    "second": (1, "requests per second with one key"),
    "sign-up": (HOUR, "sign-ups per hour from one site (an IPv4 address or an IPv6 /48)"),
    "mail": (HOUR, "confirmation e-mails per hour to one recipient"),
}
"""The window of each limit in seconds, and what it counts."""


class RateLimits:
    """A table of counters in a mapped file. A record lock excludes other workers, and a lock in memory other threads.

    Record locks belong to a process, so workers that were forked with the file open still exclude each other.
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

    def refuse(self, policy: str, client: str, limit: int, now: int) -> Problem | None:
        """Count a call of `client` in the window of `now`; return the 429 of a call over the limit, else None.

        A `limit` of 0 means unlimited.
        """
        if not limit:
            return None
        tag, end = self._counter(policy, client, now)
        with self._locked():
            offset, count = self._find(tag, end, now)
            if count < limit:
                _SLOT.pack_into(self._table, offset, tag, end, count + 1)
                return None
        return _too_many(policy, limit, end - now)

    def check(self, policy: str, client: str, limit: int, now: int) -> Problem | None:
        """Return the 429 that the next call of `client` would get, else None, and count nothing.

        This reads the table without a lock, so it may miss a call that is counted at the same moment.
        """
        if not limit:
            return None
        tag, end = self._counter(policy, client, now)
        return _too_many(policy, limit, end - now) if self._find(tag, end, now)[1] >= limit else None

    def give_back(self, policy: str, client: str, calls: int, now: int) -> None:
        """Take back up to `calls` calls in the window of `now`."""
        tag, end = self._counter(policy, client, now)
        with self._locked():
            offset, count = self._find(tag, end, now)
            if count:
                _SLOT.pack_into(self._table, offset, tag, end, max(0, count - calls))

    def close(self) -> None:
        """Close the file."""
        self._table.close()
        if self._file is not None:
            os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Exclude the other threads of this worker, and the other workers if the table is a file."""
        with self._lock:
            if self._file is None:
                yield
                return
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _counter(self, policy: str, client: str, now: int) -> tuple[int, int]:
        """Return the tag of a client's counter, and the end of the window of `now`."""
        text, window = f"{policy}\n{client}".encode(), _POLICIES[policy][0]
        tag = int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=8).digest(), "little") or 1
        return tag, (now // window + 1) * window

    def _find(self, tag: int, end: int, now: int) -> tuple[int, int]:
        """Return a tag's offset and count; else a free place near it, or the nearby place with the fewest calls."""
        near: list[tuple[int, int]] = []
        for probe in range(_PROBES):
            offset = ((tag + probe) % _SLOTS) * _SLOT.size
            stored, until, count = _SLOT.unpack_from(self._table, offset)
            if stored == tag:
                return offset, count if until == end else 0
            near.append((count if stored and until > now else -1, offset))
        return min(near)[1], 0


def _too_many(policy: str, limit: int, wait: int) -> Problem:
    """Return the 429 of a policy whose window ends in `wait` seconds."""
    window, counted = _POLICIES[policy]
    headers = (("RateLimit-Policy", f'"{policy}";q={limit};w={window}'), ("RateLimit", f'"{policy}";r=0;t={wait}'))
    kind = "too-many-sign-ups" if policy in ("sign-up", "mail") else "too-many-calls"
    return refuse_for(wait, kind, f"Limit reached: {limit} {counted}. Try again in {wait} s.", headers)


def limits_path(settings: Settings) -> Path:
    """Return a path beside the accounts if they are a file, else a scratch path: EMDS_HOME may be read-only."""
    if settings.database_url.startswith("sqlite:///"):
        return Path(settings.database_url.removeprefix("sqlite:///")).with_suffix(".limits")
    name = hashlib.sha256(f"{settings.home}\n{settings.base_url}".encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"emds-{os.getuid()}" / f"{name}.limits"


def _open(path: Path) -> int:
    """Open the file at its full length, so that a full disk fails here and not as a fault in mapped memory."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.posix_fallocate(file, 0, _LENGTH)
    return file
