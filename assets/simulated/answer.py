"""Define a simulated response (status, body, headers), and format numbers and times as publishers do."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson

from assets.simulated.grid.noise import Floats
from warehouse.market.clock import zone_of

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. Header names are in lower case, as from the live transport."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


NOTHING = Answer(404, b"")


def typed(body: bytes, kind: str, status: int = 200) -> Answer:
    """Return a response with its content type."""
    return Answer(status, body, (("content-type", kind),))


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return a value as JSON."""
    return typed(orjson.dumps(value), JSON, status)


def zipped(files: Iterable[tuple[str, bytes]], at: datetime | None = None, level: int | None = None) -> bytes:
    """Return a zip of named files, all written at the same time. `level` is the compression level."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, body in files:
            info = zipfile.ZipInfo(name, at.timetuple()[:6]) if at else zipfile.ZipInfo(name)
            archive.writestr(info, body, zipfile.ZIP_DEFLATED, level)
    return out.getvalue()


def short(value: float, digits: int) -> str:
    """Format at most that many decimals, without trailing zeros: `1200`, `40.5`, `-0.03`."""
    text = f"{round(value, digits) + 0.0:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shorts(values: Floats, digits: int) -> list[str]:
    """Format a column as `short` does, but much faster: `repr` of a rounded float is already the shortest text."""
    rounded = (np.round(values, digits) + 0.0).tolist()  # no -0.0
    if not rounded:
        return []
    listed = repr(rounded)
    if "e" in listed:  # except for tiny or huge numbers
        return [
            text.removesuffix(".0") if "e" not in text else short(float(text), digits) for text in map(repr, rounded)
        ]
    return listed[1:-1].replace(".0, ", ", ").removesuffix(".0").split(", ")


def plain(value: float, digits: int) -> float | int:
    """Return a JSON number with at most `digits` decimals, without a fraction if it is whole."""
    rounded = round(value, digits)
    return int(rounded) if rounded == int(rounded) else rounded


def local(ts: int, tz: str) -> datetime:
    """Return the aware local time of a timestamp."""
    return datetime.fromtimestamp(ts, zone_of(tz))


def choice(what: str, day: date, count: int) -> int:
    """Return one of 0..count-1, fixed per day, to select which of several formats the publisher uses that day."""
    return int.from_bytes(blake2b(f"{what}/{day}".encode(), digest_size=4).digest(), "big") % count


def lines(rows: Iterable[Sequence[str] | str], end: str = "\r\n") -> bytes:
    """Return rows of cells (or complete lines) as CSV text that ends with a line end."""
    return "".join(f"{row if isinstance(row, str) else ','.join(row)}{end}" for row in rows).encode()
