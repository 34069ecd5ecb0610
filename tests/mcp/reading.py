"""Read a tool's response as an agent does: its tokens, and its rows from the structure and from the text."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from warehouse.market.clock import instant, local_midnight
from warehouse.market.zones import ZONES

_PIECES = re.compile(r"\d{1,3}|[^\W\d_]{1,6}|[^\w\s]|_|\n")


def tokens(text: str) -> int:
    """Return the estimated number of tokens: up to three digits or six letters, a sign, or a line end count as one.

    The estimate tends to be too high. Current tokenizers split digits like this, but keep whole words and runs of
    signs.
    """
    return len(_PIECES.findall(text))


def at(stamp: str) -> int:
    """Return the Unix seconds of `stamp`, which may omit its seconds, as `2026-03-30T12:00Z` does."""
    return instant(stamp if stamp.count(":") > 1 else f"{stamp[:-1]}:00Z")


def rows_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a history's columns in ascending order, as REST returns them.

    In a history of several series each column is a fuel.
    """
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
    """Return the rows in a table's text: one value per `step` seconds, or one mean per day of `zone`.

    The coverage of a day may follow its mean.
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
