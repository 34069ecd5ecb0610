"""AEMO's C/I/D files: several tables in one CSV, each under its own header row. What the tables mean is `aemo`'s business.

`C` lines are comments (the first names the report, the last counts the lines), `I` lines head a table, `D` lines are its
rows. Columns are found by the latest `I` line of the table, never by place: versions rise. Lines of tables that nobody
asked for are passed over unread: a dispatch report is mostly constraints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from assets.sources._body import is_zip, no_html, text_of, unzipped
from warehouse.errors import FeedChanged

MONTHLY_ARCHIVE = "DVD_"
"""How the report names of the monthly archive begin."""

_END = re.compile(r'C,"?END OF REPORT"?,(\d{1,9})', re.ASCII)
_NO_LINE = "\n"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows under one header. `name` is both name fields joined: DISPATCHPRICE, DREGION (whose second name is empty)."""

    name: str
    version: str
    header: tuple[str, ...]
    lines: list[str] = field(default_factory=list)

    def place(self, column: str) -> int:
        """Where a column stands in a line. Raises FeedChanged."""
        try:
            return self.header.index(column)
        except ValueError:
            raise FeedChanged(f"{self.name} has no column {column}") from None

    def cells(self, last: int) -> Iterator[list[str]]:
        """Each line's cells up to place `last`, unquoted: no text with a comma in it stands before columns that we read."""
        for line in self.lines:
            cells = (line.replace('"', "") if '"' in line else line).split(",", last + 1)
            if len(cells) <= last:
                raise FeedChanged(f"{self.name}: a line of {len(cells)} cells")
            yield cells


def tables(body: bytes, wanted: Collection[str]) -> list[Table]:
    """The wanted tables of a csv, a zip or a zip of zips, in the order of their headers.

    Raises FeedChanged where none of them is there or a report is cut short, NotPublished for an empty body.
    """
    reports = [content for _, content in unzipped(body)] if is_zip(body) else [body]
    found = [table for report in reports for table in _tables(text_of(report), wanted)]
    if not found:
        raise FeedChanged(f"none of the tables {', '.join(sorted(wanted))}")
    return found


def _tables(text: str, wanted: Collection[str]) -> list[Table]:
    found: list[Table] = []
    latest: dict[str, Table] = {}
    prefix, bucket = _NO_LINE, list[str]()
    for line in _whole(no_html(text)):
        if line.startswith(prefix):
            bucket.append(line)
        elif line.startswith("D,"):
            prefix, bucket = _bucket(line, latest, wanted)
            bucket.append(line)
        elif line.startswith("I,"):
            table, prefix = _headed(line), _NO_LINE
            if table.name in wanted:
                latest[table.name] = table
                found.append(table)
        elif not line.startswith("C,"):
            raise FeedChanged(f"neither comment, header nor row: {line[:40]!r}")
    return found


def _whole(text: str) -> list[str]:
    """The lines of a report that came whole. Raises FeedChanged."""
    lines = [line for line in text.splitlines() if line]
    end = _END.fullmatch(lines[-1].strip()) if lines and lines[0].startswith("C,") else None
    if end is None:
        raise FeedChanged("no report of AEMO, or one that is cut short: its first or last line is missing")
    # Monthly archives are passed on with rows filtered out and their footer unchanged.
    monthly = lines[0].split(",", 3)[2:3] and lines[0].split(",", 3)[2].startswith(MONTHLY_ARCHIVE)
    if not monthly and int(end[1]) != len(lines):
        raise FeedChanged(f"a report of {len(lines)} lines that says it has {end[1]}")
    return lines


def _headed(line: str) -> Table:
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    if len(cells) < 5:
        raise FeedChanged(f"a table without columns: {line[:40]!r}")
    return Table(cells[1] + cells[2], cells[3], tuple(cells))


def _bucket(line: str, latest: Mapping[str, Table], wanted: Collection[str]) -> tuple[str, list[str]]:
    """How lines of this line's table begin, and where they are put: nowhere that is kept, unless the table is wanted."""
    kind, first, second, version, _ = (*line.split(",", 4), "", "", "", "")[:5]
    prefix, name = f"{kind},{first},{second},{version},", first + second
    if name not in wanted:
        return prefix, []
    table = latest.get(name)
    if table is None or table.version != version:
        raise FeedChanged(f"{name}: rows of version {version!r} without their header")
    return prefix, table.lines
