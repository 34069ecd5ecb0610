"""EIA-930: periods are hour ends, answers come cut, unordered and as texts, and a sum waits for all its parts."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import clock
from warehouse.market.clock import MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows

DEMAND, INTERCHANGE, GENERATION = (sources.feed(f"eia.{name}") for name in ("demand", "interchange", "generation"))
WARNING = [{"warning": "incomplete return", "description": "The API can only return 5000 rows in JSON format."}]


def answer(rows, total=None, **more):
    response = {"total": str(len(rows) if total is None else total), "frequency": "hourly", "data": rows, **more}
    return {"response": response, "request": {"params": {"api_key": "REDACTED"}}, "apiVersion": "2.1.6"}


def read(feed, document, **options):
    return feed.parse(json.dumps(document).encode(), Request(feed.id, "", **options))


def row(period, value, **names):
    return {"period": period, **names, "value": value, "value-units": "megawatthours"}


def region(period, value, respondent="NYIS", kind="D"):
    return row(period, value, respondent=respondent, type=kind)


def border(period, value, toba, fromba="CISO", name=""):
    return row(period, value, fromba=fromba, toba=toba, **{"toba-name": name or f"Area {toba}"})


def fuel(period, value, code, respondent="CISO"):
    return row(period, value, respondent=respondent, fueltype=code)


def stated(rows):
    return {(r.zone, r.fuel or r.counterparty, r.ts): r.value for r in rows}


MORNING = instant("2026-11-20T07:00Z")


@pytest.mark.parametrize("period", ["2026-11-20", "20261120"])
def test_a_day_is_no_hour(period):
    """As in the dataset of days, which differs in `frequency` and `timezone` alone."""
    with pytest.raises(FeedChanged):
        read(DEMAND, answer([region(period, 400_000)]))


@pytest.mark.parametrize("value", [16991, 16991.0, "16991"])
def test_a_period_is_the_hours_end(value):
    assert stated(read(DEMAND, answer([region("2026-11-20T08", value)]))) == {("US-NYISO", None, MORNING): 16991.0}


def test_a_net_waits_for_a_border_that_shows_nearby():
    rows = [border(f"2026-11-20T{hour:02}", -10, toba) for hour in (8, 9) for toba in ("NEVP", "BANC")]
    values = stated(read(INTERCHANGE, answer(rows[:-1])))
    assert values["US-CAISO", None, MORNING] == 20.0
    assert ("US-CAISO", None, MORNING + 3600) not in values
    far = [*rows[:-1], border("2026-11-22T08", -1, "NEVP")]
    assert stated(read(INTERCHANGE, answer(far)))["US-CAISO", None, instant("2026-11-22T07:00Z")] == 1.0


def test_a_cut_page_has_no_net_until_its_pages_are_joined():
    rows = [border("2026-11-20T08", -10, toba) for toba in ("NEVP", "BANC", "SRP")]
    first, second = answer(rows[:2], 3, warnings=WARNING), answer(rows[2:], 3)
    parts = Rows()
    for page, offset in ((first, "0"), (second, "2")):
        parts.merge(read(INTERCHANGE, page, params=(("offset", offset),)))
    assert ("US-CAISO", None, MORNING) not in stated(read(INTERCHANGE, first))
    assert stated(INTERCHANGE.combine(parts))["US-CAISO", None, MORNING] == 30.0


def test_stated_totals_are_exports():
    rows = [region("2026-11-20T08", 700, "ERCO", "TI"), region("2026-11-20T08", 1, kind="NG")]
    assert stated(INTERCHANGE.combine(read(INTERCHANGE, answer(rows)))) == {("US-ERCOT", None, MORNING): -700.0}


def test_codes_of_one_fuel_are_added_where_none_is_lacking():
    at, later = "2026-11-20T08", "2026-11-20T09"
    rows = [
        fuel(at, 100, "SUN"),
        fuel(at, 7, "SNB"),
        fuel(later, 90, "SUN"),
        fuel(at, -20, "BAT"),
        fuel(at, 5, "SUN", "PJM"),
    ]
    assert stated(read(GENERATION, answer(rows))) == {
        ("US-CAISO", "solar", MORNING): 107.0,
        ("US-CAISO", "battery", MORNING): -20.0,
    }


def test_refusals_have_their_type_and_never_the_key():
    key = "0123456789abcdef"
    for error in ({"code": "API_KEY_INVALID", "message": key}, f"Invalid start, {key}"):
        with pytest.raises(FeedChanged) as caught:
            read(DEMAND, {"error": error, "code": 400})
        assert key not in str(caught.value)
    with pytest.raises(NotPublished):
        read(DEMAND, answer([]))


def test_a_cut_answer_leads_to_its_next_page():
    (first,) = DEMAND.requests([MarketDay(date(2026, 11, 20), "UTC")], clock.now())
    page = json.dumps(answer([region("2026-11-20T08", 1)] * 3, 7, warnings=WARNING)).encode()
    (further,) = DEMAND.follow(page, first)
    assert dict(further.params) == {**dict(first.params), "offset": "3"}
    (last,) = DEMAND.follow(page, further)
    assert dict(last.params)["offset"] == "6"
    assert DEMAND.follow(json.dumps(answer([region("2026-11-20T08", 1)], 7)).encode(), last) == []
    assert DEMAND.follow(json.dumps(answer([], 7)).encode(), further) == [], "no page without rows leads on"
