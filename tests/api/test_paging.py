"""Test that pages of any size, in both orders, return the whole window once, with cursors, links and gaps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.documents.catalogue_reader import Catalogue
from api.http.document import Document
from api.series.page import Page, read_page
from api.series.query import Cursor, SeriesRequest
from api.series.stored_rows import first_rows
from tests.api.conftest import asking
from warehouse.documents.catalogue_entries import CatalogueSource
from warehouse.figures.resample import LONGEST
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, Window, instant
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.series.reader import Reader
from warehouse.store.storage import Folder
from warehouse.store.stored_bytes import Identity

EDGES = [
    instant(text)
    for text in ("2026-03-29T01:00:00Z", "2026-04-01T00:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T00:00:00Z")
]
"""Clock changes in Europe and starts of months."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, Catalogue]:
    """Return a warehouse with rows around each edge: hourly, then 5-minute rows, a mix of three fuels, two borders.

    The hourly rows are from another source. All rows were known at 1, and some were revised at 2.
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
    sources = {
        code: CatalogueSource(code, code, "", "", "", "", "yes", False, True, (), ()) for code in ("fine", "hourly")
    }
    document = Document("catalogue.json", b"{}", Identity(1, 2, 3))
    catalogue = Catalogue(document, 0, {}, sources, {}, False, frozenset(), ranks, {})
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
    whole = read_page(*warehouse, SeriesRequest(**options, limit=5000))
    assert not whole.truncated
    pages, cursor = [], None
    while True:
        page = read_page(*warehouse, SeriesRequest(**options, limit=limit, cursor=cursor))
        pages += rows(page)
        assert len(page.rows) <= limit
        assert page.sources == whole.sources
        assert page.start <= page.end
        cut_instant = page.following and any(page.following.ts == ts for ts, _, _ in rows(page))
        if cut_instant:  # the limit is below the row count of one time
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
    """Continue with `start=<end>`, or `end=<start>` if descending. Three fuels or interconnectors fit each page."""
    whole = rows(read_page(*warehouse, SeriesRequest(**options, limit=5000)))
    walked: list[Any] = []
    window = {"start": options["start"], "end": options["end"]}
    while True:
        page = read_page(*warehouse, SeriesRequest(**{**options, **window}, limit=limit))
        walked += rows(page)
        if page.following is None:
            break
        window |= {"start": page.end} if options["order"] == "asc" else {"end": page.start}
    assert walked == whole


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(options=queries)
def test_descending_is_ascending_turned_round(warehouse: tuple[Reader, Catalogue], options: dict[str, Any]) -> None:
    up = read_page(*warehouse, SeriesRequest(**{**options, "order": "asc"}, limit=5000))
    down = read_page(*warehouse, SeriesRequest(**{**options, "order": "desc"}, limit=5000))
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
        rest = first_rows(columns, Window(0, 900), order, 10, cursor)  # type: ignore[arg-type]
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


def test_the_next_link_pins_the_window_that_now_would_move(ask: Any, market: Any) -> None:
    ask("/v1/price/GB?limit=3")
    assert f"start={market.now - 24 * HOUR}&end={market.now}&limit=3" in ask.last.headers["Link"]


def test_the_next_link_is_each_askers_own(ask: Any, market: Any) -> None:
    """Request the same rows in the same format, once by `Accept` and once by the URL."""
    window = f"start={market.now - 24 * HOUR}&end={market.now}&limit=3"
    client = market.client()
    headers = market.key(client)
    by_accept = client.get(f"/v1/price/GB?{window}", headers={**headers, "Accept": "text/csv"})
    by_format = client.get(f"/v1/price/GB?{window}&format=csv", headers=headers)
    assert by_accept.data == by_format.data
    assert "format=csv" in by_format.headers["Link"]
    assert "format" not in by_accept.headers["Link"]


@pytest.mark.parametrize("of", [("gas", "", ""), ("", "FR", ""), ("", "FR", "ifa"), ("", "", "ifa")])
def test_a_cursor_of_fuels_or_borders_is_none_of_a_series_without(
    ask: Any, market: Any, of: tuple[str, str, str]
) -> None:
    """Refuse the cursor, because it would skip rows of the time that it names."""
    window = f"start={market.now - 2 * HOUR}&end={market.now}"
    cursor = Cursor("asc", market.now - HOUR, of)
    for path, text in (
        ("/v1/price/GB?", cursor.to_text()),
        ("/v1/price?zones=GB&", cursor._replace(zone="GB").to_text()),
        ("/v1/price?zones=GB&", cursor._replace(zone="").to_text()),
    ):
        problem = ask(f"{path}{window}&cursor={text}", 400)
        assert [fault["parameter"] for fault in problem["errors"]] == ["cursor"]
    if of[0]:
        assert ask(f"/v1/generation/GB?{window}&cursor={cursor.to_text()}")["count"]


def test_a_cursor_goes_on_within_its_own_window_only(ask: Any, market: Any) -> None:
    window = f"start={market.now - 2 * HOUR}&end={market.now}&limit=1"
    for ts in (market.now - 3 * HOUR, market.now, 253402300799):
        for order in ("asc", "desc"):
            problem = ask(f"/v1/price/GB?{window}&order={order}&cursor={Cursor(order, ts).to_text()}", 400)
            assert [fault["parameter"] for fault in problem["errors"]] == ["cursor"]
    assert ask("/v1/capacity/DE-LU?limit=1")["truncated"]
    assert ask(ask.last.headers["Link"].partition(">")[0][1:].removeprefix("http://emds.example"))["count"]


def walked(ask: Any, path: str) -> list[dict[str, Any]]:
    """Return every page that `Link` leads to."""
    pages = [ask(path)]
    while (link := ask.last.headers.get("Link")) and len(pages) < 200:
        pages.append(ask(link.partition(">")[0][1:].removeprefix("http://emds.example")))
    return pages


ZONES = ("AU-SA", "DE-LU", "GB")


def join_gaps(pages: list[dict[str, Any]], zone: str) -> dict[str, list[list[int]]]:
    """Return the gaps of `pages` by zone, joined if adjacent. Fail if two overlap. `zone` is that of one-zone pages."""
    spans: dict[str, list[list[int]]] = {}
    gaps = [gap for page in pages for gap in page["gaps"]]
    for own, start, end in sorted((gap.get("zone", zone), gap["start"], gap["end"]) for gap in gaps):
        before = spans.setdefault(own, [])
        assert not before or before[-1][1] <= start, "told twice"
        if before and before[-1][1] == start:
            before[-1][1] = end
        else:
            before.append([start, end])
    return spans


@pytest.mark.parametrize("resolution", ["5m", "30m", "1h"])
def test_pages_tell_the_holes_of_the_whole_window_once(rig: Any, resolution: str) -> None:
    """Use two hours of three zones, without every fifth row on average. DE-LU has its own resolution."""
    rng, start = random.Random(resolution), instant("2026-03-30T00:00:00Z")
    for zone in ZONES:
        own = resolution if zone == "DE-LU" else "5m"
        step = RESOLUTIONS[own]
        rows = [row for row in rig.every(start, step, 2 * HOUR // step) if rng.random() < 0.8]
        if zone == "DE-LU":  # pages start within this gap and have the row after it
            rows = [row for row in rig.every(start, step, 2 * HOUR // step) if row[0] >= start + HOUR]
        rig.put("north.grid", zone, "demand", rows, "MW", own)
    rig.publish()
    ask = asking(rig)
    for path in (f"/v1/demand?zones={','.join(ZONES)}&", "/v1/demand/GB?"):
        path += f"start={start}&end={start + 2 * HOUR}"
        [whole] = walked(ask, path)
        holes = join_gaps([whole], "GB")
        assert sum(map(len, holes.values())) > (4 if "zones" in path else 0)
        for order in ("asc", "desc"):
            for limit in (1, 2, 7):
                pages = walked(ask, f"{path}&order={order}&limit={limit}")
                assert join_gaps(pages, "GB") == holes, (order, limit)
                if "zones" not in path:
                    edges = [(page["start"], page["end"]) for page in (pages if order == "asc" else pages[::-1])]
                    assert [end for _, end in edges[:-1]] == [begin for begin, _ in edges[1:]], "they adjoin"
                    assert (edges[0][0], edges[-1][1]) == (whole["start"], whole["end"])


def test_pages_that_end_within_an_instant_tell_no_hole_of_rows_given_before(rig: Any) -> None:
    start = instant("2026-03-30T00:00:00Z")
    for zone in ("GB", "US-CAISO"):
        for fuel in ("gas", "wind", "nuclear"):
            rig.put("north.mix", zone, "generation", rig.every(start, 1800, 6), "%", "30m", fuel=fuel)
    rig.publish()
    ask = asking(rig)
    window = f"start={start}&end={start + 3 * HOUR}"
    for order in ("asc", "desc"):
        for limit in (1, 2, 3, 4, 5):
            pages = walked(ask, f"/v1/generation?zones=GB,US-CAISO&{window}&limit={limit}&order={order}")
            assert sum(page["count"] for page in pages) == 36
            assert [page["gaps"] for page in pages if page["gaps"]] == [], (order, limit)


def test_a_row_that_runs_when_a_page_begins_is_no_hole(rig: Any) -> None:
    """Use hourly rows beside 5-minute rows, for one zone and two, whatever resolution the feed declares."""
    start = instant("2026-03-29T22:00:00Z")
    rig.put("north.grid", "GB", "demand", rig.every(start, 300, 120), "MW", "5m")
    for day in (0, 1):  # a gap of an hour at 00:00
        rig.put("north.grid", "AU-SA", "demand", rig.every(start + day * 3 * HOUR, HOUR, 2), "MW", "1h")
    rig.publish()
    ask = asking(rig)
    missing = {"start": start + 2 * HOUR, "end": start + 3 * HOUR}
    for first, last, found in (
        (start + 900, start + 2700, []),
        (start + 900, start + 2 * HOUR, []),
        (start + HOUR + 900, start + 4 * HOUR, [missing]),
        (start + 2 * HOUR + 900, start + 2 * HOUR + 1800, [{"start": start + 8100, "end": start + 9000}]),
    ):
        assert ask(f"/v1/demand/AU-SA?start={first}&end={last}")["gaps"] == found, (first, last)


def test_hourly_rows_before_finer_ones_cover_a_windows_begin(rig: Any) -> None:
    start = instant("2026-03-29T22:00:00Z")
    rig.put("north.grid", "AU-SA", "demand", rig.every(start, HOUR, 1), "MW", "1h")
    rig.put("north.grid", "AU-SA", "demand", rig.every(start + HOUR, 300, 12), "MW", "5m")
    rig.publish()
    assert asking(rig)(f"/v1/demand/AU-SA?start={start + 120}&end={start + 2 * HOUR}")["gaps"] == []


@pytest.mark.parametrize(
    ("interval", "first", "last"),
    [("1d", "06:00", "18:00"), ("1h", "06:15", "06:45"), ("1d", "00:00", "12:00"), ("1h", "06:15", "07:00")],
)
def test_a_window_in_which_no_mean_begins_has_no_hole(market: Any, interval: str, first: str, last: str) -> None:
    answer = asking(market)(f"/v1/price/GB?interval={interval}&start=2026-03-29T{first}:00Z&end=2026-03-29T{last}:00Z")
    assert answer["gaps"] == []


def test_days_of_two_civil_times_are_no_holes_of_each_others_pages(rig: Any) -> None:
    start = instant("2026-03-24T00:00:00Z")
    for zone in ("GB", "AU-SA"):
        rig.put("north.grid", zone, "demand", rig.every(start, 1800, 48 * 5), "MW", "30m")
    rig.publish()
    for order in ("asc", "desc"):
        path = f"/v1/demand?zones=AU-SA,GB&interval=1d&limit=1&start={start + DAY}&end={start + 4 * DAY}&order={order}"
        pages = walked(asking(rig), path)
        assert len(pages) == 6
        assert [page["gaps"] for page in pages if page["gaps"]] == []


@pytest.mark.parametrize("interval", ["", *(f"&interval={word}" for word in LONGEST)])
def test_the_last_day_of_all_can_be_asked_for(shared_market: Any, interval: str) -> None:
    ask = asking(shared_market)
    for zone in ("GB", "DE-LU", "US-CAISO"):
        for window in ("end=253402300799", "start=253402300000&end=253402300799", "start=1970&end=253402300799"):
            answer = ask(f"/v1/price/{zone}?{window}&limit=5{interval}")
            assert answer["count"] == (0 if "start=1970" not in window else min(5, answer["count"]))


def test_a_limit_below_an_instant_says_that_no_window_goes_on(ask: Any, market: Any) -> None:
    """Check that the response reports it. A client that continued from `end` would get the same page for ever."""
    for path in ("/v1/capacity/DE-LU?limit=1", "/v1/generation/GB?limit=2", "/v1/generation/GB?limit=2&order=desc"):
        body = ask(path)
        assert (body["truncated"], body["cursor_only"]) == (True, True), path
    for path in ("/v1/capacity/DE-LU?limit=2", "/v1/generation/GB?limit=3", "/v1/price/GB?limit=1"):
        assert "cursor_only" not in ask(path), path
