"""Read served rows as columns. Monthly files are located by name, decoded once and cached by identity in bounded
memory.

A process with thousands of requests per second keeps one reader. For few requests, use a reader with a limit of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np

from warehouse.caches import LruCache, TtlCache
from warehouse.market.clock import DAY, Window, month_of, month_window, months
from warehouse.rows import resolve
from warehouse.rows.forecasts import Pick
from warehouse.rows.versions import Floats, RowLabels, empty
from warehouse.series import folding, month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.series.net_rows import PART_ROWS, NetLayout, columns_of, parts_of
from warehouse.series.replaced_files import FileReplaced, read_again
from warehouse.series.row_columns import MonthFileSide, RowColumns, joined, sides_of, sized
from warehouse.store import layout, modes
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Identity

Decoded = TypeVar("Decoded")
_FEW_SECONDS = 100 * DAY
"""For a shorter window, the reader tries the file of each month. Otherwise, it lists the folder: 8,000 years have more
months than files.
"""
_NO_VALUES: Floats = np.empty(0, np.float64)


class MonthFile(NamedTuple):
    """A monthly file as it was when it was found."""

    month: str
    key: str
    identity: Identity


class Reader:
    """A thread-safe reader of a warehouse's monthly files. It notices a replaced file within `ttl_s` seconds.

    Half of `limit_bytes` is for values and half for the layouts of files (1 kB per month).
    """

    def __init__(self, storage: Storage, limit_bytes: int, ttl_s: float = 0.0) -> None:
        self.storage = storage
        self._memory = LruCache(limit_bytes // 2)
        self._layouts = LruCache(limit_bytes // 2)
        self._stats = TtlCache(ttl_s)

    def files(self, zone: str, metric: str, window: Window) -> list[MonthFile]:
        """Return every file that a window touches, in order of time."""
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
        """Return the rows of one side of a monthly file: at least those of the window, or all rows if it is None.

        Raises FileReplaced, and as `monthfile.month` does.
        """
        nets = self._layout(file) if side == "net" else None
        rows = None if nets is None else self._net_rows(file, nets, window)
        return self._sides(file)[side] if rows is None else rows

    @read_again
    def read(self, zone: str, metric: str, side: MonthFileSide, window: Window) -> RowColumns:
        """Return the rows of one side that begin in a window, from all months. Raises as `monthfile.month` does."""
        rows = joined(self.rows(file, side, window) for file in self.files(zone, metric, window))
        return rows.take(slice(*rows.between(window)))

    def labels(self, file: MonthFile, side: MonthFileSide, window: Window) -> set[RowLabels]:
        """Return the labels of the rows in a window, on one side of a monthly file. Raises as `rows` does.

        For a file that is decoded as Parquet and is entirely in the window, the labels have source and feed only.
        """
        nets = self._layout(file) if side == "net" else None
        if nets is not None:
            return nets.labels_in(window)
        month = month_window(file.month)
        if month.start < window.start or window.end < month.end:
            return self._sides(file)[side].labels_in(window)

        def read() -> tuple[frozenset[RowLabels], int]:
            body = self._body(file.key, file.identity)
            labels = monthfile.labels_in_short(self.storage, file.key, body, side == "borders")
            return labels, 300 + 400 * len(labels)

        return {*self._layouts.get((file, side), read)}

    def _layout(self, file: MonthFile) -> NetLayout | None:
        def read() -> tuple[NetLayout | None, int]:
            nets = monthfile.net_layout(self.storage, file.key, file.identity, self._mode())
            return nets, 200 if nets is None else nets.nbytes

        return self._layouts.get(file, read)

    def _net_rows(self, file: MonthFile, nets: NetLayout, window: Window | None) -> RowColumns | None:
        """Return the net rows of a window from its parts of the file, None if the whole file must be read."""
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
            return sized(sides_of(versions))

        return self._memory.get((file, "sides"), read)

    def _body(self, key: str, identity: Identity) -> bytes:
        """Return the bytes of a file that was found before. Raises FileReplaced and StorageError."""
        body = self.storage.part(key, identity, 0, identity.size) if identity.size else b""
        if body is None:
            self._stats.forget(key)
            raise FileReplaced(f"{key} was replaced while it was read")
        return body

    @read_again
    def document(self, key: str, decode: Callable[[bytes, str, str], tuple[Decoded, int]]) -> Decoded | None:
        """Return what `decode` returns for a file's bytes, key and mode, from a cache; None without a file.

        `decode` also returns the size in memory. Raises StorageError.
        """
        identity = self._identity(key)
        if identity is None:
            return None
        return self._memory.get((key, identity), lambda: decode(self._body(key, identity), key, self._mode()))

    def past(
        self, file: MonthFile, pick: Pick | None, at: int | None, ranks: Mapping[str, int]
    ) -> dict[MonthFileSide, RowColumns]:
        """Return a month's rows as this warehouse knew them at `at` (Unix seconds) or knows them now, by today's ranks.

        `pick` selects the vintages of a forecast. Raises FileReplaced, and as `monthfile.month` does.
        """

        def read() -> tuple[dict[MonthFileSide, RowColumns], int]:
            if at is None and pick == Pick():  # the served vintage is the newest
                versions, _ = monthfile.decoded(self.storage, file.key, self._body(file.key, file.identity))
            else:
                metric, zone, month, _ = layout.of_series(file.key)
                versions = month_versions.read(self.storage, Month(metric, zone, month))
                self._body(file.key, file.identity)  # raises if the file was replaced, so that its rows are not cached
            if pick is not None:
                return sized(sides_of(pick._replace(known_at=at).choose(versions, ranks)))
            then = versions if at is None else resolve.known(versions, at)
            chosen = then.take(resolve.served(then, ranks))
            return sized(sides_of(chosen.take(chosen.order())))

        if at is not None and at < (self.known_since(file) or at):
            return sides_of(empty())
        return self._memory.get((file, pick, at, tuple(ranks.items())), read)

    def known_since(self, file: MonthFile) -> int | None:
        """Return the time before which a restored month's versions are incomplete, None for all other months.

        Raises StorageError.
        """

        def read() -> tuple[int | None, int]:
            past = monthfile.past(self.storage, file.key)
            return None if past is None else past.known_since, 200

        return self._memory.get((file, "since"), read)


@lru_cache(maxsize=4096)
def _month_of_day(day: int) -> str:
    """Return the month of a day number since 1970."""
    return month_of(day * DAY)
