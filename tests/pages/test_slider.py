"""Check the hour slider in Chromium: past hours, hours to the end of tomorrow, and the meaning of colours there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.pages.browser import api, in_chromium, touch, zone
from tests.pages.conftest import AUCTION, DAY_AHEAD, EXPECTED, NOW, PREDISPATCH, wave
from tests.pages.test_browser import NET_IMPORT, colour, painted
from warehouse.market.clock import HOUR, instant

pytestmark = in_chromium
RUNNING = instant(NOW) - instant(NOW) % HOUR


def test_the_slider_shows_one_of_the_last_48_hours(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=interchange")
    page.fill("#hour", "40")
    page.wait_for_url("**at=*")
    ts = instant(NOW) - instant(NOW) % HOUR - 7 * HOUR
    assert page.url.endswith(f"#metric=interchange&at={ts}")
    hours = api(address, "/v1/geo/live/hours")["zones"]
    values = {n: own["interchange"][(ts - own["start"]) // HOUR] for n, own in hours.items() if "interchange" in own}
    fills = painted(page)
    assert {n: fills[n] for n in values} == {
        n: colour(NET_IMPORT, v) if v is not None else "url(#hatch)" for n, v in values.items()
    }
    again = visit(urlsplit(page.url).path + "#" + urlsplit(page.url).fragment)
    again.wait_for_selector("#zones-note >> text=Means for the hour")
    assert again.input_value("#hour") == "40"
    assert painted(again) == fills


@pytest.mark.parametrize(("before", "position"), [(9 * HOUR, "38"), (-60 * HOUR, "47")])
def test_the_slider_stands_at_the_hour_of_the_address_after_an_outage_too(
    visit: Callable[..., Any], before: int, position: str
) -> None:
    down = {"now": True}

    def outage(page: Any) -> None:
        page.clock.install()
        page.route("**/v1/**", lambda route: route.abort() if down["now"] else route.continue_())

    page = visit(f"/#metric=price&at={instant(NOW) - instant(NOW) % HOUR - before}", ready=False, before=outage)
    page.wait_for_selector("#trouble:not([hidden])")
    page.fill("#hour", "5")
    down["now"] = False
    page.clock.run_for(16_000)
    page.wait_for_selector("body[data-ready=true]")
    assert page.input_value("#hour") == position
    shown = page.inner_text("#hour-text")
    assert shown == "now" if position == "47" else shown in page.inner_text("#zones-note")
    visit.faults.clear()  # the browser itself logs the failed requests


def test_tomorrow_holds_prices_of_auctions_and_operators_forecasts(visit: Callable[..., Any]) -> None:
    at = RUNNING + 22 * HOUR
    page = visit(f"/#metric=price&at={at}")
    page.wait_for_selector(
        "#zones-note >> text=Auction prices, and operator forecasts (dashed) for the hour from Sat 21 Nov, 12:00 UTC."
    )
    assert "20 of 25 zones have no data for this hour." in page.inner_text("#zones-note")
    assert {name for name, fill in painted(page).items() if fill != "url(#hatch)"} == {*AUCTION, *DAY_AHEAD}
    dashed = page.locator("path.zone.expected").evaluate_all("paths => paths.map(path => path.dataset.zone)")
    assert dashed == [*PREDISPATCH]
    assert zone(page, "GB").get_attribute("aria-label") == "Great Britain: Price, no data for this hour"
    label = zone(page, "ES").get_attribute("aria-label")
    assert label.startswith(f"Spain: Price {round(wave('ES', 'price', at))} EUR/MWh, day-ahead auction, higher than ")


def test_day_ahead_prices_are_shown_before_the_first_real_time_price(visit: Callable[..., Any]) -> None:
    at = RUNNING + 22 * HOUR
    page = visit(f"/#metric=price&zone=US-MISO&at={at}")
    page.wait_for_selector("#window >> text=Cheapest 3 hours ahead")
    price = round(wave("US-MISO", "price_day_ahead", at))
    assert f"{price} USD/MWh" in page.inner_text("#headline")
    assert page.locator("#chart canvas").count()
    page.fill("#hour", "47")
    assert page.inner_text("#headline") == "Price: no data."


def test_an_hour_that_is_only_missing_is_no_metric_that_is_not_published(visit: Callable[..., Any]) -> None:
    page = visit(f"/#metric=demand&at={RUNNING - 19 * HOUR}")
    page.wait_for_selector("#zones-note >> text=1 of 25 zones has no data for this hour.")
    assert zone(page, "FR").get_attribute("aria-label") == "France: Demand, no data for this hour"
    touch(page, "FR")
    assert page.inner_text("#headline") == "Demand: no data for this hour."


def test_hours_have_the_civil_time_of_the_open_zone(visit: Callable[..., Any]) -> None:
    page = visit(f"/#metric=price&at={RUNNING - HOUR}")
    assert page.inner_text("#hour-text") == "Fri 20 Nov, 13:00 UTC"
    touch(page, "US-CAISO")
    assert page.inner_text("#hour-text") == "Fri 20 Nov, 05:00 PST"
    assert "from Fri 20 Nov, 05:00 PST" in page.text_content("#zones-note")
    pacific = page.locator("#days span").evaluate_all("marks => marks.map(mark => mark.style.left)")
    touch(page, "AU-SA")
    assert page.inner_text("#hour-text") == "Fri 20 Nov, 23:30 ACDT"
    assert page.locator("#days span").evaluate_all("marks => marks.map(mark => mark.style.left)") != pacific
    page.click(".close")
    assert page.inner_text("#hour-text") == "Fri 20 Nov, 13:00 UTC"


def test_days_and_the_present_never_overlap(visit: Callable[..., Any]) -> None:
    page = visit("/#zone=FR")
    boxes = """() => [...document.querySelectorAll('#days span:not([hidden])')].map(one => one.getBoundingClientRect())
      .map(({left, right}) => [left, right]).sort((a, b) => a[0] - b[0])"""
    for hour in range(24):
        page.evaluate(
            "slider => import(slider).then(m => { m.setNow(HOUR); m.show(null, 'UTC'); })".replace(
                "HOUR", str(RUNNING + hour * HOUR)
            ),
            page.locator("link[href$='slider.js']").evaluate("link => link.href"),
        )
        shown = page.evaluate(boxes)
        assert len(shown) >= 3
        assert all(one[1] < other[0] for one, other in pairwise(shown)), hour


def test_expected_demand_is_dashed_by_value_and_without_a_rank(visit: Callable[..., Any]) -> None:
    page = visit(f"/#metric=demand&at={RUNNING + 22 * HOUR}")
    page.wait_for_selector("#zones-note >> text=Demand: operator forecasts (dashed)")
    dashed = page.locator("path.zone.expected").evaluate_all("paths => paths.map(path => path.dataset.zone)")
    assert {*dashed} == {*EXPECTED}
    assert zone(page, "ES").get_attribute("aria-label").endswith(" MW, operator forecast")
    assert page.locator("#colours").is_hidden()
    assert page.inner_text("#ramp-high") == "100 GW"
    touch(page, "ES")
    assert "Operator forecast." in page.inner_text("#headline")
    page.fill("#hour", "47")
    assert page.locator("path.zone.expected").count() == 0
    assert page.inner_text("#ramp-high") == "highest"


def test_days_are_marked_and_hours_are_played(visit: Callable[..., Any]) -> None:
    page = visit(before=lambda page: page.clock.install())
    assert page.locator("#days span").all_inner_texts() == ["now", "Thu 19", "Fri 20", "Sat 21"]
    assert page.get_attribute("#hour", "max") == str(47 + 33), "until 23:00 UTC of tomorrow"
    page.fill("#hour", "60")
    page.click("#play")
    page.clock.run_for(2_200)
    assert int(page.input_value("#hour")) >= 62
    page.click("#play")
    stopped = page.input_value("#hour")
    page.clock.run_for(5_000)
    assert page.input_value("#hour") == stopped
    page.fill("#hour", "78")
    page.click("#play")
    page.clock.run_for(60_000)
    assert page.input_value("#hour") == "80"
    assert page.get_attribute("#play", "aria-pressed") == "false"
