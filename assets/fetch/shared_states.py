"""States of hosts that several processes share, and this process's own while the place where they lie is away."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from assets.fetch import host_state
from assets.fetch.host_state import HostState
from assets.fetch.rate_limit import Change, OwnStates

_LOG = logging.getLogger("emds.fetch")
_T = TypeVar("_T")
AGAIN_S = 10.0
"""So long a place that was away is left alone."""


class StatesAway(Exception):
    """The place where the states lie does not answer. The text holds no address and no secret."""


class StatesPlace(Protocol):
    """A place that several processes reach, and that has one clock for all of them."""

    def update(self, host: str, change: Change[_T]) -> _T:
        """As of HostStates; within seconds. Raises StatesAway, after which it may have been kept or not."""


class SharedStates:
    """The states at a place, for all threads of one process; safe for threads. `tick` is a monotonic clock.

    After each change a copy stays here: a process that is left alone goes on from what all of them knew, and what it
    did alone is told once the place is back.
    """

    def __init__(
        self, place: StatesPlace, tick: Callable[[], float] = time.monotonic, again_s: float = AGAIN_S
    ) -> None:
        self._place, self._tick, self._again_s = place, tick, again_s
        self._own = OwnStates(tick)
        self._before: dict[str, HostState] = {}
        """Host -> its state when this process was left alone with it."""
        self._again_at: float | None = None
        self._lock = threading.Lock()

    def update(self, host: str, change: Change[_T]) -> _T:
        with self._lock:
            if self._again_at is None or self._tick() >= self._again_at:
                try:
                    return self._shared(host, change)
                except StatesAway as fault:
                    self._left_alone(fault)
            return self._by_itself(host, change)

    def seen(self, host: str) -> HostState:
        return self._own.seen(host)

    def _shared(self, host: str, change: Change[_T]) -> _T:
        def told(state: HostState, now: float) -> tuple[HostState, tuple[_T, HostState]]:
            ahead = now - self._tick()
            if (before := self._before.get(host)) is not None:
                news = host_state.learnt(self._own.seen(host), before)
                state = host_state.joined(state, host_state.shifted(news, ahead))
            after, outcome = change(state, now)
            return after, (outcome, host_state.shifted(replace(after, changed_at=now), -ahead))

        outcome, copy = self._place.update(host, told)
        self._own.put(host, copy)
        self._before.pop(host, None)
        if self._again_at is not None:
            self._again_at = None
            _LOG.info("publishers' pace is shared again")
        return outcome

    def _left_alone(self, fault: StatesAway) -> None:
        if self._again_at is None:
            _LOG.warning("publishers' pace is not shared for now, each process keeps its own: %s", fault)
        self._again_at = self._tick() + self._again_s

    def _by_itself(self, host: str, change: Change[_T]) -> _T:
        self._before.setdefault(host, self._own.seen(host))
        return self._own.update(host, change)
