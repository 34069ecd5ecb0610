"""What makes series easy to read: holes said, times written out, links and parts of tables."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.series.gaps import DueSpan, holes
from api.settings import Settings
from warehouse.market.clock import DAY, HOUR, Window, instant, iso
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels
from warehouse.series.reader import RowColumns

HALF = HOUR // 2


@pytest.fixture
def ask(market: Any) -> Any:
    client = market.client()
    headers = market.key(client)
    return lambda path, **more: client.get(path, headers={**headers, **more})


@pytest.mark.parametrize("zone", ["GB", "DE-LU"])
def test_times_are_those_of_ts_in_every_format(ask: Any, zone: str) -> None:
    rows = ask(f"/v1/price/{zone}?time=utc&limit=5").get_json()["data"]
    assert [list(row)[:3] for row in rows] == [["ts", "time", "value"]] * 5
    assert [row["time"] for row in rows] == [iso(row["ts"]) for row in rows]
    local = ask(f"/v1/price/{zone}?time=local&limit=5").get_json()["data"]
    assert [int(datetime.fromisoformat(row["time"]).timestamp()) for row in local] == [row["ts"] for row in rows]
    for format_, read in (
        ("parquet", lambda body: pq.read_table(io.BytesIO(body))),
        ("arrow", lambda body: pa.ipc.open_stream(body).read_all()),
        ("csv", lambda body: pacsv.read_csv(io.BytesIO(body))),
    ):
        table = read(ask(f"/v1/price/{zone}?time=local&limit=5&format={format_}").data)
        stamps = table.column("time").to_pylist()
        if format_ != "csv":
            assert table.schema.field("time").type == pa.timestamp("ms", ZONES[zone].tz)
            assert [stamp.isoformat() for stamp in stamps] == [row["time"] for row in local]
        else:
            assert [int(stamp.timestamp()) for stamp in stamps] == [row["ts"] for row in local]


def test_local_times_change_their_offset_with_the_clocks(ask: Any) -> None:
    rows = ask("/v1/price/DE-LU?start=2026-03-29&end=2026-03-30&time=local").get_json()["data"]
    assert len(rows) == 4 * 23
    assert [row["time"] for row in rows if row["time"][14:16] == "00"][:4] == [
        "2026-03-29T00:00:00+01:00",
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T04:00:00+02:00",
    ]


def test_holes_are_said(market: Any, ask: Any) -> None:
    start = instant("2026-03-28T00:00:00Z")
    rows = [(ts, 1.0) for ts in range(start, start + DAY, HALF) if not 3 <= (ts - start) / HOUR < 5]
    market.put("north.price", "AU-NSW", "price", rows, "AUD/MWh", "30m")
    market.publish()
    window = f"/v1/price/AU-NSW?start={start + HOUR}"
    whole = ask(f"{window}&end={start + 20 * HOUR}").get_json()
    hole = {"start": start + 3 * HOUR, "end": start + 5 * HOUR}
    assert whole["gaps"] == [hole]
    assert "gaps_truncated" not in whole
    assert ask(f"{window}&end={start + 20 * HOUR}&order=desc").get_json()["gaps"] == [hole]
    # The rows end a day before now: what follows is a hole until where the feed must have published.
    until = start + DAY, market.now - 40 * 60 - (market.now - 40 * 60) % HALF
    assert ask(f"{window}").get_json()["gaps"] == [hole, {"start": until[0], "end": until[1]}]
    assert ask(f"{window}&end={start + 6 * HOUR}&format=csv").headers["X-EMDS-Gaps"] == f"{hole['start']}/{hole['end']}"
    stated = pq.read_table(io.BytesIO(ask(f"{window}&end={start + 6 * HOUR}&format=parquet").data)).schema.metadata
    assert orjson.loads(stated[b"gaps"]) == [hole]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=20, unique=True),
    st.sampled_from([300, 150, 900]),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_rows_that_all_last_alike_have_the_holes_of_any_others(
    places: list[int], apart: int, before: int, behind: int
) -> None:
    """A second label, though no row has it, leads the other way."""
    ts = np.array(sorted(places), np.int64) * apart + 10**9
    label = RowLabels(None, None, None, "MW", "5m", "north", "north.grid")
    one = RowColumns((label,), np.zeros(len(ts), np.int32), ts, np.ones(len(ts)))
    any_ = RowColumns((label, label._replace(unit="kW")), one.label, ts, one.value)
    window = Window(int(ts[0]) - before * 300, int(ts[-1]) + behind * 300)
    due = DueSpan(0, int(ts[-1]) + 20 * 300, 300)
    assert holes(one, window, due, "UTC") == holes(any_, window, due, "UTC")


def test_a_hole_that_falls_due_makes_another_answer(market: Any, monkeypatch: Any) -> None:
    client = market.client()
    headers = market.key(client)
    last = client.get("/v1/price/GB", headers=headers).get_json()["data"][-1]["ts"] + HALF
    path = f"/v1/price/GB?start={last - DAY}&end={last + DAY}"
    before = client.get(path, headers=headers)
    assert before.get_json()["gaps"] == []
    monkeypatch.setenv("EMDS_NOW", iso(last + 3 * HOUR))
    after = client.get(path, headers={**headers, "If-None-Match": before.headers["ETag"]})
    assert after.status_code == 200
    assert after.get_json()["gaps"] == [{"start": last, "end": last + 2 * HOUR}]
    same = client.get(path, headers={**headers, "If-None-Match": after.headers["ETag"]})
    assert same.status_code == 304


def test_nothing_is_missing_before_a_feed_began_or_after_now(ask: Any, market: Any) -> None:
    began = instant("2016-01-01T00:00:00Z")  # when the tests' feeds began
    old = ask(f"/v1/price/GB?start={began - 30 * DAY}&end={began + DAY}").get_json()
    assert (old["count"], old["gaps"]) == (0, [{"start": began, "end": began + DAY}])
    ahead = ask(f"/v1/demand/GB?start={market.now + HOUR}").get_json()
    assert (ahead["count"], ahead["gaps"]) == (0, [])


def test_civil_days_of_23_hours_are_no_holes() -> None:
    days = [instant(f"2026-03-{day}T{hour}:00:00Z") for day, hour in ((27, 23), (28, 23), (29, 22), (31, 22))]
    label = RowLabels(None, None, None, "EUR/MWh", "1d", "north", "north.price")
    zeros = np.zeros(len(days), np.int32)
    rows = RowColumns((label,), zeros, np.array(days, np.int64), np.ones(len(days)), np.full(len(days), 96))
    due = DueSpan(0, instant("2026-04-30T00:00:00Z"), HALF)
    window = Window(days[0] - 2 * DAY, instant("2026-04-03T12:00:00Z"))
    missing = holes(rows, window, due, "Europe/Berlin")
    assert [(iso(hole.start), iso(hole.end)) for hole in missing] == [
        ("2026-03-25T23:00:00Z", "2026-03-27T23:00:00Z"),
        ("2026-03-30T22:00:00Z", "2026-03-31T22:00:00Z"),
        ("2026-04-01T22:00:00Z", "2026-04-03T12:00:00Z"),
    ]


def test_links_are_relative_where_the_address_is_not_set(market: Any) -> None:
    client = market.client(base_url=Settings().base_url)
    link = client.get("/v1/price/GB?limit=3", headers=market.key(client)).headers["Link"]
    assert link.startswith("</v1/price/GB?start=")


@pytest.mark.parametrize("format_", ["csv", "parquet", "arrow"])
def test_parts_of_a_table_are_given(ask: Any, format_: str) -> None:
    path = f"/v1/price/GB?format={format_}"
    whole = ask(path)
    assert whole.headers["Accept-Ranges"] == "bytes"
    part = ask(path, Range="bytes=4-9")
    assert (part.status_code, part.data) == (206, whole.data[4:10])
    assert part.headers["Content-Range"] == f"bytes 4-9/{len(whole.data)}"
    assert part.headers["ETag"] == whole.headers["ETag"]
    assert ask(path, Range=f"bytes={len(whole.data)}-").status_code == 416
    assert ask("/v1/price/GB", Range="bytes=4-9").status_code == 200, "JSON is no file"
    for other in ("bytes=0-1,5-6", "bytes=0-0,-1", "items=0-5", "garbage", "", "bytes=9-4"):
        given = ask(path, Range=other)
        assert (given.status_code, given.data) == (200, whole.data), other
    for count, status in ((1, 206), (len(whole.data) - 1, 206), (len(whole.data), 200), (65_536_000, 200)):
        last = ask(path, Range=f"bytes=-{count}")
        assert (last.status_code, last.data) == (status, whole.data[-count:]), count
    for tag, status in ((whole.headers["ETag"], 206), (f"W/{whole.headers['ETag']}", 200), ('"other"', 200)):
        assert ask(path, Range="bytes=4-9", If_Range=tag).status_code == status, tag


def test_a_part_is_asked_for_by_get_alone(market: Any) -> None:
    client, path = market.client(), "/v1/price/GB?format=csv&sample=true"
    whole = client.get(path).data
    assert client.get(path, headers={"Range": "bytes=4-9"}).data == whole[4:10]
    head = client.head(path, headers={"Range": "bytes=4-9"})
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(whole)))
