"""Test `/v1/records`: each zone's hours below zero by year, and this year against the same period a year before."""

from __future__ import annotations

import base64
import json

import duckdb
import pytest

from api.settings import Facilitator
from assets.sql.mart_queries import MARTS, refresh, refresh_records, stale_months
from tests.api.conftest import Rig, asking
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.store import layout

UNITS = {"GB": "GBP/MWh", "DE-LU": "EUR/MWh"}


def make(rig: Rig) -> None:
    with duckdb.connect() as connection:
        refresh(rig.storage, connection, MARTS[0], None, (), rig.mode)
        refresh_records(rig.storage, connection, rig.mode)


@pytest.fixture
def years(rig: Rig) -> Rig:
    """Return hourly prices from 20 February to 29 March: GB's in two years, DE-LU's only in the first.

    The first two hours of each day are below zero: -10 and -20 in 2025, -1 and -2 in 2026.
    """
    for zone, year in (("GB", 2025), ("GB", 2026), ("DE-LU", 2025)):
        first, last = instant(f"{year}-02-20T00:00:00Z"), instant(f"{year}-03-30T00:00:00Z")
        scale = 10.0 if year == 2025 else 1.0
        rows = [
            (ts, -scale * (1 + ts % DAY // HOUR) if ts % DAY < 2 * HOUR else 50.0) for ts in range(first, last, HOUR)
        ]
        if year == 2025:  # before and after the current year's period
            rows += [(instant("2025-01-15T12:00:00Z"), -500.0), (instant("2025-06-15T12:00:00Z"), -700.0)]
        rig.put("north.price", zone, "price", sorted(rows), UNITS[zone], "1h")
    rig.publish()
    return rig


def test_this_year_stands_beside_the_same_span_of_the_year_before(years: Rig) -> None:
    make(years)
    body = asking(years)("/v1/records?metric=price")
    assert body["count"] == len(body["zones"]) == 24, "all but the one that is withheld"
    own = body["zones"]["GB"]
    this, before, whole = own["years"]["2026"], own["year_before"], own["years"]["2025"]
    days = (instant("2026-03-30T00:00:00Z") - instant("2026-02-20T00:00:00Z")) // DAY
    assert (this["negative_hours"], this["negative_sum"]) == (2 * days, -3.0 * days)
    assert (before["negative_hours"], before["negative_sum"]) == (2 * days, -30.0 * days)
    assert (before["since"], before["until"]) == ("2025-02-20", "2025-03-29")
    assert (this["since"], this["until"]) == ("2026-02-20", "2026-03-30"), "clocks changed on the 29th"
    assert (whole["negative_hours"], whole["negative_sum"]) == (2 * days + 2, -30.0 * days - 1200.0)
    assert (whole["lowest"]["value"], before["lowest"]["value"]) == (-700.0, -20.0)
    assert this["longest_negative"]["value"] == 2
    silent = body["zones"]["DE-LU"]
    assert (silent["year_before"], [*silent["years"]]) == (None, ["2025"]), "its last year is over"
    assert body["zones"]["FR"]["years"] == {}
    assert own["attribution"]


def test_one_zone_has_the_same_members(years: Rig) -> None:
    make(years)
    ask = asking(years)
    one, every = ask("/v1/records/GB"), ask("/v1/records")["zones"]["GB"]
    assert {name: one[name] for name in every} == every
    demand = ask("/v1/records?metric=demand")["zones"]["GB"]
    assert demand["years"] == {}


def test_every_zone_is_paid_for_and_a_sample_has_five(years: Rig) -> None:
    assert asking(years)("/v1/records", 503)["type"].endswith("/not-yet-available")
    make(years)
    client = years.client(
        pay_to="0x00000000000000000000000000000000DeaDBeef", facilitators=(Facilitator("http://127.0.0.1:9"),)
    )
    offer = json.loads(base64.b64decode(client.get("/v1/records").headers["PAYMENT-REQUIRED"]))
    assert offer["accepts"][0]["amount"] == str(24 * 2000)
    sample = client.get("/v1/records?sample=true").get_json()
    assert (sample["sample"], [*sample["zones"]]) == (True, ["AT", "AU-NSW", "AU-QLD", "AU-SA", "AU-TAS"])
    assert client.get("/v1/records?metric=capacity&sample=true").status_code == 400


def test_a_mart_that_an_earlier_query_made_is_made_again(years: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = MARTS[0].sql
    with monkeypatch.context() as patch:
        patch.setattr(type(MARTS[0]), "sql", property(lambda _: f"SELECT * EXCLUDE (negative_total) FROM ({sql})"))
        with duckdb.connect() as connection:
            refresh(years.storage, connection, MARTS[0], None, (), years.mode)
        assert stale_months(years.storage, years.mode, of=MARTS[:1]) == []
    assert "2026-02" in stale_months(years.storage, years.mode, of=MARTS[:1])
    key = layout.mart("daily", "price", "GB")
    before = years.storage.get(key)
    make(years)
    assert years.storage.get(key) != before
    assert asking(years)("/v1/records")["zones"]["GB"]["years"]["2026"]["negative_sum"] < 0
