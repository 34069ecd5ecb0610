"""Read AEMO's C/I/D files: several tables in one CSV, each under its own header row. For their meaning see `rows`.

`C` lines are comments (the first names the report, the last counts the lines), `I` lines head a table, `D` lines are
its rows. The latest `I` line of the table gives the columns, because positions change with the version. Lines of other
tables are skipped unread: a dispatch report is mostly constraints. Arrow reads whole runs of lines at once: a month's
archive has 45,000 lines of 60 cells, and four cells are needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
import pyarrow as pa

from assets.parsing import arrow_csv
from assets.parsing.body import is_zip, no_html, unzipped
from warehouse.errors import FeedChanged, NotPublished

MONTHLY_ARCHIVE = b"DVD_"
"""The beginning of report names in the monthly archive."""

_END = re.compile(rb'C,"?END OF REPORT"?,(\d{1,9})')
_INTERVAL = re.compile(r"_\d{12}(?=_\d+\.)")
"""The end of the interval in the name of a report of one interval. It precedes the number of the file."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows under one header. `name` joins both name fields: DISPATCHPRICE, DREGION (with an empty second field)."""

    name: str
    version: bytes
    header: tuple[str, ...]
    runs: list[bytes] = field(default_factory=list)
    """Its lines as they arrived."""

    def columns(self, texts: Sequence[str], figures: Sequence[str]) -> pa.Table:
        """Return the named columns of all lines: texts as dictionaries, `figures` as floats, empty cells as null.

        Raises FeedChanged.
        """
        places = {name: self._place(name) for name in (*texts, *figures)}
        types = {places[name]: arrow_csv.TEXT if name in texts else pa.float64() for name in places}
        if not self.runs:
            return pa.table({name: pa.array([], types[place]) for name, place in places.items()})
        cells = arrow_csv.read(self.name, b"".join(self.runs), [str(i) for i in range(len(self.header))], types)
        return cells.rename_columns(list(places)).unify_dictionaries().combine_chunks()

    def _place(self, column: str) -> str:
        """Return the position of a column in a line. Raises FeedChanged."""
        try:
            return str(self.header.index(column))
        except ValueError:
            raise FeedChanged(f"{self.name} has no column {column}") from None


def coded(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the distinct texts of a column, and the index of each line's text."""
    if not len(column):
        return [], np.zeros(0, np.int64)
    codes = column.chunk(0)
    return codes.dictionary.to_pylist(), codes.indices.to_numpy().astype(np.int64)


def tables(body: bytes, wanted: Collection[str]) -> list[Table]:
    """Return the wanted tables of a CSV, a zip or a zip of zips, in order of headers. Equal headers share a table.

    Raises FeedChanged if all of them are missing or a report is truncated, NotPublished for an empty body.
    """
    reports = _newest(unzipped(body)) if is_zip(body) else [body]
    by_header: dict[tuple[str, ...], Table] = {}
    for report in reports:
        _collect(_whole(report), wanted, by_header)
    if not by_header:
        raise FeedChanged(f"contains none of the tables {', '.join(sorted(wanted))}")
    return list(by_header.values())


def _newest(members: Iterator[tuple[str, bytes]]) -> list[bytes]:
    """Return a bundle's reports without the empty ones, which are not ready yet.

    If two reports cover one interval, the greater name is the newer.
    """
    newest: dict[str, tuple[str, bytes]] = {}
    empty = []
    for place, (name, content) in enumerate(members):
        if not content.removeprefix(_BOM).strip():
            empty.append(content)
            continue
        of_interval = _INTERVAL.search(name)
        key = name[: of_interval.end()] if of_interval else str(place)
        newest[key] = max(newest.get(key, ("", b"")), (name, content), key=lambda member: member[0])
    return [content for _, content in newest.values()] or empty[:1]


def _collect(body: bytes, wanted: Collection[str], by_header: dict[tuple[str, ...], Table]) -> None:
    """Add a report's rows to the tables in `by_header`. A week is 2,016 reports of a few lines."""
    latest: dict[str, Table] = {}
    for run in _runs(body):
        if run.startswith(b"D,"):
            table = _table_of(run, latest, wanted)
            if table is not None:
                table.runs.append(run)
        elif run.startswith(b"I,"):
            table = _headed(run)
            if table.name in wanted:
                latest[table.name] = by_header.setdefault(table.header, table)
        elif not run.startswith(b"C,"):
            raise FeedChanged(f"a line is neither a comment, a header nor a row: {run[:40].decode('latin-1')!r}")


def _whole(report: bytes) -> bytes:
    """Return a complete report without BOM. Raises FeedChanged, and NotPublished for an empty one."""
    body = report.removeprefix(_BOM)
    if not body.strip():
        raise NotPublished("the response is empty")
    no_html(body[:300].decode("latin-1"))
    end = _END.fullmatch(body[body.rstrip().rfind(b"\n") + 1 :].strip()) if body.startswith(b"C,") else None
    named = body[:200].split(b",", 3)
    if end is None or len(named) < 3:
        raise FeedChanged("not an AEMO report, or truncated: the first or last line is missing")
    # Monthly archives are published with rows filtered out and their footer unchanged.
    monthly = named[2].startswith(MONTHLY_ARCHIVE)
    if not monthly and int(end[1]) != _count(body):
        raise FeedChanged(f"the report has {_count(body)} lines but declares {int(end[1])}")
    return body


def _count(body: bytes) -> int:
    """Return the number of lines, without blank ones."""
    if b"\n\n" in body or b"\n\r\n" in body:
        return sum(1 for line in body.splitlines() if line.strip())
    return body.count(b"\n") + (not body.endswith(b"\n"))


def _runs(body: bytes) -> Iterator[bytes]:
    """Yield comments and headers singly, and the lines between two of them as runs of rows of one table."""
    at, comment = 0, 0
    while at < len(body):
        if not body.startswith(b"D,", at):
            end = body.find(b"\n", at) + 1 or len(body)
            if body[at:end].strip():
                yield body[at:end]
        else:
            header = body.find(b"\nI,", at)
            comment = comment if comment > at else body.find(b"\nC,", at)
            end = min((place for place in (header, comment) if place >= 0), default=len(body) - 1) + 1
            yield from _alike(body[at:end])
        at = end


def _alike(rows: bytes) -> Iterator[bytes]:
    """Yield the rows as one piece if all belong to one table, else table by table: reports may interleave tables."""
    beginning = _beginning(rows)
    if rows.count(b"\n" + beginning) + 1 == rows.count(b"\n") + (not rows.endswith(b"\n")):
        yield rows
    else:
        lines = [line for line in rows.splitlines(keepends=True) if line.strip()]
        yield from (b"".join(group) for _, group in groupby(lines, _beginning))


def _beginning(line: bytes) -> bytes:
    """Return kind, both names and version, with the comma after them."""
    return b",".join([*line[:200].split(b",", 4)[:4], b""])


def _headed(line: bytes) -> Table:
    cells = [cell.strip().strip('"') for cell in line.decode("latin-1").split(",")]
    if len(cells) < 5:
        raise FeedChanged(f"a table has no columns: {cells}"[:80])
    return Table(cells[1] + cells[2], line.split(b",", 4)[3], tuple(cells))


def _table_of(run: bytes, latest: Mapping[str, Table], wanted: Collection[str]) -> Table | None:
    """Return the table of a run's rows, or None for an unwanted one. Raises FeedChanged for rows without a header."""
    _, first, second, version, _ = (*run[:200].split(b",", 4), b"", b"", b"", b"")[:5]
    name = (first + second).decode("latin-1")
    if name not in wanted:
        return None
    table = latest.get(name)
    if table is None or table.version != version:
        raise FeedChanged(f"{name}: rows of version {version.decode('latin-1')[:20]!r} have no header")
    return table
