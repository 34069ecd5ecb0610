"""Limit how often one client may call: fixed windows, counted in one small file shared by all workers of a host.

A database write costs 60 microseconds, this 3; a free call is cheaper than the former. What must be exact across hosts
(quotas, payments) is in the accounts database. Where the file cannot be made (full disk, read-only home),
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
from pathlib import Path

from api.access.values import refuse_for
from api.http.problems import Problem
from api.settings import Settings
from warehouse.market.clock import DAY, HOUR

_LOG = logging.getLogger("emds.limits")
_SLOT = struct.Struct("<QII")
"""A hash of what is counted, when its window ends (Unix seconds), how many calls it saw."""
_SLOTS = 1 << 16
_PROBES = 8
_SECRET_BYTES = 16
"""They lie behind the slots; the first worker makes them."""
_LENGTH = _SLOTS * _SLOT.size + _SECRET_BYTES
_POLICIES = {
    "minute": (60, "free and sample calls a minute from one address"),
    "sample-day": (DAY, "samples a day from one address"),
    "unpaid": (60, "calls a minute from one address without a good key or a payment that is taken"),
    "second": (1, "calls a second with one key"),
    "sign-up": (HOUR, "sign-ups per hour from one site (an IPv4 address or an IPv6 /48)"),
    "mail": (HOUR, "confirmation e-mails per hour to one recipient"),
}
"""Each limit's window in seconds, and what it counts."""


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

    def refuse(self, policy: str, client: str, limit: int, now: int) -> Problem | None:
        """Count one call of `client` in the window that `now` lies in; return the 429 of one too many, else None.

        `limit` 0 is unlimited.
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

        This reads the table without a lock: a call that is counted at the same moment may be missed.
        """
        if not limit:
            return None
        tag, end = self._counter(policy, client, now)
        return _too_many(policy, limit, end - now) if self._find(tag, end, now)[1] >= limit else None

    def give_back(self, policy: str, client: str, calls: int, now: int) -> None:
        """Take calls of the window that `now` lies in back, as far as there are any."""
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

    def _counter(self, policy: str, client: str, now: int) -> tuple[int, int]:
        """Return the tag of a client's counter, and when the window that `now` lies in ends."""
        text, window = f"{policy}\n{client}".encode(), _POLICIES[policy][0]
        tag = int.from_bytes(hashlib.blake2b(text, key=self._secret, digest_size=8).digest(), "little") or 1
        return tag, (now // window + 1) * window

    def _find(self, tag: int, end: int, now: int) -> tuple[int, int]:
        """Return a tag's offset and count; else a free place near it, or the one there with the fewest calls."""
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
    return refuse_for(wait, kind, f"At most {limit} {counted}; the next is answered in {wait} s.", headers)


def limits_path(settings: Settings) -> Path:
    """Return a path beside the accounts where these are a file, else in scratch: EMDS_HOME may be read-only."""
    if settings.database_url.startswith("sqlite:///"):
        return Path(settings.database_url.removeprefix("sqlite:///")).with_suffix(".limits")
    name = hashlib.sha256(f"{settings.home}\n{settings.base_url}".encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"emds-{os.getuid()}" / f"{name}.limits"


def _open(path: Path) -> int:
    """Open the file at its full length: on a full disk it fails here, not as a fault in mapped memory."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.posix_fallocate(file, 0, _LENGTH)
    return file
