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
SLOWEST = 16.0
"""The most by which a host's pace is divided after it refused requests as too many."""
EASED_AFTER = 100
"""Answers in a row after which a slowed pace is doubled again."""


@dataclass(slots=True)
class _CircuitBreaker:
    """State of a host, or of one path on it: one broken report does not stop a publisher's other reports."""

    failures: int = 0
    closed: int = 0
    rest_until: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class _Slowdown:
    """How many times slower than its source allows a host is asked, and the answers since that last changed."""

    factor: float = 1.0
    answers: int = 0
    since: float = 0.0


class RateLimiter:
    """The rate limits of every host, for all threads of one process. `tick` is a monotonic clock in seconds."""

    def __init__(self, tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._tick, self._sleep = tick, sleep
        self._turns: dict[str, deque[float]] = defaultdict(deque)
        self._breakers: dict[str, _CircuitBreaker] = {}
        self._slowdowns: dict[str, _Slowdown] = defaultdict(_Slowdown)
        self._lock = threading.Lock()

    def enter(self, host: str, path: str, per_minute: float, interval: float) -> None:
        """Waits for the host's next turn. Raises FeedUnavailable while the breaker of host or path is open."""
        with self._lock:
            now, turns = self._tick(), self._turns[host]
            for breaker in filter(None, (self._breakers.get(host), self._breakers.get(host + path))):
                if now < breaker.rest_until:
                    left = breaker.rest_until - now
                    raise FeedUnavailable(f"{breaker.reason}; asked again in {left:.0f} s", left, "resting")
            turn = max(now, _earliest(turns, *self._pace(host, per_minute, interval)))
            turns.append(turn)
        if turn > now:
            self._sleep(turn - now)

    def wait(self, host: str, per_minute: float, interval: float) -> float:
        """Seconds until the host's next turn."""
        with self._lock:
            pace = self._pace(host, per_minute, interval)
            return max(0.0, _earliest(self._turns[host], *pace) - self._tick())

    def throttled(self, host: str) -> None:
        """Halves the host's pace: it got one request too many. Requests refused together slow it down once."""
        with self._lock:
            slow, now = self._slowdowns[host], self._tick()
            if slow.factor == 1.0 or now >= slow.since + MINUTE / 2:
                self._slowdowns[host] = _Slowdown(min(2 * slow.factor, SLOWEST), 0, now)

    def answered(self, host: str, path: str) -> None:
        """Closes the breakers: the host answered, with whatever status. Many answers in a row end a slowdown."""
        with self._lock:
            self._breakers.pop(host, None)
            self._breakers.pop(host + path, None)
            if slow := self._slowdowns.get(host):
                slow.answers += 1
                if slow.answers >= EASED_AFTER:
                    self._slowdowns[host] = _Slowdown(max(1.0, slow.factor / 2), 0, self._tick())

    def _pace(self, host: str, per_minute: float, interval: float) -> tuple[float, float]:
        """Requests a minute and seconds between two that hold now. The interval grows too: no bursts."""
        slow = self._slowdowns.get(host)
        if slow is None or slow.factor == 1.0:
            return per_minute, interval
        slowed = per_minute / slow.factor
        return slowed, max(interval, MINUTE / slowed)

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
