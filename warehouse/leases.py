"""Locks in an object store: one small object a lock, taken and freed by conditional puts alone.

A holder writes into its lock's object every third of `lease_s`. One that has not been written for `lease_s`, by the
waiter's own clock, is taken over, so clocks of several machines need not agree; that of a process of this machine which
has ended is taken over at once. A holder that was believed dead notices at its next beat, and before each of its writes
(`Lease.check`); a write that is on its way by then is refused by its own condition (`warehouse.bucket`).
"""

from __future__ import annotations

import logging
import os
import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from warehouse.errors import StorageError
from warehouse.object_store import Conflict

_LOG = logging.getLogger("emds.warehouse")

PREFIX = "locks/"
Tag = dict[str, str]
PutIf = Callable[[str, bytes, Any, dict[str, str]], Tag]
"""Puts an object under a condition (`create`, or the tag of what it replaces); raises Conflict where it fails."""
Read = Callable[[str], tuple[Tag, bytes] | None]


@dataclass(slots=True)
class Lease:
    """One lock that this process holds."""

    key: str
    tag: Tag
    token: str
    lost: bool = False
    written_at: float = field(default_factory=time.monotonic)
    """When its object was last written, as far as is known: the monotonic second before that was asked for."""
    writing: threading.Lock = field(default_factory=threading.Lock)
    """Held while its object is written: a beat never follows the release."""

    def check(self, written: str) -> None:
        """Raises Conflict where another writer has taken the lock over."""
        if self.lost:
            raise Conflict(f"{written} was not written: another writer has taken over the lock of {self.key}")


class Leases:
    """The locks of one process in one object store; `lease_s`: how long a silent holder on another machine is left."""

    def __init__(self, put_if: PutIf, read: Read, lease_s: float) -> None:
        self._put_if, self._read, self._lease_s = put_if, read, lease_s
        self._here: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._freed: dict[str, Tag] = {}
        """The tags of locks that this process freed last: to take one again costs one request."""
        self._held: dict[str, Lease] = {}
        self._wake = threading.Condition()
        self._beating: threading.Thread | None = None

    @contextmanager
    def held(self, key: str, wait_s: float) -> Iterator[Lease]:
        """Holds a lock. Raises StorageError where another writer has held it for `wait_s` seconds."""
        deadline = time.monotonic() + wait_s
        here = self._here[key]
        if not here.acquire(timeout=max(0.0, wait_s)):
            raise _kept_waiting(key, wait_s)
        try:
            lease = self._take(key, deadline, wait_s)
            self._beat_for(lease)
            try:
                yield lease
            finally:
                self._free(lease)
        finally:
            here.release()

    def _take(self, key: str, deadline: float, wait_s: float) -> Lease:
        token = secrets.token_hex(8)
        mode: Any = self._freed.pop(key, "create")
        while True:
            begun = time.monotonic()
            try:
                tag = self._put_if(PREFIX + key, _holder(token, 0), mode, {})
                return Lease(key, tag, token, written_at=begun)
            except Conflict:
                mode = self._takeable(key, deadline, wait_s)

    def _takeable(self, key: str, deadline: float, wait_s: float) -> Any:
        """Waits until a lock may be taken; the condition under which. Raises StorageError after the deadline."""
        last: Tag | None = None
        since, pause = 0.0, 0.02
        while True:
            there = self._read(PREFIX + key)
            if there is None:
                return "create"
            tag, state, now = there[0], _state(there[1]), time.monotonic()
            if tag != last:
                last, since = tag, now
            if _is_free(state) or _ended(state) or now - since > self._lease_s:
                return tag
            if now > deadline:
                raise _kept_waiting(key, wait_s)
            time.sleep(random.uniform(0.5, 1) * pause)  # noqa: S311  so that waiters do not come all at once
            pause = min(2 * pause, 0.5)

    def require(self, lease: Lease, removed: str) -> None:
        """Raises Conflict where another writer may have taken a lock over: for what no condition of its own refuses.

        A holder that has been silent for long is asked for its beat at once.
        """
        if self._is_silent(lease):
            self._renew(lease, secrets.randbits(32))
        if lease.lost or self._is_silent(lease):
            raise Conflict(f"{removed} was not removed: another writer may have taken over the lock of {lease.key}")

    def _is_silent(self, lease: Lease) -> bool:
        return time.monotonic() - lease.written_at > self._lease_s * 2 / 3

    def _free(self, lease: Lease) -> None:
        with self._wake:
            self._held.pop(lease.token, None)
        with lease.writing:
            if lease.lost:
                return
            try:
                # Never deleted: whoever takes it next replaces just this.
                freed = orjson.dumps({"free": secrets.token_hex(8)})
                self._freed[lease.key] = self._put_if(PREFIX + lease.key, freed, lease.tag, {})
            except StorageError as error:
                _LOG.warning("the lock of %s was not freed, and is left to run out: %s", lease.key, error)

    def _beat_for(self, lease: Lease) -> None:
        with self._wake:
            self._held[lease.token] = lease
            if self._beating is None or not self._beating.is_alive():
                self._beating = threading.Thread(target=self._beat, name="emds-leases", daemon=True)
                self._beating.start()

    def _beat(self) -> None:
        """Writes into the objects of all locks held, again and again; ends when none is held any more."""
        number = 0
        while True:
            with self._wake:
                self._wake.wait(self._lease_s / 3)
                leases = list(self._held.values())
                if not leases:
                    self._beating = None
                    return
            number += 1
            for lease in leases:
                self._renew(lease, number)

    def _renew(self, lease: Lease, number: int) -> None:
        with lease.writing:
            if lease.token not in self._held or lease.lost:
                return
            begun = time.monotonic()
            try:
                lease.tag = self._put_if(PREFIX + lease.key, _holder(lease.token, number), lease.tag, {})
                lease.written_at = begun
            except Conflict:
                lease.lost = True
                _LOG.error("the lock of %s was lost: this process had been silent for too long", lease.key)
            except StorageError as error:
                _LOG.warning("the lock of %s was not renewed: %s", lease.key, error)


def _kept_waiting(key: str, wait_s: float) -> StorageError:
    return StorageError(f"another writer has held {key} for {wait_s:.0f} s")


def _holder(token: str, beat: int) -> bytes:
    """What a lock's object holds while it is held."""
    return orjson.dumps({"holder": token, "beat": beat, "machine": _machine(), "pid": os.getpid(), "since": _begun()})


def _state(body: bytes) -> dict[str, Any]:
    try:
        state = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return state if isinstance(state, dict) else {}


def _is_free(state: dict[str, Any]) -> bool:
    return "holder" not in state


def _ended(state: dict[str, Any]) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    machine = _machine()
    if not machine or state.get("machine") != machine:
        return False
    pid = state.get("pid")
    return not isinstance(pid, int) or _begun(pid) != state.get("since")


@cache
def _machine() -> str:
    """This run of this machine, and the space in which its process ids count; empty where it cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _begun(pid: int | None = None) -> str:
    """When a process began, in the kernel's own ticks; empty for one that is no more."""
    try:
        # The second field, the program's name, may hold anything, brackets too.
        fields = Path(f"/proc/{pid or os.getpid()}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
