"""Turns at a publisher: one small file each, shared by all processes of a machine under a lock.

It holds two instants (Unix seconds): the last turn given out, and the one before which nobody asks, from Retry-After, a
ban, or a host that did not answer. Both outlive a process.
"""

from __future__ import annotations

import fcntl
import io
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import IO

from warehouse.errors import FeedUnavailable

LONGEST_WAIT_S = 600.0
"""A turn further ahead is not waited for: a later run asks again."""
LONGEST_REST_S = 3600.0
"""A longer Retry-After is kept to for so long: a slip of the publisher's must not silence a market for days."""
REST_S = 60.0
"""After a ban or silence without a Retry-After."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The turn files in a folder; without one they are of this process alone.

    `share`: the part of a publisher's limit that is for who asks here.
    """

    folder: Path | None = None
    share: float = 1.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _own: dict[str, io.StringIO] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, publisher: str, per_minute: float, interval_s: float) -> None:
        """Waits for the next turn. Raises FeedUnavailable while nobody asks, or for a turn too far ahead."""
        if per_minute <= 0:
            raise FeedUnavailable(f"{publisher} is never asked: its limit is no request a minute", kind="resting")
        spacing = max(interval_s, 60.0 / (per_minute * self.share))
        with self._locked(publisher) as file:
            now, (last, asked_again_at) = self.now(), _read(file)
            left = asked_again_at - now
            if 0 < left <= LONGEST_REST_S:
                raise FeedUnavailable(f"{publisher} is asked again in {left:.0f} s", left, "resting")
            wait = max(0.0, last + spacing - now)
            if wait > LONGEST_REST_S:
                wait = 0.0  # nobody waits for a turn so far ahead: the clock was set back
            if wait > LONGEST_WAIT_S:
                raise FeedUnavailable(f"{publisher} has no turn free for {wait:.0f} s", wait, "resting")
            _write(file, now + wait, asked_again_at)
        if wait > 0:
            self.sleep(wait)

    def rest(self, publisher: str, seconds: float | None) -> None:
        """Nobody asks the publisher for so long; None: a minute."""
        with self._locked(publisher) as file:
            last, asked_again_at = _read(file)
            until = self.now() + min(REST_S if seconds is None else seconds, LONGEST_REST_S)
            _write(file, last, max(asked_again_at, until))

    @contextmanager
    def _locked(self, publisher: str) -> Iterator[IO[str]]:
        if self.folder is None:
            with self._lock:
                yield self._own.setdefault(publisher, io.StringIO())
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / publisher).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file


def _read(file: IO[str]) -> tuple[float, float]:
    """The two instants; zeros where the file is new or holds no two numbers."""
    file.seek(0)
    try:
        last, asked_again_at = map(float, file.read(100).split())
    except ValueError:
        return 0.0, 0.0
    return (last, asked_again_at) if isfinite(last) and isfinite(asked_again_at) else (0.0, 0.0)


def _write(file: IO[str], last: float, asked_again_at: float) -> None:
    file.seek(0)
    file.truncate()
    file.write(f"{last:.3f} {asked_again_at:.3f}\n")
