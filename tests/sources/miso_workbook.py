"""MISO's workbook of load made for the tests: OLE2 around BIFF8, with only the records that texts and numbers need."""

from __future__ import annotations

import struct


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def cell(row: int, column: int, value: object) -> bytes:
    if isinstance(value, str):
        return record(0x204, struct.pack("<HHHHB", row, column, 0, len(value), 0) + value.encode("latin-1"))
    return record(0x203, struct.pack("<HHHd", row, column, 0, float(value)))


def workbook(rows: list[list[object]], error_at: tuple[int, int] | None = None) -> bytes:
    """A workbook of one sheet; empty texts are no cells, and `error_at` names a cell that holds an error."""
    end = record(0x0A, b"")
    cells = b"".join(cell(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row) if value != "")
    if error_at:
        cells += record(0x205, struct.pack("<HHHBB", *error_at, 0, 42, 1))
    sheet = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + cells + end
    name = b"Sheet1"
    beginning = record(0x809, struct.pack("<HHHHII", 0x600, 0x05, 0, 0, 0, 0))
    bound = record(0x85, struct.pack("<IHBB", len(beginning) + 4 + 8 + len(name) + len(end), 0, len(name), 0) + name)
    return ole(beginning + bound + end + sheet)


def ole(stream: bytes) -> bytes:
    """The compound file around a workbook's stream."""
    size = max(4096, len(stream))
    stream = stream.ljust(-(-size // 512) * 512, b"\0")
    count = len(stream) // 512
    chain = [-3, -2, *range(3, count + 2), -2]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<iiiiiiiii", 0, 1, 1, 0, 4096, -2, 0, -2, 0) + struct.pack("<109i", 0, *[-1] * 108)
    fat = struct.pack("<128i", *chain, *[-1] * (128 - len(chain)))

    def entry(name: str, kind: int, child: int, start: int, length: int) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0" if name else b""
        return text.ljust(64, b"\0") + struct.pack("<HBBiii36xiQ", len(text), kind, 1, -1, -1, child, start, length)

    directory = entry("Root Entry", 5, 1, -2, 0) + entry("Workbook", 2, -1, 2, size) + entry("", 0, -1, 0, 0) * 2
    return header + fat + directory + stream


OLD_HEADER = [
    "Market Day",
    "HourEnding",
    "LRZ1 MTLF (MWh)",
    "LRZ1 ActualLoad (MWh)",
    "MISO MTLF (MWh)",
    "MISO ActualLoad (MWh)",
]
NEW_HEADER = ["Market Day", "", "HourEnding", "", "MISO MTLF (MWh)", "", "", "MISO ActualLoad (MWh)", ""]
MARCH_9 = 45725


def hours(day: object, actual: bool) -> list[list[object]]:
    """The 24 rows of a day, with or without what was measured."""
    return [[day, h, 1, 2, 60_000 + h, 59_000.25 + h if actual else ""] for h in range(1, 25)]


OLD = [
    ["FORECASTED AND"],
    ["ACTUAL LOAD REPORT"],
    ["Published Date:", MARCH_9 + 1],
    [],
    OLD_HEADER,
    ["March 09, 2025"],
    *hours(MARCH_9, True),
    OLD_HEADER,
    ["March 10, 2025"],
    *hours(MARCH_9 + 1, False),
    ["MISO MAKES NO REPRESENTATIONS"],
]
NEW = [
    ["FORECASTED AND"],
    [],
    ["ACTUAL LOAD REPORT"],
    [],
    ["Published Date:", "", "03/10/2025"],
    [],
    NEW_HEADER,
    ["", "March 09, 2025"],
    *[["03/09/2025" if h == 1 else "", "", h, "", 1, "", "", "", 59_000.25 + h] for h in range(1, 25)],
    NEW_HEADER,
    *[["3/10/2025", "", str(h), "", 1] for h in range(1, 25)],
]
