"""The cells of a workbook: the same as xlrd gives, of every kind of record."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace

import pytest
import xlrd

from assets.sources.miso import cells
from tests.sources.conftest import own_samples
from tests.sources.miso_workbook import record
from warehouse.errors import FeedChanged

TEXT, NUMBER, DATE, ERROR = xlrd.XL_CELL_TEXT, xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE, xlrd.XL_CELL_ERROR


def by_xlrd(body: bytes) -> dict[tuple[int, int], tuple[int, object]]:
    """Row and column of every filled cell."""
    sheet = xlrd.open_workbook(file_contents=body, logfile=io.StringIO(), ragged_rows=True).sheet_by_index(0)
    return {
        (i, j): (cell.ctype, cell.value)
        for i in range(sheet.nrows)
        for j, cell in enumerate(sheet.row(i))
        if cell.ctype not in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)
    }


def same(body: bytes) -> int:
    """How many cells both find."""
    theirs = by_xlrd(body)
    rows = [list(row.items()) for row in cells.first_sheet(body).rows]
    filled = sorted({i for i, _ in theirs})
    assert [[(j, theirs[i, j]) for j in sorted(k for at, k in theirs if at == i)] for i in filled] == rows
    return len(theirs)


def test_the_sample_has_the_cells_that_xlrd_finds() -> None:
    (sample,) = [sample for sample in own_samples() if sample.feed.id == "miso.load_daily"]
    assert same(sample.body) > 90


def test_a_recorded_workbook_has_them_too(recordings) -> None:
    assert same((recordings / "miso/df_al_20250310.xls").read_bytes()) > 1500


def place(row: int, column: int, form: int = 0) -> bytes:
    return struct.pack("<HHH", row, column, form)


def integer(value: int) -> bytes:
    """An RK: a whole number of 30 bits."""
    return struct.pack("<i", value << 2 | 2)


BEGIN, END = record(0x0809, bytes(16)), record(0x000A, b"")


def sheet(*records: bytes) -> SimpleNamespace:
    """As much of xlrd's book as is read: format 1 is a date's."""
    return SimpleNamespace(
        mem=b"".join([BEGIN, *records, END, record(0x0203, place(9, 9) + struct.pack("<d", 9))]),
        _sh_abs_posn=[0],
        _sharedstrings=["zero", "one"],
        _xf_index_to_xl_type_map={0: NUMBER, 1: DATE},
    )


def test_each_kind_of_record_is_read() -> None:
    given = sheet(
        record(0x00FD, place(0, 0) + struct.pack("<I", 1)),
        record(0x0204, place(0, 1) + struct.pack("<HB", 3, 0) + b"two"),
        record(0x0201, place(0, 2)),  # blank
        record(0x027E, place(1, 0, 1) + integer(46000)),
        record(0x00BD, struct.pack("<HH", 2, 3) + b"".join(bytes(2) + integer(n) for n in (7, -8)) + b"\x04\x00"),
        record(0x0203, place(3, 0) + struct.pack("<d", 1.25)),
        record(0x0203, place(3, 1, 1) + struct.pack("<d", 46001.0)),
        BEGIN + record(0x0203, place(3, 2) + struct.pack("<d", 5.0)) + END,  # of a chart
        record(0x0006, place(4, 0) + struct.pack("<d", 2.5) + bytes(8)),
        record(0x0006, place(4, 1) + b"\x00" * 6 + b"\xff\xff" + bytes(8)),  # its result is a text
        record(0x0205, place(4, 2) + b"\x2a\x01"),  # #N/A
    )
    assert [(row, column, kind, value) for row, column, (kind, value) in cells._cells(given) if kind != ERROR] == [
        (0, 0, TEXT, "one"),
        (0, 1, TEXT, "two"),
        (1, 0, DATE, 46000.0),
        (2, 3, NUMBER, 7.0),
        (2, 4, NUMBER, -8.0),
        (3, 0, NUMBER, 1.25),
        (3, 1, DATE, 46001.0),
        (4, 0, NUMBER, 2.5),
    ]
    assert [(row, column) for row, column, (kind, _) in cells._cells(given) if kind == ERROR] == [(4, 1), (4, 2)]


@pytest.mark.parametrize(
    "broken",
    [
        record(0x0203, bytes(10)),
        record(0x00FD, place(0, 0) + struct.pack("<I", 2)),
        record(0x0203, place(0, 0, 7) + bytes(8)),
        struct.pack("<HH", 0x0200, 60000),
    ],
    ids=["a number cut short", "a text that is not there", "a format that is not there", "beyond the end"],
)
def test_a_broken_record_is_an_error_that_is_told(broken: bytes) -> None:
    with pytest.raises((ValueError, IndexError, KeyError, EOFError)) as raised:
        list(cells._cells(sheet(broken)))
    assert isinstance(raised.value, cells._BROKEN)


def test_a_column_beyond_the_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    book = sheet(record(0x0203, place(0, 256) + bytes(8)))
    book.biff_version, book.datemode = 80, 0
    monkeypatch.setattr(cells.xlrd, "open_workbook", lambda **_: book)
    with pytest.raises(FeedChanged, match="column 256"):
        cells.first_sheet(b"")
    book.biff_version = 50
    with pytest.raises(FeedChanged, match="BIFF 5"):
        cells.first_sheet(b"")
