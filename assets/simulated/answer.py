"""What a simulated publisher sends back: a status, a body, headers; and how publishers spell numbers and times."""

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
    """Header names in lower case, as the live transport hands them on."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


NOTHING = Answer(404, b"")


def typed(body: bytes, kind: str, status: int = 200) -> Answer:
    """An answer with its content type."""
    return Answer(status, body, (("content-type", kind),))


def json_answer(value: Any, status: int = 200) -> Answer:
    """A value as JSON."""
    return typed(orjson.dumps(value), JSON, status)


def zipped(files: Iterable[tuple[str, bytes]], at: datetime | None = None, level: int | None = None) -> bytes:
    """A zip of named files, all written at one time; `level`: of the compression."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, body in files:
            info = zipfile.ZipInfo(name, at.timetuple()[:6]) if at else zipfile.ZipInfo(name)
            archive.writestr(info, body, zipfile.ZIP_DEFLATED, level)
    return out.getvalue()


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
