"""Test stored vintages against a model in lists: which one is current, known, or published by a given time."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import date, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stand_ins import declared, stored_rows
from warehouse.judge import coverage, quality
from warehouse.market.clock import DAY, HOUR, MarketDay, Window
from warehouse.market.feeds import Publication
from warehouse.market.vocabulary import Forecast
from warehouse.rows import forecasts
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.rows.versions import Versions
from warehouse.series import change_log, folding, month_versions, restore
from warehouse.series.month_versions import Month
from warehouse.store.storage import Folder

NOON = 1_794_571_200
"""The time 2026-11-13T12:00Z."""
KEY = SeriesKey("GB", Forecast.DEMAND, "MW", "1h")
NOVEMBER = Month(Forecast.DEMAND, "GB", "2026-11")
RANKS = {"one.ahead": 1, "two.ahead": 9}


def rows_of(*issued: tuple[int, dict[int, float]]) -> Rows:
    """Return vintages, each given by its publication in hours after NOON and its values by hour."""
    rows = Rows()
    for published, values in issued:
        hours = [NOON + hour * HOUR for hour in values]
        rows.extend_vintage(KEY, NOON + published * HOUR, "body", hours, list(values.values()))
    return rows


def fold(folder: Folder, rows: Rows, known_at: int, feed: str = "one.ahead") -> list[folding.Folded]:
    covered = {("GB", Forecast.DEMAND): [Window(NOON - DAY, NOON + DAY)]}
    return folding.fold(folder, feed, rows, covered, RANKS, known_at, "live")


def answers(folder: Folder, **question: int) -> dict[int, float]:
    """Return the values by hours after NOON."""
    return of_versions(month_versions.read(folder, NOVEMBER), **question)


def of_versions(versions: Versions, **question: int) -> dict[int, float]:
    found = forecasts.Pick(**question).choose(versions, RANKS)
    return {(ts - NOON) // HOUR: value for ts, value in zip(found.ts.tolist(), found.value.tolist(), strict=True)}


class Model:
    """The versions of each hour as (published, known, value), oldest vintage first."""

    def __init__(self) -> None:
        self.hours: dict[int, list[tuple[int, int, float]]] = {}

    def fold(self, issued, known_at):
        for published, values in sorted(issued, key=lambda vintage: vintage[0]):
            for hour, value in values.items():
                if hour + 1 <= published:
                    continue  # the hour was over at the publication
                held = self.hours.setdefault(hour, [])
                at = bisect_right([version[0] for version in held], published)
                if not at or held[at - 1][2] != value:
                    held.insert(at, (published, known_at, value))

    def newest(self, able):
        chosen = {hour: [v for v in held if able(hour, *v[:2])] for hour, held in self.hours.items()}
        return {hour: held[-1][2] for hour, held in chosen.items() if held}


hours = st.dictionaries(st.integers(-4, 30), st.sampled_from([20_000.0, 21_000.0, 22_000.0]), min_size=1, max_size=6)
bodies = st.lists(st.tuples(st.integers(-6, 12), hours), min_size=1, max_size=4, unique_by=lambda vintage: vintage[0])


def test_a_late_vintage_between_two_equal_ones_is_current_until_the_newest_is_read_again(tmp_path):
    folder, newest = Folder(tmp_path), (3, {6: 20_000.0})
    fold(folder, rows_of((1, {6: 20_000.0}), newest), NOON + 3 * HOUR)
    fold(folder, rows_of((2, {6: 22_000.0})), NOON + 4 * HOUR)
    assert answers(folder) == {6: 22_000.0}
    fold(folder, rows_of(newest), NOON + 5 * HOUR)
    assert answers(folder) == {6: 20_000.0}


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(bodies, min_size=1, max_size=4), st.data())
def test_vintages_agree_with_the_model_in_whatever_order_they_come(tmp_path_factory, steps, data):
    folder, model = Folder(tmp_path_factory.mktemp("w")), Model()
    for place, issued in enumerate(steps):
        model.fold(issued, NOON + place * HOUR)
        fold(folder, rows_of(*data.draw(st.permutations(issued))), NOON + place * HOUR)
        assert answers(folder) == model.newest(lambda *version: True)
    served = (
        stored_rows.read(folder, "GB", Forecast.DEMAND, Window(NOON - DAY, NOON + 3 * DAY)).column("value").to_pylist()
    )
    assert served == [value for _, value in sorted(model.newest(lambda *version: True).items())]
    versions = month_versions.read(folder, NOVEMBER)
    for at in range(-6, 14):
        then = NOON + at * HOUR
        assert of_versions(versions, known_at=then) == model.newest(
            lambda hour, published, known, then=then: known <= then
        )
        assert of_versions(versions, published_before=then) == model.newest(
            lambda hour, published, known, at=at: published <= at
        )
        assert of_versions(versions, lead_s=at * HOUR) == model.newest(
            lambda hour, published, known, at=at: published <= hour - at
        )


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(bodies, min_size=1, max_size=5))
def test_a_lost_month_is_restored_from_its_bodies_as_it_was(tmp_path_factory, steps):
    folder, statements = Folder(tmp_path_factory.mktemp("w")), []
    for place, issued in enumerate(steps):
        statements.append(restore.Statement(NOON + place * HOUR, rows_of(*issued)))
        fold(folder, statements[-1].rows, statements[-1].at)
    believed = Rows()
    for statement in statements:
        believed.merge(statement.rows)
    before = spelled(month_versions.read(folder, NOVEMBER))
    assert spelled(restore.versions("one.ahead", statements, believed, NOVEMBER)) == before
    restored = restore.versions("one.ahead", statements, believed, NOVEMBER)
    restore.put(folder, NOVEMBER, restored, RANKS, "live", None)
    assert spelled(month_versions.read(folder, NOVEMBER)) == before


def spelled(versions):
    columns = (versions.ts, versions.published_at, versions.value, versions.known_at, versions.superseded_at)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_the_best_rank_that_has_a_vintage_early_enough_answers(folder):
    fold(folder, rows_of((0, {9: 900.0, 10: 900.0})), NOON, "two.ahead")
    fold(folder, rows_of((5, {9: 800.0})), NOON + 5 * HOUR)
    assert answers(folder) == {9: 800.0, 10: 900.0}
    assert answers(folder, published_before=NOON) == {9: 900.0, 10: 900.0}


def test_followers_of_changes_hear_of_no_forecast(folder):
    rows = rows_of((0, {9: 900.0}))
    rows.extend(KEY._replace(metric="demand"), [NOON], [20_000.0])
    fold(folder, rows, NOON)
    told = change_log.read(folder, change_log.BEGINNING, 10).entries
    assert [entry.change.metric for entry in told] == ["demand"]


def test_intervals_over_when_they_were_published_are_no_rows_and_counted():
    rows = rows_of((3, {1: 1.0, 2: 1.0, 3: 1.0}))
    assert [row.ts for row in rows] == [NOON + 3 * HOUR]
    assert rows.dropped == {"forecast of an interval that is over": 2}


def test_an_answer_that_says_no_time_is_dated_by_itself():
    rows = Rows()
    rows.extend(KEY, [NOON, NOON + HOUR, NOON + 2 * HOUR], [1.0, 2.0, 3.0])
    rows.extend(KEY._replace(metric="demand"), [NOON], [1.0])
    dated = forecasts.date_by_answer(rows, NOON + HOUR + 60)
    assert [(row.metric, row.ts, row.published_at, row.basis) for row in dated.sorted()] == [
        ("demand", NOON, None, None),
        ("demand_forecast", NOON + HOUR, NOON + HOUR + 60, "fetched"),
        ("demand_forecast", NOON + 2 * HOUR, NOON + HOUR + 60, "fetched"),
    ]


FEED = declared.feed(
    "one.ahead", ["GB"], [Forecast.DEMAND], "1h", publication=Publication(grace_minutes=30), every_minutes=30
)
"""A feed that forecasts each half hour."""


def test_owed_are_vintages_by_when_they_were_published():
    day = MarketDay(date(2026, 11, 13), "UTC")
    rows = rows_of(*((hour, dict.fromkeys(range(hour, 40), 20000.0)) for hour in (-11, -5, 11)))
    cover = coverage.check(rows, FEED, [day.window], NOON + 3 * DAY)
    gaps = cover.gaps["GB", Forecast.DEMAND]
    assert [(gap.start, gap.end, gap.intervals) for gap in gaps] == [(NOON, NOON + 6 * HOUR, 1)]
    assert not cover.complete
    judged = quality.judge(rows, FEED, [day.window], NOON + 3 * DAY)
    assert len(judged.accepted) == len(rows)
    assert [finding.check for finding in judged.findings] == ["partial"]


def test_of_a_daily_forecast_one_vintage_is_owed_a_day():
    daily = replace(FEED, publication=Publication(daily_at=time(10), grace_minutes=60))
    day = MarketDay(date(2026, 11, 13), "UTC")
    rows = rows_of((-3, dict.fromkeys(range(12, 36), 20000.0)))
    assert not coverage.check(rows, daily, [day.window], NOON).gaps
    assert coverage.check(rows, daily, [day.next().window], NOON + DAY).gaps
    assert not coverage.check(rows, daily, [day.next().window], NOON + 12 * HOUR).gaps


def test_judged_are_the_values_of_each_vintage_by_the_bounds_of_what_it_forecasts():
    rows = rows_of((0, {1: 20_000.0}), (1, {1: 21_000.0, 2: 0.0}))
    judged = quality.judge(rows, FEED, [], NOON)
    assert [(row.ts, row.value) for row in judged.quarantined] == [(NOON + 2 * HOUR, 0.0)]
    assert len(judged.accepted) == 2
