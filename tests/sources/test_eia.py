"""Test EIA-930: periods end at the hour, responses are cut, unordered and textual, and a sum needs all its parts."""

from __future__ import annotations

import json
from datetime import date

import pytest

from assets import sources
from assets.sources.eia.bodies import FUELS
from assets.sources.eia.interchange import start_in_pjm
from warehouse.documents import health
from warehouse.errors import FeedChanged, NotPublished
from warehouse.judge import quality
from warehouse.market import clock
from warehouse.market.clock import HOUR, MarketDay, instant
from warehouse.market.feeds import Request
from warehouse.rows.schema import Rows

DEMAND, INTERCHANGE, GENERATION, MIX = (
    sources.feed(f"eia.{name}") for name in ("demand", "interchange", "generation", "mix")
)
WARNING = [{"warning": "incomplete return", "description": "The API can only return 5000 rows in JSON format."}]


def test_pjms_clock_does_not_make_its_borders_late() -> None:
    at = instant("2026-11-28T10:00:00Z")
    until = start_in_pjm(at - INTERCHANGE.publication.lag_minutes * 60) + HOUR
    due = health.expected_by(INTERCHANGE.publication, INTERCHANGE.tz, INTERCHANGE.resolution, until)
    assert due > at + INTERCHANGE.every_minutes * 60 + 300, "the next run ends before the next row is due"


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
    """Reject the daily dataset, which differs only in `frequency` and `timezone`."""
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


@pytest.mark.parametrize(("month", "hours"), [(date(2026, 3, 7), 49), (date(2026, 10, 31), 49)])
def test_a_mix_is_requested_for_six_respondents_and_two_days_so_that_one_page_holds_it(month, hours):
    days = [MarketDay(month, "UTC").next(i) for i in range(5)]
    asked = MIX.requests(days, clock.now())
    assert [len(request.days) for request in asked] == [2, 2, 1]
    params = dict(asked[0].params)
    respondents = [value for name, value in asked[0].params if name.startswith("facets[respondent]")]
    assert "CISO" not in respondents
    assert len(respondents) == 6
    assert (params["start"], params["end"]) == (str(days[0]), str(days[2])), "the end is included: an hour more"
    assert len(respondents) * len(FUELS) * hours <= int(params["length"])


def test_the_mix_of_california_is_left_out_of_the_response_of_six_respondents():
    rows = read(MIX, answer([fuel("2026-11-20T08", 11_017, "OTH"), fuel("2026-11-20T08", -55, "BAT", "ERCO")]))
    assert stated(rows) == {("US-ERCOT", "battery", MORNING): -55.0}
    assert rows.dropped == {"respondent without a mix of this feed": 1}


def test_a_fuel_of_several_codes_has_a_row_only_where_each_code_of_the_response_has_a_value():
    hours = [f"2026-11-{day}T08" for day in (20, 21)]
    rows = [fuel(at, 100, "SUN", "PJM") for at in hours]
    rows += [fuel(hours[0], 7, "SNB", "PJM"), fuel(hours[1], None, "SNB", "PJM"), fuel(hours[1], 3, "SUN", "MISO")]
    assert stated(read(MIX, answer(rows))) == {
        ("US-PJM", "solar", MORNING): 107.0,
        ("US-MISO", "solar", MORNING + 86_400): 3.0,
    }


@pytest.mark.parametrize("zero", [0, "0", "-0.0"])
def test_an_hour_of_nothing_but_zeros_is_a_missing_report(zero):
    """Check zeros of a whole authority; a single zero beside other values is an actual value."""
    rows = [fuel("2026-11-20T08", zero, code, "PJM") for code in ("COL", "NG", "NUC")]
    rows += [fuel("2026-11-20T08", value, code, "MISO") for code, value in (("COL", 0), ("NG", 5))]
    read_ = read(MIX, answer(rows))
    assert {zone for zone, _, _ in stated(read_)} == {"US-MISO"}
    assert stated(read_)["US-MISO", "coal", MORNING] == 0.0
    assert read_.refused["US-PJM", "mix"] == {MORNING}


def test_pumping_inside_hydro_is_negative_and_believed():
    rows = read(MIX, answer([fuel("2023-01-02T08", -1_500, "WAT", "PJM"), fuel("2023-01-02T08", -36, "SUN", "PJM")]))
    judged = quality.judge(rows, MIX, [], clock.now())
    assert {row.value for row in judged.accepted} == {-1_500.0, -36.0}


def test_an_unknown_source_of_a_mix_is_reported_and_costs_only_its_own_rows():
    rows = read(MIX, answer([fuel("2026-11-20T08", 510, "BM", "ISNE"), fuel("2026-11-20T08", 9, "NG", "ISNE")]))
    assert stated(rows) == {("US-ISONE", "gas", MORNING): 9.0}
    assert {(member.zone, member.name) for member in rows.unknown} == {("US-ISONE", "energy source 'BM'")}


def test_a_cut_mix_is_refused():
    with pytest.raises(FeedChanged, match="not the whole response"):
        read(MIX, answer([fuel("2026-11-20T08", 1, "NG", "PJM")], 2, warnings=WARNING))
    with pytest.raises(FeedChanged, match="not the whole response"):
        read(MIX, answer([fuel("2026-11-20T08", 1, "NG", "PJM")], 2), params=(("offset", "1"),))


def hours_of(rows, zone, counterparty):
    return [r.ts for r in rows.sorted() if (r.zone, r.counterparty) == (zone, counterparty)]


def test_an_unknown_authority_is_a_border_under_its_code_and_a_part_of_the_net():
    at = "2026-11-20T08"
    rows = read(INTERCHANGE, answer([border(at, 120, "AECI", "SWPP"), border(at, -70, "ZZAP", "SWPP")]))
    assert stated(rows) == {
        ("US-SPP", "Associated Electric Cooperative", MORNING): -120.0,
        ("US-SPP", "ZZAP", MORNING): 70.0,
        ("US-SPP", None, MORNING): -50.0,
    }
    assert {member.name for member in rows.unknown} == {"balancing authority 'ZZAP'"}
    assert not rows.refused
    with pytest.raises(FeedChanged):
        read(INTERCHANGE, answer([border(at, 1, "no code", "SWPP")]))


@pytest.mark.parametrize(
    ("period", "start"),
    [
        ("2023-06-11T00", "2023-06-10T20:00Z"),
        ("2023-01-11T00", "2023-01-10T19:00Z"),
        ("2026-03-08T06", "2026-03-08T01:00Z"),
        ("2026-03-08T07", "2026-03-08T03:00Z"),
        ("2026-11-01T05", "2026-11-01T01:00Z"),
        ("2026-11-01T06", "2026-11-01T01:00Z"),
        ("2026-11-01T07", "2026-11-01T02:00Z"),
    ],
)
def test_pjms_periods_are_eastern_wall_clocks_of_utc_starts(period, start):
    rows = read(INTERCHANGE, answer([border(period, 5, "DUK", "PJM"), border(period, 5, "DUK", "MISO")]))
    assert hours_of(rows, "US-PJM", "Duke Energy Carolinas") == [instant(start)]
    assert hours_of(rows, "US-MISO", "Duke Energy Carolinas") == [instant(f"{period}:00Z") - 3600]


def test_the_hour_that_spring_skips_is_withdrawn_from_pjms_borders():
    pages = [border(f"2026-03-08T{hour:02}", 5, "DUK", "PJM") for hour in (6, 7)]
    rows = read(INTERCHANGE, answer(pages))
    assert rows.refused == {("US-PJM", "interchange"): {instant("2026-03-08T02:00Z")}}
    assert instant("2026-03-08T02:00Z") not in hours_of(rows, "US-PJM", None)


def test_the_hour_that_autumn_repeats_is_one_where_both_periods_agree():
    for second, values in ((5, {-5.0}), (6, {-5.0, -6.0})):
        rows = read(
            INTERCHANGE,
            answer([border("2026-11-01T05", 5, "DUK", "PJM"), border("2026-11-01T06", second, "DUK", "PJM")]),
        )
        assert {r.value for r in rows if r.counterparty} == values
        assert bool(hours_of(rows, "US-PJM", None)) == (len(values) == 1)


def test_seven_borders_of_pjm_have_the_other_sign_until_late_october_2019():
    for period, sign in (("2019-10-31T03", 1.0), ("2019-10-31T04", -1.0)):
        rows = read(INTERCHANGE, answer([border(period, 7, toba, "PJM") for toba in ("NYIS", "OVEC")]))
        values = {r.counterparty: r.value for r in rows}
        assert values["US-NYISO"] == sign * 7
        assert values["Ohio Valley Electric Corporation"] == -7
        assert read(INTERCHANGE, answer([border(period, 7, "PJM", "NYIS")])).sorted()[-1].value == -7


def test_pjms_borders_with_miso_and_nyiso_are_those_of_the_neighbour():
    """Take the neighbour's value, for example if PJM reports 4,143 MW and MISO reports 1,100 MW."""
    own = [border(f"2026-11-20T{hour:02}", 4143, "MISO", "PJM") for hour in (12, 13)]
    theirs = [border("2026-11-20T08", -1100, "PJM", "MISO")]
    rows = read(INTERCHANGE, answer([*own, *theirs]))
    values = {r.ts: r.value for r in rows if (r.zone, r.counterparty) == ("US-PJM", "US-MISO")}
    assert values == {MORNING: -1100.0}, "the second hour waits for MISO"
    assert hours_of(rows, "US-PJM", None) == [MORNING]
    alone = read(INTERCHANGE, answer(own))
    assert [r.value for r in alone if r.counterparty] == [-4143.0, -4143.0]
    assert not [r for r in read(INTERCHANGE, answer(theirs)) if r.zone == "US-PJM"]


def test_borders_are_asked_for_until_pjms_last_period_and_totals_before_2019():
    (winter,) = INTERCHANGE.requests([MarketDay(date(2026, 11, 20), "UTC")], clock.now())
    assert dict(winter.params)["end"] == "2026-11-21T04"
    days = [MarketDay(date(2018, 12, 31), "UTC"), MarketDay(date(2019, 1, 1), "UTC")]
    totals, borders = INTERCHANGE.requests(days, clock.now())
    assert (totals.url.split("/")[-3], dict(totals.params)["facets[type][0]"]) == ("region-data", "TI")
    assert borders.url.split("/")[-3] == "interchange-data"
    assert [request.days for request in (totals, borders)] == [(day.day,) for day in days]


def test_oth_is_the_batteries_unless_the_answer_names_them():
    at = "2026-11-20T08"
    assert stated(read(GENERATION, answer([fuel(at, -300, "OTH"), fuel(at, 7, "BAT", "PJM")]))) == {
        ("US-CAISO", "battery", MORNING): -300.0
    }
    beside = answer([fuel(at, 90, "OTH"), fuel("2026-11-20T09", None, "BAT")])
    assert stated(read(GENERATION, beside)) == {("US-CAISO", "other", MORNING): 90.0}


def test_an_hour_of_zeros_of_california_is_no_reading_and_withdrawn():
    codes = ("NG", "SUN", "OTH")
    zeros = [fuel("2026-11-20T08", "0", code) for code in codes]
    rows = read(GENERATION, answer([*zeros, fuel("2026-11-20T09", 0, "SUN"), fuel("2026-11-20T09", 1, "NG")]))
    assert stated(rows) == {("US-CAISO", "solar", MORNING + 3600): 0.0, ("US-CAISO", "gas", MORNING + 3600): 1.0}
    assert rows.refused == {("US-CAISO", "generation"): {MORNING}}


def test_an_estimate_is_of_one_response_and_a_refused_one_withdraws_the_former():
    whole = {"COL": 100, "NG": 200, "NUC": 700}
    rows = read(MIX, answer([fuel("2026-11-20T08", value, code, "PJM") for code, value in whole.items()]))
    (estimate,) = (row for row in rows if row.metric == "carbon_estimate")
    assert (estimate.zone, estimate.ts, estimate.value) == ("US-PJM", MORNING, 177.0)
    assert (estimate.low, estimate.high, estimate.factors) == (177.0, 177.0, "emds-direct-1")
    with_unknown = [*whole.items(), ("BM", 180)]
    rows = read(MIX, answer([fuel("2026-11-20T08", value, code, "PJM") for code, value in with_unknown]))
    assert {row.metric for row in rows} == {"mix"}
    assert rows.refused == {("US-PJM", "carbon_estimate"): {MORNING}}
