"""Check the panel's charts in Chromium: complete labels, two currencies, forecasts, periods and files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.pages.browser import api, in_chromium, touch
from tests.pages.conftest import AUCTION, DAY_AHEAD, NO_PRICE, NOW, PREDISPATCH, wave
from warehouse.market.clock import HOUR, instant
from warehouse.market.zones import ZONES

pytestmark = in_chromium
CUT = """() => {
  const {width, height} = document.querySelector('#chart canvas');
  const {data} = document.querySelector('#chart canvas').getContext('2d').getImageData(0, 0, width, height);
  const ink = (x) => Array.from({length: height}, (_, y) => data[4 * (y * width + x) + 3]).some((alpha) => alpha > 0);
  return ink(0) || ink(width - 1);
}"""


def altered(path: str, change: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that makes a page's responses for `path` pass through `change`, which edits each body."""

    def answer(route: Any) -> None:
        body = route.fetch().json()
        change(body)
        route.fulfill(json=body)

    return lambda page: page.route(f"**{path}", answer)


def ready(page: Any) -> None:
    page.wait_for_selector('#panel[aria-busy="false"]')


@pytest.mark.parametrize("font", ["sans-serif", "monospace"])
def test_labels_of_axes_are_whole_in_any_font(visit: Callable[..., Any], font: str) -> None:
    """A label that is cut loses its sign, so that an export would read as an import."""

    def widen(body: Any) -> None:
        hours = body["metrics"]["interchange"]["hours"]
        hours["values"] = [value and -abs(value) * 1000 for value in hours["values"]]

    page = visit("/#metric=interchange&zone=FR&span=7d", before=altered("/v1/geo/live/FR", widen))
    ready(page)
    page.evaluate(f"document.body.style.fontFamily = '{font}'")
    page.click("#chart-bar >> text=24 h")
    page.wait_for_selector("#chart-bar [data-keep='24h'][aria-pressed=true]")
    ready(page)
    assert not page.evaluate(CUT)


def test_prices_by_value_stand_by_currency(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=price&colours=value")
    rows = page.locator("#zone-rows tr").all_inner_texts()
    heads = [row for row in rows if row.startswith("In ")]
    assert heads == ["In AUD/MWh", "In EUR/MWh", "In GBP/MWh", "In USD/MWh"]
    at = rows.index("In AUD/MWh")
    values = [int(row.split("\t")[1].split()[0].replace("−", "-")) for row in rows[at + 1 : rows.index("In EUR/MWh")]]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    assert "only zones of one currency" in page.inner_text("#legend-text")
    page.click("#colours button[value=rank]")
    assert page.locator("#zone-rows .group").count() == 0


def test_what_an_operator_expects_is_a_line_of_its_own(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=demand&zone=ES&span=ahead")
    ready(page)
    labels = page.locator("#chart .u-series .u-label").all_inner_texts()
    assert labels == ["Time", "Spain", "Spain, forecast"]
    assert "Dashed: operator forecast" in page.inner_text("#chart-actions")
    with page.expect_download() as download:
        page.click("#chart-actions >> text=CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    running = instant(NOW) - instant(NOW) % HOUR
    actual = [int(row["ts"]) for row in rows if row["kind"] == "actual"]
    assert actual == [running], "a forecast goes on as none of the readings"
    expected = {int(row["ts"]): int(row["value"]) for row in rows if row["kind"] == "forecast"}
    assert min(expected) == running
    assert len(expected) == 33, "to the end of tomorrow in Madrid"
    assert expected[running + HOUR] == round(wave("ES", "demand_forecast", running + HOUR) / 100) * 100
    known = api(address, "/v1/geo/live/ES")["metrics"]["demand"]
    assert len(known["hours"]["values"]) == 7 * 24, "as the free document says it"


def test_the_panel_states_the_share_of_wind_and_solar_tomorrow(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=demand&zone=ES")
    ready(page)
    begin = instant("2026-11-20T23:00:00Z")
    hours = [begin + hour * HOUR for hour in range(24)]
    shares = [round(100 * wave("ES", "mix_forecast", ts) / wave("ES", "demand_forecast", ts)) for ts in hours]
    best = [sum(shares[hour : hour + 3]) / 3 for hour in range(22)]
    hour = best.index(max(best))
    said = f"Wind and solar tomorrow: about {sum(shares) / 24:.0f}% of demand by operator forecast, highest from "
    assert page.inner_text("#wind-solar") == (f"{said}{hour:02}:00 CET to {hour + 3:02}:00 CET ({max(best):.0f}%).")
    known = api(address, "/v1/geo/live/ES")["wind_solar"]
    assert (known["unit"], len(known["values"])) == ("%", 33)
    assert known["values"][9:] == shares
    page = visit("/#metric=demand&zone=GB")
    ready(page)
    assert page.locator("#wind-solar").count() == 0
    assert api(address, "/v1/geo/live/GB")["wind_solar"] is None


def test_a_zone_with_real_time_prices_has_its_auction_as_a_line_and_its_cheapest_hours(
    visit: Callable[..., Any],
) -> None:
    page = visit("/#metric=price&zone=US-CAISO&span=ahead")
    ready(page)
    labels = page.locator("#chart .u-series .u-label").all_inner_texts()
    assert labels == ["Time", "California (CAISO)", "California (CAISO), day-ahead"]
    ahead = [instant(NOW) - instant(NOW) % HOUR + hour * HOUR for hour in range(31)]
    means = [sum(wave("US-CAISO", "price_day_ahead", ts) for ts in ahead[i : i + 3]) / 3 for i in range(len(ahead) - 2)]
    hour = (6 + means.index(min(means))) % 24
    window = page.inner_text("#window")
    assert window.startswith("Cheapest 3 hours ahead: ")
    assert f", {hour:02}:00 PST to {hour + 3:02}:00 PST, about {min(means):.0f} USD/MWh." in window
    assert "Prices are known until Sat 21 Nov, 15:00 PST." in window
    with page.expect_download() as download:
        page.click("#chart-actions >> text=CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {(row["metric"], row["kind"]) for row in rows} == {("price", "actual"), ("price_day_ahead", "actual")}


@pytest.mark.parametrize(
    ("zone", "metric", "said"),
    [
        ("AU-NSW", "price", "Cheapest 3 hours ahead by operator forecast: "),
        ("GB", "carbon", "Lowest-carbon 3 hours ahead by operator forecast: "),
        ("GB", "price", "No future prices are available, so there are no cheapest hours to show. A forecast of carbon"),
    ],
)
def test_hours_by_an_operators_forecast_are_marked(
    visit: Callable[..., Any], zone: str, metric: str, said: str
) -> None:
    page = visit(f"/#metric={metric}&zone={zone}")
    ready(page)
    window = page.inner_text("#window")
    assert window.startswith(said)
    assert ("The forecast was published at " in window) == ("forecast: " in said)


def test_the_panel_names_cheapest_hours_wherever_windows_has_them(visit: Callable[..., Any], address: str) -> None:
    page = visit()
    priced = [zone for zone in ZONES if zone not in NO_PRICE or zone in DAY_AHEAD]
    known = {zone: api(address, f"/v1/windows/{zone}?sample=true") for zone in priced}
    assert sum(answer["available"] for answer in known.values()) == len([*AUCTION, *DAY_AHEAD, *PREDISPATCH])
    for zone, answer in known.items():
        touch(page, zone)
        said = page.inner_text("#window")
        assert said.startswith("Cheapest 3 hours ahead" if answer["available"] else "No future prices"), zone
        if answer["available"]:
            start = datetime.fromtimestamp(answer["start"], ZoneInfo(ZONES[zone].tz))
            assert f": {start:%a} {start.day} {start:%b, %H:%M} " in said, zone


def test_the_colon_of_a_label_stays_on_its_line(visit: Callable[..., Any]) -> None:
    def rename(body: dict[str, Any]) -> None:
        for feature in body["features"]:
            feature["properties"]["name"] = "Mid-Atlantic and Ohio Valley (PJM)"

    page = visit("/#metric=price&zone=US-CAISO", before=altered("/v1/geo/live", rename))
    page.wait_for_selector("#chart .u-legend th >> text=day-ahead")
    below = """heads => heads.map(head => {
      const range = document.createRange();
      range.selectNodeContents(head.querySelector('.u-label'));
      return head.getBoundingClientRect().bottom - [...range.getClientRects()].at(-1).bottom;
    })"""
    assert max(page.locator("#chart .u-legend th").evaluate_all(below)) < 10
