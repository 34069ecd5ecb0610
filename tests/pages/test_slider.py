"""The hour slider in Chromium: hours before, hours ahead until the end of tomorrow, and what colours mean there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.pages.browser import api, in_chromium, touch, zone
from tests.pages.conftest import AUCTION, EXPECTED, NOW, wave
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
    again.wait_for_selector("#zones-note >> text=Means of the hour")
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
    visit.faults.clear()  # the browser itself logs what it could not fetch


def test_tomorrow_holds_what_auctions_have_fixed(visit: Callable[..., Any]) -> None:
    at = RUNNING + 22 * HOUR
    page = visit(f"/#metric=price&at={at}")
    page.wait_for_selector(
        "#zones-note >> text=Prices that auctions have fixed of the hour from Sat 21 Nov, 12:00 UTC."
    )
    assert "23 of 25 zones have none for that hour." in page.inner_text("#zones-note")
    assert {name for name, fill in painted(page).items() if fill != "url(#hatch)"} == {*AUCTION}
    assert zone(page, "GB").get_attribute("aria-label") == "Great Britain: Price not known for that hour"
    label = zone(page, "ES").get_attribute("aria-label")
    assert label.startswith(f"Spain: Price {round(wave('ES', 'price', at))} EUR/MWh, fixed by auction, higher than ")


def test_expected_demand_is_dashed_by_value_and_without_a_rank(visit: Callable[..., Any]) -> None:
    page = visit(f"/#metric=demand&at={RUNNING + 22 * HOUR}")
    page.wait_for_selector("#zones-note >> text=Demand as operators expect it (dashed)")
    dashed = page.locator("path.zone.expected").evaluate_all("paths => paths.map(path => path.dataset.zone)")
    assert {*dashed} == {*EXPECTED}
    assert zone(page, "ES").get_attribute("aria-label").endswith(" MW, expected by its operator")
    assert page.locator("#colours").is_hidden()
    assert page.inner_text("#ramp-high") == "100 GW"
    touch(page, "ES")
    assert "Expected by its operator." in page.inner_text("#headline")
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
