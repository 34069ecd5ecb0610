"""The newest rows of one zone's metric, from 30 days before the last that has begun to the last one known ahead.

Opens the month files that these days touch, each once, found by arithmetic. What the rows say: see `figures.context`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.figures.window_stats import WINDOW_S, SeriesHistory
from warehouse.market.clock import DAY, RESOLUTIONS, Window, month_window, months
from warehouse.rows.versions import Ints
from warehouse.series import monthfile, series
from warehouse.store import layout
from warehouse.store.storage import Storage

_AHEAD_S = 2 * DAY
"""A day-ahead auction reaches to the end of tomorrow."""
_COLUMNS = ["counterparty", "link", "ts", "value", "unit", "resolution", "source", "feed"]


class RecentRows(NamedTuple):
    """Rows of a zone's metric: `history` for the arithmetic, `rows` (the same) for unit, resolution and feed."""

    history: SeriesHistory
    rows: pa.Table

    def text(self, column: str, row: int) -> str:
        """A text column of one row."""
        return str(self.rows.column(column)[row].as_py())


def recent(storage: Storage, zone: str, metric: str, now: int, tz: str, withheld: Collection[str]) -> RecentRows | None:
    """The net rows around `now` (Unix seconds); None where no row has begun, however far back. Raises StorageError.

    Rows of `withheld` feeds are left out: rights may have been taken back since the month was resolved.
    """

    @cache
    def load(month: str) -> pa.Table | None:
        table = monthfile.read(storage, layout.series(metric, zone, month), _COLUMNS)
        return None if table is None else _open_rows(table, withheld)

    last = _last_begun(load, months(Window(max(0, now - WINDOW_S), now + 1)), now)
    if last is None:
        last = _last_begun(load, series.served_months(storage, metric, zone), now)
    if last is None:
        return None
    tables = [
        table for month in months(Window(max(0, last - WINDOW_S), now + _AHEAD_S)) if (table := load(month)) is not None
    ]
    rows = pa.concat_tables(tables)
    return RecentRows(
        SeriesHistory(
            rows.column("ts").to_numpy(), _seconds(rows.column("resolution")), rows.column("value").to_numpy(), tz
        ),
        rows,
    )


def _open_rows(table: pa.Table, withheld: Collection[str]) -> pa.Table:
    """The net rows of feeds that may be passed on."""
    rows = series.net(table).drop_columns(["counterparty", "link"])
    hidden = [feed for feed in rows.column("feed").unique().to_pylist() if feed in withheld]
    if not hidden:
        return rows
    return rows.filter(pc.invert(pc.is_in(rows.column("feed").cast(pa.string()), pa.array(hidden))))


def _last_begun(load: Callable[[str], pa.Table | None], candidates: list[str], now: int) -> int | None:
    """The start of the last row that has begun in the newest of these months that has one."""
    for month in reversed(candidates):
        if month_window(month).start > now:
            continue
        table = load(month)
        begun = 0 if table is None else int(np.searchsorted(table.column("ts").to_numpy(), now, side="right"))
        if table is not None and begun:
            return int(table.column("ts")[begun - 1].as_py())
    return None


def _seconds(resolution: pa.ChunkedArray) -> Ints:
    """The interval length per row, seconds, by each file's own dictionary."""
    parts = [
        np.array([RESOLUTIONS[word] for word in chunk.dictionary.to_pylist()], np.int64)[chunk.indices.to_numpy()]
        for chunk in resolution.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
