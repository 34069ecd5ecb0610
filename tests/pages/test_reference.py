"""Check the reference page in Chromium: its size, search, copying, calls with the user's own key, accessibility."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.pages.browser import api, in_chromium

pytestmark = in_chromium
AXE = Path(__file__).resolve().parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"
OPEN = "document.querySelectorAll('details.group, #price details, #sign-up details, #schema-Brief details')"


@pytest.fixture
def reference(visit: Callable[..., Any]) -> Callable[..., Any]:
    def opened(path: str = "/docs", width: int = 1280, **options: Any) -> Any:
        return visit(path, ready=False, viewport={"width": width, "height": 844}, **options)

    return opened


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.skipif(not AXE.is_file(), reason="npm install in tests/node was not run")
def test_axe_finds_nothing(reference: Callable[..., Any], scheme: str, width: int) -> None:
    page = reference(width=width, color_scheme=scheme, bypass_csp=True)  # the page's policy would block the checker
    page.evaluate(f"{OPEN}.forEach(one => one.open = true)")
    page.wait_for_selector("#price .try form")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
    assert [f"{v['id']}: {n['html'][:160]}" for v in found for n in v["nodes"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_small_screen_has_a_short_page_and_a_menu(reference: Callable[..., Any]) -> None:
    page = reference(width=390)
    assert page.evaluate("document.documentElement.scrollHeight") < 9_000
    assert page.locator("nav").is_hidden()
    page.click("#menu")
    assert page.get_attribute("#menu", "aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator("nav").is_hidden()
    assert page.evaluate("document.activeElement.id") == "menu"
    page.click("#menu")
    page.click('nav a[href="#windows"]')
    page.wait_for_selector("#windows details[open]")
    assert page.locator("nav").is_hidden()
    page.wait_for_function("Math.abs(document.querySelector('#windows').getBoundingClientRect().top) < 200")


def test_it_reads_whole_without_its_script(reference: Callable[..., Any]) -> None:
    page = reference(width=390, java_script_enabled=False)
    assert page.locator("nav").is_visible()
    assert page.locator("#search").is_hidden()
    page.click("#price summary >> nth=0")
    assert page.locator("#price [data-language]:visible").count() == 5


def test_search_leaves_what_has_all_words(reference: Callable[..., Any]) -> None:
    page = reference()
    page.fill("#search", "post webhook test")
    assert page.locator("section[data-words]:visible").evaluate_all("all => all.map(one => one.id)") == ["test-webhook"]
    assert page.locator("nav a:visible").all_inner_texts() == ["Send a test message"]
    assert page.inner_text("#found") == "1 found"
    page.fill("#search", "no such thing")
    assert page.inner_text("#found") == "0 found"
    page.fill("#search", "percentile_same_hour")
    assert page.locator("section[id^=schema-]:visible").count() >= 1
    shown = "all => all.map(one => one.id)"
    for words, found in (("jutland", ["zone-DK-1"]), ("min_mw", ["geo-plants", "ogc-plants-items"])):
        page.fill("#search", words)
        assert page.locator("section[data-words]:visible").evaluate_all(shown) == found
    page.fill("#search", "evcc")
    assert page.locator("#guide-evcc").is_visible()
    page.fill("#search", "")
    assert page.locator("nav a:visible").count() > 100
    page.evaluate("location.hash = '#geo-plants-csv'")
    page.wait_for_selector("#geo-plants details[open]")


def test_calls_are_made_with_ones_own_key_kept_in_memory_alone(reference: Callable[..., Any], address: str) -> None:
    request = Request(
        f"{address}/v1/keys/signup", b'{"email": "page@example.org"}', {"Content-Type": "application/json"}
    )
    with urlopen(request) as answer:
        key = json.load(answer)["api_key"]
    page = reference("/docs#price")
    page.fill("#key", key)
    page.select_option("#price-path-zone", "FR")
    page.fill("#price-query-limit", "2")
    page.click("#price .try button[type=submit]")
    page.wait_for_selector("#price .try [role=status] >> text=: 200, application/json")
    answer = api(address, "/v1/price/FR?limit=2", Authorization=f"Bearer {key}")
    assert json.loads(page.inner_text("#price .try pre"))["data"] == answer["data"]
    assert "RateLimit" in page.inner_text("#price .try [role=status]")
    kept = "[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href].join()"
    assert key not in page.evaluate(kept)
    page.reload()
    assert page.input_value("#key") == ""


def test_without_a_key_a_paid_path_gives_a_sample_and_the_maps_key_is_known(
    reference: Callable[..., Any], address: str
) -> None:
    page = reference("/docs#price")
    page.select_option("#price-path-zone", "FR")
    assert page.input_value("#price-query-sample") == "true"
    page.click("#price .try button[type=submit]")
    page.wait_for_selector("#price .try [role=status] >> text=sample=true: 200, application/json")
    assert json.loads(page.inner_text("#price .try pre"))["sample"] is True
    page.evaluate("localStorage.setItem('emds-key', 'emds_ofTheMap')")
    page.reload()
    assert page.input_value("#key") == "emds_ofTheMap"
    page.wait_for_selector("#price .try form")
    assert page.input_value("#price-query-sample") == ""
    page.fill("#key", "")
    assert page.input_value("#price-query-sample") == "true"


def test_an_address_that_names_no_part_leaves_the_page_whole(reference: Callable[..., Any]) -> None:
    page = reference("/docs#100%")
    page.evaluate("location.hash = '#zones'")
    page.wait_for_selector("#zones .try form")


def test_an_answer_that_was_cut_is_shown_as_it_came(reference: Callable[..., Any]) -> None:
    page = reference("/docs#zones")
    page.route("**/v1/zones", lambda route: route.fulfill(body='{"zones": [', content_type="application/json"))
    page.click("#zones .try button[type=submit]")
    page.wait_for_selector("#zones .try [role=status] >> text=200, application/json, 11 bytes")
    assert page.inner_text("#zones .try pre") == '{"zones": ['
