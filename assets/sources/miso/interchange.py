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
from assets.parsing.outside_areas import AMERICAN, american
from assets.parsing.stamps import iso_instant
from assets.sources.miso.requests import TZ, ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import Metric, Request
from warehouse.schema import Rows, SeriesKey

NEIGHBOURS: dict[str, tuple[str, str | None]] = {
    "PJM": ("US-PJM", "pjm-miso-ac"),
    "SWPP": ("US-SPP", "miso-spp-ac"),
    "AECI": (AMERICAN["AECI"], None),
    "LGEE": (AMERICAN["LGEE"], None),
    "MHEB": (AMERICAN["MHEB"], None),
    "ONT": (AMERICAN["IESO"], None),
    "SOCO": (AMERICAN["SOCO"], None),
    "SPA": (AMERICAN["SPA"], None),
    "TVA": (AMERICAN["TVA"], None),
}
"""Column -> the area beyond the border, and the line's id where there is one. A new neighbour keeps its own code."""
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
        key = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m", None, *_beyond(name))
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


def _beyond(name: str) -> tuple[str | None, str | None]:
    return (None, None) if name == "MISO" else NEIGHBOURS.get(name, (american(name), None))
