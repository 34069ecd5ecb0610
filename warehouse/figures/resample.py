"""Rows made coarser: time-weighted means over UTC hours or civil days, with how much of each the rows cover.

Nothing is interpolated and no interval is cut: an interval of which less than half is covered has no mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warehouse.market import clock
from warehouse.market.clock import HOUR, RESOLUTIONS, Window
from warehouse.rows.versions import Ints, RowLabels
from warehouse.series.reader import RowColumns

Interval = Literal["1h", "1d"]
LEAST_COVERAGE = 0.5
DIGITS = 6
"""A mean is rounded to so many decimals: beyond them stands only the order in which it was added up."""


def chunks(window: Window, interval: Interval, tz: str) -> list[Window]:
    """Spans of whole intervals, a month each, that hold every interval which starts in a window."""
    tz = tz if interval == "1d" else "UTC"
    first, last = clock.local_date(window.start, tz), clock.local_date(max(window.start, window.end - 1), tz)
    count = (last.year - first.year) * 12 + last.month - first.month + 1
    bounds = [_month_start(first, i, tz) for i in range(count + 1)]
    return [Window(a, b) for a, b in pairwise(bounds)]


def _month_start(first: date, later: int, tz: str) -> int:
    year, month = divmod(first.year * 12 + first.month - 1 + later, 12)
    return clock.local_midnight(date(year, month + 1, 1), tz)


class _Group(NamedTuple):
    """The series among some rows: one per fuel, border, tie and unit. `identity` and `source` are per label."""

    identities: list[tuple[str | None, str | None, str | None, str]]
    identity: Ints
    sources: list[str]
    source: Ints


def means(rows: RowColumns, span: Window, interval: Interval, tz: str) -> RowColumns:
    """The mean of each interval of `span`, which bounds whole ones; rows ascend by ts, fuel, counterparty, link."""
    bounds = _bounds(span, interval, tz)
    first, last = rows.between(span)
    rows = rows.take(slice(first, last))
    if not len(rows):
        return rows
    group = _grouped(rows.labels)
    identity = group.identity[rows.label]
    place = np.searchsorted(bounds, rows.ts, side="right") - 1
    seconds = np.array([RESOLUTIONS[s.resolution] for s in rows.labels])[rows.label]
    weight = np.minimum(rows.ts + seconds, bounds[place + 1]) - rows.ts
    cell, code = np.unique(place * len(group.identities) + identity, return_inverse=True)
    covered = np.bincount(code, weight)
    mask = np.zeros(len(cell), np.int64)
    np.bitwise_or.at(mask, code, np.int64(1) << group.source[rows.label])
    bucket, of_identity = np.divmod(cell, len(group.identities))
    whole = covered / (bounds[bucket + 1] - bounds[bucket])
    good = (whole >= LEAST_COVERAGE) & _one_unit(bucket, of_identity, group)
    labels, label = _labels(group, of_identity, mask, interval)
    value = np.round(np.bincount(code, rows.value * weight) / np.maximum(covered, 1), DIGITS)
    coarse = RowColumns(labels, label, bounds[bucket], value, np.bincount(code), np.round(np.minimum(whole, 1.0), 4))
    return coarse.take(good)


def _bounds(span: Window, interval: Interval, tz: str) -> Ints:
    """The starts of all intervals of a span, and its end."""
    if interval == "1h":
        return np.arange(span.start, span.end + 1, HOUR, dtype=np.int64)
    first, last = clock.local_date(span.start, tz), clock.local_date(span.end, tz)
    return np.array([day.start for day in clock.market_days(first, last, tz)], np.int64)


def _grouped(labels: Sequence[RowLabels]) -> _Group:
    keys = [(s.fuel, s.counterparty, s.link, s.unit) for s in labels]
    identities = sorted(set(keys), key=lambda key: tuple(part or "" for part in key))
    sources = sorted({s.source for s in labels})
    return _Group(
        identities,
        np.array([identities.index(k) for k in keys]),
        sources,
        np.array([sources.index(s.source) for s in labels]),
    )


def _one_unit(bucket: Ints, identity: Ints, group: _Group) -> NDArray[np.bool_]:
    """Whether the interval of a series has one unit only: in the hour of a currency change there is no mean."""
    plain: dict[tuple[str | None, ...], int] = {}
    same = np.array([plain.setdefault(key[:3], len(plain)) for key in group.identities])[identity]
    _, back, count = np.unique(bucket * len(plain) + same, return_inverse=True, return_counts=True)
    return np.asarray(count[back] == 1)


def _labels(
    group: _Group, identity: Ints, mask: Ints, interval: Interval
) -> tuple[tuple[RowLabels, ...], NDArray[np.int32]]:
    """Labels for each series and set of sources that occurs; several sources of one mean are named together."""
    kinds, code = np.unique(identity * (1 << len(group.sources)) + mask, return_inverse=True)
    labels = []
    for kind in kinds.tolist():
        number, bits = divmod(kind, 1 << len(group.sources))
        fuel, counterparty, link, unit = group.identities[number]
        source = ", ".join(name for i, name in enumerate(group.sources) if bits >> i & 1)
        labels.append(RowLabels(fuel, counterparty, link, unit, interval, source, ""))
    return tuple(labels), code.astype(np.int32)
