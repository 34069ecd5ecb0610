"""Build marts with SQL: a mart's SQL file, which has its name, selects its rows from a zone's metric. No Dagster here.

The queries read `readings` (the served rows), or `versions` (all values) for revisions, and `calendar`: each half hour
of the months to build. It gives the civil month, date and hour, and the day's start and end. A month is rebuilt only if
a monthly file of the month has changed. To add a mart, add a file and a line to MARTS.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from warehouse.documents import manifest
from warehouse.errors import StorageError
from warehouse.figures import marts
from warehouse.figures.marts import MartFile
from warehouse.figures.resample import interval_at
from warehouse.market import clock
from warehouse.market.clock import RESOLUTIONS, Window, month_window, zone_of
from warehouse.market.metrics import ONE_VALUED, YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.series import month_versions, monthfile
from warehouse.series.month_versions import Month
from warehouse.store import layout, seal
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Identity

_LOG = logging.getLogger("emds.assets")
_STEP = 1800
"""The offset of civil time from UTC is a whole number of half hours in every zone."""


@dataclass(frozen=True, slots=True)
class Mart:
    """A mart: its content, its metrics, and whether it is built from every version or from the served rows."""

    name: str
    description: str
    metrics: tuple[Metric, ...]
    of_versions: bool = False

    @property
    def sql(self) -> str:
        """Return the query, from the file of the mart's name."""
        return Path(__file__).with_name(f"{self.name}.sql").read_text()


_NOT_YEARLY = tuple(metric for metric in Metric if metric not in YEARLY)
MARTS = (
    Mart("daily", "One row per civil day of a zone: mean, extremes, seconds covered, hours below zero.", ONE_VALUED),
    Mart("hourly_profile", "One row per hour of civil time and month: mean, extremes and number of days.", ONE_VALUED),
    Mart(
        "border_days",
        "One row per civil day of a border or interconnector: mean import, MWh in and out.",
        (Metric.INTERCHANGE,),
    ),
    Mart(
        "revisions",
        "One row per civil day of a feed: revised intervals, with the time and size of the changes.",
        _NOT_YEARLY,
        True,
    ),
)
_EXACT_MEAN = """CREATE OR REPLACE MACRO exact_mean(total, covered) AS (
    WITH whole AS (SELECT CAST(CAST(total AS DECIMAL(30, 6)) * 1000000 AS HUGEINT) AS n, CAST(covered AS HUGEINT) AS d),
    quotient AS (SELECT sign(n) AS s, abs(n) // d AS q, abs(n) % d AS r, d FROM whole)
    SELECT s * CAST(q + CASE WHEN 2 * r > d OR (2 * r = d AND q % 2 = 1) THEN 1 ELSE 0 END AS DOUBLE) / 1000000
    FROM quotient
)"""
"""Round to six decimals, ties to even, as `warehouse.figures.resample` does."""
_COLUMNS = ["zone", "metric", "fuel", "counterparty", "link", "ts", "value", "unit", "resolution", "feed", "known_at",
            "superseded_at"]  # fmt: skip


def refresh(
    storage: Storage,
    connection: DuckDBPyConnection,
    mart: Mart,
    months: Collection[str] | None,
    withheld: Collection[str],
    mode: str,
) -> dict[str, int]:
    """Rebuild a mart's outdated civil months (`2026-11`; None: all), and return the row count of each requested month.

    Rows of `withheld` feeds are left out. Raises StorageError if a file could not be read or written, after the others
    are built.
    """
    connection.execute(_EXACT_MEAN)
    counts: Counter[str] = Counter()
    failures, series = [], manifest.list_stamps(storage)
    for metric in mart.metrics:
        for zone in ZONES:
            try:
                marks = _marks(storage, metric, zone, series[metric, zone])
                counts.update(_refresh_series(storage, connection, mart, metric, zone, marks, months, withheld, mode))
            except StorageError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return dict(sorted(counts.items()))


def stale_months(storage: Storage, mode: str, last: str = "9999-12", of: Collection[Mart] = MARTS) -> list[str]:
    """Return the civil months up to `last` (`2026-11`) with an outdated mart, ascending.

    Lists the series and the marts once. Opens only the marts whose own file or monthly files were replaced since the
    mart was last found up to date.
    """
    series, checked = manifest.list_stamps(storage), _checked(storage)
    stamps = _stamps(storage, series, last)
    stale, current = set[str](), dict(checked)
    for mart in of:
        for metric, zone in ((metric, zone) for metric in mart.metrics for zone in ZONES):
            key = layout.mart(mart.name, metric, zone)
            stamp = stamps.get(key)
            if stamp is None or checked.get(key) == stamp:
                continue
            file = _load(storage, key, mode, mart)
            before = {} if file is None else file.marks
            marks = _marks(storage, metric, zone, series[metric, zone])
            if months := [month for month, mark in marks.items() if month <= last and before.get(month) != mark]:
                stale.update(months)
            else:
                current[key] = stamp
    if current != checked:
        storage.put(layout.MARTS_CHECKED, orjson.dumps(current), durable=False)
    return sorted(stale)


def _stamps(storage: Storage, series: Mapping[tuple[str, str], Mapping[str, str]], last: str) -> dict[str, str]:
    """Return a hash by key for each mart that may exist: of its query, its own stamp and the stamps of its months.

    `last` is the newest month to build. East of UTC, a monthly file extends into the next civil month.
    """
    mart_files = storage.listing(layout.MARTS)
    stamps = {}
    for mart in MARTS:
        query = marts.fingerprint(mart.sql)
        for (metric, zone), months in series.items():
            key = layout.mart(mart.name, metric, zone)
            stamps_of = [last, query, *(f"{month} {stamp}" for month, stamp in months.items()), mart_files.get(key, "")]
            stamps[key] = hashlib.sha256("\n".join(stamps_of).encode()).hexdigest()[:16]
    return stamps


def _checked(storage: Storage) -> dict[str, str]:
    """Return the hash of each mart that was found up to date; empty if they cannot be read, which only costs time."""
    try:
        return dict(orjson.loads(storage.get(layout.MARTS_CHECKED) or b"{}"))
    except (StorageError, ValueError, TypeError):
        return {}


def first_month(storage: Storage) -> str | None:
    """Return the first civil month (`2026-10`) of any mart, from the earliest monthly files; None without monthly
    files.

    Feeds reach further back than the first day that was requested.
    """
    metrics = {metric for mart in MARTS for metric in mart.metrics}
    found = {place: month for place, month in manifest.first_months(storage).items() if place[0] in metrics}
    civil = (
        _civil_months(month_window(month), ZONES[zone].tz)[0] for (_, zone), month in found.items() if zone in ZONES
    )
    return min(civil, default=None)


def _marks(storage: Storage, metric: str, zone: str, months: Iterable[str]) -> dict[str, str]:
    """Return the mark of each civil month that overlaps these monthly files of a series."""
    tz = ZONES[zone].tz
    files: dict[str, Identity] = {}
    for month in months:
        if (identity := storage.stat(layout.series(metric, zone, month))) is not None:
            files[month] = identity
    touched = {civil for month in files for civil in _civil_months(month_window(month), tz)}
    return {civil: marts.mark(_files_of(files, civil, tz)) for civil in sorted(touched)}


def _files_of(files: Mapping[str, Identity], civil: str, tz: str) -> list[tuple[str, Identity]]:
    return [(month, files[month]) for month in clock.months(_civil_window(civil, tz)) if month in files]


@lru_cache(maxsize=4096)
def _civil_months(window: Window, tz: str) -> tuple[str, ...]:
    days = (clock.local_date(window.start, tz), clock.local_date(window.end - 1, tz))
    return tuple(dict.fromkeys(f"{day:%Y-%m}" for day in days))


def _civil_window(civil: str, tz: str) -> Window:
    return interval_at(month_window(civil).start + 15 * clock.DAY, "1mo", tz)


def _load(storage: Storage, key: str, mode: str, mart: Mart) -> MartFile | None:
    """Return the contents of a mart's file; None if there is none or it must be rebuilt."""
    body = storage.get(key)
    try:
        file = None if body is None else marts.decode(body, key, mode)
    except StorageError as error:
        _LOG.warning("rebuilt: %s", error)
        return None
    return file if file is not None and file.query == marts.fingerprint(mart.sql) else None


def _refresh_series(
    storage: Storage,
    connection: DuckDBPyConnection,
    mart: Mart,
    metric: str,
    zone: str,
    marks: Mapping[str, str],
    months: Collection[str] | None,
    withheld: Collection[str],
    mode: str,
) -> Counter[str]:
    """Rebuild the outdated months of a file, and return the row count of each requested month."""
    key = layout.mart(mart.name, metric, zone)
    file = _load(storage, key, mode, mart) if marks else None
    before = {} if file is None else file.marks
    stale = {m: mark for m, mark in marks.items() if (months is None or m in months) and before.get(m) != mark}
    rows = None if file is None else file.rows
    if stale:
        source = _rows(storage, mart, metric, zone, stale, withheld)
        rows = _compute(connection, mart, source, rows, stale, ZONES[zone].tz)
        storage.put(key, _encode(rows, marts.metadata(key, mode, {**before, **stale}, mart.sql)))
    names = [] if rows is None else rows.column("month").to_pylist()
    return Counter(month for month in names if months is None or month in months)


def _rows(
    storage: Storage, mart: Mart, metric: str, zone: str, stale: Collection[str], withheld: Collection[str]
) -> pa.Table:
    """Return the rows of the monthly files that overlap these civil months, with the `seconds` of each interval."""
    windows = [_civil_window(civil, ZONES[zone].tz) for civil in stale]
    files = sorted({month for window in windows for month in clock.months(window)})
    parts = [_month(storage, Month(metric, zone, month), mart) for month in files]
    rows = pa.concat_tables(
        [part.select(_COLUMNS).unify_dictionaries() for part in parts], promote_options="permissive"
    )
    rows = rows.filter(pc.invert(pc.is_in(rows.column("feed").cast(pa.string()), pa.array([*withheld], pa.string()))))
    words = rows.column("resolution").cast(pa.string())
    seconds = pa.array([*RESOLUTIONS.values()]).take(pc.index_in(words, pa.array([*RESOLUTIONS])))
    return rows.append_column("seconds", seconds)


def _month(storage: Storage, place: Month, mart: Mart) -> pa.Table:
    versions = (
        month_versions.read(storage, place) if mart.of_versions else monthfile.month(storage, layout.series(*place))[0]
    )
    return monthfile.to_table(versions, place.zone, place.metric)


def _compute(
    connection: DuckDBPyConnection,
    mart: Mart,
    rows: pa.Table,
    stored: pa.Table | None,
    stale: Collection[str],
    tz: str,
) -> pa.Table:
    """Return the rows of a file with its rebuilt stale months, ordered by month."""
    connection.register("calendar", pa.concat_tables([_calendar(civil, tz) for civil in stale]))
    connection.register("versions" if mart.of_versions else "readings", rows)
    fresh = connection.sql(mart.sql).to_arrow_table()
    if stored is not None:
        others = pc.invert(pc.is_in(stored.column("month"), pa.array([*stale])))
        fresh = pa.concat_tables([stored.filter(others), fresh.cast(stored.schema)])
    return fresh.sort_by(
        [(name, "ascending") for name in ("month", "date", "hour", "ts") if name in fresh.column_names]
    )


@lru_cache(maxsize=256)
def _calendar(civil: str, tz: str) -> pa.Table:
    """Return each half hour of a civil month: its month, date and hour, and its day's start and end."""
    window = _civil_window(civil, tz)
    starts = range(window.start, window.end, _STEP)
    local = [datetime.fromtimestamp(ts, zone_of(tz)) for ts in starts]
    days = [interval_at(ts, "1d", tz) for ts in starts]
    return pa.table({
        "ts": pa.array(starts, pa.int64()),
        "month": pa.array([civil] * len(starts), pa.string()),
        "date": pa.array([moment.date() for moment in local], pa.date32()),
        "hour": pa.array([moment.hour for moment in local], pa.int32()),
        "day_start": pa.array([day.start for day in days], pa.int64()),
        "day_end": pa.array([day.end for day in days], pa.int64()),
    })  # fmt: skip


def _encode(rows: pa.Table, metadata: str) -> bytes:
    """Return the bytes of a file, with its metadata and their checksum."""
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(out, rows.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({"emds": metadata})
    return seal.stamped(out.getvalue().to_pybytes())


def refresh_records(storage: Storage, connection: DuckDBPyConnection, mode: str) -> int:
    """Build the records of all series from the days, and return their number. Raises StorageError."""
    keys = [layout.mart(marts.DAILY, metric, zone) for metric in ONE_VALUED for zone in ZONES]
    tables = [file.rows for key in keys if (file := _load(storage, key, mode, MARTS[0])) is not None]
    if not tables:
        return 0
    connection.register("daily", pa.concat_tables(tables))
    metadata = marts.metadata(layout.RECORDS, mode, {})
    records = connection.sql(Path(__file__).with_name("records.sql").read_text()).to_arrow_table()
    storage.put(layout.RECORDS, _encode(records, metadata))
    return int(records.num_rows)


def column_types(storage: Storage, mart: Mart, mode: str) -> Sequence[tuple[str, str]]:
    """Return the name and type of each column of a mart; empty if it does not have a file yet."""
    keys = (layout.mart(mart.name, metric, zone) for metric in mart.metrics for zone in ZONES)
    file = next(filter(None, (_load(storage, key, mode, mart) for key in keys)), None)
    return [(column.name, str(column.type)) for column in file.rows.schema] if file else ()
