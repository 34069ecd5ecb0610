"""Rate limits and circuits, by host: requests a minute, seconds between two, and a rest after failures.

The rules are those of `host_state`; where the states lie is another question: in this process (`OwnStates`), or shared
with others (`shared_states`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from assets.fetch import host_state
from assets.fetch.host_state import HostState
from warehouse.errors import FeedUnavailable

LONGEST_WAIT = 600.0
"""Seconds to a turn beyond which it is not waited for: a later run asks again."""
_T = TypeVar("_T")
Change = Callable[[HostState, float], tuple[HostState, _T]]
"""From a host's state at an instant to the state after, and an outcome."""


class HostStates(Protocol):
    """Where the states of hosts lie."""

    def update(self, host: str, change: Change[_T]) -> _T:
        """Changes a host's state, nobody else meanwhile, by the clock that its instants are of; gives the outcome."""

    def seen(self, host: str) -> HostState:
        """As it was when it was last changed from here; asks nobody. Its instants are of any clock."""


class OwnStates:
    """The states of hosts for all threads of one process. `tick` is a monotonic clock in seconds."""

    def __init__(self, tick: Callable[[], float]) -> None:
        self._tick = tick
        self._states: dict[str, HostState] = {}
        self._lock = threading.Lock()

    def update(self, host: str, change: Change[_T]) -> _T:
        with self._lock:
            state, outcome = changed(self.seen(host), self._tick(), change)
            self._states[host] = state
            return outcome

    def seen(self, host: str) -> HostState:
        return self._states.get(host) or HostState()

    def put(self, host: str, state: HostState) -> None:
        """Replaces a host's state."""
        with self._lock:
            self._states[host] = state


def changed(state: HostState, now: float, change: Change[_T]) -> tuple[HostState, _T]:
    """What a change at an instant makes of a state, and its outcome. The very state where it changes nothing."""
    before, now = host_state.known_at(state, now)
    after, outcome = change(before, now)
    return (state if after == state else replace(after, changed_at=now)), outcome


class RateLimiter:
    """Lets requests through when their host's turn has come."""

    def __init__(self, states: HostStates, sleep: Callable[[float], None]) -> None:
        self._states, self._sleep = states, sleep

    def enter(self, host: str, path: str, per_minute: float, interval: float) -> None:
        """Waits for the host's next turn.

        Raises FeedUnavailable while the circuit of host or path is open, and for a turn beyond LONGEST_WAIT.
        """

        def reserved(state: HostState, now: float) -> tuple[HostState, float | FeedUnavailable]:
            if circuit := host_state.open_circuit(state, path, now):
                left = circuit.rest_until - now
                return state, FeedUnavailable(f"{circuit.reason}; asked again in {left:.0f} s", left, "resting")
            turn = host_state.next_turn(state, now, per_minute, interval)
            if turn - now > LONGEST_WAIT:
                return state, _too_far(host, turn - now)
            return host_state.with_turns(state, [turn]), turn - now

        wait = self._states.update(host, reserved)
        if isinstance(wait, FeedUnavailable):
            raise wait
        if wait > 0:
            self._sleep(wait)

    def wait(self, host: str, per_minute: float, interval: float) -> float:
        """Seconds until the host's next turn."""
        return self._states.update(
            host, lambda state, now: (state, host_state.next_turn(state, now, per_minute, interval) - now)
        )

    def throttled(self, host: str) -> None:
        """Halves the host's pace: it got one request too many."""
        self._states.update(host, lambda state, now: (host_state.throttled(state, now), None))

    def answered(self, host: str, path: str) -> None:
        """Closes the circuits: the host answered, with whatever status. Many answers in a row end a slowdown."""
        if not host_state.is_calm(self._states.seen(host), path):
            self._states.update(host, lambda state, now: (host_state.answered(state, path, now), None))

    def failed(self, host: str, path: str, reason: str, dead: bool, rest: float | None) -> None:
        """A request failed after all attempts. `dead`: nothing answered; `rest`: the host's Retry-After, seconds."""
        self._states.update(host, lambda state, now: (host_state.failed(state, path, reason, dead, rest, now), None))


def _too_far(host: str, seconds: float) -> FeedUnavailable:
    if math.isinf(seconds):
        return FeedUnavailable(f"{host} is never asked: its limit is no request a minute", kind="resting")
    return FeedUnavailable(f"{host} has no turn free for {seconds:.0f} s", seconds, "resting")
