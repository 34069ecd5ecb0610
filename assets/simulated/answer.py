"""What a simulated publisher sends back: a status, a body, headers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

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
