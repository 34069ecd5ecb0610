"""Test `/v1/carbon`: published values and estimates, bounds and factors by format, and reasons of gaps."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import httpx
import orjson
import pyarrow.parquet as pq
import pytest

from assets.documents.publish import publish
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.sql.mart_queries import MARTS, refresh, refresh_records
from tests.api.conftest import NOW, Rig, _rig_at, asking
from tests.api.declared_sources import SOURCES, feed, source
from warehouse.documents import catalogue
from warehouse.market.carbon import CURRENT_SET, factor_set
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Forecast, Fuel, Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold

MIDNIGHT = instant("2026-03-29T22:00:00Z")
"""The start of Brussels' market day at NOW."""
OWN = source(
    "own",
    (
        feed(
            "own.mix", ("NL", "FR", "DK-1", "GB", "US-PJM"), (Metric.MIX,), "1h",
            optional_metrics=(Metric.CARBON_ESTIMATE,), tz="Europe/Brussels",
        ),
        feed("own.carbon", ("FR", "DK-1"), (Metric.CARBON,), "1h"),
        feed("own.ahead", ("DK-1",), (Forecast.CARBON,), "1h"),
    ),
)  # fmt: skip
CLEAN = {Fuel.NUCLEAR: 300.0, Fuel.WIND: 200.0, Fuel.GAS: 450.0, Fuel.WASTE: 50.0}
ESTIMATE = (450 * 412 + 50 * 600) / 1000
"""The estimate for CLEAN. Its bounds assume that no waste is fossil, and that all is."""
BOUNDS = (450 * 412 / 1000, (450 * 412 + 50 * 1320) / 1000)


def put_mix(rig: Rig, zone: str, by_hour: Mapping[int, Mapping[Fuel, float]], known_at: int = 1) -> None:
    """Fold the mix and the estimate of one response."""
    rows, mix = Rows(), MixByCode()
    for ts, fuels in by_hour.items():
        for fuel, megawatts in fuels.items():
            mix.add(Code(zone, fuel, fuel.value, "1h"), ts, megawatts)
    extend_mix(rows, mix)
    ranks, terms = catalogue.ranks(rig.sources, (), rig.mode), catalogue.terms(rig.sources, rig.mode)
    fold(rig.storage, "own.mix", rows, {}, ranks, known_at, rig.mode, terms)


def hours(start: int, count: int, fuels: Mapping[Fuel, float]) -> dict[int, Mapping[Fuel, float]]:
    """Return the same mix for `count` hours."""
    return {start + i * HOUR: fuels for i in range(count)}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """Yield a warehouse with a mix of the last day in four zones, three published series, and two forecasts."""
    with _rig_at(tmp_path_factory.mktemp("carbon") / "home") as rig:
        rig.sources = {**SOURCES, "own": OWN}
        for zone in ("FR", "DK-1", "GB", "US-PJM"):
            put_mix(rig, zone, hours(MIDNIGHT - DAY, 38, CLEAN))
        for zone, value in (("FR", 21.0), ("DK-1", 0.0)):
            rig.put("own.carbon", zone, "carbon", [(NOW - 10 * HOUR, value)], "gCO2/kWh", "1h")
        rig.put("north.intensity", "GB", "carbon_intensity", [(NOW - 10 * HOUR, 140.0)], "gCO2/kWh", "30m")
        for zone, metric, name in (("DK-1", Forecast.CARBON, "own.ahead"),
                                   ("GB", Forecast.CARBON_INTENSITY, "east.carbon")):  # fmt: skip
            rows, ahead = Rows(), [NOW - NOW % HOUR + i * HOUR for i in range(24)]
            key = SeriesKey(zone, metric, "gCO2/kWh", "1h")
            rows.extend_vintage(key, NOW - 120, "fetched", ahead, [float(i) for i in range(24)])
            fold(rig.storage, name, rows, {}, catalogue.ranks(rig.sources, (), rig.mode), NOW - 60, rig.mode)
        rig.publish()
        yield rig


@pytest.fixture(scope="module")
def ask(market: Rig) -> Any:
    return asking(market)


def test_a_zone_has_its_published_series_else_the_estimate(ask: Any) -> None:
    published = {"GB": (140.0, True), "FR": (21.0, False), "DK-1": (0.0, True)}
    for zone, (value, includes_imports) in published.items():
        body = ask(f"/v1/carbon/{zone}")
        assert [row["value"] for row in body["data"]] == [value], "zero is a value"
        assert (body["basis"], body["includes_imports"]) == ("published", includes_imports)
        assert not {"method", "factors"} & body.keys()
        assert body["data"][0].keys() == {"ts", "value", "unit", "resolution"}
    body = ask("/v1/carbon/US-PJM?limit=1")
    assert body["metric"] == "carbon"
    assert (body["basis"], body["includes_imports"], body["method"]) == ("estimate", False, "production-direct-1")
    assert body["factors"] == ["emds-direct-1"]
    low, high = BOUNDS
    assert body["data"][0] == {
        "ts": body["start"] - body["start"] % HOUR + HOUR, "value": ESTIMATE, "unit": "gCO2/kWh", "resolution": "1h",
        "low": low, "high": high, "factors": "emds-direct-1",
    }  # fmt: skip
    assert body["attribution"] == f"© Own Market Operator; {factor_set(CURRENT_SET).attribution}"
    assert ask("/v1/carbon/GB")["data"] == ask("/v1/carbon-intensity/GB")["data"]
    assert "basis" not in ask("/v1/carbon-intensity/GB")


def test_basis_estimate_compares_zones(ask: Any) -> None:
    body = ask("/v1/carbon?zones=FR,DK-1,GB,US-PJM&basis=estimate")
    assert {row["value"] for row in body["data"] if row["zone"] != "GB"} == {ESTIMATE}
    assert body["basis"] == dict.fromkeys(("DK-1", "FR", "GB", "US-PJM"), "estimate")
    assert ask("/v1/carbon/FR?basis=default") == ask("/v1/carbon/FR")


def test_several_zones_say_their_basis_each(ask: Any) -> None:
    body = ask("/v1/carbon?zones=FR,US-PJM")
    assert body["basis"] == {"FR": "published", "US-PJM": "estimate"}
    assert body["includes_imports"] == {"FR": False, "US-PJM": False}
    assert body["method"] == {"US-PJM": "production-direct-1"}
    assert body["factors"] == {"US-PJM": ["emds-direct-1"]}
    bounds = {(row["zone"], row["low"], row["high"], row["factors"]) for row in body["data"]}
    assert bounds == {("FR", None, None, None), ("US-PJM", *BOUNDS, "emds-direct-1")}
    assert ask("/v1/carbon?zones=all")["zones"] == sorted(ZONES)


@pytest.mark.parametrize("query", ["zones=FR,US-PJM", "zones=US-PJM&interval=1d&start=-3d"])
def test_every_format_has_the_bounds(ask: Any, query: str) -> None:
    rows = ask(f"/v1/carbon?{query}")["data"]
    assert rows
    ask(f"/v1/carbon?{query}&format=parquet")
    table = pq.read_table(io.BytesIO(ask.last.data))
    own = [{k: v for k, v in row.items() if k != "date"} for row in table.to_pylist()]
    assert own == [{k: v for k, v in row.items() if k != "date"} for row in rows]
    ask(f"/v1/carbon?{query}&format=csv")
    header, *lines = ask.last.text.replace('"', "").splitlines()
    cells = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    assert [cell["low"] for cell in cells] == ["" if row["low"] is None else str(row["low"]) for row in rows]
    assert [cell["factors"] for cell in cells] == [row["factors"] or "" for row in rows]
    assert orjson.loads(ask.last.headers["X-EMDS-Basis"])["US-PJM"] == "estimate"


def test_means_average_the_bounds_and_lose_the_factors_of_two_sets(rig: Rig) -> None:
    rig.sources = {**SOURCES, "own": OWN}
    for number, factors in enumerate(("emds-direct-1", "another-1")):
        rows = Rows()
        key = SeriesKey("US-PJM", "carbon_estimate", "gCO2/kWh", "1h", factors=factors)
        start = instant("2026-03-28T04:00:00Z") + (12 + 24 * number) * HOUR
        rows.extend(key, [start + i * HOUR for i in range(24)], [100.0 + number] * 24, [(90.0, 130.0 + number)] * 24)
        fold(rig.storage, "own.mix", rows, {}, catalogue.ranks(rig.sources, (), rig.mode), 1, rig.mode)
    rig.publish()
    ask, window = asking(rig), "start=2026-03-28&end=2026-03-30"
    first, second = ask(f"/v1/carbon/US-PJM?{window}&interval=1d")["data"]
    assert (first["value"], first["low"], first["high"], first["factors"]) == (100.0, 90.0, 130.0, "emds-direct-1")
    assert (second["value"], second["low"], second["high"], second["factors"]) == (100.5, 90.0, 130.5, None)
    month = ask("/v1/carbon/US-PJM?start=2026-03-23&end=2026-03-30&interval=1w")["data"]
    assert month == [], "less than half"
    assert [row["factors"] for row in ask(f"/v1/carbon/US-PJM?{window}&interval=1h")["data"]].count(None) == 0


def test_forecasts_are_those_of_gb_and_dk_1(ask: Any) -> None:
    for zone in ("GB", "DK-1"):
        body = ask(f"/v1/carbon/{zone}?kind=forecast")
        assert (body["metric"], body["kind"], body["basis"], body["count"]) == ("carbon", "forecast", "published", 24)
    assert ask("/v1/carbon/FR?kind=forecast", 404)["zones"] == ["GB", "DK-1"]
    assert ask("/v1/carbon/US-PJM?kind=forecast", 404)["zones"] == ["GB", "DK-1"]
    assert set(ask("/v1/carbon?zones=all&kind=forecast")["zones"]) == {"GB", "DK-1"}
    for path in ("/v1/carbon/GB?", "/v1/carbon/US-PJM?", "/v1/carbon?zones=all&"):
        assert ask(f"{path}basis=estimate&kind=forecast", 400)["errors"][0]["parameter"] == "basis"


def test_windows_compare_hours_where_carbon_is_forecast(ask: Any) -> None:
    for zone in ("GB", "DK-1"):
        body = ask(f"/v1/windows/{zone}?metric=carbon&hours=1")
        assert (body["available"], body["basis"], body["carbon_basis"]) == (True, "operator_forecast", "published")
        assert (body["metric"], body["unit"]) == ("carbon", "gCO2/kWh")
    for zone, basis in (("US-PJM", "estimate"), ("FR", "published")):
        body = ask(f"/v1/windows/{zone}?metric=carbon&hours=1")
        assert (body["available"], body["reason"], body["carbon_basis"]) == (False, "nothing_ahead", basis)
    british, same = (ask(f"/v1/windows/GB?metric={name}&hours=1") for name in ("carbon", "carbon_intensity"))
    assert {**british, "metric": "carbon_intensity"} == {**same, "carbon_basis": "published"}


def mcp(rig: Rig) -> Callable[..., Any]:
    """Return a function that calls an MCP tool with a new key."""
    client = rig.client()
    key = rig.key(client)["Authorization"].removeprefix("Bearer ")

    def call(name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": {**arguments, "api_key": key}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
        return client.post("/mcp", json=message, headers=headers).get_json()["result"]

    return call


def test_mcp_takes_the_basis(market: Rig) -> None:
    call = mcp(market)
    body = call("get_history", zone="US-PJM", metric="carbon")["structuredContent"]
    assert (body["basis"], body["factors"], body["constant"]["factors"]) == (
        "estimate", ["emds-direct-1"], "emds-direct-1",
    )  # fmt: skip
    assert call("get_history", zone="FR", metric="carbon", basis="estimate")["structuredContent"]["basis"] == "estimate"
    assert (
        call("get_statistics", zone="FR", metric="carbon", basis="estimate")["structuredContent"]["basis"] == "estimate"
    )
    assert call("get_history", zone="FR", metric="price", basis="estimate")["isError"]
    window = call("find_window", zone="DK-1", metric="carbon")
    assert window["structuredContent"]["available"]
    assert "DK-1 carbon, lowest 3 h by the operator's forecast" in window["content"][0]["text"]


def test_statistics_name_the_basis(ask: Any) -> None:
    body = ask("/v1/carbon/FR?stats=true&basis=estimate")
    assert (body["basis"], body["statistics"]["mean"]) == ("estimate", ESTIMATE)
    assert ask("/v1/carbon/FR?stats=true")["basis"] == "published"


def test_marts_and_records_keep_published_values_and_estimates_apart(market: Rig, ask: Any) -> None:
    with duckdb.connect() as connection:
        refresh(market.storage, connection, MARTS[0], None, (), market.mode)
        refresh_records(market.storage, connection, market.mode)
        days = f"SELECT zone, metric, max FROM '{market.home}/marts/daily/carbon*/*.parquet' WHERE date = '2026-03-30'"
        assert {*connection.execute(days).fetchall()} == {
            ("FR", "carbon", 21.0), ("DK-1", "carbon", 0.0), ("GB", "carbon_intensity", 140.0),
            *((zone, "carbon_estimate", ESTIMATE) for zone in ("FR", "DK-1", "GB", "US-PJM")),
        }  # fmt: skip
    zones = ask("/v1/records?metric=carbon")["zones"]
    found = {zone: (of["basis"], of["years"]["2026"]["highest"]["value"]) for zone, of in zones.items() if of["years"]}
    assert found == {
        "FR": ("published", 21.0), "DK-1": ("published", 0.0), "GB": ("published", 140.0),
        "US-PJM": ("estimate", ESTIMATE),
    }  # fmt: skip
    assert zones["US-PJM"]["attribution"].endswith(factor_set(CURRENT_SET).attribution)
    one = ask("/v1/records/US-PJM?metric=carbon")
    assert {name: one[name] for name in zones["US-PJM"]} == zones["US-PJM"]
    assert "basis" not in ask("/v1/records/GB?metric=carbon_intensity")


def test_the_client_returns_the_bounds_and_files_of_estimates(market: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "clients" / "python"))
    package = importlib.import_module("emds_client")
    app = market.client()
    key = market.key(app)["Authorization"].removeprefix("Bearer ")
    transport = httpx.WSGITransport(app=app.application)
    with package.Client("http://emds.example", key, transport=transport) as client:
        series = client.series("carbon", "US-PJM", start=MIDNIGHT, end=MIDNIGHT + 2 * HOUR)
        assert (series.envelope["basis"], series.envelope["factors"]) == ("estimate", [CURRENT_SET])
        frame = series.to_pandas()
        assert frame[["value", "low", "high"]].to_numpy().tolist() == [[ESTIMATE, *BOUNDS]] * 2
        assert client.series("carbon", "FR", basis="estimate").rows[0]["factors"] == CURRENT_SET
        assert {*client.bulk("carbon_estimate", "US-PJM")["low"]} == {BOUNDS[0]}
        found = client.windows("GB", metric="carbon", hours=1)
        assert (found["available"], found["carbon_basis"]) == (True, "published")


def test_the_catalogue_lists_each_stored_series_once(market: Rig) -> None:
    zones = market.client().get("/catalog").get_json()["zones"]
    listed = {zone: [m for m in of["metrics"] if m.startswith("carbon")] for zone, of in zones.items()}
    assert listed.pop("GB") == ["carbon_intensity", "carbon_estimate", "carbon"]
    assert listed.pop("FR") == listed.pop("DK-1") == ["carbon", "carbon_estimate"]
    assert {*map(tuple, listed.values())} == {("carbon_estimate",)}
    assert zones["GB"]["metrics"]["carbon"]["same_as"] == "carbon_intensity"
    assert zones["GB"]["metrics"]["carbon"]["rows"] == zones["GB"]["metrics"]["carbon_intensity"]["rows"] == 1
    bases = {(of["basis"], of["includes_imports"]) for zone in zones.values()
             for name, of in zone["metrics"].items() if name == "carbon_estimate"}  # fmt: skip
    assert bases == {("estimate", False)}
    assert zones["DK-1"]["metrics"]["carbon"]["basis"] == "published"
    assert "basis" not in zones["GB"]["metrics"]["carbon_intensity"]


def test_bulk_and_changes_list_stored_series_alone(market: Rig, ask: Any) -> None:
    files = ask("/v1/bulk")["files"]
    assert {(f["metric"], f["zone"]) for f in files if f["zone"] == "GB"} == {
        ("mix", "GB"), ("carbon_intensity", "GB"), ("carbon_estimate", "GB"),
    }  # fmt: skip
    (file,) = ask("/v1/bulk?metric=carbon-estimate&zone=US-PJM")["files"]
    assert file["attribution"].endswith(factor_set(CURRENT_SET).attribution)
    path = file["url"].removeprefix("http://emds.example").partition("?")[0]
    assert path == "/v1/bulk/carbon-estimate/US-PJM/2026-03.parquet"
    ask(path)
    table = pq.read_table(io.BytesIO(ask.last.data))
    assert {*table.column("low").to_pylist()} == {BOUNDS[0]}
    ask("/v1/bulk/carbon/GB/2026-03.parquet", 404)


# Reasons of gaps


DIRTY = CLEAN | {Fuel.OTHER: 400.0}
WIDE = {Fuel.GAS: 100.0, Fuel.WIND: 200.0, Fuel.NUCLEAR: 100.0, Fuel.WASTE: 600.0}


def test_a_zone_that_is_refused_for_three_days_says_why_and_has_no_gap_in_its_mix(rig: Rig) -> None:
    rig.sources = {**SOURCES, "own": OWN}
    start, until = MIDNIGHT - 3 * DAY, NOW - NOW % HOUR - HOUR
    for day in range(4):
        first = start + day * DAY
        put_mix(rig, "NL", hours(first, min(24, (until - first) // HOUR), DIRTY))
    rig.publish()
    ask = asking(rig)
    body = ask(f"/v1/carbon/NL?start={start}&end={until}")
    assert (body["count"], body["basis"], body["factors"]) == (0, "estimate", [])
    assert body["gaps"] == [{"start": start, "end": until, "reason": "other_share"}]
    assert ask(f"/v1/mix/NL?start={start}&end={until}")["gaps"] == []
    means = ask(f"/v1/carbon/NL?start={start}&end={until}&interval=1d")
    assert [gap["reason"] for gap in means["gaps"]] == ["other_share"]
    several = ask(f"/v1/carbon?zones=NL&start={start}&end={until}")
    assert several["gaps"] == [{"zone": "NL", "start": start, "end": until, "reason": "other_share"}]
    ask(f"/v1/carbon/NL?start={start}&end={until}&format=csv")
    assert ask.last.headers["X-EMDS-Gaps"] == f"{start}/{until}/other_share"
    call, reason = mcp(rig), "The generation mix does not allow an estimate (other_share; see /docs/carbon)."
    windows = ({}, {"start": start, "end": until}, {"start": start, "end": "2026-07"}, {"start": "-1h"})
    for window in windows:  # an hour is too short for a gap
        assert call("get_history", zone="NL", metric="carbon", **window)["structuredContent"]["reason"] == reason
        assert reason in call("get_statistics", zone="NL", metric="carbon", **window)["content"][0]["text"]
    put_mix(rig, "NL", hours(start - DAY, 24, CLEAN))
    rig.publish()
    known = call("get_history", zone="NL", metric="carbon")["structuredContent"]["reason"]
    assert known.startswith(f"{reason[:-1]}; the last row before it begins at ")
    ahead = call("get_history", zone="NL", metric="carbon", start="tomorrow")["structuredContent"]["reason"]
    assert ahead.startswith("Data is available from")


def test_a_refused_zone_stays_current_and_is_charged_like_one_that_is_not(rig: Rig) -> None:
    """Compare NL, which is refused, with FR, which has a published value for each hour, in documents and rows."""
    load = feed("own.load", ("FR", "NL"), (Metric.DEMAND,), "1h", publication=Publication(60, grace_minutes=60))
    rig.sources = {**SOURCES, "own": replace(OWN, feeds=(*OWN.feeds, load))}
    start, until = MIDNIGHT - 3 * DAY, NOW - NOW % HOUR
    for day in range(4):
        first = start + day * DAY
        put_mix(rig, "NL", hours(first, min(24, (until - first) // HOUR), DIRTY))
        put_mix(rig, "FR", hours(first, min(24, (until - first) // HOUR), CLEAN))
    for zone in ("FR", "NL"):
        rig.put("own.load", zone, "demand", rig.every(start, HOUR, 86), "MW", "1h")
    rig.put("own.carbon", "FR", "carbon", rig.every(start, HOUR, 86, lambda _: 21.0), "gCO2/kWh", "1h")
    rig.publish()
    publish(rig.storage, NOW)
    ask = asking(rig)
    charged = {}
    for path in ("latest/{}", "brief/{}", f"carbon/{{}}?start={start}&end={until}", "map/snapshot?zones={}"):
        for zone in ("FR", "NL"):
            before = ask("/v1/usage")["quota"]["used"]
            body = ask(f"/v1/{path.format(zone)}")
            assert "X-EMDS-Stale" not in ask.last.headers, path
            charged.setdefault(path, []).append(ask("/v1/usage")["quota"]["used"] - before)
            body = body.get("zones", {}).get(zone, body) if "snapshot" in path else body
            if not path.startswith("carbon"):
                assert body.get("carbon_omitted") == ("other_share" if zone == "NL" else None), path
                assert body["valid_until"] > NOW
    assert {*map(tuple, charged.values())} == {(1, 1)}


def test_a_gap_is_cut_where_the_reason_changes(rig: Rig) -> None:
    rig.sources = {**SOURCES, "own": OWN}
    start = MIDNIGHT - DAY
    mix = hours(start, 4, CLEAN) | hours(start + 4 * HOUR, 2, DIRTY) | hours(start + 6 * HOUR, 3, WIDE)
    mix |= hours(start + 10 * HOUR, 14, CLEAN)  # the hour in between has no mix
    mix[start + 20 * HOUR] = {fuel: value for fuel, value in CLEAN.items() if fuel is not Fuel.WASTE}
    put_mix(rig, "NL", mix)
    rig.publish()
    ask, path = asking(rig), f"/v1/carbon/NL?start={start}&end={start + DAY}"
    body = ask(path)
    found = [(gap["start"], gap["end"], gap.get("reason")) for gap in body["gaps"]]
    assert [((first - start) // HOUR, (last - start) // HOUR, reason) for first, last, reason in found] == [
        (4, 6, "other_share"), (6, 9, "wide"), (9, 10, None), (20, 21, "fuel_missing"),
    ]  # fmt: skip
    etag, before = ask.last.headers["ETag"], body["gaps"]
    # A corrected mix that only changes a reason changes the response and its ETag.
    put_mix(rig, "NL", hours(start + 4 * HOUR, 2, WIDE | {Fuel.OTHER: 0.0}), known_at=NOW - HOUR)
    rig.publish()
    assert ask(path)["gaps"] != before
    assert ask.last.headers["ETag"] != etag
    assert ask(f"{path}&as_of={NOW - 2 * HOUR}")["gaps"] == before


def test_a_gap_of_which_only_the_response_showed_the_cause_has_no_reason(rig: Rig) -> None:
    rig.sources = {**SOURCES, "own": OWN}
    rows, mix = Rows(), MixByCode()
    for ts, fuels in hours(MIDNIGHT - DAY, 24, CLEAN).items():
        for fuel, megawatts in fuels.items():
            mix.add(Code("NL", fuel, fuel.value, "1h"), ts, megawatts)
        mix.unknown["NL"][ts] = 900.0  # generation of a code that this service does not know
    extend_mix(rows, mix)
    fold(rig.storage, "own.mix", rows, {}, catalogue.ranks(rig.sources, (), rig.mode), 1, rig.mode)
    rig.publish()
    body = asking(rig)(f"/v1/carbon/NL?start={MIDNIGHT - DAY}&end={MIDNIGHT}")
    assert body["count"] == 0
    assert body["gaps"] == [{"start": MIDNIGHT - DAY, "end": MIDNIGHT}]
