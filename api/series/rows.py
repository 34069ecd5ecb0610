"""Rows of an answer as columns, named as JSON names them, and which members a row has; no text (`row_text`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from api.series import times
from api.series.page import Page
from api.series.query import WITH_FUEL, Query
from warehouse.reader import RowColumns


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
        return cls(query.metric in WITH_FUEL, query.borders, source)


def plain_columns(rows: RowColumns, shape: Shape, query: Query, tz: str | Sequence[str]) -> dict[str, list[Any]]:
    """Rows as columns of plain values, named as JSON names them; `tz` of all rows, or of each."""
    codes = rows.label.tolist()

    def words(name: str) -> list[Any]:
        each = [getattr(label, name) for label in rows.labels]
        return [each[code] for code in codes]

    return _columns(rows, shape, query, tz, words, np.ndarray.tolist)


def arrow_columns(rows: RowColumns, shape: Shape, query: Query, tz: str | Sequence[str]) -> dict[str, Any]:
    """As `plain_columns`, as Arrow arrays: no value becomes an object."""

    def words(name: str) -> Any:
        each = [getattr(label, name) for label in rows.labels]
        if len({*each}) == 1:
            return _repeated(each[0], len(rows))
        return pa.array(each, pa.string()).take(pa.array(rows.label))

    return _columns(rows, shape, query, tz, words, pa.array)


@lru_cache(maxsize=32)
def _repeated(word: str | None, count: int) -> Any:
    """One word for all rows; kept, since days and whole pages have the same few lengths. At most 2 MB together."""
    return pa.repeat(pa.scalar(word, pa.string()), count)


def _columns(
    rows: RowColumns,
    shape: Shape,
    query: Query,
    tz: str | Sequence[str],
    words: Callable[[str], Any],
    numbers: Callable[[Any], Any],
) -> dict[str, Any]:
    named: dict[str, Any] = {"fuel": words("fuel")} if shape.fuel else {}
    named["ts"] = numbers(rows.ts)
    if query.time is not None:
        named["time"] = times.written(rows.ts, query.time, tz)
    named["value"] = numbers(rows.value)
    texts = ["unit", "resolution", *(["counterparty", "link"] if shape.border else [])]
    named |= {name: words(name) for name in [*texts, *(["source"] if shape.source else [])]}
    if query.interval is not None:
        means = {"samples": rows.samples, "coverage": rows.coverage}
        named |= {name: numbers(np.empty(0) if column is None else column) for name, column in means.items()}
    return named
