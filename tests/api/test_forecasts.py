"""Test `kind=forecast`: the vintage that is returned, pages of every size, formats, refusals and terms."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.api.conftest import NOW, Rig, _rig_at, asking, fill
from tests.api.declared_sources import SOURCES, feed, source
from warehouse.documents.catalogue import ranks
from warehouse.market.clock import HOUR, instant
from warehouse.market.vocabulary import Forecast
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold

SHUT = source("shut", (*SOURCES["shut"].feeds, feed("shut.ahead", ("FR",), (Forecast.DEMAND,), "1h")), withheld=True)
EAST = source("east", (*SOURCES["east"].feeds, feed("east.mix", ("GB",), (Forecast.MIX,), "1h")))
NOON = NOW - NOW % HOUR


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Yield actual values, and vintages of 26 and 4 hours ago and of now, for the last day and the next two."""
    with _rig_at(tmp_path_factory.mktemp("ahead") / "home") as rig:
        rig.sources = {**SOURCES, "shut": SHUT, "east": EAST}
        fill(rig)
        for zone, metric, unit, feed_id in (
            ("GB", Forecast.DEMAND, "MW", "east.ahead"),
            ("US-NYISO", Forecast.DEMAND, "MW", "east.ahead"),
            ("GB", Forecast.CARBON_INTENSITY, "gCO2/kWh", "east.carbon"),
            ("AU-NSW", Forecast.PRICE, "AUD/MWh", "east.price"),
            ("FR", Forecast.DEMAND, "MW", "shut.ahead"),
        ):
            rows = Rows()
            hours = [NOON + i * HOUR for i in range(-24, 48)]
            for back, basis in ((26, "name"), (4, "body"), (0, "fetched")):
                key = SeriesKey(zone, metric, unit, "1h")
                rows.extend_vintage(key, NOON - back * HOUR, basis, hours, [30_000.0 + back] * 72)  # type: ignore[arg-type]
            fold(rig.storage, feed_id, rows, {}, ranks(rig.sources, (), rig.mode), NOW - 60, rig.mode)
        mix = Rows()
        for fuel, back in (("wind", 26), ("solar", 4), ("wind", 4), ("wind", 0)):
            key = SeriesKey("GB", Forecast.MIX, "MW", "1h", fuel)
            mix.extend_vintage(key, NOON - back * HOUR, "body", hours, [1_000.0 + back] * 72)
        fold(rig.storage, "east.mix", mix, {}, ranks(rig.sources, (), rig.mode), NOW - 60, rig.mode)
        rig.publish()
        yield rig


@pytest.fixture(scope="module")
def ask(ahead: Rig) -> Any:
    return asking(ahead)


def test_a_row_says_when_it_was_published_how_long_ahead_and_by_what(ask: Any) -> None:
    body = ask("/v1/demand/GB?kind=forecast&limit=1")
    assert body == {
        "zone": "GB", "metric": "demand", "kind": "forecast", "start": NOON, "end": NOON + HOUR, "count": 1,
        "truncated": True, "attribution": "© East Market Operator", "license": "East Market Operator: CC BY 4.0",
        "sources": ["east"],
        "data": [{"ts": NOON, "value": 30_000.0, "unit": "MW", "resolution": "1h", "basis": "fetched",
                  "published_at": NOON, "lead_s": 0}],
    }  # fmt: skip
    whole = ask("/v1/demand/GB?kind=forecast")
    assert [row["ts"] for row in whole["data"]] == [NOON + i * HOUR for i in range(24)], "by default the next 24 hours"


READINGS = (
    "demand/GB?start=2026-03-29&end=2026-04-02",
    "demand/GB?start=2026-03-29&end=2026-04-02&interval=1d",
    "demand/GB?start=2026-03-29&end=2026-04-02&stats=true",
    "demand?zones=all&start=2026-03-30&end=2026-04-02",
    "carbon-intensity/GB?end=2026-04-02",
)


@pytest.mark.parametrize("path", READINGS)
def test_readings_are_those_of_a_warehouse_without_forecasts(ask: Any, shared_market: Rig, path: str) -> None:
    path = f"/v1/{path}".replace("=2026-03-29", f"={NOON - 30 * HOUR}").replace("=2026-03-30", f"={NOON - 6 * HOUR}")
    path = path.replace("=2026-04-02", f"={NOON + 60 * HOUR}")
    assert ask(path) == asking(shared_market)(path)


@pytest.mark.parametrize(
    ("query", "back"),
    [
        ("", 0),
        (f"&published_before={NOON - HOUR}", 4),
        (f"&published_before={NOON}", 0),
        ("&lead=24h", 26),
        ("&lead=4", 4),
        ("&lead=0", 0),
        (f"&lead=4h&as_of={NOW - 120}", None),
        (f"&as_of={NOW - 30}", 0),
    ],
)
def test_the_parameters_pick_the_vintage(ask: Any, query: str, back: int | None) -> None:
    body = ask(f"/v1/demand/GB?kind=forecast&start={NOON}&end={NOON + HOUR}{query}")
    assert [row["value"] for row in body["data"]] == ([] if back is None else [30_000.0 + back])
    assert body.get("published_before") == (int(query.split("=")[1]) if "published_before" in query else None)
    assert body.get("lead") == (query.split("=")[1].split("&")[0].removesuffix("h") + "h" if "lead" in query else None)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("more", ["vintages=all", "lead=4h"])
def test_pages_give_every_vintage_of_every_fuel_once(ask: Any, more: str, order: str) -> None:
    path = f"/v1/mix/GB?kind=forecast&{more}&start={NOON}&end={NOON + 3 * HOUR}&order={order}"
    whole = ask(path)["data"]
    assert len(whole) == 3 * (4 if more == "vintages=all" else 2)
    keys = [(row["ts"], row["fuel"], row["published_at"]) for row in whole]
    assert keys == sorted(keys, reverse=order == "desc")
    for limit in (1, 2, 3, 5):
        page, walked = f"{path}&limit={limit}", []
        while page:
            walked += ask(page)["data"]
            page = ask.last.headers.get("Link", "").partition(">")[0].removeprefix("<http://emds.example")
        assert walked == whole, limit


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("more", ["vintages=all", "lead=4h"])
def test_pages_give_every_vintage_once(ask: Any, more: str, order: str) -> None:
    """Check pages only. A model in the warehouse's tests checks which vintages are returned."""
    path = f"/v1/demand?zones=GB,US-NYISO&kind=forecast&{more}&start={NOON}&end={NOON + 3 * HOUR}&order={order}"
    whole = ask(path)["data"]
    assert len(whole) == 3 * 2 * (3 if more == "vintages=all" else 1)
    for limit in (1, 4):
        page, walked = f"{path}&limit={limit}", []
        while page:
            walked += ask(page)["data"]
            link = ask.last.headers.get("Link", "")
            page = link.partition(">")[0].removeprefix("<http://emds.example")
        assert walked == whole, limit


def test_every_format_holds_the_same_rows_and_columns(ask: Any) -> None:
    path = "/v1/demand?zones=GB,US-NYISO&kind=forecast&vintages=all"
    rows = ask(path)["data"]
    assert len(rows) == 2 * 3 * 24
    assert [*rows[0]][-3:] == ["basis", "published_at", "lead_s"]
    ask(f"{path}&format=csv")
    lines = [line.replace('"', "").split(",") for line in ask.last.text.splitlines()]
    assert lines[0] == [*rows[0]]
    assert [[str(row[name]) for name in row] for row in rows] == lines[1:]
    assert (ask.last.headers["X-EMDS-Kind"], ask.last.headers["X-EMDS-Vintages"]) == ("forecast", "all")
    ask(f"{path}&format=parquet")
    table = pq.read_table(io.BytesIO(ask.last.data))
    assert table.to_pylist() == rows
    assert table.schema.field("published_at").type == table.schema.field("lead_s").type == pa.int64()
    ask(f"{path}&format=arrow")
    assert pa.ipc.open_stream(ask.last.data).read_all().to_pylist() == rows


@pytest.mark.parametrize(
    ("path", "zones"),
    [
        ("/v1/demand/DE-LU?kind=forecast", ["US-NYISO", "GB", "FR"]),
        ("/v1/demand?zones=GB,DE-LU&kind=forecast", ["US-NYISO", "GB", "FR"]),
        ("/v1/price/GB?kind=forecast", ["AU-NSW"]),
        ("/v1/carbon-intensity/FR?kind=forecast", ["GB"]),
    ],
)
def test_a_zone_without_a_forecast_is_404_with_the_zones_that_have_one(ask: Any, path: str, zones: list[str]) -> None:
    problem = ask(path, 404)
    assert problem["type"].endswith("/metric-not-available")
    assert sorted(problem["zones"]) == sorted(zones)


def test_a_forecast_that_its_publisher_keeps_in_is_withheld(ask: Any) -> None:
    assert ask("/v1/demand/FR?kind=forecast", 404)["type"].endswith("/withheld-by-terms")
    assert ask("/v1/demand?zones=all&kind=forecast")["zones"] == ["GB", "US-NYISO"]


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("demand/GB?kind=forecast&published_before=2026-03-30&lead=1h", "lead"),
        ("demand/GB?kind=forecast&vintages=all&lead=1h", "vintages"),
        ("demand/GB?kind=forecast&vintages=all&start=2026-03-27&end=2026-03-31", "start"),
        ("demand/GB?kind=forecast&interval=1h", "interval"),
        ("price/AU-NSW?kind=forecast&market=day_ahead", "market"),
        ("demand/GB?lead=1h", "lead"),
        ("demand/GB?kind=forecast&lead=0.1h", "lead"),
        ("demand/GB?kind=forecast&lead=200h", "lead"),
        ("generation/GB?kind=forecast", "kind"),
    ],
)
def test_what_makes_no_sense_of_a_forecast_is_refused(ask: Any, path: str, parameter: str) -> None:
    assert parameter in [fault["parameter"] for fault in ask(f"/v1/{path}", 400)["errors"]]


def test_an_unchanged_forecast_is_304_until_its_publisher_says_more(ask: Any, ahead: Rig) -> None:
    path = f"/v1/carbon-intensity/GB?kind=forecast&start={NOON}&end={NOON + HOUR}"
    ask(path)
    tag = ask.last.headers["ETag"]
    ask(f"{path}&lead=1h")
    assert ask.last.headers["ETag"] != tag
    client = ahead.client()
    headers = {**ahead.key(client), "If-None-Match": tag}
    assert client.get(path, headers=headers).status_code == 304
    rows = Rows()
    rows.extend_vintage(
        SeriesKey("GB", Forecast.CARBON_INTENSITY, "gCO2/kWh", "1h"), NOON + 60, "fetched", [NOON], [99.0]
    )
    fold(ahead.storage, "east.carbon", rows, {}, ranks(ahead.sources, (), ahead.mode), NOW, ahead.mode)
    answer = client.get(path, headers=headers)
    assert (answer.status_code, answer.get_json()["data"][0]["value"]) == (200, 99.0)
    assert answer.get_json()["data"][0]["lead_s"] == -60


def test_agents_get_the_same_forecast(ask: Any, ahead: Rig) -> None:
    rows = ask("/v1/demand/GB?kind=forecast&lead=4h")["data"]
    client = ahead.client()
    asked = {"zone": "GB", "metric": "demand", "kind": "forecast", "lead": "4h"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_history", "arguments": asked}}
    headers = {**ahead.key(client), "MCP-Protocol-Version": "2025-11-25"}
    result = client.post("/mcp", json=message, headers=headers).get_json()["result"]
    body, text = result["structuredContent"], result["content"][0]["text"]
    assert (body["kind"], body["lead"]) == ("forecast", "4h")
    columns = body["columns"] | {name: [value] * len(rows) for name, value in body["constant"].items()}
    for name in ("value", "lead_s", "basis"):
        assert list(columns[name]) == [row[name] for row in rows]
    published = [instant(stamp.replace("Z", ":00Z")) for stamp in columns["published_at"]]
    assert published == [row["published_at"] for row in rows]
    assert text.startswith("demand (the publisher's forecast) of GB: 24 rows in [2026-03-30T12:00:00Z, ")


def test_the_link_to_the_next_page_writes_a_relative_time_out(ask: Any) -> None:
    """Check that the link states the time itself, because a relative time would move from page to page."""
    first = ask("/v1/demand/GB?kind=forecast&published_before=-1h&limit=2")
    link = ask.last.headers["Link"]
    assert f"&published_before={NOW - HOUR}&" in link
    assert "-1h" not in link
    following = ask(link.partition(">")[0].removeprefix("<http://emds.example"))
    assert following["published_before"] == first["published_before"] == NOW - HOUR
    assert following["data"][0]["ts"] == first["end"]
