"""How an agent reads an answer of the tools: its tokens, its rows from the structure, its rows from the text."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from warehouse.market.clock import instant, local_midnight
from warehouse.market.zones import ZONES

_PIECES = re.compile(r"\d{1,3}|[^\W\d_]{1,6}|[^\w\s]|_|\n")


def tokens(text: str) -> int:
    """Estimated tokens: groups of up to three digits or six letters, and every sign and line end by itself.

    Rather too many than too few: tokenizers of today cut digits so, but take whole words and runs of signs as one.
    """
    return len(_PIECES.findall(text))


def at(stamp: str) -> int:
    """Unix seconds of a stamp without seconds, `2026-03-30T12:00Z`."""
    return instant(stamp if stamp.count(":") > 1 else f"{stamp[:-1]}:00Z")


def rows_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a history's columns, ascending, as REST gives them; of several series each column is a fuel."""
    constant, columns = answer["constant"], dict(answer["columns"])
    if "date" in columns:
        tz = ZONES[answer["zone"]].tz
        instants = [local_midnight(date.fromisoformat(day), tz) for day in columns.pop("date")]
    else:
        instants = [at(stamp) for stamp in columns.pop("time")]
    if "value" in columns:
        rows = [
            {"ts": ts, **constant, **{name: column[place] for name, column in columns.items()}}
            for place, ts in enumerate(instants)
        ]
    else:
        rows = [
            {"fuel": fuel, "ts": ts, "value": column[place], **constant}
            for place, ts in enumerate(instants)
            for fuel, column in columns.items()
            if column[place] is not None
        ]
    return sorted(rows, key=lambda row: (row["ts"], row.get("fuel", "")))


def read_table(text: str, step: int, zone: str = "") -> dict[int, float | None]:
    """The rows of a table of one value each `step` seconds, or of a zone's days, as a reader of the text finds them.

    Behind the mean of a day its coverage may stand.
    """
    rows: dict[int, float | None] = {}
    for line in text.splitlines():
        match = re.match(r"(\d{4}-\d\d-\d\dT\d\d:\d\dZ) \w{3} \d\d:\d\d ([-\d. e]+)$", line)
        if match:
            cells = match[2].split(" ")
            rows |= {at(match[1]) + i * step: None if cell == "-" else float(cell) for i, cell in enumerate(cells)}
        if match := re.match(r"(\d{4}-\d\d-\d\d) ([-\d.e]+)(?: [\d.]+)?$", line):
            rows[local_midnight(date.fromisoformat(match[1]), ZONES[zone].tz)] = float(match[2])
    return rows
