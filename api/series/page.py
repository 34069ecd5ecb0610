"""Turn a series request into a page of rows, of a zone or merged by `ts`, then zone. REST and MCP share it.

A page ends between two times, over all zones, if the rows of at least one time fit into its limit. Its cursor
continues there. A page that would take too much work ends before its limit, with a cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from api.documents.catalogue_reader import Catalogue
from api.series import expensive, stored_rows
from api.series.abreast import read_abreast
from api.series.gap_reasons import Gap
from api.series.gaps import gaps_of_page
from api.series.query import SAMPLE_ROWS, WHOLE, Cursor, Order, SeriesRequest, ZonePlan, plan_request
from warehouse.documents.catalogue_entries import FillProgress
from warehouse.market.clock import Window
from warehouse.market.metrics import YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.rows.versions import Ints
from warehouse.series.reader import Reader
from warehouse.series.replaced_files import read_again
from warehouse.series.row_columns import RowColumns, joined

MOST_GAPS = 20
"""The number of gaps that are listed."""


@dataclass(frozen=True, slots=True)
class Page:
    """The rows of a response and the facts of its envelope; `start` and `end` are the effective values."""

    request: SeriesRequest
    rows: RowColumns
    """The rows in the request's order."""
    place: Ints
    """The index in `request.zones` of each row's zone."""
    start: int
    end: int
    truncated: bool
    following: Cursor | None
    sources: tuple[str, ...]
    """The codes of the sources of the window's rows. If there are several, each row names its own."""
    terms: Mapping[str, dict[str, str]]
    """The licence and attribution by zone: of the rows' sources for one zone, of the series' sources for several."""
    gaps: Sequence[Gap]
    """The gaps of the page's own window, one more than are listed. Forecasts have no gaps."""
    known_since: Mapping[str, int]
    """The time since when rows are known, by zone, for zones with months whose rows at `as_of` are lost. These months
    list no gaps."""
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The IDs of the sets of factors of the window's estimates, by zone."""
    filling: Mapping[str, FillProgress] = field(default_factory=dict)
    """The progress of a first fill, by zone that is not filled yet."""


@read_again
def read_page(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> Page:
    """Return the page of a request; plan again if a file was replaced meanwhile. Raises StorageError."""
    return page(reader, plan_request(reader, catalogue, request))


@read_again
def whole_window(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> RowColumns:
    """Return all stored rows of a zone's window, ascending. Raises StorageError."""
    (plan,) = plan_request(reader, catalogue, request)
    return joined(months_of_window(reader, plan))


def months_of_window(reader: Reader, plan: ZonePlan) -> Iterator[RowColumns]:
    """Yield the stored rows of a zone's window, month by month. Raises StorageError, FileReplaced."""
    window = Window(plan.request.start, plan.request.end)
    for piece in stored_rows.stored(reader, plan, "asc", window):
        yield piece.rows.take(slice(*piece.rows.between(window)))


@read_again
def newest(reader: Reader, catalogue: Catalogue, request: SeriesRequest) -> tuple[RowColumns, int]:
    """Return the stored rows of a zone for a sample, ascending, and the time from which they are complete.

    They are the newest rows, with all rows of each time. Raises StorageError.
    """
    plans = plan_request(reader, catalogue, request)
    parts, ended = read_abreast(reader, plans, [(request.window, None)], "desc", SAMPLE_ROWS + 1)
    chosen = _cut(parts, request, "desc", SAMPLE_ROWS, ended)
    return chosen.parts[0], _given_down_to(chosen.following) if chosen.following else request.start


def page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    """Return the page of a plan. Raises StorageError, and FileReplaced if a replaced file requires a new plan.

    Raises Problem 503 while two expensive requests run, 400 if a window is too long to be read whole.
    """
    with expensive.admitted(plans, expensive.reads_whole_window(plans)):
        return _page(reader, plans)


def _page(reader: Reader, plans: tuple[ZonePlan, ...]) -> Page:
    request, catalogue, sample = plans[0].request, plans[0].catalogue, None
    whole, cursor = request.window, request.cursor
    if request.sample:  # the newest rows of the window, for every page
        rows, ended = read_abreast(reader, plans, [(whole, None)] * len(plans), "desc", SAMPLE_ROWS + 1)
        sample = _cut(rows, request, "desc", SAMPLE_ROWS, ended)
    rests = [cursor.rest(whole, plan.zone) if cursor else (whole, None) for plan in plans]
    if sample is None:
        parts, ended = read_abreast(reader, plans, rests, request.order, request.limit + 1)
    else:
        pairs = zip(sample.parts, rests, strict=True)
        parts = [
            stored_rows.first_rows(rows, rest[0], request.order, request.limit + 1, rest[1]) for rows, rest in pairs
        ]
        ended = None
    chosen = _cut(parts, request, request.order, request.limit, ended)
    truncated = chosen.following is not None or (sample is not None and sample.following is not None)
    start, end = _effective_window(request, chosen, sample)
    if sample and not request.several:
        labels = [sample.parts[0].labels_in(whole)]
    else:
        labels = [stored_rows.labels_of_window(reader, plan, whole) for plan in plans]
    codes = stored_rows.sources(catalogue, set().union(*labels))
    of_rows = frozenset() if request.several else frozenset(codes)
    factors = {
        plan.zone: sorted({label.factors for label in own if label.factors})
        for plan, own in zip(plans, labels, strict=True)
        if plan.stored == Metric.CARBON_ESTIMATE
    }
    terms = {plan.zone: catalogue.terms(plan.zone, plan.stored, of_rows, factors.get(plan.zone, ())) for plan in plans}
    restored = {plan.zone: found for plan in plans if (found := stored_rows.unknown_months(reader, plan))}
    since = {zone: max(at for _, at in found) for zone, found in restored.items()}
    unknown = {zone: [month for month, _ in found] for zone, found in restored.items()}
    gaps_of_zones = gaps_of_page(reader, plans, chosen.parts, Window(start, max(start, end)), unknown)
    gaps = [*islice(gaps_of_zones, MOST_GAPS + 1)]
    filling = {zone: catalogue.filling[zone] for zone in request.zones if zone in catalogue.filling}
    return Page(
        request, chosen.rows, chosen.place, start, end, truncated, chosen.following, codes, terms, gaps, since, factors,
        filling,
    )  # fmt: skip


class _PageSlice(NamedTuple):
    """The rows of a page in its order, and the first row that is left out."""

    rows: RowColumns
    place: Ints
    """The index of each row's zone among the parts."""
    parts: Sequence[RowColumns]
    """The rows of each zone, ascending."""
    following: Cursor | None


def _cut(
    parts: Sequence[RowColumns], request: SeriesRequest, order: Order, limit: int, ended: int | None = None
) -> _PageSlice:
    """Merge the rows of each zone by `ts`, then zone, and cut them to a page.

    `parts` ascend, and include the first `limit` rows of all and the next row, if any. `ended` is the time at which
    reading ended early.
    """
    rows = joined(parts)
    place = np.zeros(len(rows), np.int64)
    if len(parts) > 1:
        by_ts = np.argsort(rows.ts, kind="stable")
        rows, place = rows.take(by_ts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])[by_ts]
    if order == "desc":
        rows, place = rows.take(slice(None, None, -1)), place[::-1]
    if len(rows) <= limit:
        following = None
        if ended is not None:
            at, down_to = (ended, None) if order == "asc" else (ended - 1, ended)
            following = Cursor(order, at, WHOLE, down_to, "" if request.several else None)
        return _PageSlice(rows, place, parts, following)
    ts = rows.ts
    count = int((ts[: limit + 1] == ts[limit]).argmax()) or limit
    is_split = ts[count - 1] == ts[count]
    whole = None if is_split or order == "asc" else int(ts[count - 1])
    key = stored_rows.row_key(rows, count) if is_split else WHOLE
    zone = None if not request.several else request.zones[place[count]] if is_split else ""
    following = Cursor(order, int(ts[count]), key, whole, zone)
    counts = zip(parts, np.bincount(place[:count], minlength=len(parts)).tolist(), strict=True)
    of_zones = [part.take(slice(n) if order == "asc" else slice(len(part) - n, None)) for part, n in counts]
    return _PageSlice(rows.take(slice(count)), place[:count], of_zones, following)


def _effective_window(request: SeriesRequest, chosen: _PageSlice, sample: _PageSlice | None) -> tuple[int, int]:
    """Return the window that the page fills: `start` or `end` moves to the first row that is left out."""
    start, end, cursor, ts = request.start, request.end, request.cursor, chosen.rows.ts
    if sample is not None and sample.following is not None:
        start = _given_down_to(sample.following)
    if request.metric in YEARLY and len(ts):
        start = min(start, int(ts.min()))
    if request.order == "asc":
        start = start if cursor is None else max(start, cursor.ts)
        return start, chosen.following.ts if chosen.following else end
    end = end if cursor is None else min(end, cursor.until)
    return _given_down_to(chosen.following) if chosen.following else start, end


def _given_down_to(following: Cursor) -> int:
    """Return the time down to which a page in descending order is complete."""
    return following.ts if following.given_down_to is None else following.given_down_to
