"""Parse MISO's net scheduled interchange, the zone's own and by neighbour."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.columns import filled, on_grid
from assets.parsing.members import Members
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import iso_instant
from assets.sources.miso.requests import TZ, ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

NEIGHBOURS: dict[str, tuple[str, str | None]] = {
    **{code: (name, None) for code, name in AMERICAN.items()},
    "ONT": (AMERICAN["IESO"], None),
    "PJM": ("US-PJM", "pjm-miso-ac"),
    "SWPP": ("US-SPP", "miso-spp-ac"),
}
"""Column -> the area beyond the border, and the line's id if it has one."""
COLUMNS: Members[tuple[str | None, str | None]] = Members(
    "neighbour", Metric.INTERCHANGE, {"MISO": (None, None), **NEIGHBOURS}, ZONE
)
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,7}", re.ASCII)


def parse_nsi(body: bytes, request: Request) -> Rows:
    """Return net scheduled interchange of the zone and by neighbour. MISO's import is negative, and here it is
    positive.

    The zone's value is its own column: the neighbours do not add up to it.
    """
    entries = member(json_of(body), "instance", list)
    if not entries:
        raise NotPublished("no intervals yet")
    rows = Rows()
    starts = [iso_instant(member(entry, "timestamp"), TZ) for entry in entries]
    for name in _areas(entries):
        ts, flows = filled(starts, [reading(entry.get(name), name) for entry in entries])
        beyond = COLUMNS.find(rows, name, ts)
        if beyond is not None:
            key = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m", None, *beyond)
            rows.extend(key, *on_grid(rows, ts, [0.0 - flow for flow in flows]))
    return rows


def _areas(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Return every column except the stamp, in order. Raises FeedChanged without column MISO or for an invalid code."""
    names = list(dict.fromkeys(name for entry in entries for name in entry if name != "timestamp"))
    if any("MISO" not in entry for entry in entries):
        raise FeedChanged("missing column MISO")
    if strange := [name for name in names if not _CODE.fullmatch(name)]:
        raise FeedChanged(f"unknown column {strange[0][:20]!r}")
    return names
