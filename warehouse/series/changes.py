"""What a change to the served rows of one month is: the span that it touches, and how many rows came, changed or went.

Where changes are kept: `warehouse.series.change_log`. How none is lost: `warehouse.documents.manifest`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warehouse.market.clock import SPREAD, month_window
from warehouse.rows.versions import Versions, concat

_IDENTITY = ("fuel", "counterparty", "link")
"""With `ts`, what tells served rows apart: one row answers for each."""
_CONTENT = ("unit", "resolution", "source", "feed")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of what is served of a zone's metric within a UTC month."""

    zone: str
    metric: str
    feed: str | None
    """Whose answer was folded; None where ranks or rights were resolved again, or a damaged file was set aside."""
    first: int
    last: int
    """`ts` of the first and the last row touched."""
    added: int
    changed: int
    withdrawn: int | None
    """Rows; None where nobody knows which changed: then the span is the whole month."""


def between(metric: str, zone: str, feed: str | None, before: Versions, after: Versions) -> Change | None:
    """What a reader of the rows served before has to learn; None where the same rows are served."""
    both = concat([before, after])
    identity = both.codes(*_IDENTITY) * SPREAD + both.ts
    content = both.codes(*_CONTENT)
    old, new = identity[: len(before)], identity[len(before) :]
    _, at_old, at_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
    other = (both.value[at_old] != both.value[len(before) + at_new]) | (
        content[at_old] != content[len(before) + at_new]
    )
    came, went = np.delete(np.arange(len(new)), at_new), np.delete(np.arange(len(old)), at_old)
    touched = np.concatenate([both.ts[went], both.ts[len(before) + came], both.ts[at_old[other]]])
    if not len(touched):
        return None
    return Change(zone, metric, feed, int(touched.min()), int(touched.max()), len(came), int(other.sum()), len(went))


def whole_month(metric: str, zone: str, month: str) -> Change:
    """The change of which nobody knows what it was: a reader of the month reads it again."""
    window = month_window(month)
    return Change(zone, metric, None, window.start, window.end - 1, 0, 0, None)
