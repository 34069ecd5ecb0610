"""Check the brief's words in ordinary and unusual cases, word for word, and times with UTC beside them."""

from __future__ import annotations

import pytest

from assets.documents import bodies
from assets.documents.figures import figures
from assets.documents.summary import headline, say_time, summary
from warehouse.documents import catalogue
from warehouse.series.reader import Reader

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR


def figures_of(world, zone, now=NOW + 60):
    return figures(Reader(world.storage, 0), catalogue.load(world.storage), [zone], now)[zone]


def text(world, zone, now=NOW + 60, simulated=False):
    return " ".join(summary(figures_of(world, zone, now), now, simulated)[0].values())


def headline_of(world, zone, now=NOW + 60, simulated=False):
    return headline(figures_of(world, zone, now), now, simulated)[0]


def coverage_note(zone_figures):
    return bodies.brief(zone_figures, NOW + 60, simulated=False)["coverage_note"]


def test_ordinary(world):
    world.fold("FR", "price", START, [*[40 + i % 24 for i in range(720)], 60.5])
    world.fold("FR", "demand", START, [*[20000 + 10 * i for i in range(720)], 25000])
    world.fold("FR", "interchange", START, [*[-1000 - i for i in range(720)], -1234])
    assert text(world, "FR") == (
        "France, 2026-11-20 13:00 CET (12:00 UTC). "
        "The wholesale price is €60.50 a megawatt-hour, higher than 90% of the time at this hour and 88% of the time "
        "overall in the past 30 days. That is €9.00 (17.5%) above the 30-day median of €51.50. It is up €20.50 (51.3%) "
        "from 24 hours earlier. "
        "Demand is 25,000 MW, within the usual range for this hour and for the past 30 days overall. That is 1,405 MW "
        "(6.0%) above the 30-day median of 23,595 MW. It is down 1,960 MW (7.3%) from 24 hours earlier. "
        "Net exports are 1,234 MW, within the usual range of the past 30 days. That is 126 MW below the 30-day median "
        "of 1,360 MW. They are down 462 MW from 24 hours earlier."
    )
    assert headline_of(world, "FR") == (
        "France: power at €60.50 a megawatt-hour, higher than 90% of the time at this hour and 88% of the time overall "
        "in the past 30 days."
    )


EXPORTS = [-1000 - i for i in range(720)]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (
            0,
            "Imports and exports are nearly balanced. The 30-day median is net exports of 1,360 MW. They compare with "
            "net exports of 1,696 MW 24 hours earlier.",
        ),
        (
            200,
            "Net imports are 200 MW, the highest in 30 days. The 30-day median is net exports of 1,360 MW. They "
            "compare with net exports of 1,696 MW 24 hours earlier.",
        ),
        (-24.4, "Imports and exports are nearly balanced, with net exports of 24 MW. That is 1,336 MW below"),
    ],
)
def test_a_flow_is_told_in_its_own_direction(world, now, expected):
    world.fold("FR", "interchange", START, [*EXPORTS, now])
    assert expected in text(world, "FR")


def test_negative_price_is_said_in_words_and_without_a_percentage(world):
    world.fold("FR", "price", START, [*[60] * 400, *[50] * 160, *[90] * 160, -5])
    assert (
        "The wholesale price is minus €5.00 a megawatt-hour, the lowest in 30 days. "
        "That is €65.00 below the 30-day median of €60.00. It is down €95.00 from 24 hours earlier."
    ) in text(world, "FR")
    assert "%" not in text(world, "FR")


@pytest.mark.parametrize(("ties", "ranked"), [(2160, True), (2161, False)])
def test_a_quarter_of_ties_is_compared_before_it_is_rounded(world, ties, ranked):
    world.fold("GB", "demand", NOW - 8640 * 300, [*[7] * ties, *range(100, 100 + 8640 - ties), 7], "5m")
    reading = figures_of(world, "GB").figures["demand"].reading
    assert reading.context.ties_pct == 25.0
    assert ("a level seen more than a quarter" in text(world, "GB")) == (not ranked)


def test_too_little_history(world):
    world.fold("FR", "demand", NOW - 19 * HOUR, range(100, 120))
    assert text(world, "FR").endswith(
        "Demand is 119 MW. There is too little history to rank it. No value is available for 24 hours earlier. "
        "No price data is available. No interchange data is available."
    )
    assert coverage_note(figures_of(world, "FR")) == (
        "No ranking for demand: there are fewer than 20 values in the window. No ranking for price: no data is "
        "available. No ranking for interchange: no data is available."
    )


def test_overdue_is_said_in_absolute_time(world):
    world.fold("FR", "demand", START, range(721))
    sentences = text(world, "FR", NOW + 10 * HOUR)
    assert "Demand was 720 MW" in sentences
    assert "A newer value was due by 2026-11-20 15:30 CET (14:30 UTC) but had not arrived." in sentences


def mix(world, ts):
    for fuel, value in {"gas": 31.25, "wind": 40, "nuclear": 12.04, "coal": 0}.items():
        world.fold("GB", "generation", ts, [value], "30m", fuel=fuel)


def test_an_overdue_mix_is_said_like_an_overdue_value(world):
    world.fold("GB", "demand", START, range(721))
    mix(world, NOW - 3 * DAY)
    parts, numbers = summary(figures_of(world, "GB"), NOW + 60, simulated=False)
    assert parts["generation_mix"] == (
        "The generation mix was led by wind (40%), gas (31.3%) and nuclear (12%) at 2026-11-17 12:00 GMT (12:00 UTC). "
        "A newer mix was due by 2026-11-17 13:30 GMT (13:30 UTC) but had not arrived."
    )
    assert numbers["generation_mix"]["due"] == "2026-11-17 13:30 GMT (13:30 UTC)"
    body = bodies.brief(figures_of(world, "GB"), NOW + 60, simulated=False)
    assert body["generation_mix_expected_by"] == body["valid_until"] == NOW - 3 * DAY + HOUR + HOUR // 2


def test_a_mix_that_is_not_known_is_said(world):
    world.fold("GB", "demand", START, range(721))
    world.fold("FR", "demand", START, range(721))
    assert "No generation mix data is available." in text(world, "GB")
    assert bodies.brief(figures_of(world, "GB"), NOW + 60, simulated=False)["generation_mix_omitted"] == "no_rows"
    assert "mix" not in text(world, "FR")
    assert "generation_mix_omitted" not in bodies.brief(figures_of(world, "FR"), NOW + 60, simulated=False)


def test_withheld_and_simulated_are_said(world):
    world.fold("FR", "demand", START, range(721))
    assert text(world, "FR", simulated=True).endswith("Simulated data, not market data.")
    world.withhold()
    world.catalogue()
    assert "Price data is withheld under its publisher's terms." in text(world, "FR")
    assert "Generation mix data is withheld under its publisher's terms." in text(world, "GB")


def test_a_headline_without_a_price_tells_of_demand_then_of_the_flow(world):
    world.fold("FR", "interchange", START, [*[-1000 - i for i in range(720)], -1234])
    assert headline_of(world, "FR") == "France: net exports at 1,234 MW, within the usual range of the past 30 days."
    world.fold("FR", "demand", START, [*[20000 + 10 * i for i in range(720)], 25000])
    assert headline_of(world, "FR", simulated=True).startswith(
        "France (simulated): demand at 25,000 MW, within the usual"
    )
    assert headline_of(world, "GB") == "Great Britain: no current market data is available."


EVENING = 1_792_947_600  # 2026-10-25T17:00:00Z


def test_local_and_utc():
    assert say_time(EVENING, "Europe/Berlin") == "2026-10-25 18:00 CET (17:00 UTC)"


def test_another_date_in_utc_is_said():
    assert say_time(EVENING, "Australia/Sydney") == "2026-10-26 04:00 AEDT (2026-10-25 17:00 UTC)"


def test_beside_a_time_of_the_same_day_the_date_is_left_out():
    other = EVENING + 3600
    assert say_time(EVENING, "Europe/Berlin", other) == "18:00 CET (17:00 UTC)"
    assert say_time(EVENING - 86400, "Europe/Berlin", other) == "2026-10-24 19:00 CEST (17:00 UTC)"
