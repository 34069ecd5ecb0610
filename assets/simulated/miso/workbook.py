"""Write a spreadsheet with one sheet in the Excel 97 format: BIFF8 records in an OLE2 compound file.

It supports only a table of texts, numbers and dates: no styles except a date's, no formulas, no merged cells.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from datetime import date

Cell = str | float | date | None
"""A cell's value. None means that there is no cell."""

_EPOCH = date(1899, 12, 30).toordinal()
_SECTOR = 512
_PER_SECTOR = _SECTOR // 4
_SMALLEST = 4096
"""The minimum bytes of a stream that has its own sectors."""
_FREE, _END, _TABLE = -1, -2, -3
_BOOK, _SHEET = 0x05, 0x10
_STYLES = 16
"""The number of formats before a cell's first, which Excel expects."""
_PLAIN, _DATE = _STYLES, _STYLES + 1


def workbook(rows: Sequence[Sequence[Cell]]) -> bytes:
    """Return the file of a sheet. Dates are Excel's day numbers with a date format."""
    beginning = _begin(_BOOK) + b"".join(_formats())
    end = _record(0x0A)
    label = b"Sheet1"
    place = len(beginning) + len(_record(0x85, bytes(8) + label)) + len(end)
    bound = _record(0x85, struct.pack("<IHBB", place, 0, len(label), 0) + label)
    return _compound(beginning + bound + end + _begin(_SHEET) + b"".join(_cells(rows)) + end)


def _record(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _begin(kind: int) -> bytes:
    return _record(0x809, struct.pack("<HHHHII", 0x600, kind, 0x0DBB, 0x07CC, 0, 6))


def _formats() -> Iterator[bytes]:
    """Yield fonts, styles, and the two formats of cells: general, and built-in number 14, a date."""
    for _ in range(4):
        yield _record(0x31, struct.pack("<HHHHHBBBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0, 5, 0) + b"Arial")
    for i, number in enumerate([0] * _STYLES + [0, 14]):
        yield _record(
            0xE0, struct.pack("<HHHBBBBIIH", 0, number, 0xFFF5 if i < _STYLES else 1, 0x20, 0, 0, 0, 0, 0, 0x20C0)
        )


def _cells(rows: Sequence[Sequence[Cell]]) -> Iterator[bytes]:
    yield _record(0x200, struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows), default=0), 0))
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if isinstance(value, str):
                yield _record(0x204, struct.pack("<HHHHB", i, j, _PLAIN, len(value), 0) + value.encode("latin-1"))
            elif isinstance(value, date):
                yield _record(0x203, struct.pack("<HHHd", i, j, _DATE, value.toordinal() - _EPOCH))
            elif value is not None:
                yield _record(0x203, struct.pack("<HHHd", i, j, _PLAIN, value))


def _compound(stream: bytes) -> bytes:
    """Return a compound file with a single stream, Workbook: its sector table, its directory and the stream."""
    size = max(_SMALLEST, len(stream))
    stream = stream.ljust(-(-size // _SECTOR) * _SECTOR, b"\0")
    count = len(stream) // _SECTOR
    tables = 1
    while tables * _PER_SECTOR < tables + 1 + count:
        tables += 1
    first = tables + 1
    chain = [*[_TABLE] * tables, _END, *range(first + 1, first + count), _END]
    chain += [_FREE] * (tables * _PER_SECTOR - len(chain))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9i", 0, tables, tables, 0, _SMALLEST, _END, 0, _END, 0)
    header += struct.pack("<109i", *range(tables), *[_FREE] * (109 - tables))
    directory = (
        _entry("Root Entry", 5, 1, _END, 0) + _entry("Workbook", 2, -1, first, size) + 2 * _entry("", 0, -1, 0, 0)
    )
    return header + struct.pack(f"<{len(chain)}i", *chain) + directory + stream


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0" if name else b""
    return text.ljust(64, b"\0") + struct.pack("<HBBiii36xiQ", len(text), kind, 1, -1, -1, child, start, size)
