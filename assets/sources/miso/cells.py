"""The cells of an Excel 97 workbook's first sheet (BIFF8, .xls), row by row; what they mean is not told here.

xlrd opens the container and reads the workbook's strings and formats; the sheet's records are read here, since xlrd
spends 6 of 7 parts of its time on them. Format: Microsoft's [MS-XLS], records Number, RK, MulRk, LabelSst, Label,
Formula, BoolErr.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xlrd

from warehouse.errors import FeedChanged

MOST_COLUMNS = 256
"""Of a sheet in this format."""
_BIFF8 = 80
_BOF, _EOF = 0x0809, 0x000A
_NUMBER, _RK, _MULRK, _LABELSST, _LABEL, _FORMULA, _BOOLERR = 0x0203, 0x027E, 0x00BD, 0x00FD, 0x0204, 0x0006, 0x0205
_HEAD, _PLACE = struct.Struct("<HH"), struct.Struct("<HHH")
_NUMBER_RECORD = np.dtype(
    [("kind", "<u2"), ("length", "<u2"), ("row", "<u2"), ("column", "<u2"), ("format", "<u2"), ("value", "<f8")]
)
_NUMBERS = re.compile(rb"(?:\x03\x02\x0e\x00[\s\S]{14})+")
_BROKEN = (
    xlrd.XLRDError,
    xlrd.compdoc.CompDocError,
    struct.error,
    AssertionError,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    TypeError,
    UnicodeError,
    UnboundLocalError,
    ValueError,
    ZeroDivisionError,
)
"""What xlrd raises over a broken workbook: it trusts the file's own offsets and counts."""

Cell = tuple[int, Any]
"""xlrd's type of a cell, and its value."""
Row = dict[int, Cell]
"""Filled cells by ascending column."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet's rows that hold a cell, from the top, and from which day the workbook counts days (0: 1900, 1: 1904)."""

    rows: tuple[Row, ...]
    datemode: int


def first_sheet(body: bytes) -> Sheet:
    """Raises FeedChanged for what is no whole workbook."""
    try:
        # It writes its warnings to standard output, unless it is given another place; on demand: globals alone.
        book = xlrd.open_workbook(file_contents=body, logfile=io.StringIO(), on_demand=True)
        if book.biff_version != _BIFF8:
            raise FeedChanged(f"a workbook of BIFF {book.biff_version / 10:g} instead of 8")
        rows: dict[int, Row] = {}
        for row, column, cell in _cells(book):
            if column >= MOST_COLUMNS:
                raise FeedChanged(f"a cell in column {column} of at most {MOST_COLUMNS}")
            if row not in rows:
                rows[row] = {}
            rows[row][column] = cell
        return Sheet(tuple(dict(sorted(rows[row].items())) for row in sorted(rows)), book.datemode)
    except _BROKEN as error:
        raise FeedChanged(f"broken workbook: {type(error).__name__} {str(error)[:80]}") from None


def _cells(book: Any) -> Iterator[tuple[int, int, Cell]]:
    """Row, column and cell of every record that holds one, in the order of the file."""
    stream, texts = book.mem, book._sharedstrings
    kinds: dict[int, int] = book._xf_index_to_xl_type_map
    for record, start, end in _records(stream, book._sh_abs_posn[0]):
        if record == _NUMBER:
            numbers = np.frombuffer(stream[start - _HEAD.size : end], _NUMBER_RECORD)
            places = (numbers[name].tolist() for name in ("row", "column", "format", "value"))
            yield from ((row, column, (kinds[of], value)) for row, column, of, value in zip(*places, strict=True))
            continue
        if record not in (_RK, _MULRK, _LABELSST, _LABEL, _FORMULA, _BOOLERR):
            continue
        row, column, of = _PLACE.unpack_from(stream, start)
        behind = stream[start + _PLACE.size : end]
        if record == _LABELSST:
            yield row, column, (xlrd.XL_CELL_TEXT, texts[int.from_bytes(behind[:4], "little")])
        elif record == _LABEL:
            yield row, column, (xlrd.XL_CELL_TEXT, xlrd.biffh.unpack_unicode(behind, 0))
        elif record == _RK:
            yield row, column, (kinds[of], xlrd.sheet.unpack_RK(behind[:4]))
        elif record == _MULRK:
            # Row, first column, then six bytes a cell (its format, its number), then the last column.
            for number, at in enumerate(range(start + 4, end - 2, 6)):
                (of,) = struct.unpack_from("<H", stream, at)
                yield row, column + number, (kinds[of], xlrd.sheet.unpack_RK(stream[at + 2 : at + 6]))
        elif record == _FORMULA and behind[6:8] != b"\xff\xff":
            yield row, column, (kinds[of], *struct.unpack("<d", behind[:8]))
        else:
            # A truth, an error such as #N/A, or a formula whose result is no number.
            yield row, column, (xlrd.XL_CELL_ERROR, behind[:8].hex())


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Kind, begin and end of the content of each record of the sheet that begins here, to its end.

    Numbers that follow each other, most of a sheet, are one: from the content of the first to the end of the last.
    """
    depth = 0
    while True:
        record, length = _HEAD.unpack_from(stream, at)
        start, at = at + _HEAD.size, at + _HEAD.size + length
        if at > len(stream):
            raise EOFError("a record reaches beyond the end")
        depth += (record == _BOF) - (record == _EOF)
        if depth <= 0:
            return
        if depth > 1:
            continue  # A chart lies within.
        if record == _NUMBER:
            numbers = _NUMBERS.match(stream, start - _HEAD.size)
            if numbers is None:
                raise ValueError(f"a number of {length} bytes")
            at = numbers.end()
        yield record, start, at
