"""Simulated EIA-930: the model's values by hour ends, null until reported, revised, in pages shaped as recorded."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.parsing.outside_areas import AMERICAN
from assets.simulated import eia, grid
from assets.sources import feed
from assets.sources.eia import RESPONDENTS
from warehouse.clock import HOUR, MarketDay, instant
from warehouse.market import Request
from warehouse.zones import ZONES

DAYS = [MarketDay(date(2026, 11, 20), "UTC"), MarketDay(date(2026, 3, 8), "UTC"), MarketDay(date(2026, 11, 1), "UTC")]
LATER = "2026-11-25T12:00:00Z"
URL = "https://api.eia.gov/v2/electricity/rto/{}/data/"


def starts(day):
    return np.arange(day.start, day.end, HOUR)


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("zone", list(RESPONDENTS.values()))
def test_demand_and_interchange_are_the_grids(day, zone, ask, inside):
    readings = inside(ask("eia.demand", [day], LATER)[0], day, "demand", zone)
    assert [r.ts for r in readings] == starts(day).tolist()
    assert [r.value for r in readings] == pytest.approx(grid.demand(zone, starts(day), HOUR), abs=0.501)
    rows, _ = ask("eia.interchange", [day], LATER)
    readings = inside(rows, day, "interchange", zone)
    assert [r.ts for r in readings] == starts(day).tolist()
    areas = grid.neighbours(zone)
    assert [r.value for r in readings] == [
        sum(round(mw) for mw in column)
        for column in zip(*(grid.border(zone, area, starts(day), HOUR).tolist() for area in areas), strict=True)
    ]
    published = {r.counterparty for r in rows if r.zone == zone and r.counterparty}
    assert len(published) == len(areas)
    assert published & set(ZONES) == set(areas) & set(ZONES)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_the_mix_is_the_grids(day, ask):
    rows, _ = ask("eia.generation", [day], LATER)
    mix = grid.generation("US-CAISO", starts(day), HOUR)
    published = {
        fuel: [r.value for r in rows.sorted() if r.fuel == fuel and r.ts in day.window]
        for fuel in {r.fuel for r in rows}
    }
    expected = {**mix, "other": mix["other"] + mix["biomass"], "oil": np.zeros(24)}
    del expected["biomass"]
    assert published.keys() == expected.keys()
    for fuel, values in published.items():
        assert values == pytest.approx(expected[fuel], abs=0.501)


def test_hours_are_null_until_their_authority_reports(ask):
    day, now = MarketDay(date(2026, 11, 20), "UTC"), "2026-11-20T12:20:00Z"
    page = json.loads(eia.answer(feed("eia.demand").requests([day], instant(now))[0], instant(now)).body)["response"][
        "data"
    ]
    newest = {row["respondent"]: row["value"] for row in page if row["period"] == "2026-11-20T11"}
    assert newest["CISO"] is not None
    assert newest["SWPP"] is None
    assert max(row["period"] for row in page) == "2026-11-20T11"
    rows, _ = ask("eia.demand", [day], now)
    assert max(r.ts for r in rows if r.zone == "US-CAISO") == instant("2026-11-20T10:00Z")
    assert max(r.ts for r in rows if r.zone == "US-SPP") == instant("2026-11-20T09:00Z")


def test_yesterdays_values_are_revised(ask, inside):
    day = DAYS[0]
    first, settled = (
        inside(ask("eia.demand", [day], now)[0], day, "demand", "US-PJM") for now in ("2026-11-21T06:00:00Z", LATER)
    )
    assert [r.ts for r in first] == [r.ts for r in settled]
    changed = [abs(a.value - b.value) for a, b in zip(first, settled, strict=True) if a.value != b.value]
    assert len(changed) > 12
    assert max(changed) < 0.005 * 130_000


def test_a_long_answer_comes_in_pages(ask, inside, monkeypatch):
    days = [MarketDay(date(2026, 10, d), "UTC") for d in range(1, 32)]
    monkeypatch.setattr(eia, "PAGE", 300)
    rows, _ = ask("eia.demand", days[:3], LATER)
    assert len(inside(rows, days[1], "demand", "US-ERCOT")) == 24


def test_other_addresses_are_not_there():
    assert eia.answer(Request("eia.demand", URL.format("daily-region-data")), instant(LATER)).status == 404


# Compared with recordings


def members(value):
    """The names of a document, in their order, and the types of its leaves."""
    if isinstance(value, dict):
        return {name: members(inner) for name, inner in value.items()}
    return [members(value[0])] if isinstance(value, list) and value else type(value).__name__


def test_borders_look_like_the_recorded_ones(recorded):
    body, rows = recorded("eia/interchange-data_CISO_20240101.json")
    codes = eia.CODE_OF_AREA | {AMERICAN[code]: code for code in eia.NAMES if code in AMERICAN}
    made = [eia.border_row("CISO", codes[r.counterparty], r.ts + HOUR, -r.value) for r in rows if r.counterparty]
    there = json.loads(body)
    assert sorted(made, key=str) == sorted(there["response"]["data"], key=str)
    params = {"start": "2024-01-01", "end": "2024-01-02", "frequency": "hourly", "offset": "0"}
    page = eia.render_page("interchange-data", made, params, {"fromba": ["CISO"]})
    ours = json.loads(page)
    assert list(ours) == list(there)
    assert members(ours) == members(there)
    assert [list(ours[name]) for name in ("response", "request")] == [
        list(there[name]) for name in ("response", "request")
    ]
    assert list(ours["request"]["params"]) == list(there["request"]["params"])
    assert {**ours["response"], "data": 0} == {**there["response"], "data": 0}
    start = body.index(b'"request"')
    assert page[page.index(b'"request"') :].replace(b"SIMULATED", b"<EIA_TOKEN>") == body[start:]


def test_demand_and_fuels_look_like_the_recorded_ones(recorded):
    body, rows = recorded("eia/region-data_D_20230101.json")
    codes = {zone: code for code, zone in RESPONDENTS.items()}
    made = [eia.region_row(codes[r.zone], "D", r.ts + HOUR, r.value) for r in rows]
    there = [row for row in json.loads(body)["response"]["data"] if row["respondent"] in RESPONDENTS]
    assert sorted(made, key=str) == sorted(({**row, "value": str(row["value"])} for row in there), key=str), (
        "texts since 2024"
    )
    body, rows = recorded("eia/fuel-type-data_20230101_offset0.json")
    there = [row for row in json.loads(body)["response"]["data"] if row["respondent"] == "CISO"]
    names = {
        "gas": "NG",
        "coal": "COL",
        "oil": "OIL",
        "nuclear": "NUC",
        "hydro": "WAT",
        "solar": "SUN",
        "wind": "WND",
        "other": "OTH",
    }
    made = [eia.fuel_row("CISO", names[r.fuel], r.ts + HOUR, r.value) for r in rows]
    assert sorted(made, key=str) == sorted(({**row, "value": str(row["value"])} for row in there), key=str)
    assert [list(row) for row in made[:1]] == [list(row) for row in there[:1]]


def test_a_cut_page_warns_as_the_recorded_one_does(recorded):
    body, _ = recorded("eia/fuel-type-data_20230101_offset0.json")
    there = json.loads(body)["response"]
    many = [eia.region_row("PJM", "D", i * HOUR, i) for i in range(9700)]
    ours = json.loads(eia.render_page("fuel-type-data", many, {"offset": "0"}, {}))["response"]
    assert ours["warnings"] == there["warnings"]
    assert (len(ours["data"]), ours["total"]) == (5000, "9700")
    assert list(ours) == list(there)
