"""A page of rows as JSON text, written straight from columns; no row becomes a dict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from api.series import times
from api.series.query import Page, Query
from warehouse.market import Metric
from warehouse.reader import RowColumns
from warehouse.versions import RowLabels
from warehouse.zones import ZONES

_WITH_FUEL = frozenset({Metric.GENERATION, Metric.CAPACITY})


class Shape(NamedTuple):
    """Which members the rows of an answer have beside ts, value, unit and resolution."""

    fuel: bool
    border: bool
    source: bool

    @classmethod
    def of(cls, page: Page) -> Shape:
        return cls.of_query(page.query, len(page.sources) > 1)

    @classmethod
    def of_query(cls, query: Query, source: bool) -> Shape:
        return cls(query.metric in _WITH_FUEL, query.borders, source)


def plain_columns(rows: RowColumns, shape: Shape, query: Query, tz: str | Sequence[str]) -> dict[str, list[Any]]:
    """Rows as columns of plain values, named as JSON names them; `tz` of all rows, or of each."""
    codes = rows.label.tolist()
    named: dict[str, list[Any]] = {}
    if shape.fuel:
        named["fuel"] = [rows.labels[code].fuel for code in codes]
    named["ts"] = rows.ts.tolist()
    if query.time is not None:
        named["time"] = times.written(rows.ts, query.time, tz)
    named["value"] = rows.value.tolist()
    texts = [
        "unit",
        "resolution",
        *(["counterparty", "link"] if shape.border else []),
        *(["source"] if shape.source else []),
    ]
    named |= {name: [getattr(rows.labels[code], name) for code in codes] for name in texts}
    if query.interval is not None:
        samples, coverage = rows.samples, rows.coverage
        named |= {
            "samples": [] if samples is None else samples.tolist(),
            "coverage": [] if coverage is None else coverage.tolist(),
        }
    return named


def json_rows(page: Page) -> bytes:
    """The rows of a page as JSON objects with commas between them."""
    return b",".join(_objects(part, Shape.of(page), page.query) for part in page.parts if len(part))


def _objects(rows: RowColumns, shape: Shape, query: Query) -> bytes:
    """Row by row: what stands before `ts`, `ts`, what stands between, `value`, what stands behind."""
    frames = [_frame(label, shape) for label in rows.labels]
    codes = rows.label.tolist() if len(frames) > 1 else [0] * len(rows)
    parts: list[bytes] = [b',"value":'] * (5 * len(rows))
    parts[0::5] = [frames[code][0] for code in codes]
    parts[1::5] = _numbers(rows.ts)
    if query.time is not None:
        stamps = times.written(rows.ts, query.time, ZONES[query.zone].tz)
        parts[2::5] = [b',"time":"%b","value":' % stamp.encode() for stamp in stamps]
    parts[3::5] = _numbers(rows.value)
    tails = [frames[code][1] + b"}," for code in codes] if rows.samples is None else _tails(rows, frames, codes)
    parts[4::5] = tails
    return b"".join(parts)[:-1]


def _tails(rows: RowColumns, frames: list[tuple[bytes, bytes]], codes: list[int]) -> list[bytes]:
    """What stands behind the values of means."""
    pairs = zip(codes, _numbers(rows.samples), _numbers(rows.coverage), strict=True)
    return [b'%b,"samples":%b,"coverage":%b},' % (frames[code][1], samples, part) for code, samples, part in pairs]


def _numbers(column: Any) -> list[bytes]:
    """Each number as JSON writes it: the shortest text that reads back as the same number."""
    text = orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]
    return text.split(b",") if text else []


def _frame(label: RowLabels, shape: Shape) -> tuple[bytes, bytes]:
    """What stands before `ts` and after `value` in a row."""
    before: dict[str, Any] = {"fuel": label.fuel} if shape.fuel else {}
    after: dict[str, Any] = {"unit": label.unit, "resolution": label.resolution}
    if shape.border:
        after |= {"counterparty": label.counterparty, "link": label.link}
    if shape.source:
        after["source"] = label.source
    head = orjson.dumps(before)[:-1] + b"," if before else b"{"
    return head + b'"ts":', b"," + orjson.dumps(after)[1:-1]
