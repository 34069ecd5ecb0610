"""MISO's net scheduled interchange, the zone's own and by neighbour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from assets.parsing.body import (
    json_of,
    member,
    number,
)
from assets.parsing.dropped import on_grid
from assets.parsing.members import Members
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import iso_instant
from assets.sources.miso.requests import TZ, ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import Metric, Request
from warehouse.schema import Rows, SeriesKey

NEIGHBOURS: dict[str, tuple[str, str | None]] = {
    **{code: (name, None) for code, name in AMERICAN.items()},
    "ONT": (AMERICAN["IESO"], None),
    "PJM": ("US-PJM", "pjm-miso-ac"),
    "SWPP": ("US-SPP", "miso-spp-ac"),
}
"""Column -> the area beyond the border, and the line's id where there is one."""
COLUMNS: Members[tuple[str | None, str | None]] = Members(
    "neighbour", Metric.INTERCHANGE, {"MISO": (None, None), **NEIGHBOURS}, ZONE
)
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,7}", re.ASCII)


def parse_nsi(body: bytes, request: Request) -> Rows:
    """Net scheduled interchange, the zone's and by neighbour; there minus is import, here plus.

    The zone's is its own column: the neighbours do not add up to it.
    """
    readings = member(json_of(body), "instance", list)
    if not readings:
        raise NotPublished("no interval yet")
    rows = Rows()
    starts = [iso_instant(member(reading, "timestamp"), TZ) for reading in readings]
    for name in _areas(readings):
        pairs = [
            (ts, reading[name])
            for ts, reading in zip(starts, readings, strict=True)
            if reading.get(name) not in (None, "")
        ]
        beyond = COLUMNS.find(rows, name, [ts for ts, _ in pairs])
        if beyond is not None:
            key = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m", None, *beyond)
            rows.extend(key, *on_grid(rows, [ts for ts, _ in pairs], [0.0 - number(value, name) for _, value in pairs]))
    return rows


def _areas(readings: Sequence[dict[str, Any]]) -> list[str]:
    """Every column but the stamp, in order. Raises FeedChanged without MISO's own or for a name that is no code."""
    names = list(dict.fromkeys(name for reading in readings for name in reading if name != "timestamp"))
    if any("MISO" not in reading for reading in readings):
        raise FeedChanged("no column MISO")
    if strange := [name for name in names if not _CODE.fullmatch(name)]:
        raise FeedChanged(f"unknown column {strange[0][:20]!r}")
    return names
