"""Read MISO's daily load workbook (df_al, BIFF .xls): the hours and values of one column, in both layouts.

Until April 2026 the table began in the first column. Since then it contains blank rows and columns of merged cells.
Positions are therefore not fixed: the header is the row that names the columns, and a column is as wide as its merge.

calamine is not used: it allocates a full table as large as the highest row and column numbers that it meets. Two
corrupt numbers request 128 GB at once, which ends the process.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import xlrd

from assets.parsing.body import no_html, number
from assets.parsing.stamps import american_date
from warehouse.errors import FeedChanged, NotPublished

MOST_COLUMNS = 256
"""The limit of a sheet in this format."""
_BIFF8 = 80
_PUBLISHED = "publisheddate:"
_MAGIC = b"\xd0\xcf\x11\xe0"
_BROKEN = (
    *(xlrd.XLRDError, xlrd.compdoc.CompDocError, struct.error, ArithmeticError, AssertionError, AttributeError),
    *(EOFError, LookupError, MemoryError, NameError, RuntimeError, TypeError, ValueError),
)
"""The errors that xlrd raises for a broken workbook: it trusts the file's own offsets and counts."""

Cell = tuple[int, Any]
"""xlrd's type of a cell, and its value."""
Row = dict[int, Cell]
"""Filled cells by ascending column."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet's rows with a cell, from the top, and the first day of the workbook's day numbers (0: 1900, 1: 1904)."""

    rows: tuple[Row, ...]
    datemode: int


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns that belong to each name: from its header cell to the next."""

    day: range
    hour: range
    value: range


def first_sheet(body: bytes) -> Sheet:
    """Return the cells of the workbook's first sheet. Raises NotPublished, and FeedChanged for a broken workbook."""
    if not body.strip():
        raise NotPublished("the response is empty")
    if body[:4] != _MAGIC:
        no_html(body[:300].decode("latin-1"))
        if b"BlobNotFound" in body[:500]:
            raise NotPublished("BlobNotFound")
        raise FeedChanged("not an .xls workbook")
    try:
        # Warnings go to standard output unless `logfile` is given. `ragged_rows` keeps rows at their own length.
        book = xlrd.open_workbook(file_contents=body, logfile=io.StringIO(), ragged_rows=True)
        if book.biff_version != _BIFF8:
            raise FeedChanged(f"workbook format BIFF {book.biff_version / 10:g}; expected 8")
        rows = [_cells(row) for row in book.sheet_by_index(0).get_rows()]
    except _BROKEN as error:
        raise FeedChanged(f"damaged workbook: {type(error).__name__} {str(error)[:80]}") from None
    if beyond := max((column for row in rows for column in row if column >= MOST_COLUMNS), default=0):
        raise FeedChanged(f"a cell in column {beyond}; the limit is {MOST_COLUMNS}")
    return Sheet(tuple(filter(None, rows)), book.datemode)


def _cells(row: list[Any]) -> Row:
    nothing = (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)
    return {column: (cell.ctype, cell.value) for column, cell in enumerate(row) if cell.ctype not in nothing}


def hours(sheet: Sheet, name: str) -> Iterator[tuple[date, int, float]]:
    """Yield day, hour ending (1..24) and value of every filled cell of a column. Raises FeedChanged."""
    columns: _Columns | None = None
    day: date | None = None
    for row in sheet.rows:
        header = _columns(row, name)
        if header is not None:
            columns, day = header, None
        elif columns is not None:
            hour, value = _filled(row, columns.hour), _filled(row, columns.value)
            if hour is None or (value is None and hour[0] == xlrd.XL_CELL_TEXT and not hour[1].strip().isdigit()):
                continue  # A day's title or the note at the end.
            # A day that is merged over its hours is only in the first of them.
            day = _date(_filled(row, columns.day), sheet.datemode) or day
            yield from _reading(day, _number(hour), value)
    if columns is None:
        raise FeedChanged(f"no row named {name!r}")


def published(sheet: Sheet) -> date | None:
    """Return the day after `Published Date:`, above the table, or None without it. Raises FeedChanged."""
    for row in sheet.rows:
        named = _named(row)
        if _PUBLISHED in named:
            return _date(_filled(row, range(named[_PUBLISHED] + 1, MOST_COLUMNS)), sheet.datemode)
        if _plain("HourEnding") in named:
            return None
    return None


def _named(row: Row) -> dict[str, int]:
    """Return the columns of a row's texts."""
    return {_plain(text): i for i, (kind, text) in row.items() if kind == xlrd.XL_CELL_TEXT and text.strip()}


def _columns(row: Row, name: str) -> _Columns | None:
    """Return the columns if this row is the header (repeated above every day), else None. Raises FeedChanged."""
    named = _named(row)
    if _plain("HourEnding") not in named:
        return None
    if missing := [column for column in ("Market Day", name) if _plain(column) not in named]:
        raise FeedChanged(f"missing column {missing[0]!r}; found {', '.join(named)[:200]}")
    starts = [*sorted(named.values()), MOST_COLUMNS]

    def width(header: str) -> range:
        first = named[_plain(header)]
        return range(first, starts[starts.index(first) + 1])

    return _Columns(width("Market Day"), width("HourEnding"), width(name))


def _reading(day: date | None, ending: float, value: Cell | None) -> Iterator[tuple[date, int, float]]:
    """Yield one hour's reading. A future hour has a forecast and no value. Raises FeedChanged."""
    if day is None:
        raise FeedChanged("an hour has no day")
    if not 1 <= ending <= 24 or ending != int(ending):
        raise FeedChanged(f"unexpected HourEnding {ending}")
    if value is not None:
        yield day, int(ending), _number(value)


def _filled(row: Row, columns: range) -> Cell | None:
    for column, cell in row.items():
        if column in columns and (cell[0] != xlrd.XL_CELL_TEXT or cell[1].strip()):
            return cell
    return None


def _plain(name: str) -> str:
    return "".join(name.lower().split())


def _number(cell: Cell) -> float:
    """Return the number in a cell. Raises FeedChanged, also for errors such as #N/A, which xlrd returns as numbers."""
    kind, value = cell
    if kind not in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_TEXT):
        raise FeedChanged(f"a cell has the type {kind}; expected a number")
    return number(value, "cell")


def _date(cell: Cell | None, datemode: int) -> date | None:
    """Return the date of a date cell, a day number or `04/26/2026`, or None without a cell. Raises FeedChanged."""
    if cell is None:
        return None
    kind, value = cell
    if kind == xlrd.XL_CELL_TEXT:
        return american_date(value)
    if kind not in (xlrd.XL_CELL_DATE, xlrd.XL_CELL_NUMBER):
        raise FeedChanged(f"{str(value)[:20]!r} is not a date")
    try:
        moment: datetime = xlrd.xldate_as_datetime(value, datemode)
    except (ValueError, OverflowError):
        raise FeedChanged(f"{value} is not a date") from None
    return moment.date()
