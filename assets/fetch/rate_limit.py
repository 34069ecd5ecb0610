"""When a host may be asked: at most so many requests a minute, so many seconds apart, and for a while not at all where it fails."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from warehouse.errors import FeedUnavailable

MINUTE = 60.0
FAILURES = 3
"""So many failed questions in a row close a host; one is enough where nothing answers at all, and for its own path."""
REST = 60.0
LONGEST_REST = 900.0


@dataclass(slots=True)
class _CircuitBreaker:
    """Of a host, or of one path on it: other reports of a publisher whose one report is broken are still asked for."""

    failures: int = 0
    closed: int = 0
    rest_until: float = 0.0
    reason: str = ""


class RateLimiter:
    """The turns of every host, for all threads of one process. `tick` is a monotonic clock in seconds."""

    def __init__(self, tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._tick, self._sleep = tick, sleep
        self._turns: dict[str, deque[float]] = defaultdict(deque)
        self._breakers: dict[str, _CircuitBreaker] = {}
        self._lock = threading.Lock()

    def enter(self, host: str, path: str, per_minute: float, interval: float) -> None:
        """Waits for the host's next turn. Raises FeedUnavailable while it, or the path, is left alone."""
        with self._lock:
            now, turns = self._tick(), self._turns[host]
            for breaker in filter(None, (self._breakers.get(host), self._breakers.get(host + path))):
                if now < breaker.rest_until:
                    left = breaker.rest_until - now
                    raise FeedUnavailable(f"{breaker.reason}; asked again in {left:.0f} s", retry_after=left)
            turn = max(now, _earliest(turns, per_minute, interval))
            turns.append(turn)
        if turn > now:
            self._sleep(turn - now)

    def wait(self, host: str, per_minute: float, interval: float) -> float:
        """Seconds until the host's next turn."""
        with self._lock:
            return max(0.0, _earliest(self._turns[host], per_minute, interval) - self._tick())

    def answered(self, host: str, path: str) -> None:
        """The host works, whatever it said."""
        with self._lock:
            self._breakers.pop(host, None)
            self._breakers.pop(host + path, None)

    def failed(self, host: str, path: str, reason: str, dead: bool, rest: float | None) -> None:
        """A question failed for good. `dead`: nothing answered; `rest`: seconds that the host itself asked for."""
        with self._lock:
            self._count(host, FAILURES if dead or rest is not None else 1, reason, rest)
            self._count(host + path, FAILURES, reason, rest)

    def _count(self, place: str, failures: int, reason: str, rest: float | None) -> None:
        breaker = self._breakers.setdefault(place, _CircuitBreaker())
        breaker.failures += failures
        if breaker.failures >= FAILURES:
            pause = min(REST * 2**breaker.closed, LONGEST_REST) if rest is None else rest
            breaker.closed, breaker.rest_until, breaker.reason = (
                min(breaker.closed + 1, 10),
                self._tick() + pause,
                reason,
            )


def _earliest(turns: deque[float], per_minute: float, interval: float) -> float:
    """The earliest next turn that keeps both limits; turns that no longer matter are forgotten."""
    most = max(1, int(per_minute))
    span = MINUTE * most / per_minute
    while len(turns) > most:
        turns.popleft()
    if not turns:
        return 0.0
    return max(turns[-1] + interval, turns[0] + span if len(turns) == most else 0.0)
