"""A long run gives way: while a run of higher priority waits for its publisher, it lets go of the pool's slot.

Dagster holds a pool's slot from a step's begin to its end, and a month of a slow publisher takes minutes, in which the
publisher's live data would stand still. No `from __future__ import annotations`, as in every file that knows Dagster.
"""

import time
from collections.abc import Callable
from typing import Any

import dagster as dg

from assets.fetch.session import Fetched
from assets.ingest.context import Fetcher
from warehouse.bookkeeping import logged
from warehouse.market import Request

PRIORITY, BACKFILL = "dagster/priority", "dagster/backfill"
"""Tags of a run."""
HISTORY = "emds/history"
"""The tag of runs that bring old days, and are no backfill of the UI: the run of `history` that asked for them."""
LIVE_PRIORITY, OLD_PRIORITY = 10, -10
"""Of what the schedules ask for, and of backfills; a person's own run lies between, at 0."""
LOOK_EVERY_S = 5.0
LONGEST_S = 600.0
"""So long a run waits for one of higher priority: where that one does not start, nobody is served by waiting."""
_WAITING = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED)


def priority_of(run: dg.DagsterRun) -> int:
    """Of a run: its own tag; of a backfill without one, less than of any other run."""
    tagged = run.tags.get(PRIORITY, "")
    if tagged.removeprefix("-").isdigit():
        return int(tagged)
    return OLD_PRIORITY if BACKFILL in run.tags or HISTORY in run.tags else 0


class Slot:
    """The slot that a step holds of its publisher's pool. `tick` and `sleep` are in seconds."""

    def __init__(
        self,
        instance: dg.DagsterInstance,
        run: dg.DagsterRun,
        step: str,
        source: str,
        pool: str,
        tick: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._instance, self._run, self._step, self._source, self._pool = instance, run, step, source, pool
        self._tick, self._sleep = tick, sleep
        self._looked_at = tick()
        self._given_up: set[str] = set()

    def give_way(self) -> None:
        """Looks now and then for runs of higher priority of the same publisher; returns once they have ended."""
        if self._tick() < self._looked_at + LOOK_EVERY_S:
            return
        with logged(f"pool {self._pool}"):
            if self._full() and self._waiting():
                self._release()
        self._looked_at = self._tick()

    def _waiting(self) -> set[str]:
        """The runs that are to be let through."""
        own = priority_of(self._run)
        runs = self._instance.get_runs(dg.RunsFilter(statuses=list(_WAITING)))
        ahead = {run.run_id for run in runs if self._is_of_source(run) and priority_of(run) > own}
        return ahead - self._given_up

    def _is_of_source(self, run: dg.DagsterRun) -> bool:
        chosen = run.asset_selection or ()
        return run.tags.get("source") == self._source or any(key.path[0] == self._source for key in chosen)

    def _full(self) -> bool:
        """Whether the pool has no free slot, and one of them is ours: else nobody waits for us."""
        storage: Any = self._instance.event_log_storage
        if not storage.supports_global_concurrency_limits:
            return False
        pool = storage.get_concurrency_info(self._pool)
        ours = any((slot.run_id, slot.step_key) == (self._run.run_id, self._step) for slot in pool.claimed_slots)
        return ours and len(pool.claimed_slots) >= pool.slot_count

    def _release(self) -> None:
        """Frees the slot, waits for the others to end, and claims it again."""
        storage: Any = self._instance.event_log_storage
        storage.free_concurrency_slot_for_step(self._run.run_id, self._step)
        try:
            until = self._tick() + LONGEST_S
            while (left := self._waiting()) and self._tick() < until:
                self._sleep(1.0)
            self._given_up |= left
            while not self._claimed(storage):
                self._sleep(1.0)
        except BaseException:
            # Cancelled while it waits: Dagster would keep its place in the queue.
            storage.free_concurrency_slot_for_step(self._run.run_id, self._step)
            raise

    def _claimed(self, storage: Any) -> bool:
        claim = storage.claim_concurrency_slot(self._pool, self._run.run_id, self._step, priority_of(self._run))
        return bool(claim.is_claimed)


class GivingWay:
    """A session that gives way before each request."""

    def __init__(self, session: Fetcher, slot: Slot) -> None:
        self._session, self._slot = session, slot

    def ask(self, request: Request) -> Fetched:
        """As the session's own `ask`."""
        self._slot.give_way()
        return self._session.ask(request)
