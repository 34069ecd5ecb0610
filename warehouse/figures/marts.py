"""Read marts: Parquet files derived from monthly files, one per mart, metric and zone, with a mark for each month.

`assets.sql.mart_queries` writes them by SQL. A month whose mark does not match its current files is out of date, and
its rows are not read. A lost mart does no harm: the next run rebuilds it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.errors import StorageError
from warehouse.figures.resample import MILLION, Sums
from warehouse.market.clock import Window
from warehouse.market.metrics import ONE_VALUED
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import Reader
from warehouse.store import layout, modes, seal
from warehouse.store.stored_bytes import Identity

DAILY = "daily"


def mark(files: Iterable[tuple[str, Identity]]) -> str:
    """Return a mark that identifies the monthly files (month and identity) on which a mart's month is based."""
    text = ";".join(f"{month} {identity.version} {identity.size} {identity.tag}" for month, identity in files)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def metadata(key: str, mode: str, marks: Mapping[str, str], query: str = "") -> str:
    """Return the entry `emds` of a file's footer, with room for the checksum.

    `marks` are by civil month; `query` is the SQL that selected the rows.
    """
    members = {**seal.members(key), "mode": mode, "marks": marks, "query": fingerprint(query), "sha256": seal.BLANK}
    return orjson.dumps(members).decode()


def fingerprint(query: str) -> str:
    """Return a hash that identifies a query: a file of an earlier query is rebuilt."""
    return hashlib.sha256(query.encode()).hexdigest()[:12]


class MartFile(NamedTuple):
    """A mart's rows of a zone's metric, and the mark of each civil month (`2026-11`), including months without rows."""

    rows: pa.Table
    marks: Mapping[str, str]
    query: str
    """`fingerprint` of the SQL that selected the rows; empty in a file of an earlier release."""


def decode(body: bytes, key: str, mode: str, columns: Sequence[str] | None = None) -> MartFile:
    """Return a file's columns, checked. Raises DamagedFile, WrongMode, StorageError for a file of another release."""
    seal.check(body, key)
    file = pq.ParquetFile(pa.BufferReader(body))
    members = orjson.loads(file.metadata.metadata[b"emds"])
    seal.check_members(members, key)
    modes.check_file(mode, members["mode"], key)
    rows = file.read(columns=columns and [*columns], use_threads=False)
    return MartFile(rows, members["marks"], members.get("query", ""))


@dataclass(frozen=True, slots=True)
class Days:
    """The civil days of a zone's metric from a mart."""

    sums: Sums
    """A label names its rows' feeds, separated by commas."""
    marks: Mapping[str, str]

    def month(
        self, name: str, days: Window, files: Iterable[tuple[str, Identity]], withheld: frozenset[str]
    ) -> Sums | None:
        """Return the sums of a civil month's days; None if they are out of date or contain rows of withheld feeds."""
        if self.marks.get(name) != mark(files):
            return None
        part = self.sums.between(days)
        feeds = {feed for code in np.unique(part.label) for feed in part.labels[code].feed.split(", ")}
        return None if feeds & withheld else part


def days(reader: Reader, zone: str, metric: str) -> Days | None:
    """Return the days of a zone's metric, cached; None if there is no mart of it or it cannot be read."""
    if metric not in ONE_VALUED:
        return None
    try:
        return reader.document(layout.mart(DAILY, metric, zone), _days)
    except StorageError:
        return None


def _days(body: bytes, key: str, mode: str) -> tuple[Days, int]:
    """Return the days and their size in memory, in bytes."""
    rows, marks, _ = decode(body, key, mode, ("ts", "unit", "feeds", "total", "seconds_covered", "samples"))
    unit, feeds = (rows.column(name).combine_chunks().dictionary_encode() for name in ("unit", "feeds"))
    pairs = unit.indices.to_numpy() * len(feeds.dictionary) + feeds.indices.to_numpy()
    kinds, label = np.unique(pairs, return_inverse=True)
    words = [divmod(kind, len(feeds.dictionary)) for kind in kinds.tolist()]
    labels = tuple(_label(unit.dictionary[a].as_py(), feeds.dictionary[b].as_py()) for a, b in words)
    total = pc.multiply(rows.column("total"), pa.scalar(MILLION, pa.decimal128(7, 0))).cast(pa.int64())
    ts, covered, samples = (
        rows.column(name).to_numpy().astype(np.int64) for name in ("ts", "seconds_covered", "samples")
    )
    sums = Sums(labels, label.astype(np.int32), ts, total.to_numpy(), covered, samples)
    return Days(sums, marks), 40 * len(ts) + 500 * len(labels) + 200 * len(marks) + 500


def _label(unit: str, feeds: str) -> RowLabels:
    sources = sorted({feed.partition(".")[0] for feed in feeds.split(", ")})
    return RowLabels(None, None, None, unit, "1d", ", ".join(sources), feeds)


class Record(NamedTuple):
    """A highest or lowest value, or the longest run of negative prices, of all time or of a civil year."""

    period: str
    """`all`, a year such as `2026`, or `year_before`: the range of the last year, one year earlier."""
    kind: str
    """`highest`, `lowest` or `longest_negative`."""
    value: float
    """For a run, its hours."""
    unit: str
    """The unit of the series, for a run too."""
    ts: int
    end: int | None
    """The end of a run; Unix seconds, like `ts`."""
    since: str
    """The first civil day of the period with rows."""
    until: str
    """The last civil day of the period with rows."""
    negative_hours: float | None
    """Hours below zero in the period, for prices; None also in a file of an earlier release."""
    negative_sum: float | None
    """Sum of these values times their hours."""
    feeds: str


def records(reader: Reader, zone: str, metric: str) -> list[Record] | None:
    """Return the records of a zone's metric; None if no run has created any yet. Raises StorageError."""
    by_series = all_records(reader)
    return None if by_series is None else by_series.get((zone, metric), [])


def all_records(reader: Reader) -> Mapping[tuple[str, str], list[Record]] | None:
    """Return the records of each zone and metric; None if no run has created any yet. Raises StorageError."""
    by_series: dict[tuple[str, str], list[Record]] | None = reader.document(layout.RECORDS, _records)
    return by_series


def _records(body: bytes, key: str, mode: str) -> tuple[dict[tuple[str, str], list[Record]], int]:
    by_series: dict[tuple[str, str], list[Record]] = {}
    rows = decode(body, key, mode).rows.to_pylist()
    for row in rows:
        record = Record(**{name: row.get(name) for name in Record._fields})
        by_series.setdefault((row["zone"], row["metric"]), []).append(record)
    return by_series, 600 * len(rows)
