"""Read rows from monthly files as Arrow tables, month by month, to verify the service's own reader without using it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from warehouse.errors import MarketError
from warehouse.market.clock import Window, month_window, months
from warehouse.rows import resolve, schema
from warehouse.rows.schema import SCHEMA, Rows, SeriesKey
from warehouse.series import folding, month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.store import layout
from warehouse.store.storage import Storage

Row = tuple[str, str, str, str, str, int]
"""Zone, metric, fuel, border, interconnector and start (Unix seconds)."""


def rows_of(readings: Iterable[schema.Row]) -> Rows:
    """Return `readings` as Rows."""
    rows = Rows()
    for r in readings:
        place = (r.fuel, r.counterparty, r.link, r.published_at, r.basis, r.factors)
        bounds = None if r.low is None or r.high is None else [(r.low, r.high)]
        rows.extend(SeriesKey(r.zone, r.metric, r.unit, r.resolution, *place), [r.ts], [r.value], bounds)
    return rows


def served(storage: Storage) -> tuple[list[tuple[Row, float]], list[str]]:
    """Return every served row with its value, and each zone and metric with a file that cannot be read."""
    rows: list[tuple[Row, float]] = []
    unreadable = []
    for metric, zone, month in folding.places(storage):
        try:
            table = read(storage, zone, metric, month_window(month))
        except MarketError:
            unreadable.append(f"{zone} {metric}")
            continue
        for row in table.to_pylist():
            parts = (row[name] or "" for name in ("fuel", "counterparty", "link"))
            rows.append(((zone, metric, *parts, row["ts"]), row["value"]))  # type: ignore[arg-type]
    return rows, unreadable


def read(storage: Storage, zone: str, metric: str, window: Window) -> pa.Table:
    """Return the served rows that start in `window`, of the net and of borders.

    They ascend by ts, fuel, counterparty and link.
    """
    served = (monthfile.month(storage, layout.series(metric, zone, month))[0] for month in months(window))
    return _joined([monthfile.to_table(versions, zone, metric) for versions in served], window)


def read_as_of(storage: Storage, zone: str, metric: str, window: Window, at: int, ranks: Mapping[str, int]) -> pa.Table:
    """Return the rows of `window` as the warehouse knew them at `at` (Unix seconds)."""
    parts = []
    for month in months(window):
        then = resolve.known(month_versions.read(storage, Month(metric, zone, month)), at)
        chosen = then.take(resolve.served(then, ranks))
        if len(chosen):
            parts.append(monthfile.to_table(chosen, zone, metric))
    return _joined(parts, window)


def net(table: pa.Table) -> pa.Table:
    """Return only the zone's own rows, without those of borders and interconnectors."""
    return table.filter(pc.and_(pc.is_null(table.column("counterparty")), pc.is_null(table.column("link"))))


def _joined(parts: Sequence[pa.Table], window: Window) -> pa.Table:
    """Return one table of plain string columns, cut to `window`. Dictionaries differ from file to file."""
    table = pa.concat_tables([part.cast(SCHEMA) for part in parts]) if parts else SCHEMA.empty_table()
    first, last = np.searchsorted(table.column("ts").to_numpy(), [window.start, window.end])
    return table.slice(int(first), int(last - first))
