"""Rate limits and circuit breakers, by host: requests a minute, seconds between two, and a pause after failures."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from warehouse.errors import FeedUnavailable

MINUTE = 60.0
FAILURES = 3
"""Failed requests in a row that open a host's breaker; one is enough where nothing answers, and for its own path."""
REST = 60.0
LONGEST_REST = 900.0


@dataclass(slots=True)
class _CircuitBreaker:
    """State of a host, or of one path on it: one broken report does not stop a publisher's other reports."""

    failures: int = 0
    closed: int = 0
    rest_until: float = 0.0
    reason: str = ""


class RateLimiter:
    """The rate limits of every host, for all threads of one process. `tick` is a monotonic clock in seconds."""

    def __init__(self, tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._tick, self._sleep = tick, sleep
        self._turns: dict[str, deque[float]] = defaultdict(deque)
        self._breakers: dict[str, _CircuitBreaker] = {}
        self._lock = threading.Lock()

    def enter(self, host: str, path: str, per_minute: float, interval: float) -> None:
        """Waits for the host's next turn. Raises FeedUnavailable while the breaker of host or path is open."""
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
        """Closes the breakers: the host answered, with whatever status."""
        with self._lock:
            self._breakers.pop(host, None)
            self._breakers.pop(host + path, None)

    def failed(self, host: str, path: str, reason: str, dead: bool, rest: float | None) -> None:
        """A request failed after all attempts. `dead`: nothing answered; `rest`: the host's Retry-After, seconds."""
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
    """The earliest next turn within both limits; older turns are dropped."""
    most = max(1, int(per_minute))
    span = MINUTE * most / per_minute
    while len(turns) > most:
        turns.popleft()
    if not turns:
        return 0.0
    return max(turns[-1] + interval, turns[0] + span if len(turns) == most else 0.0)
