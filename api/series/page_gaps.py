"""The holes of a page's window: those that its rows show, less what the row covers that runs when the window begins.

That row stands outside the window or on a page before, and is read only where it may matter. What a hole is:
`api.series.gaps`.
"""

from __future__ import annotations

from api.series.gaps import holes, last_end
from api.series.paging import cut
from api.series.query import Plan, find
from api.series.stored_rows import wanted
from warehouse.clock import DAY, HOUR, Window
from warehouse.reader import Reader, RowColumns
from warehouse.zones import ZONES

_LONGEST = DAY + HOUR
"""A civil day; years have no calendar of their feeds, and no holes."""


def gaps(reader: Reader, plan: Plan, rows: RowColumns, window: Window, without_first: bool = False) -> list[Window]:
    """In order; `rows` ascend and are all of the series that begin in the window. Raises StorageError, FileReplaced.

    `without_first`: but for those that begin at its very start, which stand on another page.
    """
    tz = ZONES[plan.query.zone].tz
    found = holes(rows, window, plan.due, tz, plan.query.interval, min(plan.query.start, window.start))
    if not found or (len(rows) and found[0].start >= rows.ts[0]):
        return found
    head, *others = found
    start = max(head.start, _covered_until(reader, plan, window.start + without_first))
    return [Window(start, head.end), *others] if start < head.end else others


def _covered_until(reader: Reader, plan: Plan, at: int) -> int:
    """The end of the series' last row that begins before an instant; 0 where there is none of the last day."""
    window = Window(max(0, at - _LONGEST), at)
    query = plan.query._replace(start=window.start, end=window.end, cursor=None, sample=False)
    before = find(reader, plan.catalogue, query)
    last = cut(wanted(reader, before, "desc", window), window, "desc", 1).pieces
    return last_end(last[0].rows, ZONES[query.zone].tz) if last else 0
