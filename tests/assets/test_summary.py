"""The brief in words: what a person reads in ordinary and odd cases, word for word."""

from __future__ import annotations

import pytest

from assets.documents import bodies, flow_words
from assets.documents.figures import figures
from assets.documents.headline import headline
from assets.documents.spoken_numbers import heard
from assets.documents.summary import summary
from warehouse.documents import catalogue

HOUR, DAY = 3600, 86400
NOW = 1_795_176_000  # 2026-11-20T12:00:00Z
START = NOW - 720 * HOUR


def figures_of(world, zone, now=NOW + 60):
    return figures(world.storage, catalogue.load(world.storage), [zone], now)[zone]


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
        "The price is 60.50 EUR/MWh, very expensive for this hour of the day: "
        "percentile 90 of the same hour in the last 30 days, 88 of all hours, "
        "9.00 (17.5 %) above the median of 51.50. It is up 20.50 (51.3 %) on a day earlier. "
        "Demand is 25,000 MW, typical for this hour of the day: "
        "percentile 69 of the same hour in the last 30 days, 70 of all hours, "
        "1,405 (6.0 %) above the median of 23,595. It is down 1,960 (7.3 %) on a day earlier. "
        "Interchange is -1,234 MW (net export), typical for this zone: "
        "percentile 67 of net import in the last 30 days, "
        "126 above the median of -1,360. It is less export than a day earlier: the net import rose by 462."
    )
    assert headline_of(world, "FR") == (
        "France: power costs 60.50 EUR/MWh, more than in about 90 % of the same hours of the last thirty days "
        "and in about 88 % of all hours."
    )


@pytest.mark.parametrize(
    ("history", "now", "expected"),
    [
        (
            [-11000 - i for i in range(720)],
            -11010,
            "-11,010 MW (net export), unusually little export for this zone: percentile 99 of net import in the last "
            "30 days, "
            "350 above the median of -11,360. It is less export than a day earlier: the net import rose by 686.",
        ),
        (
            [-1000 - i for i in range(720)],
            -1714,
            "-1,714 MW (net export), unusually high export for this zone: percentile 1 of net import in the last 30 "
            "days, "
            "354 below the median of -1,360. It is about the same as a day earlier.",
        ),
        (
            [-1000 - i for i in range(720)],
            -6795,
            "-6,795 MW (net export), more export than at any time in the last 30 days: "
            "5,435 below the median of -1,360. It is more export",
        ),
        (
            [-1000 - i for i in range(720)],
            0,
            "0 MW (balanced), less export than at any time in the last 30 days: 1,360 above the median of -1,360. "
            "It is less export than",
        ),
        (
            [-1000 - i for i in range(720)],
            200,
            "200 MW (net import), more import than at any time in the last 30 days: "
            "1,560 above the median of -1,360. A day earlier it was net export: the net import rose by 1,896.",
        ),
        (
            [1000 + i for i in range(720)],
            -200,
            "-200 MW (net export), more export than at any time in the last 30 days: "
            "1,560 below the median of 1,360. A day earlier it was net import: the net import fell by 1,896.",
        ),
        ([1000 + i for i in range(720)], 1010, "1,010 MW (net import), unusually little import for this zone"),
        ([1000 + i for i in range(720)], 1720, "1,720 MW (net import), unusually high import for this zone"),
        ([-10 - i for i in range(720)], -100, "-100 MW (net export), less export than usual for this zone"),
    ],
)
def test_interchange_is_told_as_the_flow_that_runs(world, history, now, expected):
    world.fold("FR", "interchange", START, [*history, now])
    assert f"Interchange is {expected}" in text(world, "FR")


@pytest.mark.parametrize(
    ("value", "before", "direction", "expected"),
    [
        (5, 2, "rising", "more import"),
        (2, 5, "falling", "less import"),
        (0, 5, "falling", "less import"),
        (5, 0, "rising", "more import"),
        (-5, -2, "falling", "more export"),
        (-2, -5, "rising", "less export"),
        (0, -5, "rising", "less export"),
        (-5, 0, "falling", "more export"),
    ],
)
def test_a_flow_grows_or_shrinks(value, before, direction, expected):
    assert flow_words.moved("was", value, before, direction) == f"It was {expected} than a day earlier"


def test_said_numbers_add_up(world):
    world.fold("FR", "price", START, [*[30.0, 36.9] * 360, 37.904])
    world.fold("FR", "demand", START, [*[1550.2, 1557.9] * 360, 1559.9])
    _, numbers = summary(figures_of(world, "FR"), NOW + 60, simulated=False)
    assert (numbers["price"]["value"], numbers["price"]["median"], numbers["price"]["vs_median"]) == (37.9, 33.45, 4.45)
    assert (numbers["demand"]["value"], numbers["demand"]["median"], numbers["demand"]["vs_median"]) == (1560, 1554, 6)
    assert "1,560 MW" in text(world, "FR")
    assert "6 (0.4 %) above the median of 1,554." in text(world, "FR")


@pytest.mark.parametrize(("now", "expected"), [(50.3, "just above"), (49.7, "just below"), (50, "level with")])
def test_a_difference_that_rounding_swallows_is_said_in_words(world, now, expected):
    world.fold("FR", "demand", START, [*[49, 51] * 360, now])
    assert f", {expected} the median of 50." in text(world, "FR")


def test_a_rank_that_a_daily_cycle_hides_is_said(world):
    world.fold("AU-QLD", "demand", START, [*[1000 * (i % 24) + i // 24 for i in range(720)], 15])
    assert "percentile 52 of the same hour in the last 30 days, 2 of all hours" in text(world, "AU-QLD")


def test_negative_price_is_said_in_words_and_without_a_percentage(world):
    world.fold("FR", "price", START, [*[60] * 400, *[50] * 160, *[90] * 160, -5])
    assert (
        "The price is negative, -5.00 EUR/MWh, lower than at any time in the last 30 days: "
        "65.00 below the median of 60.00. It is down 95.00 on a day earlier."
    ) in text(world, "FR")
    assert "%" not in text(world, "FR")


def test_a_common_value_gets_no_rank(world):
    world.fold("FR", "demand", START, [*[0] * 360, *range(100, 460), 0])
    assert "Demand is 0 MW, a value that the last 30 days often had, so that no rank is given." in text(world, "FR")


@pytest.mark.parametrize(("ties", "ranked"), [(2160, True), (2161, False)])
def test_a_quarter_of_ties_is_compared_before_it_is_rounded(world, ties, ranked):
    world.fold("GB", "demand", NOW - 8640 * 300, [*[7] * ties, *range(100, 100 + 8640 - ties), 7], "5m")
    reading = figures_of(world, "GB").figures["demand"].reading
    assert reading.context.ties_pct == 25.0
    assert ("percentile" in text(world, "GB"), "no rank is given" in text(world, "GB")) == (ranked, not ranked)


def test_too_little_history(world):
    world.fold("FR", "demand", NOW - 19 * HOUR, range(100, 120))
    assert text(world, "FR").endswith(
        "Demand is 119 MW, with too little history to rank it. There is no value of a day earlier. "
        "No price is known. No interchange is known."
    )
    assert coverage_note(figures_of(world, "FR")) == (
        "No context for demand: fewer than 20 values in the window. No context for price: no value is known. "
        "No context for interchange: no value is known."
    )


def test_overdue_is_said_in_absolute_time(world):
    world.fold("FR", "demand", START, range(721))
    sentences = text(world, "FR", NOW + 10 * HOUR)
    assert "Demand was 720 MW" in sentences
    assert "A newer value was due by 2026-11-20 15:30 CET (14:30 UTC) and had not come." in sentences


def test_each_time_is_said_where_metrics_differ(world):
    world.fold("FR", "price", START, range(721))
    world.fold("FR", "demand", START, range(720))
    assert "Demand at 12:00 CET (11:00 UTC) is 719 MW" in text(world, "FR")


def test_a_short_window_says_how_long_it_is(world):
    world.fold("FR", "demand", NOW - 18 * DAY, [*range(18 * 24), 200])
    assert "of the last 18.0 days" in text(world, "FR")
    assert coverage_note(figures_of(world, "FR")).startswith(
        "Only 0.6 of the window observed for demand (432 values): low confidence."
    )


def mix(world, ts):
    for fuel, value in {"gas": 31.25, "wind": 40, "nuclear": 12.04, "coal": 0}.items():
        world.fold("GB", "generation", ts, [value], "30m", fuel=fuel)


def test_the_largest_parts_of_the_mix(world):
    mix(world, NOW)
    assert text(world, "GB").startswith(
        "Great Britain, 2026-11-20 12:00 GMT (12:00 UTC). "
        "The largest parts of the mix are wind 40 %, gas 31.3 % and nuclear 12 %."
    )


def test_a_mix_of_another_time_says_its_time(world):
    world.fold("GB", "demand", START, range(721))
    mix(world, NOW - HOUR // 2)
    assert "The largest parts of the mix at 11:30 GMT (11:30 UTC) are wind 40 %" in text(world, "GB")


def test_an_overdue_mix_is_said_like_an_overdue_value(world):
    world.fold("GB", "demand", START, range(721))
    mix(world, NOW - 3 * DAY)
    parts, numbers = summary(figures_of(world, "GB"), NOW + 60, simulated=False)
    assert parts["generation_mix"] == (
        "The largest parts of the mix at 2026-11-17 12:00 GMT (12:00 UTC) were wind 40 %, gas 31.3 % and nuclear 12 %. "
        "A newer mix was due by 2026-11-17 13:30 GMT (13:30 UTC) and had not come."
    )
    assert numbers["generation_mix"]["due"] == "2026-11-17 13:30 GMT (13:30 UTC)"
    body = bodies.brief(figures_of(world, "GB"), NOW + 60, simulated=False)
    assert body["generation_mix_expected_by"] == body["valid_until"] == NOW - 3 * DAY + HOUR + HOUR // 2


def test_a_mix_that_is_not_known_is_said(world):
    world.fold("GB", "demand", START, range(721))
    world.fold("FR", "demand", START, range(721))
    assert "No generation mix is known." in text(world, "GB")
    assert bodies.brief(figures_of(world, "GB"), NOW + 60, simulated=False)["generation_mix_omitted"] == "no_rows"
    assert "mix" not in text(world, "FR")
    assert "generation_mix_omitted" not in bodies.brief(figures_of(world, "FR"), NOW + 60, simulated=False)


def test_withheld_and_simulated_are_said(world):
    world.fold("FR", "demand", START, range(721))
    assert text(world, "FR", simulated=True).endswith("Simulated figures, not market data.")
    world.withhold()
    world.catalogue()
    assert "The price is withheld by its publisher's terms." in text(world, "FR")
    assert "The generation mix is withheld by its publisher's terms." in text(world, "GB")


@pytest.mark.parametrize(
    ("value", "decimals", "expected"),
    [(25000.5, 0, 25001), (-0.004, 2, -0.004), (0.005, 2, 0.01), (-2.5, 0, -3), (0.0, 2, 0.0), (1e-7, 0, 1e-7)],
)
def test_heard(value, decimals, expected):
    assert heard(value, decimals) == expected


@pytest.mark.parametrize(
    ("history", "now", "expected"),
    [
        ([50.0] * 720, 50.0, "power costs 50.00 EUR/MWh, as often in the last thirty days."),
        ([40.0 + i % 24 for i in range(720)], 2500.5, "power costs 2,500.50 EUR/MWh, more than at any time in the"),
        ([40.0 + i % 24 for i in range(720)], -70, "the price of power is negative at -70.00 EUR/MWh, less than at"),
        ([100.0 * (i % 24) + i % 29 for i in range(720)], 10, "usual at this hour but less than in about 98 % of"),
        ([40 + i % 24 * 0.1 + i % 23 for i in range(720)], 51, "about as usual at this hour and in the last thirty"),
        ([100 + i % 24 * 100 + i % 29 for i in range(720)], 1150, "more than in about 90 % of the same hours of the "
         "last thirty days, though about as usual over all hours."),
    ],
)  # fmt: skip
def test_headlines_lead_with_the_same_hours(world, history, now, expected):
    world.fold("FR", "price", START, [*history, now])
    assert expected in headline_of(world, "FR")


def test_a_headline_without_a_price_tells_of_demand_then_of_the_flow(world):
    world.fold("FR", "interchange", START, [*[-1000 - i for i in range(720)], -1234])
    assert headline_of(world, "FR") == "France: net exports of power are 1,234 MW."
    world.fold("FR", "demand", START, [*[20000 + 10 * i for i in range(720)], 25000])
    assert headline_of(world, "FR", simulated=True).startswith(
        "Simulated figures: France: demand is 25,000 MW, about as"
    )
    assert headline_of(world, "GB") == "Great Britain: no price, demand or flow is known at present."


@pytest.mark.parametrize(
    ("value", "expected"), [(7, "7 MW (balanced)"), (-24.4, "-24 MW (balanced)"), (25, "25 MW (net i")]
)
def test_a_flow_of_a_few_megawatts_is_balanced(world, value, expected):
    world.fold("FR", "interchange", START, [*[-1000 - i for i in range(720)], value])
    assert f"Interchange is {expected}" in text(world, "FR")
