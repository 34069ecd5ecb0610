"""Rows as parallel columns in canonical order, as readers hold them."""

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
"""A zone's own rows, or those of its borders and ties."""


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Rows in canonical order (ts, fuel, counterparty, link) as parallel columns; `label` indexes `labels`."""

    labels: tuple[RowLabels, ...]
    label: NDArray[np.int32]
    ts: Ints
    value: Floats
    samples: Ints | None = None
    """How many rows a mean was taken of; only where the rows are means over intervals."""
    coverage: Floats | None = None
    """The part of the interval that those rows cover, 0..1."""
    published_at: Ints | None = None
    """When each row's vintage was published, Unix seconds; only of forecasts."""
    run: bool = False
    """Known to be rows of one label that ascend, each one interval of its resolution after the one before."""
    bounds: Floats | None = None
    """Low and high of each estimate; NaN for other rows, None where no row is an estimate."""

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: slice | NDArray[np.bool_] | NDArray[np.int64]) -> RowColumns:
        """Some of the rows, under the same labels."""
        further: tuple[Any, ...] = self.samples, self.coverage, self.published_at, self.bounds
        samples, coverage, published_at, bounds = (None if column is None else column[chosen] for column in further)
        label, ts, value = self.label[chosen], self.ts[chosen], self.value[chosen]
        run = self.run and isinstance(chosen, slice) and chosen.step is None
        return RowColumns(self.labels, label, ts, value, samples, coverage, published_at, run, bounds)

    def of_feeds(self, wanted: Callable[[str], bool]) -> RowColumns:
        """The rows of some feeds."""
        chosen = [wanted(label.feed) for label in self.labels]
        return self if all(chosen) else self.take(np.array(chosen)[self.label])

    def seconds(self) -> Ints:
        """The length of each row's interval; a year counts 365 days."""
        return np.array([RESOLUTIONS[label.resolution] for label in self.labels], np.int64)[self.label]

    def between(self, window: Window) -> tuple[int, int]:
        """The first row inside a window of `ts`, and the first after it."""
        if self.run and self.ts.size and window.start <= self.ts[0] and self.ts[-1] < window.end:
            return 0, len(self)
        # Not np.searchsorted, which gives up Python's global lock: under load it waits longer for it than it searches.
        first = bisect_left(self.ts, window.start)
        return first, bisect_left(self.ts, window.end, first)

    def labels_in(self, window: Window) -> set[RowLabels]:
        """The labels of the rows in a window."""
        first, last = self.between(window)
        if first < last and len(self.labels) == 1:
            return {*self.labels}
        return {self.labels[code] for code in np.bincount(self.label[first:last]).nonzero()[0]}

    @property
    def nbytes(self) -> int:
        further = sum(column.nbytes for column in (self.published_at, self.bounds) if column is not None)
        return self.label.nbytes + self.ts.nbytes + self.value.nbytes + further + 400 * len(self.labels) + 500


def sides_of(versions: Versions) -> dict[MonthFileSide, RowColumns]:
    """A zone's own rows, and those of its borders and ties."""
    border = versions.where(lambda labels: labels.border)
    return {"net": _columns(versions, ~border), "borders": _columns(versions, border)}


def sized(sides: dict[MonthFileSide, RowColumns]) -> tuple[dict[MonthFileSide, RowColumns], int]:
    """Both sides, and their bytes in memory."""
    return sides, sum(columns.nbytes for columns in sides.values())


def _columns(versions: Versions, chosen: NDArray[np.bool_]) -> RowColumns:
    """Copies of the columns, so that what is kept does not hold the versions' other columns in memory."""
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
    """The rows of several parts, one after the other, under one list of labels."""
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
    """Return the bounds of the rows of several parts, NaN where a part has none."""
    if all(part.bounds is None for part in parts):
        return None
    return np.concatenate([np.full((len(part), 2), np.nan) if part.bounds is None else part.bounds for part in parts])


def _column(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    cached = [part for part in parts if part is not None]
    return np.concatenate(cached) if cached and len(cached) == len(parts) else None
