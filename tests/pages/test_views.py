"""Check views of the map page in Chromium: back and forward, URLs, sharing, frames, and a visitor's next steps."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.browser import in_chromium, touch

pytestmark = in_chromium
STAYED = "window.stayed === true"


def require_shown(page: Any, name: str) -> None:
    page.wait_for_selector(f"#panel-title >> text={name}")
    page.wait_for_selector('#panel[aria-busy="false"]')


def test_back_and_forward_walk_through_zones(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=price")
    page.evaluate("window.stayed = true")
    touch(page, "GB")
    page.click("#chart-bar >> text=24 h")
    touch(page, "FR")
    page.go_back()
    require_shown(page, "Great Britain")
    assert page.url.endswith("#metric=price&zone=GB&span=24h"), "another span is no step"
    assert page.locator("#chart-bar [aria-pressed=true]").inner_text() == "24 h"
    page.go_back()
    page.wait_for_selector("#panel", state="hidden")
    page.go_forward()
    require_shown(page, "Great Britain")
    page.go_forward()
    require_shown(page, "France")
    assert page.evaluate(STAYED)


def test_a_link_and_a_frame_are_shared(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=demand&zone=GB&span=24h", permissions=["clipboard-read", "clipboard-write"])
    page.click("#share-view")
    link = page.input_value("#share-link")
    assert link == f"{address}/#metric=demand&zone=GB&span=24h"
    assert f'src="{address}/?embed#metric=demand&zone=GB&span=24h"' in page.input_value("#share-frame")
    page.click("[data-copy=share-link]")
    page.wait_for_selector("[data-copy=share-link] >> text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == link
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_visible(), "Escape closes the dialog alone"


def test_a_frame_names_its_sources_and_leads_to_the_whole_page(visit: Callable[..., Any], address: str) -> None:
    page = visit("/?embed#metric=demand")
    touch(page, "FR")
    assert page.locator("#whole-view").evaluate("link => link.href") == f"{address}/#metric=demand&zone=FR&span=7d"
    page.click(".source summary")
    credits = page.inner_text("#credits")
    assert "Data: Toy Grid." in credits
    assert "Toy-1.0" in credits
    assert visit().locator(".source").is_hidden()


@pytest.mark.parametrize("width", [400, 700, 1100])
def test_a_shared_panel_leaves_the_map_of_a_frame_in_sight(visit: Callable[..., Any], width: int) -> None:
    page = visit("/?embed#metric=price&zone=GB", viewport={"width": width, "height": 560})
    page.wait_for_selector('#panel[aria-busy="false"]')
    covering = """() => [...document.querySelectorAll('path.zone')].filter((zone) => {
      const {left, right, top, bottom} = zone.getBoundingClientRect();
      return document.elementFromPoint((left + right) / 2, (top + bottom) / 2)?.closest('#panel');
    }).length"""
    assert page.evaluate(covering) == 0
    page.locator("#panel .close").scroll_into_view_if_needed()
    page.click("#panel .close")
    page.wait_for_selector("#panel", state="hidden")


def test_rows_of_the_list_open_their_zone_and_are_taken_along_as_a_file(visit: Callable[..., Any]) -> None:
    page = visit()
    with page.expect_download() as download:
        page.click("#zones >> text=CSV")
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert len(rows) == 23, "those that have a price"
    columns = "ts time zone name metric kind value unit percentile rounded license attribution"
    assert list(rows[0]) == columns.split()
    page.locator("#zone-rows tr", has_text="Austria").locator(".rank").click()
    require_shown(page, "Austria")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "ATAustria"


def test_the_list_is_searched_and_sorted(visit: Callable[..., Any]) -> None:
    page = visit()
    names = page.locator("#zone-rows tr th small")
    page.fill("#zone-search", "australia")
    assert names.all_inner_texts() == ["South Australia"]
    page.fill("#zone-search", "dk-")
    assert names.all_inner_texts() == ["Denmark, Jutland and Funen (DK1)"]
    page.fill("#zone-search", "zzz")
    assert page.inner_text("#zone-rows") == "No zone matches."
    page.fill("#zone-search", "")
    for column, order in (("name", "ascending"), ("name", "descending"), ("rank", "descending"), ("rank", "ascending")):
        page.click(f"#zones thead button[value={column}]")
        assert page.locator("#zones [aria-sort]").get_attribute("aria-sort") == order
        keys = (
            names.all_inner_texts()
            if column == "name"
            else [int(text.split()[0]) for text in page.locator("#zone-rows .rank + .sr + small").all_inner_texts()]
        )
        assert keys == sorted(keys, reverse=order == "descending")
    assert page.url.endswith("#metric=price&sort=-rank")
    assert page.locator("#zone-rows tr").last.inner_text().endswith("no data"), "zones without a value stay last"
    page.reload()
    page.wait_for_selector("#zones [aria-sort=ascending]")


def test_what_one_needs_elsewhere_has_the_zone_filled_in(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=demand&zone=ES")
    page.wait_for_selector('#panel[aria-busy="false"]')
    page.click(".use summary")
    code = page.locator(".use code")
    for tool, part in {
        "Website": f'<img src="{address}/embed/ES.demand.svg"',
        "curl": f"curl '{address}/v1/demand/ES?start=-7d'",
        "Python": "pandas.read_csv(",
        "R": "read.csv(url(",
        "Spreadsheet": "Web.Contents(",
        "Home Assistant": f"{address}/v1/windows/ES?hours=3",
        "evcc": f"{address}/v1/price/ES?market=day_ahead",
    }.items():
        page.click(f".use button >> text=/^{tool}$/")
        page.wait_for_function("part => document.querySelector('.use code').textContent.includes(part)", arg=part)
        assert "DE-LU" not in code.inner_text()
        assert "emds.example" not in code.inner_text()
    page.goto(address + "/#metric=price&zone=US-CAISO")
    page.reload()
    page.wait_for_selector('#panel[aria-busy="false"]')
    page.click(".use summary")
    for tool, unit in {"Home Assistant": "unit_of_measurement: &unit USD/MWh", "evcc": "currency: USD"}.items():
        page.click(f".use button >> text=/^{tool}$/")
        page.wait_for_function("unit => document.querySelector('.use code').textContent.includes(unit)", arg=unit)
        assert page.inner_text(".use .note") == ""
    page.goto(address + "/#metric=price&zone=GB")
    page.reload()
    page.wait_for_selector('#panel[aria-busy="false"]')
    page.click(".use summary")
    for tool in ("Home Assistant", "evcc"):
        page.click(f".use button >> text=/^{tool}$/")
        page.wait_for_selector(".use .note >> text=This service has no day-ahead prices for this zone.")
        page.click(".use button >> text=/^curl$/")
        assert page.inner_text(".use .note") == ""


def test_a_part_of_the_page_that_cannot_be_loaded_says_so(visit: Callable[..., Any]) -> None:
    page = visit(before=lambda page: page.route("**/download.js", lambda route: route.abort()))
    page.click("#zones-csv")
    page.wait_for_selector("#trouble >> text=The service cannot be reached.")
    visit.faults.clear()  # the browser itself logs the failed request
