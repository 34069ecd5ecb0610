"""Read SPP's CSV files in any spelling: columns by name, GMT stamps, lines of the eastern area. For rows see `spp`.

Traps: header names change between days in case, blanks and underscores (SETTLEMENT_LOCATION), and so does the date
(`04/01/2026 06:00:00`, `4/1/2026 6:00`). Since April 2026 the price and load files also contain the western balancing
area (SWPW). Cells that name the area are sometimes blank (https://github.com/gridstatus/gridstatus/issues/837).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assets.parsing.body import number, reading, table, text_of, without_cut_cell
from assets.parsing.members import Members
from assets.parsing.stamps import american_stamp, iso_instant
from assets.sources.spp.requests import ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.rows.schema import Rows

EASTERN = "SPP"
AREAS = Members("balancing authority", "", {EASTERN: True, "SWPW": False}, ZONE)
"""Balancing authorities, and whether they are the eastern area."""
LARGEST_WEST, LEAST_EAST = 5_000.0, 10_000.0
"""MW of load that distinguish the areas if a line does not name its own."""
Columns = tuple[list[int], list[float]]


class Sheet:
    """A CSV body by plain column names, restricted to the lines that contain `mark`."""

    __slots__ = ("_lines", "names", "whole")

    def __init__(self, body: bytes, mark: bytes = b"") -> None:
        """Raise FeedChanged for an invalid body, and NotPublished for an empty one."""
        header, self._lines = table(_without_cut_cell(text_of(_only(body, mark) if mark else body)))
        self.names = [plain(name) for name in header]
        self.whole = body

    def place(self, *spellings: str) -> int:
        """Return the position of the column with one of these plain names. Raises FeedChanged."""
        for name in spellings:
            if name in self.names:
                return self.names.index(name)
        raise FeedChanged(f"missing column {spellings[0]}; found {', '.join(self.names)[:200]}")

    def eastern(self, rows: Rows, load: int | None = None) -> list[list[str]]:
        """Return the lines of the eastern balancing area, or all lines in files from before the areas were separated.

        The load in the column `load` identifies a line that does not name its area. If it cannot, the line is counted.
        Raises FeedChanged if no line names the eastern area.
        """
        if "baa" not in self.names:
            return list(self._lines)
        area, lines = self.place("baa"), list(self._lines)
        if lines and not any(cells[area].strip() == EASTERN for cells in lines):
            raise FeedChanged(f"the file has no rows for the area {EASTERN}")
        return [cells for cells in lines if self._is_eastern(cells, area, load, rows)]

    def _is_eastern(self, cells: list[str], area: int, load: int | None, rows: Rows) -> bool:
        if name := cells[area].strip():
            return bool(AREAS.find(rows, name, [self._instant(cells)]))
        megawatts = None if load is None else reading(cells[load], "load")
        if megawatts is None or LARGEST_WEST <= megawatts < LEAST_EAST:
            rows.dropped["a line without its area"] += 1
            return False
        return megawatts >= LEAST_EAST

    def _instant(self, cells: list[str]) -> int:
        """Return the time of a line, or of its interval's end."""
        at = self.place("gmtintervalend", "gmtinterval", "gmttime")
        return iso_instant(cells[at]) if self.names[at] == "gmttime" else american_stamp(cells[at])

    def nothing(self) -> FeedChanged | NotPublished:
        """Return the error for a file without a wanted line."""
        if self.whole.partition(b"\n")[2].strip():
            return FeedChanged("the file has no rows for the zones served here")
        return NotPublished("the file has a header but no rows")


def _without_cut_cell(text: str) -> str:
    """Return `without_cut_cell` of the text, or the text itself if its last cell is the area's whole name.

    The values before that cell are then complete too.
    """
    return text if text.endswith(f",{EASTERN}") else without_cut_cell(text)


def plain(name: str) -> str:
    """Return `settlementlocation` for `Settlement Location` and `SETTLEMENT_LOCATION`."""
    return re.sub(r"[\s_]", "", name).lower()


def readings(lines: Iterable[list[str]], end: int, value: int, step: int) -> Columns:
    """Return interval starts and values from the columns of GMT interval end and value, without empty cells."""
    starts: list[int] = []
    values: list[float] = []
    for cells in lines:
        if cells[value].strip():
            starts.append(american_stamp(cells[end]) - step)
            values.append(number(cells[value], "value"))
    return starts, values


def _only(body: bytes, mark: bytes) -> bytes:
    """Return the header and the lines that contain `mark`: of a day's 40 MB of prices, one line in a thousand."""
    body = body.lstrip() if body[:1].isspace() else body  # a web page may begin with blank lines
    pieces = [body[: body.find(b"\n") + 1] or body]
    at = len(pieces[0])
    while (hit := body.find(mark, at)) >= 0:
        at = body.find(b"\n", hit) + 1 or len(body)
        pieces.append(body[body.rfind(b"\n", 0, hit) + 1 : at])
    return b"".join(pieces)
