"""Charts of the panel in Chromium: whole labels, two currencies, what is expected, spans, files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.browser import api, in_chromium
from tests.pages.conftest import NOW, wave
from warehouse.market.clock import HOUR, instant

pytestmark = in_chromium
CUT = """() => {
  const {width, height} = document.querySelector('#chart canvas');
  const {data} = document.querySelector('#chart canvas').getContext('2d').getImageData(0, 0, width, height);
  const ink = (x) => Array.from({length: height}, (_, y) => data[4 * (y * width + x) + 3]).some((alpha) => alpha > 0);
  return ink(0) || ink(width - 1);
}"""


def altered(path: str, change: Callable[[Any], None]) -> Callable[[Any], None]:
    """Makes a page's answers of a path differ: `change` is given each body."""

    def answer(route: Any) -> None:
        body = route.fetch().json()
        change(body)
        route.fulfill(json=body)

    return lambda page: page.route(f"**{path}", answer)


def ready(page: Any) -> None:
    page.wait_for_selector('#panel[aria-busy="false"]')


@pytest.mark.parametrize("font", ["sans-serif", "monospace"])
def test_labels_of_axes_are_whole_in_any_font(visit: Callable[..., Any], font: str) -> None:
    """A label that is cut loses its sign: an export would read as an import."""

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
    assert "one currency only" in page.inner_text("#legend-text")
    page.click("#colours button[value=rank]")
    assert page.locator("#zone-rows .group").count() == 0


def test_what_an_operator_expects_is_a_line_of_its_own(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=demand&zone=ES&span=ahead")
    ready(page)
    labels = page.locator("#chart .u-series .u-label").all_inner_texts()
    assert labels == ["Time", "Spain", "Spain, expected"]
    assert "Dashed: expected by the operator" in page.inner_text("#chart-actions")
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


def test_the_cheapest_hours_are_shaded_and_as_many_as_one_wants(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=price&zone=ES&span=ahead")
    ready(page)
    before = page.inner_text("#window p")
    assert before.startswith("Cheapest 3 hours ahead: ")
    page.click("#window >> text=6 h")
    page.wait_for_function("before => document.querySelector('#window p').textContent !== before", arg=before)
    assert page.inner_text("#window p").startswith("Cheapest 6 hours ahead: ")
    assert "block=6" in page.url
    shaded = """() => {
      const canvas = document.querySelector('#chart canvas');
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        count += data[i + 1] > data[i] + 80 && data[i + 3] > 20 && data[i + 3] < 90;
      }
      return count;
    }"""
    wide = page.evaluate(shaded)
    page.click("#window >> text=2 h")
    page.wait_for_selector("#window p >> text=Cheapest 2 hours")
    ready(page)
    assert 0 < page.evaluate(shaded) < wide / 2


def test_days_are_chosen_whole_in_the_zones_own_time(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=price&zone=FR&beside=GB&span=7d")
    ready(page)
    page.click("#chart-bar >> text=Dates")
    page.fill("[data-keep=from]", "2026-11-16")
    page.fill("[data-keep=to]", "2026-11-17")
    page.wait_for_url("**span=dates&from=2026-11-16&to=2026-11-17")
    ready(page)
    with page.expect_download() as download:
        page.click("#chart-actions >> text=CSV")
    assert download.value.suggested_filename == "emds-price-FR-GB-dates.csv"
    rows = [row for row in csv.DictReader(io.StringIO(download.value.path().read_text())) if row["zone"] == "FR"]
    assert (rows[0]["time"], rows[-1]["time"]) == ("2026-11-15T23:00:00Z", "2026-11-17T22:00:00Z")
    assert len(rows) == 48
    again = visit(page.url.partition(page.url.split("/#")[0])[2])
    ready(again)
    assert again.input_value("[data-keep=from]") == "2026-11-16"


def test_a_chart_takes_half_of_the_window_and_a_part_of_its_time(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=price&zone=FR&span=7d")
    ready(page)
    page.click(".wider")
    page.wait_for_function("() => document.querySelector('#chart canvas').clientWidth > 500")
    assert page.locator("#panel").bounding_box()["width"] > 560
    assert page.url.endswith("&panel=wide")
    box = page.locator("#chart .u-over").bounding_box()
    time = "document.querySelector('#chart .u-legend .u-value').textContent"

    def at_left_edge() -> Any:
        page.mouse.move(box["x"] + 2, box["y"] + 40)
        page.wait_for_timeout(100)
        return page.evaluate(time)

    whole = at_left_edge()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 60, steps=4)
    page.mouse.up()
    zoomed = at_left_edge()
    assert zoomed != whole
    page.mouse.dblclick(box["x"] + 50, box["y"] + 50)
    assert at_left_edge() == whole
