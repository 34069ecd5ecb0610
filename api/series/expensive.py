"""Limit the cost of reading series: two expensive requests at once per worker, and no window that takes too long.

The plan gives the cost before a row is read, by the sizes of its monthly files (`api.series.stored_rows.work_of`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from api.access.values import refuse_for
from api.http import parameters
from api.http.problems import ParameterFault
from api.series.query import ZonePlan
from api.series.stored_rows import is_decoded, work_of
from warehouse.figures import marts
from warehouse.figures.resample import CIVIL
from warehouse.market.clock import DAY
from warehouse.series.reader import Reader
from warehouse.store import layout
from warehouse.store.stored_bytes import Identity

EXPENSIVE = 10_000_000
"""The work from which a request is expensive: about 0.1 s of CPU."""
MOST_WORK = 40_000_000
"""The work at which a page ends early, and the limit for a window that is read whole: about 0.6 s of CPU."""
SHORT_S = 31 * DAY
"""The length of a window that is never rejected, in seconds."""
AT_ONCE = 2
_LABELS_WORK = 8_000
"""The work of finding the sources of a month's rows in its footer."""
_RETRY_AFTER_S = 2
_RUNNING = threading.BoundedSemaphore(AT_ONCE)


@contextmanager
def admitted(plans: Sequence[ZonePlan], reads_all: bool) -> Iterator[None]:
    """Admit a request to its files. Raises Problem 503 while two expensive requests run, 400 if a window is too long.

    `reads_all` means that the request reads every row of its window, whichever page it returns.
    """
    request = plans[0].request
    work = sum(work_of(plan, plan.files) for plan in plans) if reads_all or request.interval else 0
    if reads_all and work > MOST_WORK and request.end - request.start > SHORT_S:
        share = MOST_WORK / work
        detail = f"makes the window too long for this request; send {share:.0%} of it, or fewer zones"
        raise parameters.invalid([ParameterFault("start", "out-of-range", detail)])
    if work <= EXPENSIVE:
        yield
        return
    if not _RUNNING.acquire(blocking=False):
        raise refuse_for(_RETRY_AFTER_S, "overloaded", "Two long windows are being read: try again in a moment.")
    try:
        yield
    finally:
        _RUNNING.release()


def marts_behind(reader: Reader, plans: Sequence[ZonePlan]) -> list[Identity | None]:
    """Return the marts on which the length of a page depends: a long page of means ends earlier without them."""
    if plans[0].request.interval not in CIVIL or sum(work_of(plan, plan.files) for plan in plans) < MOST_WORK // 2:
        return []
    return [reader.storage.stat(layout.mart(marts.DAILY, plan.stored, plan.zone)) for plan in plans]


def reads_whole_window(plans: Sequence[ZonePlan]) -> bool:
    """Return whether a page decodes its whole window, to name its sources or to merge several zones."""
    request = plans[0].request
    past = request.as_of is not None or request.pick is not None
    return is_decoded(request) and (request.several or (past and not request.sample))


def work_of_labels(plan: ZonePlan) -> int:
    """Return the work of finding the sources of all rows of a window."""
    return work_of(plan, plan.files) // 4 if is_decoded(plan.request) else _LABELS_WORK * len(plan.files)
