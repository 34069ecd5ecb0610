"""The brief in words: what a person reads in ordinary and odd cases, word for word."""

from __future__ import annotations

import pytest

from assets.figures import figures
from assets.summary import coverage_note, heard, summary
from warehouse import catalogue

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR


def told(world, zone, now=NOW + 60):
    return figures(world.storage, catalogue.load(world.storage), [zone], now)[zone]


def text(world, zone, now=NOW + 60, simulated=False):
    return summary(told(world, zone, now), now, simulated)[0]


def test_ordinary(world):
    world.fold("FR", "price", START, [*[40 + i % 24 for i in range(720)], 60.5])
    world.fold("FR", "demand", START, [*[20000 + 10 * i for i in range(720)], 25000])
    world.fold("FR", "interchange", START, [*[-1000 - i for i in range(720)], -1234])
    assert text(world, "FR") == (
        "France, 2026-11-20 13:00 CET (12:00 UTC). "
        "The price is 60.50 EUR/MWh, expensive for this zone: percentile 88 of the last 30 days, "
        "+9.00 (+17.5 %) from the median of 51.50. It is rising: +20.50 (+51.3 %) on a day earlier. "
        "Demand is 25000 MW, typical for this zone: percentile 70 of the last 30 days, "
        "+1405 (+6.0 %) from the median of 23595. It is falling: -1960 (-7.3 %) on a day earlier. "
        "Interchange is -1234 MW (net export), typical for this zone: percentile 67 of the last 30 days, "
        "+126 from the median of -1360. It is rising: +462 on a day earlier."
    )


def test_a_rank_that_a_daily_cycle_hides_is_said(world):
    world.fold("AU-QLD", "demand", START, [*[1000 * (i % 24) + i // 24 for i in range(720)], 15])
    assert "percentile 2 of the last 30 days (52 among the same hours of the day)" in text(world, "AU-QLD")


def test_negative_price_is_said_in_words_and_without_a_percentage(world):
    world.fold("FR", "price", START, [*[60] * 400, *[50] * 160, *[90] * 160, -5])
    assert (
        "The price is negative, -5.00 EUR/MWh, lower than at any time in the last 30 days: -65.00 from the median of 60.00. It is falling:"
    ) in text(world, "FR")
    assert "%" not in text(world, "FR")


def test_a_common_value_gets_no_rank(world):
    world.fold("FR", "demand", START, [*[0] * 360, *range(100, 460), 0])
    assert "Demand is 0 MW, a value that the last 30 days often had, so that no rank is given." in text(world, "FR")


def test_too_little_history(world):
    world.fold("FR", "demand", NOW - 19 * HOUR, range(100, 120))
    assert text(world, "FR").endswith(
        "Demand is 119 MW, with too little history to rank it. There is no value of a day earlier. "
        "No price is known. No interchange is known."
    )
    assert coverage_note(told(world, "FR")) == (
        "No context for demand: fewer than 20 values in the window. No context for price: no value is known. "
        "No context for interchange: no value is known."
    )


def test_overdue_is_said_in_absolute_time(world):
    world.fold("FR", "demand", START, range(721))
    said = text(world, "FR", NOW + 10 * HOUR)
    assert "Demand was 720 MW" in said
    assert "A newer value was due by 2026-11-20 15:30 CET (14:30 UTC) and had not come." in said


def test_each_time_is_said_where_metrics_differ(world):
    world.fold("FR", "price", START, range(721))
    world.fold("FR", "demand", START, range(720))
    assert "Demand at 12:00 CET (11:00 UTC) is 719 MW" in text(world, "FR")


def test_a_short_window_says_how_long_it_is(world):
    world.fold("FR", "demand", NOW - 18 * DAY, [*range(18 * 24), 200])
    assert "of the last 18.0 days" in text(world, "FR")
    assert coverage_note(told(world, "FR")).startswith("Only 0.6 of the window observed for demand (432 values): low confidence.")


def test_the_largest_parts_of_the_mix(world):
    for fuel, value in {"gas": 31.25, "wind": 40, "nuclear": 12.04, "coal": 0}.items():
        world.fold("GB", "generation", NOW, [value], "30m", fuel=fuel)
    assert text(world, "GB").startswith(
        "Great Britain, 2026-11-20 12:01 GMT (12:01 UTC). The largest parts of the mix are wind 40 %, gas 31.3 % and nuclear 12 %."
    )


def test_withheld_and_simulated_are_said(world):
    world.fold("FR", "demand", START, range(721))
    assert text(world, "FR", simulated=True).endswith("Simulated figures, not market data.")
    world.withhold()
    world.catalogue()
    assert "The price is withheld by its publisher's terms." in text(world, "FR")


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [(25000.5, 0, 25001), (-0.004, 2, -0.004), (0.005, 2, 0.01), (-2.5, 0, -3), (0.0, 2, 0.0), (1e-7, 0, 1e-7)],
)
def test_heard(value, decimals, expected):
    assert heard(value, decimals) == expected
