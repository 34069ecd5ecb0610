"""Served rows as columns: month files found by arithmetic, decoded once, kept by file identity within a bound of bytes.

A process that answers thousands of questions a second keeps one; for a few, one without bytes is made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from warehouse.caches import LruCache, TtlCache
from warehouse.errors import StorageError
from warehouse.market.clock import DAY, RESOLUTIONS, Window, month_of, months
from warehouse.rows import resolve
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import NEVER, Floats, Ints, RowLabels, Versions, empty
from warehouse.series import folding, month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.series.net_rows import PART_ROWS, NetLayout, columns_of, parts_of
from warehouse.store import layout, modes
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Identity

MonthFileSide = Literal["net", "borders"]
"""A zone's own rows, or those of its borders and ties."""

Decoded = TypeVar("Decoded")
Answer = TypeVar("Answer")
Question = ParamSpec("Question")
_FEW_SECONDS = 100 * DAY
"""In a shorter window each month's name is tried; else the folder is listed.

8,000 years have more months than files.
"""
_NO_VALUES: Floats = np.empty(0, np.float64)


class FileReplaced(StorageError):
    """A month file was replaced between finding and reading it: find it again."""


def read_again(read: Callable[Question, Answer]) -> Callable[Question, Answer]:
    """Call a function once more each time that it met a replaced file."""

    @wraps(read)
    def reading(*args: Question.args, **kwargs: Question.kwargs) -> Answer:
        while True:
            try:
                return read(*args, **kwargs)
            except FileReplaced:
                continue

    return reading


class MonthFile(NamedTuple):
    """A month file as it was when it was looked up."""

    month: str
    key: str
    identity: Identity


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

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: slice | NDArray[np.bool_] | NDArray[np.int64]) -> RowColumns:
        """Some of the rows, under the same labels."""
        further: tuple[Any, ...] = self.samples, self.coverage, self.published_at
        samples, coverage, published_at = (None if column is None else column[chosen] for column in further)
        label, ts, value = self.label[chosen], self.ts[chosen], self.value[chosen]
        run = self.run and isinstance(chosen, slice) and chosen.step is None
        return RowColumns(self.labels, label, ts, value, samples, coverage, published_at, run)

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
        published = 0 if self.published_at is None else self.published_at.nbytes
        return self.label.nbytes + self.ts.nbytes + self.value.nbytes + published + 400 * len(self.labels) + 500


class Reader:
    """Reads month files of one warehouse; safe for many threads. A replaced file is seen within `ttl_s` seconds.

    Of `limit_bytes` a half is for values, a half for where they lie in their files (1 kB a month).
    """

    def __init__(self, storage: Storage, limit_bytes: int, ttl_s: float = 0.0) -> None:
        self.storage = storage
        self._memory = LruCache(limit_bytes // 2)
        self._layouts = LruCache(limit_bytes // 2)
        self._stats = TtlCache(ttl_s)

    def files(self, zone: str, metric: str, window: Window) -> list[MonthFile]:
        """Every file that a window touches, in order of time."""
        keys = ((month, layout.series(metric, zone, month)) for month in self._months(zone, metric, window))
        return [MonthFile(month, key, identity) for month, key in keys if (identity := self._identity(key)) is not None]

    def _identity(self, key: str) -> Identity | None:
        return self._stats.get(key, lambda: self.storage.stat(key))

    def _months(self, zone: str, metric: str, window: Window) -> list[str]:
        if window.seconds <= _FEW_SECONDS:
            first, last = _month_of_day(window.start // DAY), _month_of_day((window.end - 1) // DAY)
            return [first] if first == last else months(window)
        first, last = month_of(window.start), month_of(window.end - 1)
        return [month for month in folding.served_months(self.storage, metric, zone) if first <= month <= last]

    def rows(self, file: MonthFile, side: MonthFileSide, window: Window | None = None) -> RowColumns:
        """The rows of one side of a month file: those of a window, or more; None is all of the month.

        Raises FileReplaced, and as `monthfile.month` does.
        """
        nets = self._layout(file) if side == "net" else None
        rows = None if nets is None else self._net_rows(file, nets, window)
        return self._sides(file)[side] if rows is None else rows

    @read_again
    def read(self, zone: str, metric: str, side: MonthFileSide, window: Window) -> RowColumns:
        """The rows of one side that begin in a window, of all months. Raises as `monthfile.month` does."""
        rows = joined(self.rows(file, side, window) for file in self.files(zone, metric, window))
        return rows.take(slice(*rows.between(window)))

    def labels(self, file: MonthFile, side: MonthFileSide, window: Window) -> set[RowLabels]:
        """The labels of the rows of one side of a month file that lie in a window. Raises as `rows` does."""
        nets = self._layout(file) if side == "net" else None
        return (self._sides(file)[side] if nets is None else nets).labels_in(window)

    def _layout(self, file: MonthFile) -> NetLayout | None:
        def read() -> tuple[NetLayout | None, int]:
            nets = monthfile.net_layout(self.storage, file.key, file.identity, self._mode())
            return nets, 200 if nets is None else nets.nbytes

        return self._layouts.get(file, read)

    def _net_rows(self, file: MonthFile, nets: NetLayout, window: Window | None) -> RowColumns | None:
        """The net rows of a window, from its own parts of the file; None where the file is to be read whole."""
        pieces = nets.within(window)
        parts = parts_of(pieces)
        values = [self._memory.found((file, part)) for part in parts]
        if any(value is None for value in values):
            read = self._read_parts(file, nets, parts)
            if read is None:
                return None
            values = read
        value = values[0] if len(values) == 1 else np.concatenate([_NO_VALUES, *values])
        label, ts, value, run = columns_of(pieces, value, parts.start * PART_ROWS)
        return RowColumns(nets.labels, label, ts, value, run=run)

    def _read_parts(self, file: MonthFile, nets: NetLayout, parts: range) -> list[Floats] | None:
        body = self.storage.part(file.key, file.identity, *nets.place(parts))
        values = None if body is None else nets.checked(body, parts)
        for part, value in zip(parts, values or (), strict=values is not None):
            self._memory.keep((file, part), value, value.nbytes + 700)
        return values

    def _mode(self) -> str:
        return self._stats.get(layout.MODE, partial(modes.require, self.storage))

    def _sides(self, file: MonthFile) -> dict[MonthFileSide, RowColumns]:
        def read() -> tuple[dict[MonthFileSide, RowColumns], int]:
            versions, _ = monthfile.decoded(self.storage, file.key, self._body(file.key, file.identity))
            return _sized(_sides(versions))

        return self._memory.get((file, "sides"), read)

    def _body(self, key: str, identity: Identity) -> bytes:
        """The bytes of a file that was found before. Raises FileReplaced, StorageError."""
        stored = self.storage.read(key)
        if stored is None or stored.identity != identity:
            self._stats.forget(key)
            raise FileReplaced(f"{key} was replaced while it was read")
        return stored.body

    @read_again
    def document(self, key: str, decode: Callable[[bytes, str, str], tuple[Decoded, int]]) -> Decoded | None:
        """What `decode` makes of a file's bytes, key and mode, and its size in memory; cached. None without a file.

        Raises StorageError.
        """
        identity = self._identity(key)
        if identity is None:
            return None
        return self._memory.get((key, identity), lambda: decode(self._body(key, identity), key, self._mode()))

    def past(
        self, file: MonthFile, pick: Pick | None, at: int | None, ranks: Mapping[str, int]
    ) -> dict[MonthFileSide, RowColumns]:
        """A month's rows as this warehouse knew them at an instant, or knows them now, by the feeds' ranks of today.

        `pick`: which vintages of a forecast. Raises FileReplaced, and as `monthfile.month` does.
        """

        def read() -> tuple[dict[MonthFileSide, RowColumns], int]:
            if at is None and pick == Pick():  # what is served is the newest of all
                versions, _ = monthfile.decoded(self.storage, file.key, self._body(file.key, file.identity))
            else:
                metric, zone, month, _ = layout.of_series(file.key)
                versions = month_versions.read(self.storage, Month(metric, zone, month))
                self._body(file.key, file.identity)  # of a file that was replaced meanwhile nothing is kept
            if pick is not None:
                return _sized(_sides(pick._replace(known_at=at).choose(versions, ranks)))
            then = versions if at is None else resolve.known(versions, at)
            chosen = then.take(resolve.served(then, ranks))
            return _sized(_sides(chosen.take(chosen.order())))

        if at is not None and at < (self.known_since(file) or at):
            return _sides(empty())
        return self._memory.get((file, pick, at, tuple(ranks.items())), read)

    def known_since(self, file: MonthFile) -> int | None:
        """Return the time before which a restored month's versions are not all known; None for all other months.

        Raises StorageError.
        """

        def read() -> tuple[int | None, int]:
            past = monthfile.past(self.storage, file.key)
            return None if past is None else past.known_since, 200

        return self._memory.get((file, "since"), read)


@lru_cache(maxsize=4096)
def _month_of_day(day: int) -> str:
    """The month of a day since 1970."""
    return month_of(day * DAY)


def _sides(versions: Versions) -> dict[MonthFileSide, RowColumns]:
    border = versions.where(lambda labels: labels.border)
    return {"net": _columns(versions, ~border), "borders": _columns(versions, border)}


def _sized(sides: dict[MonthFileSide, RowColumns]) -> tuple[dict[MonthFileSide, RowColumns], int]:
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
    )


def _column(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
    cached = [part for part in parts if part is not None]
    return np.concatenate(cached) if cached and len(cached) == len(parts) else None
