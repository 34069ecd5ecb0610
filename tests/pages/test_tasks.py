"""What visitors come for, done by clicks from the first view, with how many clicks each takes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.browser import in_chromium, zone

pytestmark = in_chromium


@pytest.fixture
def walk(visit: Callable[..., Any]) -> Any:
    """The first view; `click` and `type_in` count what a visitor does."""
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.steps = 0

    def click(target: Any) -> None:
        page.steps += 1
        (page.locator(target) if isinstance(target, str) else target).click()
        if page.locator("#panel").is_visible():
            page.wait_for_selector('#panel[aria-busy="false"]')

    page.act = click
    return page


def row(page: Any, name: str) -> Any:
    return page.locator("#zone-rows tr", has_text=name)


def test_cheapest_hours_tomorrow(walk: Any) -> None:
    walk.act(row(walk, "Spain"))
    assert "Cheapest 3 hours ahead: Sat 21 Nov, 02:00 CET to 05:00 CET" in walk.inner_text("#window")
    assert walk.steps == 1


def test_who_imports_most(walk: Any) -> None:
    walk.act("label:has(input[value=interchange])")
    first, second = walk.locator("#zone-rows tr").all_inner_texts()[:2]
    amounts = [int(text.split("\t")[1].split()[0].replace("+", "").replace(",", "")) for text in (first, second)]
    assert amounts[0] >= amounts[1] > 0
    assert walk.steps == 1


def test_last_week_of_two_zones_by_date_as_a_file(walk: Any) -> None:
    walk.act(row(walk, "France"))
    walk.select_option("#chart-bar select", "GB")
    walk.act("#chart-bar >> text=Dates")
    walk.fill("[data-keep=from]", "2026-11-09")
    walk.fill("[data-keep=to]", "2026-11-15")
    walk.wait_for_selector("#chart-actions >> text=6-hour means, rounded; EUR/MWh and GBP/MWh")
    with walk.expect_download() as download:
        walk.act("#chart-actions >> text=CSV")
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert {(each["zone"], each["metric"], each["unit"]) for each in rows} == {
        ("FR", "price", "EUR/MWh"),
        ("GB", "price", "GBP/MWh"),
    }
    assert walk.steps == 3


def test_all_zones_as_a_file(walk: Any) -> None:
    with walk.expect_download() as download:
        walk.act("#zones >> text=CSV")
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert len(rows) == 23, "those that have a price"
    columns = "ts time zone name metric kind value unit percentile rounded license attribution"
    assert list(rows[0]) == columns.split()
    assert walk.steps == 1


def test_a_key(walk: Any) -> None:
    walk.act("#get-key")
    walk.fill("#email", "tasks@example.org")
    walk.act("#sign-up-form [type=submit]")
    walk.wait_for_selector("#new-key:has-text('emds_')")
    assert walk.steps == 2


def test_tomorrow_on_the_map(walk: Any) -> None:
    walk.fill("#hour", "69")
    walk.steps += 1
    walk.wait_for_selector(
        "#zones-note >> text=Prices that auctions have fixed of the hour from Sat 21 Nov, 12:00 UTC."
    )
    assert zone(walk, "ES").get_attribute("fill") != "url(#hatch)"
    assert walk.steps == 1


def test_share(walk: Any, address: str) -> None:
    walk.act("#share-view")
    walk.act("[data-copy=share-link]")
    walk.wait_for_selector("[data-copy=share-link] >> text=Copied")
    assert walk.evaluate("navigator.clipboard.readText()") == f"{address}/"
    assert walk.steps == 2
