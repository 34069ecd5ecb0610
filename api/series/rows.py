"""A page of rows as JSON text, written from columns in blocks that are kept; no row becomes a dict."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson

from api.series.paging import RowSlice
from api.series.query import Page
from warehouse.caches import LruCache
from warehouse.market import Metric
from warehouse.monthfile import RowLabels
from warehouse.reader import RowColumns

_WITH_FUEL = frozenset({Metric.GENERATION, Metric.CAPACITY})
_BLOCK = 1024
"""Rows encoded together: a day of 5-minute rows touches one or two blocks, 5,000 rows six."""


class Shape(NamedTuple):
    """Which members the rows of an answer have beside ts, value, unit and resolution."""

    fuel: bool
    border: bool
    source: bool

    @classmethod
    def of(cls, page: Page) -> Shape:
        return cls(page.query.metric in _WITH_FUEL, page.query.borders, len(page.sources) > 1)


class _Block(NamedTuple):
    """Encoded rows of part of a month file, each with a comma after it, and where each begins."""

    text: bytes
    starts: list[int]


class JsonRows:
    """Blocks of month files are kept within a bound of bytes; other rows are written anew."""

    def __init__(self, limit_bytes: int) -> None:
        self._memory = LruCache(limit_bytes)

    def text(self, page: Page) -> bytes:
        """The rows of a page as JSON objects with commas between them."""
        return b"".join([text for piece in page.pieces for text in self._piece(page, piece)])[:-1]

    def _piece(self, page: Page, piece: RowSlice) -> list[bytes]:
        shape = Shape.of(page)
        backwards = page.query.order == "desc"
        if piece.columns.origin is None:
            made = _written(piece.columns.take(slice(piece.first, piece.last)), shape)
            return [_reversed(made, 0, len(piece))] if backwards else [made.text]
        texts = []
        for number in range(piece.first // _BLOCK, (piece.last - 1) // _BLOCK + 1):
            begin = number * _BLOCK
            block = self._memory.get(
                (piece.columns.origin, shape, number), partial(_block, piece.columns, shape, begin)
            )
            first, last = max(piece.first - begin, 0), min(piece.last - begin, len(block.starts) - 1)
            texts.append(
                _reversed(block, first, last) if backwards else block.text[block.starts[first] : block.starts[last]]
            )
        return texts[::-1] if backwards else texts


def _reversed(block: _Block, first: int, last: int) -> bytes:
    starts = block.starts
    return b"".join([block.text[starts[row] : starts[row + 1]] for row in range(last - 1, first - 1, -1)])


def _block(rows: RowColumns, shape: Shape, begin: int) -> tuple[_Block, int]:
    made = _written(rows.take(slice(begin, begin + _BLOCK)), shape)
    return made, len(made.text) + 36 * len(made.starts) + 200


def _written(rows: RowColumns, shape: Shape) -> _Block:
    """Rows as JSON objects, each with a comma after it."""
    frames = [_frame(label, shape) for label in rows.labels]
    numbers = [_numbers(rows.ts), _numbers(rows.value)]
    ends = [b""] * len(rows)
    if rows.samples is not None and rows.coverage is not None:
        ends = [
            b',"samples":%b,"coverage":%b' % pair
            for pair in zip(_numbers(rows.samples), _numbers(rows.coverage), strict=True)
        ]
    parts = zip(rows.label.tolist(), *numbers, ends, strict=True)
    texts = [
        b'%b%b,"value":%b%b%b},' % (frames[code][0], ts, value, frames[code][1], end) for code, ts, value, end in parts
    ]
    starts = np.cumsum([0, *map(len, texts)]).tolist()
    return _Block(b"".join(texts), starts)


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
