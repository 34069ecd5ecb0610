"""Represent rows as parallel columns in canonical order, for readers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warehouse.market.clock import RESOLUTIONS, Window
from warehouse.rows.versions import NEVER, Floats, Ints, RowLabels, Versions

MonthFileSide = Literal["net", "borders"]
"""A zone's own rows, or the rows of its borders and interconnectors."""


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Rows in canonical order (ts, fuel, counterparty, link) as parallel columns. `label` indexes `labels`."""

    labels: tuple[RowLabels, ...]
    label: NDArray[np.int32]
    ts: Ints
    value: Floats
    samples: Ints | None = None
    """The number of rows behind each mean. Set only if the rows are means over intervals."""
    coverage: Floats | None = None
    """The part of the interval that those rows cover, from 0 to 1."""
    published_at: Ints | None = None
    """When each row's vintage was published, in Unix seconds. Set only for forecasts."""
    run: bool = False
    """Whether the rows are known to have a single label and to follow each other at its resolution."""
    bounds: Floats | None = None
    """Low and high of each estimate. NaN for other rows, None if there are no estimates."""

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: slice | NDArray[np.bool_] | NDArray[np.int64]) -> RowColumns:
        """Return the chosen rows under the same labels."""
        further: tuple[Any, ...] = self.samples, self.coverage, self.published_at, self.bounds
        samples, coverage, published_at, bounds = (None if column is None else column[chosen] for column in further)
        label, ts, value = self.label[chosen], self.ts[chosen], self.value[chosen]
        run = self.run and isinstance(chosen, slice) and chosen.step is None
        return RowColumns(self.labels, label, ts, value, samples, coverage, published_at, run, bounds)

    def of_feeds(self, wanted: Callable[[str], bool]) -> RowColumns:
        """Return the rows of the feeds that `wanted` accepts."""
        chosen = [wanted(label.feed) for label in self.labels]
        return self if all(chosen) else self.take(np.array(chosen)[self.label])

    def seconds(self) -> Ints:
        """Return the length of each row's interval. A year has 365 days."""
        return np.array([RESOLUTIONS[label.resolution] for label in self.labels], np.int64)[self.label]

    def between(self, window: Window) -> tuple[int, int]:
        """Return the index of the first row inside a window of `ts`, and of the first row after it."""
        if self.run and self.ts.size and window.start <= self.ts[0] and self.ts[-1] < window.end:
            return 0, len(self)
        # np.searchsorted releases Python's global lock. Under load, it waits for the lock longer than it searches.
        first = bisect_left(self.ts, window.start)
        return first, bisect_left(self.ts, window.end, first)

    def labels_in(self, window: Window) -> set[RowLabels]:
        """Return the labels of the rows in a window."""
        first, last = self.between(window)
        if first < last and len(self.labels) == 1:
            return {*self.labels}
        return {self.labels[code] for code in np.bincount(self.label[first:last]).nonzero()[0]}

    @property
    def nbytes(self) -> int:
        further = sum(column.nbytes for column in (self.published_at, self.bounds) if column is not None)
        return self.label.nbytes + self.ts.nbytes + self.value.nbytes + further + 400 * len(self.labels) + 500


def sides_of(versions: Versions) -> dict[MonthFileSide, RowColumns]:
    """Return a zone's own rows, and the rows of its borders and interconnectors."""
    border = versions.where(lambda labels: labels.border)
    return {"net": _columns(versions, ~border), "borders": _columns(versions, border)}


def sized(sides: dict[MonthFileSide, RowColumns]) -> tuple[dict[MonthFileSide, RowColumns], int]:
    """Return both sides and their size in memory in bytes."""
    return sides, sum(columns.nbytes for columns in sides.values())


def _columns(versions: Versions, chosen: NDArray[np.bool_]) -> RowColumns:
    """Return copies of the chosen rows, so that a cache does not keep the other columns of the versions in memory."""
    label = versions.label[chosen]
    used, code = np.unique(label, return_inverse=True)
    published = versions.published_at[chosen]
    return RowColumns(
        tuple(versions.labels[i] for i in used),
        code.astype(np.int32),
        versions.ts[chosen],
        versions.value[chosen],
        published_at=None if (published == NEVER).all() else published,
        bounds=None if versions.bounds is None else versions.bounds[chosen],
    )


def joined(parts: Iterable[RowColumns]) -> RowColumns:
    """Return the rows of several parts, in sequence, under one list of labels."""
    filled = [part for part in parts if part.ts.size]
    if len(filled) == 1:
        return filled[0]
    labels: dict[RowLabels, int] = {}
    codes = [[labels.setdefault(each, len(labels)) for each in part.labels] for part in filled]
    begins = np.cumsum([0, *map(len, codes)], dtype=np.int32)[:-1]
    label = np.concatenate([np.empty(0, np.int32), *(part.label for part in filled)])
    label += np.repeat(begins, [len(part) for part in filled])
    return RowColumns(
        tuple(labels),
        np.array([code for each in codes for code in each], np.int32)[label],
        np.concatenate([np.empty(0, np.int64), *(part.ts for part in filled)]),
        np.concatenate([np.empty(0, np.float64), *(part.value for part in filled)]),
        _column([part.samples for part in filled]),
        _column([part.coverage for part in filled]),
        _column([part.published_at for part in filled]),
        bounds=_bounds(filled),
    )


def _bounds(parts: list[RowColumns]) -> Floats | None:
    """Return the bounds of the rows of several parts, NaN for parts without bounds."""
    if all(part.bounds is None for part in parts):
        return None
    return np.concatenate([np.full((len(part), 2), np.nan) if part.bounds is None else part.bounds for part in parts])


def _column(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    cached = [part for part in parts if part is not None]
    return np.concatenate(cached) if cached and len(cached) == len(parts) else None
