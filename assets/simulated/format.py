"""Number and local-time formats that publishers share, and their formats that change from day to day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from hashlib import blake2b

import numpy as np

from assets.simulated.grid.noise import Floats
from warehouse.market.clock import zone_of


def short(value: float, digits: int) -> str:
    """At most that many decimals, without trailing zeros: `1200`, `40.5`, `-0.03`."""
    text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shorts(values: Floats, digits: int) -> list[str]:
    """`short` for a column, many times as fast: `repr` of a rounded float is already the shortest text."""
    rounded = (np.round(values, digits) + 0.0).tolist()  # no -0.0
    if not rounded:
        return []
    listed = repr(rounded)
    if "e" in listed:  # of tiny or huge ones it is not
        return [
            text.removesuffix(".0") if "e" not in text else short(float(text), digits) for text in map(repr, rounded)
        ]
    return listed[1:-1].replace(".0, ", ", ").removesuffix(".0").split(", ")


def plain(value: float, digits: int) -> float | int:
    """A JSON number of at most so many decimals, without a fraction where it is whole."""
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def local(ts: int, tz: str) -> datetime:
    """The aware local time of an instant."""
    return datetime.fromtimestamp(ts, zone_of(tz))


def choice(what: str, day: date, count: int) -> int:
    """One of 0..count-1, fixed for a day: which of several formats the publisher uses that day."""
    return int.from_bytes(blake2b(f"{what}/{day}".encode(), digest_size=4).digest(), "big") % count


def lines(rows: Iterable[Sequence[str] | str], end: str = "\r\n") -> bytes:
    """Rows of cells (or whole lines) as CSV text that ends with a line end."""
    return "".join(f"{row if isinstance(row, str) else ','.join(row)}{end}" for row in rows).encode()
