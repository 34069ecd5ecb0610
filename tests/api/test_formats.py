"""Test that all formats have the rows of the JSON in its order, with gaps, times and parts of tables."""

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

from api.http import responses
from api.http.problems import Problem
from api.series import formats
from api.series.gaps import missing_spans
from api.series.query import DueSpan
from api.settings import Settings
from warehouse.market.clock import DAY, HOUR, Window, instant, iso
from warehouse.market.zones import ZONES
from warehouse.rows.versions import RowLabels
from warehouse.series.row_columns import RowColumns

PATHS = [
    "/v1/price/GB",
    "/v1/generation/GB",
    "/v1/generation/GB?order=desc&limit=7",
    "/v1/interchange/GB?by=border",
    "/v1/demand/US-NYISO",
    "/v1/demand/GB?interval=1h",
    "/v1/price/GB?start=100000000&end=100000060",
    "/v1/capacity/DE-LU",
    "/v1/price?zones=GB,DE-LU&limit=20",
]


@pytest.fixture(scope="module")
def fetch(shared_market: Any) -> Any:
    client = shared_market.client()
    headers = shared_market.key(client)
    return lambda path, format_: client.get(f"{path}{'&' if '?' in path else '?'}format={format_}", headers=headers)


def negotiate(wanted: str | None, accept: str) -> str:
    return responses.negotiate(wanted, accept, formats.FORMAT_OF)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as a columnar format has them, with every field in every row."""
    return [{**dict.fromkeys(rows[0]), **row} for row in rows]


@pytest.mark.parametrize("path", PATHS)
def test_every_format_has_the_same_rows(fetch: Any, path: str) -> None:
    rows = fetch(path, "json").get_json()["data"]
    expected = plain(rows) if rows else []
    assert pq.read_table(io.BytesIO(fetch(path, "parquet").data)).to_pylist() == expected
    assert pa.ipc.open_stream(fetch(path, "arrow").data).read_all().to_pylist() == expected
    table = pacsv.read_csv(
        io.BytesIO(fetch(path, "csv").data),
        convert_options=pacsv.ConvertOptions(
            strings_can_be_null=True, column_types={"value": pa.float64(), "coverage": pa.float64()}
        ),
    )
    assert table.to_pylist() == expected


def test_the_envelope_is_in_the_schemas_metadata(fetch: Any) -> None:
    stated = fetch("/v1/price/GB", "json").get_json()
    del stated["data"]
    for table in (
        pq.read_table(io.BytesIO(fetch("/v1/price/GB", "parquet").data)),
        pa.ipc.open_stream(fetch("/v1/price/GB", "arrow").data).read_all(),
    ):
        metadata = {name.decode(): value.decode() for name, value in table.schema.metadata.items()}
        assert orjson.loads(metadata["emds"]) == stated
        assert (metadata["zone"], metadata["attribution"], metadata["count"]) == ("GB", "© North Market Operator", "48")


def test_the_envelope_of_csv_is_in_headers_that_any_client_can_read(fetch: Any) -> None:
    answer = fetch("/v1/price/GB", "csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer.headers["X-EMDS-Attribution"] == "%C2%A9 North Market Operator"
    assert [answer.headers[f"X-EMDS-{name}"] for name in ("Count", "Truncated", "Sources")] == ["48", "false", "north"]
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="GB_price_')


@pytest.mark.parametrize(
    ("accept", "format_"),
    [
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "json"),  # Java's HttpURLConnection
        ("text/csv; charset=utf-8; q=0.3, application/json;q=0.2", "csv"),
        ("application/json;q=0, text/csv, */*;q=0.1", "csv"),
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/csv", "csv"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "json"),
        ("application/vnd.apache.parquet", "parquet"),
        ("application/vnd.apache.arrow.stream, */*;q=0.1", "arrow"),
        ("text/csv;q=0.5, application/json;q=0.4", "csv"),
        ("application/*", "json"),
        ("application/json;q=0, */*", "csv"),
        ("text/*", "csv"),
    ],
)
def test_accept_chooses_where_no_parameter_does(accept: str, format_: str) -> None:
    assert negotiate(None, accept) == format_
    assert negotiate("parquet", accept) == "parquet"


@pytest.mark.parametrize(("wanted", "accept"), [("xml", ""), (None, "image/png"), (None, "application/xml"), ("", "")])
def test_an_unknown_format_is_406_with_those_there_are(wanted: str | None, accept: str) -> None:
    with pytest.raises(Problem) as refused:
        negotiate(wanted, accept)
    assert refused.value.kind.status == 406
    assert refused.value.members["acceptable"] == list(formats.MEDIA.values())


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
    # The rows end a day before now. The second gap ends at the last row that is due.
    until = start + DAY, market.now - 40 * 60 - (market.now - 40 * 60) % HALF
    assert ask(f"{window}").get_json()["gaps"] == [hole, {"start": until[0], "end": until[1]}]
    assert ask(f"{window}&end={start + 6 * HOUR}&format=csv").headers["X-EMDS-Gaps"] == f"{hole['start']}/{hole['end']}"
    stated = pq.read_table(io.BytesIO(ask(f"{window}&end={start + 6 * HOUR}&format=parquet").data)).schema.metadata
    assert orjson.loads(stated[b"gaps"]) == [hole]


@pytest.mark.parametrize("time", ["utc", "local"])
@pytest.mark.parametrize("path", ["/v1/price/GB", "/v1/price?zones=GB,DE-LU"])
def test_a_parquet_response_has_the_envelope_for_every_reader(ask: Any, path: str, time: str) -> None:
    expected = ask(f"{path}{'&' if '?' in path else '?'}time={time}").get_json()
    expected.pop("data")
    body = ask(f"{path}{'&' if '?' in path else '?'}time={time}&format=parquet").data
    for metadata in (
        pq.read_table(io.BytesIO(body)).schema.metadata,
        pq.ParquetFile(io.BytesIO(body)).metadata.metadata,
    ):
        assert orjson.loads(metadata[b"emds"]) == expected
        assert b"license" in metadata


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
    """Add a second label that no row has, so that the general path computes the gaps."""
    ts = np.array(sorted(places), np.int64) * apart + 10**9
    label = RowLabels(None, None, None, "MW", "5m", "north", "north.grid")
    one = RowColumns((label,), np.zeros(len(ts), np.int32), ts, np.ones(len(ts)))
    any_ = RowColumns((label, label._replace(unit="kW")), one.label, ts, one.value)
    window = Window(int(ts[0]) - before * 300, int(ts[-1]) + behind * 300)
    due = DueSpan(0, int(ts[-1]) + 20 * 300, 300)
    assert missing_spans(one, window, due, "UTC") == missing_spans(any_, window, due, "UTC")


def test_at_most_twenty_holes_are_listed(ask: Any, market: Any) -> None:
    start = instant("2026-03-28T00:00:00Z")
    market.put("north.price", "AU-NSW", "price", market.every(start, HOUR, 30), "AUD/MWh", "30m")
    for hours, listed in ((20, 20), (21, 20)):
        body = ask(f"/v1/price/AU-NSW?start={start}&end={start + hours * HOUR}").get_json()
        assert (len(body["gaps"]), body.get("gaps_truncated", False)) == (listed, hours > 20)


def test_nothing_is_missing_before_a_feed_began_or_after_now(ask: Any, market: Any) -> None:
    began = instant("2016-01-01T00:00:00Z")  # the start of the tests' feeds
    old = ask(f"/v1/price/GB?start={began - 30 * DAY}&end={began + DAY}").get_json()
    assert (old["count"], old["gaps"]) == (0, [{"start": began, "end": began + DAY}])
    ahead = ask(f"/v1/demand/GB?start={market.now + HOUR}").get_json()
    assert (ahead["count"], ahead["gaps"]) == (0, [])


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
