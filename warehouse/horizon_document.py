"""The windows document of a zone: the best blocks of the common lengths, and of which rows and clocks they are true.

An answer is taken from it only where computing would give the same: while the same interval runs, over the very
bytes of the month files that it was made of, and while every feed in it may be served.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from warehouse import horizon
from warehouse.clock import HOUR
from warehouse.horizon import Ahead, Found
from warehouse.reader import MonthFile
from warehouse.windows import METHOD, Kind

COMMON = tuple(hours * HOUR for hours in (1, 2, 3, 4, 6, 8))
"""Lengths in seconds whose best blocks are computed at each publication."""
KIND: Kind = "lowest"
"""Which blocks the document holds; the others are computed."""


def body(zone: str, of: Ahead, files: Sequence[MonthFile]) -> dict[str, Any]:
    """The document of a zone, of prices that stand in these files: those of `horizon.window` of a clock."""
    made = {seconds: asdict(horizon.find(of, seconds, None, KIND)) for seconds in COMMON}
    blocks = {str(seconds): found.pop("blocks") for seconds, found in made.items()}
    return {
        "zone": zone,
        "method": METHOD,
        "files": _named(files),
        "feeds": of.feeds,
        "found": made[COMMON[0]],
        "blocks": blocks,
    }


def found(
    document: Mapping[str, Any], seconds: int, files: Sequence[MonthFile], withheld: Collection[str], now: int
) -> Found | None:
    """The best blocks of a common length, without `within`; None where the document is not of these files and `now`.

    `files`: those of `horizon.window(now)` as they are; `withheld`: the feeds whose rows may not leave.
    """
    stated = document["found"]
    if (
        not stated["start"] <= now < stated["valid_until"]
        or document["method"] != METHOD
        or document["files"] != _named(files)
        or not set(document["feeds"]).isdisjoint(withheld)
    ):
        return None
    return Found(**{**stated, "sources": tuple(stated["sources"])}, blocks=document["blocks"][str(seconds)])


def _named(files: Sequence[MonthFile]) -> list[list[str]]:
    """Months and identities as text: parts of a bucket's identities are larger than a JSON number."""
    return [[file.month, *map(str, file.identity)] for file in files]
