"""Test that rows written from columns equal, byte for byte, those written from a dict per row and a list per column."""

from __future__ import annotations

import io
import math
from datetime import datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.series import formats
from api.series.page import Page
from api.series.query import SeriesRequest
from warehouse.market.clock import DAY, LAST_INSTANT
from warehouse.market.vocabulary import Metric
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

WORDS = st.none() | st.text("ab%{}\\\"',:é\n", max_size=6)
ODD = [0.0, -0.0, 1.0, -1.0, 0.1, 1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, math.nan, math.inf, -math.inf]
VALUES = st.sampled_from(ODD) | st.floats() | st.integers(-(10**6), 10**6).map(float)
AUTUMN_2026 = 1_792_886_400
"""2026-10-25T00:00:00Z. Clocks in Europe go back an hour later."""


@st.composite
def columns(draw: st.DrawFn, means: bool = False) -> RowColumns:
    text = st.text("ab%", max_size=3)
    label = st.builds(RowLabels, WORDS, WORDS, WORDS, text, st.sampled_from(["5m", "1h"]), text, text)
    labels = draw(st.lists(label, min_size=1, max_size=3))
    stamps = st.integers(0, LAST_INSTANT - DAY) | st.integers(AUTUMN_2026 - DAY, AUTUMN_2026 + DAY)
    ts = sorted(draw(st.lists(stamps, max_size=12)))
    codes = [draw(st.integers(0, len(labels) - 1)) for _ in ts]
    value = [draw(VALUES) for _ in ts]
    made = RowColumns(tuple(labels), np.array(codes, np.int32), np.array(ts, np.int64), np.array(value, np.float64))
    if not means:
        return made
    samples, coverage = np.arange(len(ts)), np.linspace(0.5, 1, len(ts))
    return RowColumns(made.labels, made.label, made.ts, made.value, samples, coverage)


def asked(metric: Metric = Metric.PRICE, limit: int = 1000, *more: Any, **named: Any) -> SeriesRequest:
    return SeriesRequest(metric, ("GB",), (metric.value,), 0, DAY, limit, *more, **named)


def page_of(request: SeriesRequest, made: RowColumns, sources: tuple[str, ...], place: Any = None) -> Page:
    part = made if request.order == "asc" or place is not None else made.take(slice(None, None, -1))
    place = np.zeros(len(made), np.int64) if place is None else place
    terms = {zone: {"license": "", "attribution": ""} for zone in request.zones}
    return Page(request, part, place, 0, DAY, False, None, sources, terms, (), {})


def dicts(page: Page) -> list[dict[str, Any]]:
    """Return the rows of a page as dicts."""
    named = formats.plain_columns(page)
    return [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]


def csv_of(named: dict[str, list[Any]]) -> bytes:
    """Return CSV with text in quotes, numbers as in JSON, and empty cells for missing values."""

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return '"' + value.replace('"', '""') + '"'
        return "" if value is None else orjson.dumps(value).decode().replace("null", "")

    lines = [named, *zip(*named.values(), strict=True)]
    return "".join(",".join(map(cell, line)) + "\n" for line in lines).encode()


QUERIES = st.builds(
    lambda metric, order, time, borders: asked(metric, 1000, order, borders, time=time),
    st.sampled_from([Metric.PRICE, Metric.GENERATION]),
    st.sampled_from(["asc", "desc"]),
    st.sampled_from([None, "utc", "local"]),
    st.booleans(),
)


ZONES_OF_ALL = ("AU-NSW", "FR", "GB", "US-MISO")


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draw a few rows of any kind, of one zone or several, stored or means."""
    query, means = draw(QUERIES), draw(st.booleans())
    made, sources = draw(columns(means=means)), draw(st.sampled_from([("s",), ("s", "t")]))
    if means:
        query = query._replace(interval="1h", time=draw(st.sampled_from([None, "utc"])))
    place = draw(st.none() | st.lists(st.integers(0, 3), min_size=len(made), max_size=len(made)))
    return of_zones(query, made, place, sources)


@st.composite
def long_pages(draw: st.DrawFn) -> Page:
    """Draw many rows, also around the times at which `ts` gets another digit, with zones in blocks or alternating."""
    count = draw(st.integers(499, 501) | st.integers(2, 1500))
    first = draw(st.sampled_from([0, 10**9 - 300, 10**9 - 1, 10**9, AUTUMN_2026, 10**10 - 90_000, 10**10]))
    rng, query = np.random.default_rng(draw(st.integers(0, 2**32))), draw(QUERIES)._replace(time=None)
    value = rng.choice([*ODD, *rng.normal(0, 1000, 40), *rng.integers(-999, 999, 40).astype(float)], count)
    fuel = draw(st.sampled_from(["%b", "a,b"]))
    labels = tuple(RowLabels(fuel, None, None, unit, "5m", "s", "f") for unit in ("100 %b/%%,", "MW"))
    if draw(st.booleans()):
        made = RowColumns(labels[:1], np.zeros(count, np.int32), first + np.arange(count) * 300, value)
        return of_zones(query, made, None, ("s",))
    ts = np.sort(first + rng.integers(0, max(1, count // 3), count) * 300)
    made = RowColumns(labels, rng.integers(0, 2, count).astype(np.int32), ts, value)
    return of_zones(query, made, rng.integers(0, 4, count), ("s", "t"))


def of_zones(query: SeriesRequest, made: RowColumns, place: Any, sources: tuple[str, ...]) -> Page:
    """Return a page of one zone, or of the zones that `place` names row by row."""
    if place is None:
        return page_of(query, made, sources)
    request = query._replace(zones=ZONES_OF_ALL, stored=query.stored * 4, several=True)
    rows_in_order = made if query.order == "asc" else made.take(slice(None, None, -1))
    return page_of(request, rows_in_order, sources, np.array(place, np.int64))


@settings(deadline=None, max_examples=150)
@example(
    page_of(
        asked(),
        RowColumns(
            (RowLabels(None, None, None, "100 %b/%%", "5m", "s", "f"),),
            np.zeros(len(ODD), np.int32),
            np.arange(len(ODD)) * 10**8,
            np.array(ODD),
        ),
        ("s",),
    )
)
@given(pages() | long_pages())
def test_rows_are_those_of_the_plain_way(page: Page) -> None:
    named = formats.plain_columns(page)
    if page.request.several:
        assert named["zone"] == [ZONES_OF_ALL[at] for at in page.place]
    assert formats.encode("csv", page)[0] == csv_of(named)
    assert b"[%b]" % formats.text(page, "json") == orjson.dumps(dicts(page))


def by_instant(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the columns with `time`, which is text or a timestamp, as Unix seconds."""
    stamps = [at if isinstance(at, datetime) else datetime.fromisoformat(at) for at in columns.get("time", ())]
    return {**columns, **({"time": [at.timestamp() for at in stamps]} if stamps else {})}


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
@settings(deadline=None, max_examples=40)
@given(query=QUERIES, made=columns())
def test_tables_are_those_of_the_plain_way(format_: str, query: SeriesRequest, made: RowColumns) -> None:
    page = page_of(query, made, ("s", "t"))
    body = formats.encode(format_, page)[0]
    table = pq.read_table(io.BytesIO(body)) if format_ == "parquet" else pa.ipc.open_stream(body).read_all()
    assert orjson.dumps(by_instant(table.to_pydict())) == orjson.dumps(by_instant(formats.plain_columns(page)))


@pytest.mark.parametrize("count", [0, 499, 500])
def test_a_parquet_answer_is_compressed_where_it_is_long(count: int) -> None:
    label = RowLabels(None, None, None, "MW", "5m", "s", "f")
    made = RowColumns((label,), np.zeros(count, np.int32), np.arange(count) * 300, np.arange(count) / 7)
    page = page_of(asked(Metric.DEMAND, time="utc"), made, ("s",))
    file = pq.ParquetFile(io.BytesIO(formats.encode("parquet", page)[0]))
    assert by_instant(file.read().to_pydict()) == by_instant(formats.plain_columns(page))
    assert file.schema_arrow.metadata[b"emds"] == orjson.dumps(formats.envelope(page))
    chunks = [file.metadata.row_group(0).column(at) for at in range(file.metadata.num_columns)] if count else []
    assert {chunk.compression for chunk in chunks} <= {"ZSTD" if count >= 500 else "UNCOMPRESSED"}
    repeated = {chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page}
    assert repeated == ({"unit", "resolution"} if count else set())
    assert all("DELTA_BINARY_PACKED" in chunk.encodings for chunk in chunks if chunk.path_in_schema == "ts")
