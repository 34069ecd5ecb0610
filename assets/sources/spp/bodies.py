"""SPP's CSV files in any spelling: columns by name, GMT stamps, lines of the eastern area. Their meaning: see `spp`.

Traps: header names change between days in case, blanks and underscores (SETTLEMENT_LOCATION), and so does the date
(`04/01/2026 06:00:00`, `4/1/2026 6:00`). Since April 2026 the price and load files also hold the western balancing area
(SWPW); cells that name the area are blank at times (https://github.com/gridstatus/gridstatus/issues/837).
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
"""Whether it is ours."""
LARGEST_WEST, LEAST_EAST = 5_000.0, 10_000.0
"""MW of load that tell the areas apart where a line does not name its own."""
Columns = tuple[list[int], list[float]]


class Sheet:
    """A CSV body by plain column names, restricted to the lines that hold `mark`."""

    __slots__ = ("_lines", "names", "whole")

    def __init__(self, body: bytes, mark: bytes = b"") -> None:
        """Raises FeedChanged, and NotPublished for an empty body."""
        header, self._lines = table(_without_cut_cell(text_of(_only(body, mark) if mark else body)))
        self.names = [plain(name) for name in header]
        self.whole = body

    def place(self, *spellings: str) -> int:
        """Where the column stands that has one of these plain names. Raises FeedChanged."""
        for name in spellings:
            if name in self.names:
                return self.names.index(name)
        raise FeedChanged(f"missing column {spellings[0]}; found {', '.join(self.names)[:200]}")

    def eastern(self, rows: Rows, load: int | None = None) -> list[list[str]]:
        """The lines of the eastern balancing area; all of them in the files from before the areas parted.

        A line that does not name its area is told by the load in that column; one that cannot be told is counted.
        Raises FeedChanged where no line names ours.
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
        """The instant of a line, or its interval's end."""
        at = self.place("gmtintervalend", "gmtinterval", "gmttime")
        return iso_instant(cells[at]) if self.names[at] == "gmttime" else american_stamp(cells[at])

    def nothing(self) -> FeedChanged | NotPublished:
        """What a file without a line of ours means."""
        if self.whole.partition(b"\n")[2].strip():
            return FeedChanged("the file has no rows for the zones served here")
        return NotPublished("the file has a header but no rows")


def _without_cut_cell(text: str) -> str:
    """As `without_cut_cell`, but where the last cell is the area's whole name: the figures before it are whole too."""
    return text if text.endswith(f",{EASTERN}") else without_cut_cell(text)


def plain(name: str) -> str:
    """`Settlement Location` and `SETTLEMENT_LOCATION` as `settlementlocation`."""
    return re.sub(r"[\s_]", "", name).lower()


def readings(lines: Iterable[list[str]], end: int, value: int, step: int) -> Columns:
    """Interval starts and values from the columns of GMT interval end and value; an empty cell is no reading."""
    starts: list[int] = []
    values: list[float] = []
    for cells in lines:
        if cells[value].strip():
            starts.append(american_stamp(cells[end]) - step)
            values.append(number(cells[value], "value"))
    return starts, values


def _only(body: bytes, mark: bytes) -> bytes:
    """The header and the lines that hold `mark`: of a day's 40 MB of prices, one line in a thousand is ours."""
    body = body.lstrip() if body[:1].isspace() else body  # a web page may begin with blank lines
    pieces = [body[: body.find(b"\n") + 1] or body]
    at = len(pieces[0])
    while (hit := body.find(mark, at)) >= 0:
        at = body.find(b"\n", hit) + 1 or len(body)
        pieces.append(body[body.rfind(b"\n", 0, hit) + 1 : at])
    return b"".join(pieces)
