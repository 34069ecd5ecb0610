"""Test RTE: records of France and their mix, two data sets with different columns, market prices below `liste`."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from assets import sources
from assets.fetch.credentials import Credentials
from assets.simulated import Simulated
from assets.sources.rte.eco2mix import CONSOLIDATED, REAL_TIME, REAL_TIME_FUELS
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, instant, iso
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows

ECO2MIX, OLDER, PRICE = (sources.feed(f"rte.{name}") for name in ("eco2mix", "eco2mix_consolidated", "market_price"))
NOON = instant("2026-11-20T12:00:00Z")
T = instant("2026-11-20T00:00:00Z")
ALL = {
    "nucleaire": 48_000,
    "charbon": 7,
    "gaz": 2_400,
    "gaz_ccg": 1_900,
    "fioul": "60",
    "hydraulique": 5_100,
    "hydraulique_fil_eau_eclusee": 3_800,
    "hydraulique_lacs": 900,
    "hydraulique_step_turbinage": 400,
    "pompage": -30,
    "eolien": 6_100,
    "eolien_terrestre": "5300",
    "eolien_offshore": "800",
    "solaire": 0,
    "bioenergies": 840,
    "bioenergies_biomasse": 400,
    "bioenergies_biogaz": 270,
    "bioenergies_dechets": 170,
    "destockage_batterie": "0",
    "stockage_batterie": "-12",
    "consommation": 54_000,
    "ech_physiques": -9_000,
    "taux_co2": 21,
}


def body(*records, step=900):
    whole = [{"date_heure": iso(T + step * i), **record} for i, record in enumerate(records)]
    return json.dumps({"total_count": len(whole), "results": whole}).encode()


def mix(content: bytes) -> dict[str | None, float]:
    """Return the mix of the first interval."""
    return {row.fuel: row.value for row in rows(content) if row.metric == "mix" and row.ts == T}


def rows(content: bytes) -> Rows:
    return ECO2MIX.parse(content, Request("rte.eco2mix", ""))


def test_parts_are_read_or_totals_never_both():
    assert mix(body(ALL, ALL)) == {
        "nuclear": 48_000.0,
        "coal": 7.0,
        "gas": 2_400.0,
        "oil": 60.0,
        "hydro": 4_700.0,
        "pumped_storage": 370.0,
        "wind_onshore": 5_300.0,
        "wind_offshore": 800.0,
        "solar": 0.0,
        "biomass": 670.0,
        "waste": 170.0,
        "battery": -12.0,
    }


def test_storage_stands_alone_where_one_side_has_no_value():
    first = mix(body(ALL | {"hydraulique_step_turbinage": None, "stockage_batterie": "ND"}, ALL))
    assert (first["pumped_storage"], first["battery"]) == (-30.0, 0.0)


def test_half_a_sum_is_no_row():
    first = mix(body(ALL | {"bioenergies_biogaz": None, "hydraulique_lacs": None}, ALL))
    assert not {"biomass", "hydro"} & first.keys()
    assert first["waste"] == 170.0


def test_a_response_without_the_parts_of_wind_has_no_wind_and_no_estimate():
    """Read both forms: "ND" in the real-time set until late 2022, and a consolidated set without the columns."""
    texts = dict.fromkeys(("eolien_terrestre", "eolien_offshore", "stockage_batterie", "destockage_batterie"), "ND")
    old = mix(body(ALL | texts, ALL | texts))
    assert not {"wind", "wind_onshore", "wind_offshore", "battery"} & old.keys()
    assert old["nuclear"] == 48_000.0
    assert "carbon_estimate" in {row.metric for row in rows(body(ALL, ALL))}
    assert "carbon_estimate" not in {row.metric for row in rows(body(ALL | texts, ALL | texts))}
    assert mix(body(*[{name: ALL[name] for name in ALL.keys() - texts.keys()}] * 2)) == old
    once = mix(body(ALL | texts, ALL))
    assert "wind" not in once, "the response has the parts, later in the day"


def test_no_reading_is_a_text_in_columns_of_the_mix_alone():
    with pytest.raises(FeedChanged):
        rows(body(ALL | {"consommation": "ND"}, ALL))
    with pytest.raises(FeedChanged):
        rows(body(ALL | {"nucleaire": "n.a."}, ALL))


def test_a_response_of_before_the_mix_has_none():
    old = rows(body(*[{"consommation": 54_000, "ech_physiques": -9_000}] * 2))
    assert {row.metric for row in old} == {"demand", "interchange"}
    assert old.dropped == {}


def test_half_hours_are_told_from_quarter_hours_by_the_whole_mix():
    halves = rows(body(ALL, {}, ALL, {}, ALL))
    assert {row.resolution for row in halves if row.metric == "mix"} == {"30m"}
    sparse = rows(body(ALL, {"solaire": 3}, ALL))
    assert {row.resolution for row in sparse if row.metric == "mix"} == {"15m"}


@pytest.mark.parametrize(("age", "dataset"), [(0, REAL_TIME), (300, CONSOLIDATED)])
def test_each_data_set_is_asked_for_the_columns_that_it_has(age, dataset, monkeypatch):
    """Select only existing columns, since the publisher rejects any other and demand would be lost with the mix."""
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    day = MarketDay(date(2026, 11, 20) - timedelta(days=age), "Europe/Paris")
    (request,) = (ECO2MIX if dataset == REAL_TIME else OLDER).requests([day], NOON)
    selected = set(dict(request.params)["select"].split(","))
    assert f"/{dataset}/" in request.url
    assert (selected >= REAL_TIME_FUELS.keys()) == (dataset == REAL_TIME)
    assert "taux_co2" in selected
    reply = Simulated()(request, Credentials({}))
    assert reply.status == 200
    fuels = {row.fuel for row in rows(reply.body) if row.metric == "mix"}
    assert ("wind_onshore" in fuels) == (dataset == REAL_TIME)
    assert "wind" not in fuels
    assert ("battery" in fuels) == (dataset == REAL_TIME)


QUARTERS = ("2026-06-17T10:00:00+00:00", "2026-06-17T10:15:00+00:00")


def read(**names):
    records = [{"date_heure": at, "consommation": 2300, "ech_physiques": -100, **names} for at in QUARTERS]
    body = json.dumps({"total_count": 2, "results": records}).encode()
    return ECO2MIX.parse(body, Request(ECO2MIX.id, ""))


def test_only_records_of_france_are_read():
    assert len(read(perimetre="France")) == len(read()) == 4
    for names in ({"perimetre": "Bretagne"}, {"libelle_region": "Bretagne"}, {"perimetre": None}):
        with pytest.raises(FeedChanged):
            read(**names)


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"<html><body><h1>Site en maintenance</h1></body></html>", FeedChanged),
        (b"<erreur><code>12</code></erreur>", FeedChanged),
        (b"<liste><date_debut>2026-11-29</date_debut></liste>", NotPublished),
    ],
)
def test_no_price_is_not_yet_published_only_in_a_list_of_prices(body, failure):
    with pytest.raises(failure):
        PRICE.parse(body, Request(PRICE.id, ""))


def test_a_day_that_has_moved_is_requested_from_the_consolidated_set():
    (asked,) = ECO2MIX.requests([MarketDay(date(2026, 6, 17), ECO2MIX.tz)], 0)
    assert "/eco2mix-national-tr/" in asked.url
    (moved,) = ECO2MIX.follow(b'{"total_count": 0, "results": []}', asked)
    (older,) = OLDER.requests([MarketDay(date(2026, 6, 17), OLDER.tz)], 0)
    assert (moved.feed, moved.url, moved.params, moved.days) == (ECO2MIX.id, older.url, older.params, older.days)
    assert ECO2MIX.follow(b'{"total_count": 0, "results": []}', moved) == [], "neither set has the day"
    assert ECO2MIX.follow(b'{"total_count": 1, "results": [{"consommation": 1}]}', asked) == []


def test_every_day_is_requested_from_the_consolidated_set_when_it_is_there():
    """Check that a scheduled run begins where the real-time feed ends, so that it requests every day."""
    assert OLDER.newest_offset == -ECO2MIX.reach_days
    assert OLDER.revised_days > ECO2MIX.reach_days
    assert OLDER.rank < ECO2MIX.rank
    (asked,) = OLDER.requests([MarketDay(date(2026, 1, 17), OLDER.tz)], 0)
    assert "/eco2mix-national-cons-def/" in asked.url
