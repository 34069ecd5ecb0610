"""Test the validation of rows: what is quarantined, what is only reported, and which ranges are complete."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_ins import declared, stored_rows
from warehouse.judge.quality import judge, possible_time, to_json
from warehouse.market.clock import HOUR, MarketDay, Window, instant
from warehouse.market.feeds import Feed, Publication
from warehouse.market.metrics import define
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Row, Rows, SeriesKey

DAY = MarketDay(date(2026, 3, 2), "Europe/Brussels")
LATER = DAY.end + 30 * 86400


def feed_of(
    zones: tuple[str, ...] = ("FR",), metric: Metric = Metric.DEMAND, resolution: str = "1h", **more: object
) -> Feed:
    usual = {"tz": "Europe/Brussels", "publication": Publication(60), "every_minutes": 60}
    return declared.feed("test.feed", zones, [metric], resolution, **usual | more)


def series(
    day: MarketDay,
    zone: str = "FR",
    metric: str = "demand",
    unit: str = "MW",
    value: float = 50_000.0,
    step: int = HOUR,
) -> Rows:
    resolution = {300: "5m", 900: "15m", 1800: "30m", HOUR: "1h"}[step]
    rows = Rows()
    for i, ts in enumerate(range(day.start, day.end, step)):
        rows.add(zone, metric, ts, value + i, unit, resolution)
    return rows


def checks(rows: Rows, feed: Feed | None = None, day: MarketDay = DAY, now: int = LATER) -> dict[str, int]:
    """Return the findings per check, summed."""
    verdict = judge(rows, feed or feed_of(), [day.window], now)
    counts: Counter[str] = Counter()
    for finding in verdict.findings:
        counts[finding.check] += finding.count
    return dict(counts)


def test_a_clean_day_is_kept_whole_and_without_a_word() -> None:
    rows = series(DAY)
    verdict = judge(rows, feed_of(), [DAY.window], LATER)
    assert verdict.accepted.sorted() == rows.sorted()
    assert not verdict.findings
    assert verdict.complete == {("FR", "demand"): (DAY.window,)}
    assert not verdict.incomplete


def test_a_value_beyond_physics_is_set_aside_and_leaves_a_hole() -> None:
    rows = series(DAY)
    rows.readings[SeriesKey("FR", "demand", "MW", "1h")].values[5] = 5_000_000.0
    verdict = judge(rows, feed_of(), [DAY.window], LATER)
    assert len(verdict.accepted) == 23
    assert [r.value for r in verdict.quarantined] == [5_000_000.0]
    assert [(f.check, f.severity, f.count) for f in verdict.findings] == [("range", "error", 1), ("gap", "warning", 1)]
    assert verdict.complete[("FR", "demand")] == ()


def test_equal_readings_become_one_and_are_counted() -> None:
    rows = series(DAY)
    rows.merge(series(DAY))
    verdict = judge(rows, feed_of(), [DAY.window], LATER)
    assert verdict.accepted.sorted() == series(DAY).sorted()
    assert not len(verdict.quarantined)
    assert [(f.check, f.count) for f in verdict.findings] == [("duplicate", 24)]


@pytest.mark.parametrize(("resolution", "step", "off"), [("5m", 300, 454), ("1h", HOUR, 1800)])
def test_a_reading_off_the_grid_is_set_aside(resolution: str, step: int, off: int) -> None:
    rows = series(DAY, step=step, value=40_000.0)
    rows.add("FR", "demand", DAY.start + off, 40_000.5, "MW", resolution)
    verdict = judge(rows, feed_of(resolution=resolution), [DAY.window], LATER)
    assert [r.ts for r in verdict.quarantined] == [DAY.start + off]
    assert len(verdict.accepted) == (DAY.end - DAY.start) // step


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)])
def test_a_day_has_its_own_count_of_hours(day: date, hours: int) -> None:
    market_day = MarketDay(day, "Europe/Brussels")
    rows = series(market_day)
    assert len(rows) == hours
    assert checks(rows, day=market_day, now=LATER + 400 * 86400) == {}
    for readings in rows.readings.values():
        del readings.ts[-1], readings.values[-1]
    assert checks(rows, day=market_day, now=LATER + 400 * 86400) == {"partial": 1}


def test_holes_and_short_ends_are_counted_in_intervals_and_never_filled() -> None:
    rows = stored_rows.rows_of(
        r for r in series(DAY) if r.ts not in (DAY.start, DAY.start + 7 * HOUR, DAY.start + 8 * HOUR)
    )
    verdict = judge(rows, feed_of(), [DAY.window], LATER)
    assert {f.check: f.count for f in verdict.findings} == {"partial": 1, "gap": 2}
    assert verdict.accepted.sorted() == rows.sorted()


def test_a_rolling_feed_owes_nothing_that_is_not_due() -> None:
    now = DAY.start + 10 * HOUR
    rows = stored_rows.rows_of(r for r in series(DAY) if r.ts < DAY.start + 8 * HOUR)
    verdict = judge(rows, feed_of(), [DAY.window], now)
    assert verdict.complete == {("FR", "demand"): (Window(DAY.start, DAY.start + 8 * HOUR),)}
    assert not verdict.incomplete
    assert judge(rows, feed_of(), [DAY.window], now + 2 * HOUR).incomplete == {
        ("FR", "demand"): (Window(DAY.start, DAY.start + 10 * HOUR),)
    }


def test_a_daily_feed_owes_the_whole_day_from_its_hour_on() -> None:
    auction = feed_of(publication=Publication(daily_at=time(13, 0), day_offset=-1, grace_minutes=30))
    out = instant("2026-03-01T12:30:00Z")
    half = stored_rows.rows_of(r for r in series(DAY) if r.ts < DAY.start + 12 * HOUR)
    assert not judge(half, auction, [DAY.window], out - 1).incomplete
    assert judge(half, auction, [DAY.window], out).incomplete == {("FR", "demand"): (DAY.window,)}


def test_hourly_and_quarter_hourly_rows_fill_a_day_together() -> None:
    rows = stored_rows.rows_of(r for r in series(DAY) if r.ts < DAY.start + 12 * HOUR)
    for ts in range(DAY.start + 12 * HOUR, DAY.end, 900):
        rows.add("FR", "demand", ts, 50_000.0 + ts % 7, "MW", "15m")
    assert checks(rows) == {}


def test_a_zone_that_an_answer_for_all_leaves_out_is_short() -> None:
    verdict = judge(series(DAY), feed_of(("FR", "ES")), [DAY.window], LATER)
    assert verdict.incomplete == {("ES", "demand"): (DAY.window,)}
    assert not judge(series(DAY), feed_of(("FR", "ES"), zones_per_answer="one"), [DAY.window], LATER).incomplete


def test_borders_alone_are_no_net() -> None:
    rows = Rows()
    for ts in range(DAY.start, DAY.end, HOUR):
        rows.add("FR", "interchange", ts, 100.0, "MW", "1h", counterparty="BE")
    verdict = judge(rows, feed_of(metric=Metric.INTERCHANGE), [DAY.window], LATER)
    assert verdict.incomplete == {("FR", "interchange"): (DAY.window,)}
    assert len(verdict.accepted) == 24


def test_a_border_with_a_gap_is_no_reason_to_evict_it() -> None:
    rows = series(DAY, metric="interchange", value=100.0)
    for ts in range(DAY.start + 6 * HOUR, DAY.end, HOUR):
        rows.add("FR", "interchange", ts, 100.0, "MW", "1h", counterparty="BE")
    verdict = judge(rows, feed_of(metric=Metric.INTERCHANGE), [DAY.window], LATER)
    assert verdict.complete == {("FR", "interchange"): ()}
    assert not verdict.incomplete


def test_every_fuel_of_a_mix_must_be_there() -> None:
    rows = Rows()
    for i, ts in enumerate(range(DAY.start, DAY.end, 1800)):
        rows.add("GB", "generation", ts, 20.0 + i, "%", "30m", fuel="wind")
        if i != 3:
            rows.add("GB", "generation", ts, 5.0, "%", "30m", fuel="gas")
    assert checks(rows, feed_of(("GB",), Metric.GENERATION, "30m")) == {"gap": 1}


def test_a_series_that_stands_still_is_told() -> None:
    rows = Rows()
    for ts in range(DAY.start, DAY.end, HOUR):
        rows.add("FR", "demand", ts, 50_000.0, "MW", "1h")
    assert checks(rows) == {"frozen": 24}
    still = Rows()
    for ts in range(DAY.start, DAY.end, HOUR):
        still.add("FR", "price", ts, 0.0, "EUR/MWh", "1h")
    assert checks(still, feed_of(metric=Metric.PRICE)) == {}, "a price of 0 may last"


def test_what_is_set_aside_is_kept_with_its_reasons() -> None:
    rows = series(DAY)
    rows.add("FR", "demand", DAY.start, -1.5e300, "MW", "1h")
    rows.add("FR", "demand", DAY.end, 0.0, "MW", "1h")
    verdict = judge(rows, feed_of(), [DAY.window], LATER)
    kept = json.loads(to_json(verdict))
    assert [f["check"] for f in kept["findings"]] == ["range", "conflict"]
    (aside,) = kept["strips"]
    assert (aside["zone"], aside["metric"], aside["unit"], aside["fuel"]) == ("FR", "demand", "MW", None)
    assert sorted(zip(aside["ts"], aside["values"], strict=True)) == sorted(
        (r.ts, r.value) for r in verdict.quarantined
    )


@pytest.mark.parametrize(
    ("zone", "metric", "unit", "value"),
    [
        ("AU-NSW", "price", "AUD/MWh", -1000.0),
        ("AU-NSW", "price", "AUD/MWh", 20_300.0),
        ("AU-SA", "demand", "MW", -205.0),
        ("US-ERCOT", "price", "USD/MWh", 9_000.0),
        ("DE-LU", "price", "EUR/MWh", -500.0),
        ("FR", "price", "EUR/MWh", 4_000.0),
        ("FR", "demand", "MW", 102_098.0),
        ("NO-2", "interchange", "MW", -7_800.0),
        ("US-CAISO", "interchange", "MW", 12_000.0),
        ("GB", "carbon_intensity", "gCO2/kWh", 12.0),
        ("US-SPP", "demand", "MW", 56_184.0),
    ],
)
def test_records_and_caps_are_never_clipped(zone: str, metric: str, unit: str, value: float) -> None:
    low, high = define(metric).limits(ZONES[zone], unit, None)
    assert low <= value <= high


@pytest.mark.parametrize("zone", sorted(ZONES))
def test_zero_is_no_demand_and_no_carbon_intensity(zone: str) -> None:
    assert define("demand").limits(ZONES[zone], "MW", None).low > 0 or zone == "AU-SA"
    assert define("carbon_intensity").limits(ZONES[zone], "gCO2/kWh", None).low > 0


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from([1.0, 2.0, 3.0])), max_size=60))
def test_no_reading_is_lost_or_made_up(readings: list[tuple[int, float]]) -> None:
    rows = stored_rows.rows_of(
        Row("FR", "price", None, None, None, DAY.start + HOUR * i, v, "EUR/MWh", "1h") for i, v in readings
    )
    verdict = judge(rows, feed_of(metric=Metric.PRICE), [DAY.window], LATER)
    kept, aside = set(verdict.accepted), set(verdict.quarantined)
    assert kept | aside == set(rows)
    assert not {r.ts for r in kept} & {r.ts for r in aside}
    assert len({r.ts for r in kept}) == len(verdict.accepted)


def test_a_reading_may_begin_15_minutes_after_its_answer_and_no_later() -> None:
    answered = DAY.start + 12 * HOUR
    window = possible_time(feed_of(), [DAY.day], answered, "demand")
    assert window.end == answered + 15 * 60 + 1


@pytest.mark.parametrize("bound", ["low", "high"])
def test_a_value_exactly_at_its_bound_is_kept(bound: str) -> None:
    value = getattr(define("demand").limits(ZONES["FR"], "MW", None), bound)
    outside = value + (1 if bound == "high" else -1)
    for reading, findings in ((value, 0), (outside, 1)):
        rows = Rows()
        rows.add("FR", "demand", DAY.start, reading, "MW", "1h")
        assert checks(rows).get("range", 0) == findings


def test_an_estimate_is_set_aside_with_a_row_of_its_mix() -> None:
    rows, starts = Rows(), [DAY.start, DAY.start + HOUR]
    estimates = SeriesKey("FR", "carbon_estimate", "gCO2/kWh", "1h", factors="emds-direct-1")
    rows.extend(SeriesKey("FR", "mix", "MW", "1h", "gas"), starts, [900_000.0, 5_000.0])
    rows.extend(estimates, starts, [400.0, 30.0], [(400.0, 400.0), (30.0, 30.0)])
    judged = judge(rows, feed_of(metric=Metric.MIX), [DAY.window], LATER)
    assert {(row.metric, row.ts) for row in judged.accepted} == {("mix", starts[1]), ("carbon_estimate", starts[1])}
    assert {(row.metric, row.ts) for row in judged.quarantined} == {("mix", starts[0]), ("carbon_estimate", starts[0])}
