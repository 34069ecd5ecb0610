"""Simulated Energy-Charts: the model's values over days of 92, 96 and 100 quarter hours, licences, shapes."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest

from assets.simulated import energy_charts, grid
from assets.sources import feed
from assets.sources.energy_charts import BIDDING_ZONES
from warehouse.clock import MarketDay, instant
from warehouse.errors import NotLicensed
from warehouse.market import Request

TZ = "Europe/Brussels"
DAYS = [MarketDay(date(2026, 11, 18), TZ), MarketDay(date(2026, 3, 29), TZ), MarketDay(date(2026, 10, 25), TZ)]
LATER = "2026-11-21T12:00:00Z"
TODAY = MarketDay(date(2026, 11, 21), TZ)


def answered(now=LATER, **params):
    request = Request("energy_charts.price", "https://api.energy-charts.info/price", tuple(params.items()))
    reply = energy_charts.answer(request, instant(now))
    return reply.status, json.loads(reply.body)


@pytest.mark.parametrize(("day", "quarters"), list(zip(DAYS, (96, 92, 100), strict=True)), ids=str)
def test_prices_are_the_grids(day, quarters, ask, inside):
    rows, refused = ask("energy_charts.price", [day], LATER)
    assert not refused
    for zone in BIDDING_ZONES:
        step = 3600 if zone == "CH" else 900
        ts = np.arange(day.start, day.end, step)
        readings = inside(rows, day, "price", zone)
        assert [r.ts for r in readings] == ts.tolist()
        assert len(readings) == (quarters // 4 if zone == "CH" else quarters)
        assert [r.value for r in readings] == grid.price(zone, ts, step, "day_ahead").round(2).tolist()


def test_tomorrow_comes_in_the_afternoon_and_is_not_found_before(ask):
    tomorrow = TODAY.next()
    for now, count in (("2026-11-21T13:39:00+01:00", 0), ("2026-11-21T13:41:00+01:00", 96)):
        rows, refused = ask("energy_charts.price", [TODAY, tomorrow], now)
        assert sum(r.ts in tomorrow.window for r in rows if r.zone == "FR") == count
        assert sum(r.ts in TODAY.window for r in rows if r.zone == "FR") == 96
        assert not refused
    rows, refused = ask("energy_charts.price", [tomorrow], "2026-11-21T09:00:00+01:00")
    assert not len(rows)
    assert len(refused) == len(BIDDING_ZONES)


def test_the_go_live_of_quarter_hours():
    _, reply = answered(bzn="NL", start="2025-09-30", end="2025-10-01")
    assert len(reply["price"]) == 24 + 96
    assert np.diff(reply["unix_seconds"]).tolist() == [3600] * 24 + [900] * 95


@pytest.mark.parametrize("name", ["ES", "SE3"])
def test_zones_that_are_not_free_say_so(name):
    status, reply = answered(bzn=name, start="2026-11-18", end="2026-11-18")
    assert (status, reply["license_info"]) == (200, energy_charts.RESTRICTED)
    with pytest.raises(NotLicensed):
        feed("energy_charts.price").parse(json.dumps(reply).encode(), Request("", "", zone="FR"))


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"bzn": "XX", "start": "2026-11-18", "end": "2026-11-18"}, 404),
        ({"bzn": "FR", "start": "18.11.2026", "end": "2026-11-18"}, 400),
        ({"bzn": "FR"}, 400),
        ({"bzn": "FR", "start": "2026-11-18", "end": "2026-11-17"}, 400),
        ({"bzn": "FR", "start": "2027-11-18", "end": "2027-11-18"}, 404),
    ],
)
def test_refusals(params, status):
    assert answered(**params)[0] == status


def test_other_addresses_are_not_there():
    assert (
        energy_charts.answer(Request("", "https://api.energy-charts.info/", (("bzn", "FR"),)), instant(LATER)).status
        == 404
    )


# Compared with recordings


def test_prices_are_written_as_recorded(recordings):
    body = (recordings / "energy_charts/price_DE-LU_2026-05-01_negative.json").read_bytes()
    expected = (recordings / "energy_charts/price_DE-LU_2026-05-01_negative.expected.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in expected]
    made = energy_charts.render_prices(
        energy_charts.FREE, [int(row[3]) for row in rows], [float(row[4]) for row in rows]
    )
    assert made == body.strip()


def test_the_hourly_answer_has_the_same_members(recordings):
    recorded = json.loads((recordings / "energy_charts/price_DE-LU_2024-12-10_hourly_pretty.json").read_bytes())
    _, made = answered(bzn="DE-LU", start="2024-12-10", end="2024-12-11")
    assert list(made) == list(recorded)
    assert made["unix_seconds"] == recorded["unix_seconds"]
    assert {name: made[name] for name in ("license_info", "unit", "deprecated")} == {
        name: recorded[name] for name in ("license_info", "unit", "deprecated")
    }


def test_the_restricted_licence_is_word_for_word(recordings):
    assert (recordings / "energy_charts/license_info_restricted.txt").read_text().strip() == energy_charts.RESTRICTED
