"""`kind=forecast`: which vintage answers, against a model of lists; pages of every size; formats, refusals, terms."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, NamedTuple

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.documents.catalogue import Catalogue
from api.series.page import Page, answer
from api.series.query import SeriesRequest
from tests.api.conftest import NOW, Rig, _rig_at, asking, fill
from tests.api.declared_sources import SOURCES, feed, source
from warehouse.documents.catalogue import ranks
from warehouse.market.clock import HOUR, instant
from warehouse.market.market import Forecast, Metric
from warehouse.rows.forecasts import Pick
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.reader import Reader
from warehouse.series.series import fold
from warehouse.store.storage import Folder

EDGE = 1_793_491_200
"""2026-11-01T00:00Z: windows around it lie in two month files."""
RANKS = {"east.ahead": 1, "west.ahead": 9}


class Version(NamedTuple):
    """A row of the model; the order of its first fields is that of an answer."""

    ts: int
    zone: str
    published_at: int
    resolution: str
    feed: str
    value: float
    known_at: int


def store_versions(folder: Folder) -> list[Version]:
    """Vintages of two zones: one each 3 hours by one feed, one each 5 by a feed of lower rank, whose late one is the
    only one of its hours; one vintage was corrected."""
    versions = []
    for zone in ("FR", "GB"):
        for feed_id, step, issues in (("east.ahead", 3, 9), ("west.ahead", 5, 6)):
            for issue in range(issues):
                published, known = EDGE + (issue * step - 14) * HOUR, EDGE + (issue * step - 13) * HOUR
                for hour in range(issue * step - 14, 16 - 3 * (feed_id < "w")):
                    value = 1000.0 * issue + hour + 0.5 * (zone == "GB")
                    versions.append(Version(EDGE + hour * HOUR, zone, published, "1h", feed_id, value, known))
        last = versions[-1]
        versions.append(last._replace(value=-7.0, known_at=last.known_at + HOUR))
    batches: dict[tuple[str, int], Rows] = {}
    for version in versions:
        key = SeriesKey(version.zone, Forecast.DEMAND, "MW", version.resolution)
        rows = batches.setdefault((version.feed, version.known_at), Rows())
        rows.extend_vintage(key, version.published_at, "body", [version.ts], [version.value])
    for (feed_id, known_at), rows in batches.items():
        fold(folder, feed_id, rows, {}, RANKS, known_at, "live")
    return versions


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, Catalogue, list[Version]]:
    folder = Folder(tmp_path_factory.mktemp("vintages"))
    versions = store_versions(folder)
    sources = {code: {"withheld": False, "name": code, "license": "", "attribution": ""} for code in ("east", "west")}
    return Reader(folder, 10_000_000), Catalogue(None, 0, {}, sources, {}, False, frozenset(), RANKS), versions  # type: ignore[arg-type]


def model(versions: list[Version], pick: Pick, zones: tuple[str, ...], start: int, end: int) -> list[Version]:
    """The versions that answer, by a plain reading of the rule."""
    known: dict[tuple[Any, ...], Version] = {}
    for version in versions:
        if pick.known_at is not None and version.known_at > pick.known_at:
            continue
        known[version[:5]] = version  # a correction comes later
    able = sorted(v for v in known.values() if v.zone in zones and start <= v.ts < end)
    if pick.every:
        return able
    by_interval: dict[tuple[int, str], list[Version]] = {}
    for version in able:
        early = pick.published_before is None or version.published_at <= pick.published_before
        if early and (pick.lead_s is None or version.published_at <= version.ts - pick.lead_s):
            by_interval.setdefault((version.ts, version.zone), []).append(version)
    return [min(of, key=lambda v: (RANKS[v.feed], -v.published_at)) for _, of in sorted(by_interval.items())]


def versions_of(page: Page) -> list[Version]:
    rows = page.rows
    places = [0] * page.count if page.place is None else page.place.tolist()
    labels = [rows.labels[code] for code in rows.label]
    assert rows.published_at is not None or not page.count
    published = [] if rows.published_at is None else rows.published_at.tolist()
    return [
        Version(ts, page.request.zones[place], at, label.resolution, label.feed, value, 0)
        for ts, place, at, label, value in zip(
            rows.ts.tolist(), places, published, labels, rows.value.tolist(), strict=True
        )
    ]


instants = st.one_of(st.none(), st.integers(-16, 20).map(lambda hour: EDGE + hour * HOUR))
leads = st.integers(0, 30).map(lambda hours: hours * HOUR)
picks = st.one_of(  # each member by hand: `builds` makes up what is left out
    st.tuples(instants, instants).map(lambda pair: Pick(known_at=pair[0], published_before=pair[1])),
    st.tuples(instants, leads).map(lambda pair: Pick(known_at=pair[0], lead_s=pair[1])),
    instants.map(lambda known_at: Pick(known_at=known_at, every=True)),
)


@settings(max_examples=80)
@given(
    pick=picks,
    zones=st.sampled_from([("GB",), ("FR", "GB")]),
    several=st.booleans(),
    order=st.sampled_from(["asc", "desc"]),
    start=st.integers(-16, 15),
    hours=st.integers(1, 34),
    limit=st.integers(1, 40),
)
def test_pages_of_any_size_are_the_versions_that_the_rule_names(
    warehouse: tuple[Reader, Catalogue, list[Version]],
    pick: Pick,
    zones: tuple[str, ...],
    several: bool,
    order: Any,
    start: int,
    hours: int,
    limit: int,
) -> None:
    reader, catalogue, versions = warehouse
    begin = EDGE + start * HOUR
    asked = SeriesRequest(
        Metric.DEMAND, zones, (Forecast.DEMAND,) * len(zones), begin, begin + hours * HOUR, limit, order,
        as_of=pick.known_at, several=several or len(zones) > 1, pick=pick,
    )  # fmt: skip
    found: list[Version] = []
    while True:
        page = answer(reader, catalogue, asked)
        assert page.count <= limit
        assert page.gaps == ()
        found += versions_of(page)
        if page.following is None:
            break
        asked = asked._replace(cursor=type(page.following).from_text(page.following.to_text()))
    expected = [version._replace(known_at=0) for version in model(versions, pick, zones, begin, begin + hours * HOUR)]
    assert found == (expected if order == "asc" else expected[::-1])


SHUT = source("shut", (*SOURCES["shut"].feeds, feed("shut.ahead", ("FR",), (Forecast.DEMAND,), "1h")), withheld=True)
NOON = NOW - NOW % HOUR


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Readings, and vintages of 26 and 4 hours ago and of now, over the last day and the next two."""
    with _rig_at(tmp_path_factory.mktemp("ahead") / "home") as rig:
        rig.sources = {**SOURCES, "shut": SHUT}
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


def test_the_catalogue_says_who_forecasts_what(ask: Any) -> None:
    zones = ask("/catalog")["zones"]
    entry = zones["GB"]["forecasts"]["demand"]
    assert [feed["id"] for feed in entry["feeds"]] == ["east.ahead"]
    assert (entry["first"], entry["last"], entry["rows"]) == (NOON - 24 * HOUR, NOON + 47 * HOUR, 72)
    assert zones["DE-LU"]["forecasts"] == {}


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


@pytest.fixture(scope="module")
def tool(ahead: Rig) -> Any:
    """Calls get_history with a key; checks what it answers against the tool's output schema."""
    client = ahead.client()
    headers = {
        **ahead.key(client),
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }

    def send(method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return client.post("/mcp", json=message, headers=headers).get_json()

    (listed,) = (each for each in send("tools/list")["result"]["tools"] if each["name"] == "get_history")
    schema = jsonschema.Draft202012Validator(listed["outputSchema"])

    def call(**arguments: Any) -> Any:
        result = send("tools/call", name="get_history", arguments=arguments)["result"]
        if "isError" not in result:
            schema.validate(result["structuredContent"])
        return result

    return call


def test_agents_get_the_same_forecast(ask: Any, tool: Any) -> None:
    rows = ask("/v1/demand/GB?kind=forecast&lead=4h")["data"]
    result = tool(zone="GB", metric="demand", kind="forecast", lead="4h")
    body, text = result["structuredContent"], result["content"][0]["text"]
    assert (body["kind"], body["lead"]) == ("forecast", "4h")
    columns = body["columns"] | {name: [value] * len(rows) for name, value in body["constant"].items()}
    for place, row in enumerate(rows):
        assert columns["value"][place] == row["value"]
        assert (columns["lead_s"][place], columns["basis"][place]) == (row["lead_s"], row["basis"])
        assert instant(columns["published_at"][place].replace("Z", ":00Z")) == row["published_at"]
    assert text.startswith("demand (the publisher's forecast) of GB (MW, 1h): 24 rows in [2026-03-30T12:00:00Z")
    assert "Published 2026-03-30T08:00Z to 2026-03-30T12:00Z." in text
    assert "lead_s" not in text, "the time of publication says it"
    cut = tool(zone="GB", metric="demand", kind="forecast", limit=5)["content"][0]["text"]
    assert "call again with start=" in cut
    assert "interval" not in cut, "which would be refused"


def test_the_link_to_the_next_page_writes_a_relative_time_out(ask: Any) -> None:
    """It would move on from page to page."""
    first = ask("/v1/demand/GB?kind=forecast&published_before=-1h&limit=2")
    link = ask.last.headers["Link"]
    assert f"&published_before={NOW - HOUR}&" in link
    assert "-1h" not in link
    following = ask(link.partition(">")[0].removeprefix("<http://emds.example"))
    assert following["published_before"] == first["published_before"] == NOW - HOUR
    assert following["data"][0]["ts"] == first["end"]
