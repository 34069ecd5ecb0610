"""When a host may be asked: at most so many requests a minute, so many seconds apart, and for a while not at all if it is dead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from warehouse.errors import FeedUnavailable

MINUTE = 60.0
FAILURES = 3
"""So many failed questions in a row close a host; one is enough where nothing answers at all."""
REST = 60.0
LONGEST_REST = 900.0


@dataclass(slots=True)
class _Host:
    turns: deque[float] = field(default_factory=deque)
    failures: int = 0
    closed: int = 0
    rest_until: float = 0.0
    reason: str = ""


class Gate:
    """The turns of every host, for all threads of one process. `tick` is a monotonic clock in seconds."""

    def __init__(self, tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._tick, self._sleep = tick, sleep
        self._hosts: dict[str, _Host] = {}
        self._lock = threading.Lock()

    def enter(self, host: str, per_minute: float, interval: float) -> None:
        """Waits for the host's next turn. Raises FeedUnavailable while it is left alone."""
        with self._lock:
            state, now = self._of(host), self._tick()
            if now < state.rest_until:
                left = state.rest_until - now
                raise FeedUnavailable(f"{state.reason}; {host} is asked again in {left:.0f} s", retry_after=left)
            turn = max(now, _earliest(state.turns, per_minute, interval))
            state.turns.append(turn)
        if turn > now:
            self._sleep(turn - now)

    def answered(self, host: str) -> None:
        """The host works: whatever it said."""
        with self._lock:
            state = self._of(host)
            state.failures = state.closed = 0

    def failed(self, host: str, reason: str, dead: bool, rest: float | None) -> None:
        """A question failed for good. `dead`: nothing answered; `rest`: seconds that the host itself asked for."""
        with self._lock:
            state = self._of(host)
            state.failures += FAILURES if dead else 1
            if rest is None and state.failures < FAILURES:
                return
            pause = min(REST * 2**state.closed, LONGEST_REST) if rest is None else rest
            state.closed += 1
            state.rest_until, state.reason = self._tick() + pause, reason

    def _of(self, host: str) -> _Host:
        return self._hosts.setdefault(host, _Host())


def _earliest(turns: deque[float], per_minute: float, interval: float) -> float:
    """The earliest next turn that keeps both limits; turns that no longer matter are forgotten."""
    most = max(1, int(per_minute))
    span = MINUTE * most / per_minute
    while len(turns) > most:
        turns.popleft()
    if not turns:
        return 0.0
    return max(turns[-1] + interval, turns[0] + span if len(turns) == most else 0.0)
