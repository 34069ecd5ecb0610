"""Pages of any size, in both orders, are the whole window and nothing twice: clock changes, mixed resolutions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.documents.catalogue import Catalogue
from api.series.page import Page, answer
from api.series.paging import Cursor, first_rows
from api.series.query import SeriesRequest
from warehouse.market.clock import HOUR, Window, instant
from warehouse.market.market import Metric
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.reader import Reader
from warehouse.series.series import fold
from warehouse.store.storage import Folder

EDGES = [
    instant(text)
    for text in ("2026-03-29T01:00:00Z", "2026-04-01T00:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T00:00:00Z")
]
"""Clock changes of Europe and edges of months."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, Catalogue]:
    """Around each edge: hourly rows by one source, then 5-minute rows by another; a mix of three fuels; two borders.

    All rows were known at 1; some were revised at 2.
    """
    storage = Folder(tmp_path_factory.mktemp("paging"))
    ranks = {"hourly.all": 9, "fine.all": 1}
    coarse, fine = Rows(), Rows()
    for edge in EDGES:
        for hour in range(-30, 0):
            coarse.add("GB", "demand", edge + hour * HOUR, 100.0 + hour, "MW", "1h")
        for step in range(400):
            fine.add("GB", "demand", edge - 6 * HOUR + step * 300, float(step), "MW", "5m")
            for link, name in (("a", "FR"), ("b", "FR"), (None, "NL")):
                fine.add(
                    "GB",
                    "interchange",
                    edge - 6 * HOUR + step * 300,
                    float(step),
                    "MW",
                    "5m",
                    counterparty=name,
                    link=link,
                )
        for step in range(-40, 40):
            for fuel in ("gas", "solar", "wind"):
                if (step + len(fuel)) % 7:
                    fine.add("GB", "generation", edge + step * 1800, 1.5 * step, "%", "30m", fuel=fuel)
    fold(storage, "hourly.all", coarse, {}, ranks, 1, "live")
    fold(storage, "fine.all", fine, {}, ranks, 1, "live")
    revised = Rows()
    for edge in EDGES:
        for step in range(-20, 100):
            revised.add("GB", "demand", edge - 6 * HOUR + step * 300, 0.5, "MW", "5m")
            revised.add("GB", "interchange", edge + step * 300, 0.25, "MW", "5m", counterparty="FR", link="a")
    fold(storage, "fine.all", revised, {}, ranks, 2, "live")
    sources = {code: {"withheld": False, "name": code, "license": "", "attribution": ""} for code in ("fine", "hourly")}
    catalogue = Catalogue(None, 0, {}, sources, {}, False, frozenset(), ranks)  # type: ignore[arg-type]
    return Reader(storage, 10_000_000), catalogue


queries = st.builds(
    lambda edge, before, seconds, metric, order, interval, as_of: {
        "metric": metric,
        "zones": ("GB",),
        "stored": (metric.value,),
        "borders": metric is Metric.INTERCHANGE,
        "start": edge - before,
        "end": edge - before + seconds,
        "order": order,
        "interval": interval,
        "as_of": as_of,
    },
    st.sampled_from(EDGES),
    st.integers(-2 * 86400, 2 * 86400),
    st.integers(1, 3 * 86400),
    st.sampled_from([Metric.DEMAND, Metric.GENERATION, Metric.INTERCHANGE]),
    st.sampled_from(["asc", "desc"]),
    st.sampled_from([None, None, "1h", "1d"]),
    st.sampled_from([None, None, 2, 1, 0]),
)


def rows(page: Page) -> list[Any]:
    columns = page.rows
    return [
        (int(ts), float(value), columns.labels[code])
        for ts, value, code in zip(columns.ts, columns.value, columns.label, strict=True)
    ]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=queries, limit=st.integers(1, 60))
def test_pages_by_cursor_are_the_unpaged_window(
    warehouse: tuple[Reader, Catalogue], options: dict[str, Any], limit: int
) -> None:
    whole = answer(*warehouse, SeriesRequest(**options, limit=5000))
    assert not whole.truncated
    pages, cursor = [], None
    while True:
        page = answer(*warehouse, SeriesRequest(**options, limit=limit, cursor=cursor))
        pages += rows(page)
        assert page.count <= limit
        assert page.sources == whole.sources
        assert page.start <= page.end
        cut_instant = page.following and any(page.following.ts == ts for ts, _, _ in rows(page))
        if cut_instant:  # only where the limit holds no whole instant
            assert len({ts for ts, _, _ in rows(page)}) == 1
        last = page.end if cut_instant and options["order"] == "asc" else page.end - 1
        assert all(page.start <= ts <= last for ts, _, _ in rows(page))
        if page.following is None:
            break
        cursor = Cursor.from_text(page.following.to_text())
    assert pages == rows(whole)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=queries, limit=st.integers(6, 60))
def test_going_on_by_the_effective_window_gives_every_row_once(
    warehouse: tuple[Reader, Catalogue], options: dict[str, Any], limit: int
) -> None:
    """Up with `start=<end>`, down with `end=<start>`: three fuels or ties fit each page."""
    whole = rows(answer(*warehouse, SeriesRequest(**options, limit=5000)))
    walked: list[Any] = []
    window = {"start": options["start"], "end": options["end"]}
    while True:
        page = answer(*warehouse, SeriesRequest(**{**options, **window}, limit=limit))
        walked += rows(page)
        if page.following is None:
            break
        window |= {"start": page.end} if options["order"] == "asc" else {"end": page.start}
    assert walked == whole


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=queries)
def test_descending_is_ascending_turned_round(warehouse: tuple[Reader, Catalogue], options: dict[str, Any]) -> None:
    up = answer(*warehouse, SeriesRequest(**{**options, "order": "asc"}, limit=5000))
    down = answer(*warehouse, SeriesRequest(**{**options, "order": "desc"}, limit=5000))
    assert rows(down) == rows(up)[::-1]


def test_a_cursor_whose_row_is_gone_goes_on_with_the_next(tmp_path: Path) -> None:
    storage = Folder(tmp_path)
    batch = Rows()
    batch.extend(SeriesKey("GB", "demand", "MW", "5m"), [0, 300, 600], [1.0, 2.0, 3.0])
    fold(storage, "fine.all", batch, {}, {"fine.all": 1}, 1, "live")
    reader = Reader(storage, 1_000_000)
    columns = reader.rows(reader.files("GB", "demand", Window(0, 900))[0], "net")
    for order, left in (("asc", [2.0, 3.0]), ("desc", [2.0, 1.0])):
        cursor = Cursor(order, 450 if order == "desc" else 150)  # type: ignore[arg-type]
        rest = first_rows([columns], Window(0, 900), order, 10, cursor)  # type: ignore[arg-type]
        values = rest.value.tolist()
        assert (values if order == "asc" else values[::-1]) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!!",
        "WyJhc2MiXQ",
        "WyJhc2MiLDEsIiIsIiIsIiIsIiJd",
        "WyJhc2MiLC0xLCIiLCIiLCIiXQ",
        "WyJhc2MiLHRydWUsIiIsIiIsIiJd",
        "A" * 400,
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cursor"):
        Cursor.from_text(text)
