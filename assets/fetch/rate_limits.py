"""Share a rate limit per publisher among all processes of a machine, as a small file under a lock.

The first line contains two Unix times: the last slot assigned, and the end of the current pause. A Retry-After, a ban
or a host that does not respond starts a pause. The second line states the failure.
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
"""The longest wait for a slot. If the wait is longer, the request fails and a later run repeats it."""
LONGEST_REST_S = 3600.0
"""The longest pause. A larger Retry-After is cut to it, so that a publisher's mistake cannot stop a market for days."""
MOST_CHARACTERS = 500
"""The number of characters of a file that are read, at most."""
REST_S = 60.0
"""The pause after a ban or a host that did not respond, if Retry-After is absent."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The rate-limit files in a folder. Without a folder, the limits apply to this process only.

    `share` is the part of each publisher's limit that this process may use.
    """

    folder: Path | None = None
    share: float = 1.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _own: dict[str, io.StringIO] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, publisher: str, per_minute: float, interval_s: float) -> None:
        """Wait for the next slot. Raises FeedUnavailable during a pause, or if the slot is too far ahead."""
        if per_minute <= 0:
            raise FeedUnavailable(
                f"Requests to {publisher} are disabled: its limit is 0 requests per minute", kind="paused"
            )
        spacing = max(interval_s, 60.0 / (per_minute * self.share))
        with self._locked(publisher) as file:
            now, (last, asked_again_at, cause) = self.now(), _read(file)
            left = asked_again_at - now
            if 0 < left <= LONGEST_REST_S:
                reason = f"Requests to {publisher} are paused for {left:.0f} s" + (f": {cause}" if cause else "")
                raise FeedUnavailable(reason, left, "paused", cause)
            wait = max(0.0, last + spacing - now)
            if wait > LONGEST_REST_S:
                wait = 0.0  # slots are never assigned so far ahead: the clock was set back
            if wait > LONGEST_WAIT_S:
                raise FeedUnavailable(f"{publisher} has no free request slot for {wait:.0f} s", wait, "paused")
            _write(file, now + wait, asked_again_at, cause)
        if wait > 0:
            self.sleep(wait)

    def rest(self, publisher: str, seconds: float | None, cause: str = "") -> None:
        """Pause requests to a publisher for `seconds` (None: a minute). `cause` is the failure, on one line."""
        with self._locked(publisher) as file:
            last, asked_again_at, _ = _read(file)
            until = self.now() + min(REST_S if seconds is None else seconds, LONGEST_REST_S)
            _write(file, last, max(asked_again_at, until), cause)

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


def _read(file: IO[str]) -> tuple[float, float, str]:
    """Return the two times and the cause. The times are zero if the file is new or does not begin with two numbers."""
    file.seek(0)
    numbers, _, cause = file.read(MOST_CHARACTERS).partition("\n")
    try:
        last, asked_again_at = map(float, numbers.split())
    except ValueError:
        return 0.0, 0.0, ""
    return (last, asked_again_at, cause.strip()) if isfinite(last) and isfinite(asked_again_at) else (0.0, 0.0, "")


def _write(file: IO[str], last: float, asked_again_at: float, cause: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(f"{last:.3f} {asked_again_at:.3f}\n{' '.join(cause.split())[:300]}\n")
