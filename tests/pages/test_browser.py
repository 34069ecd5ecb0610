"""Check the map page in Debian's Chromium with the real application: colours, panel, charts, flows, slider and keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.pages.browser import api, figure, in_chromium, touch, zone
from tests.pages.conftest import NOW
from warehouse.market.clock import HOUR, instant

pytestmark = in_chromium

RANK = [(0, "2c7bb6"), (25, "abd9e9"), (50, "ffffbf"), (75, "fdae61"), (100, "d7191c")]
NET_IMPORT = [
    (-12000, "b35806"), (-4000, "f1a340"), (-1000, "fee0b6"), (0, "f7f7f7"), (1000, "d8daeb"), (4000, "998ec3"),
    (12000, "542788"),
]  # fmt: skip


def colour(stops: list[tuple[int, str]], value: float) -> str:
    """Return the colour that `scale.js` must draw: linear in sRGB between the stops."""
    value = min(max(value, stops[0][0]), stops[-1][0])
    for (low, before), (high, after) in pairwise(stops):
        if low <= value <= high:
            part = (value - low) / (high - low)
            ends = zip(bytes.fromhex(before), bytes.fromhex(after), strict=True)
            return "#" + "".join(f"{int(a + (b - a) * part + 0.5):02x}" for a, b in ends)
    raise ValueError(value)


def painted(page: Any) -> dict[str, str]:
    fills = "paths => paths.map(p => [p.dataset.zone, p.getAttribute('fill')])"
    return dict(page.eval_on_selector_all("path.zone", fills))


def live(address: str) -> dict[str, Any]:
    return {f["id"]: f["properties"] for f in api(address, "/v1/geo/live")["features"]}


@pytest.mark.parametrize("metric", ["price", "carbon"])
def test_rank_colours_follow_from_the_api(visit: Callable[..., Any], address: str, metric: str) -> None:
    page = visit(f"/#metric={metric}&colours=rank")
    ranks = {name: own[f"{metric}_percentile"] for name, own in live(address).items()}
    expected = {name: "url(#hatch)" if rank is None else colour(RANK, rank) for name, rank in ranks.items()}
    assert painted(page) == expected
    assert len(set(expected.values())) >= 5


def test_net_import_is_coloured_by_value_around_zero(visit: Callable[..., Any], address: str) -> None:
    page = visit()
    page.check('input[value="interchange"]', force=True)
    page.wait_for_selector('body[data-metric="interchange"]')
    values = {name: own["interchange"] for name, own in live(address).items()}
    expected = {n: "url(#hatch)" if v is None else colour(NET_IMPORT, v) for n, v in values.items()}
    assert painted(page) == expected
    assert page.locator("#colours button[value=value]").get_attribute("aria-pressed") == "true"
    page.click("#colours button[value=rank]")
    assert painted(page) != expected
    assert page.url.endswith("#metric=interchange&colours=rank")


def test_labels_and_names_say_value_and_unit(visit: Callable[..., Any], address: str) -> None:
    page = visit()
    price, rank = (figure(address, "FR", name) for name in ("price", "price_percentile"))
    label = zone(page, "FR").get_attribute("aria-label")
    assert label == f"France: Price {price} EUR/MWh, higher than {rank}% of the time in the past 30 days"
    assert zone(page, "US-PJM").get_attribute("aria-label").endswith("Price, no data")
    assert "Labels: per MWh" in page.inner_text("#legend-text")
    assert page.locator(".zone-label:has(small:text-is('FR')) b").inner_text() == f"€{price}"


def test_carbon_intensity_states_its_basis(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=carbon_intensity&zone=DE-LU")
    page.wait_for_selector('body[data-metric="carbon"]')
    assert "Estimates, except GB (published)." in page.inner_text("#legend-text")
    value, rank = (figure(address, "DE-LU", name) for name in ("carbon", "carbon_percentile"))
    label = zone(page, "DE-LU").get_attribute("aria-label")
    assert label.endswith(
        f"Carbon intensity {value} gCO₂/kWh, estimated, higher than {rank}% of the time in the past 30 days"
    )
    assert f"Estimated, higher than {rank}%" in page.inner_text("#headline")
    assert zone(page, "NL").get_attribute("aria-label").endswith("Carbon intensity, no data")
    page.click(".close")
    heads = page.locator("#zone-rows .group").all_inner_texts()
    assert heads == ["Estimated from the generation mix", "Published by operators"]


def test_the_panel_shows_the_mix_as_bars(visit: Callable[..., Any]) -> None:
    page = visit("/#zone=DE-LU")
    page.wait_for_selector("ul.mix li")
    lines = [line.split("\n") for line in page.locator("ul.mix li").all_inner_texts()]
    assert [(line[0], line[-1]) for line in lines] == [
        ("Gas", "9,000"),
        ("Wind, onshore", "6,500"),
        ("Nuclear", "4,000"),
        ("Biomass", "300"),
        ("Pumped storage", "−1,500"),
    ]
    widths = page.eval_on_selector_all("ul.mix i", "bars => bars.map((bar) => bar.style.width)")
    assert widths[0] == "100%"
    assert page.locator("ul.mix .charging").count() == 1


def test_a_click_shows_figure_rank_and_a_chart(visit: Callable[..., Any], address: str) -> None:
    page = visit()
    touch(page, "FR")
    panel = page.inner_text("#panel")
    price, rank = (figure(address, "FR", name) for name in ("price", "price_percentile"))
    assert "France" in panel
    assert f"{price} EUR/MWh" in panel
    assert f"Higher than {rank}% of the time in the past 30 days" in panel
    assert "Data: Toy Grid." in page.inner_text("#panel-rest")
    assert "Hourly means, rounded; EUR/MWh, Europe/Paris time." in panel
    label = page.locator("#chart .chart").get_attribute("aria-label")
    assert label.startswith("Price: France: ")
    assert page.locator("#panel-rest .chart").count() == 1, "one chart below: the borders"
    assert page.url.endswith("#metric=price&zone=FR&span=7d")
    assert page.locator("#zones").is_hidden()
    page.click("#chart-bar >> text=30 d")
    page.wait_for_selector("text=6-hour means")
    assert page.url.endswith("span=30d")


def test_the_panel_states_when_the_next_update_is_due(visit: Callable[..., Any]) -> None:
    page = visit("/#metric=demand&zone=US-CAISO")
    assert "Interval starting Fri 20 Nov, 06:00 PST. Next update due by 10:10 PST." in page.inner_text("#headline")

    def overdue(route: Any) -> None:
        body = route.fetch().json()
        for feature in body["features"]:
            feature["properties"]["demand_expected_by"] = instant(NOW) - HOUR
        route.fulfill(json=body)

    page = visit("/#metric=demand&zone=FR", before=lambda page: page.route("**/v1/geo/live", overdue))
    assert "Overdue: newer data was expected by Fri 20 Nov, 14:10 CET." in page.inner_text("#headline")


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_the_map_stands_still_when_metric_and_colours_change(visit: Callable[..., Any], width: int) -> None:
    page = visit(viewport={"width": width, "height": 800})
    heights = set()
    for metric in ("price", "demand", "interchange", "carbon"):
        page.check(f'input[value="{metric}"]', force=True)
        for colours in ("rank", "value"):
            page.click(f"#colours button[value={colours}]")
            for hour in ("30", "47", "60"):
                page.fill("#hour", hour)
                heights.add(page.locator(".controls").bounding_box()["height"])
            page.fill("#hour", "47")
    assert len(heights) == 1


def test_a_rank_of_100_keeps_clear_of_its_bar(visit: Callable[..., Any]) -> None:
    page = visit()
    gap = """cell => {
      const range = document.createRange();
      range.selectNodeContents(cell.querySelector('small').firstChild);
      return range.getBoundingClientRect().left - cell.querySelector('.rank').getBoundingClientRect().right;
    }"""
    cell = page.locator("#zone-rows td:has(.rank i)").first
    cell.evaluate("cell => { cell.querySelector('small').textContent = '100'; }")
    assert cell.evaluate(gap) >= 4


def test_each_line_of_a_file_has_its_own_terms(visit: Callable[..., Any]) -> None:
    def terms(route: Any) -> None:
        route.fulfill(json=route.fetch().json() | {"attribution": "Data: Réseau.", "license": "Réseau-2.0"})

    def before(page: Any) -> None:
        page.route("**/v1/geo/live/FR", terms)
        page.add_init_script("""
          window.written = [];
          const write = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            window.written.push(String(text));
            return write.call(this, text, ...rest);
          };
        """)

    page = visit("/#metric=price&zone=GB&beside=FR&span=24h", before=before)
    page.wait_for_selector("#chart .u-legend >> text=France")
    assert "GBP/MWh and EUR/MWh" in page.inner_text("#chart-actions")
    with page.expect_download() as download:
        page.click("#chart-actions >> text=CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {(row["zone"], row["metric"], row["unit"], row["license"], row["attribution"]) for row in rows} == {
        ("GB", "price", "GBP/MWh", "Toy Grid: Toy-1.0; Ties Grid: Ties-1.0", "Data: Toy Grid.; Data: Ties Grid."),
        ("FR", "price", "EUR/MWh", "Réseau-2.0", "Data: Réseau."),
    }
    page.evaluate("window.written.length = 0")
    with page.expect_download():
        page.click("#chart-actions >> text=PNG")
    written = page.evaluate("window.written")
    title = written.index("Price: Great Britain and France")
    assert written[title + 1 : title + 3] == ["Great Britain (GBP/MWh)", "France (EUR/MWh)"]
    assert " ".join(written[title + 3 :]) == (
        "GB: Data: Toy Grid.; Data: Ties Grid. Licence: Toy Grid: Toy-1.0; Ties Grid: Ties-1.0. "
        "FR: Data: Réseau. Licence: Réseau-2.0."
    )


def test_borders_without_any_figure_leave_the_panel_whole(visit: Callable[..., Any]) -> None:
    def silent(route: Any) -> None:
        body = route.fetch().json()
        parts = body["borders"]["parts"]
        route.fulfill(json=body | {"borders": body["borders"] | {"parts": {n: [None] * 48 for n in parts}}})

    page = visit("/#metric=price&zone=GB", before=lambda page: page.route("**/v1/geo/live/GB", silent))
    page.wait_for_selector('#panel[aria-busy="false"]')
    page.wait_for_timeout(100)
    assert "Values on this page are rounded" in page.inner_text("#exact")


def test_prices_ahead_have_a_span_and_a_cheapest_window(visit: Callable[..., Any]) -> None:
    """Three hours of the auction are cheap. Without future prices, a URL that requests them shows a week."""
    first, auction = instant(NOW) - instant(NOW) % HOUR, [60] * 5 + [20, 10, 30] + [60] * 22

    def published(route: Any) -> None:
        body = route.fetch().json()
        hours = body["metrics"]["price"]["hours"]
        known = hours["values"][: (first - hours["start"]) // HOUR]
        hours["values"] = known + auction
        route.fulfill(json=body)

    path = "/#metric=price&zone=GB&span=ahead"
    page = visit(path, before=lambda page: page.route("**/v1/geo/live/GB", published))
    page.wait_for_selector('#panel[aria-busy="false"]')
    said = page.inner_text("#window")
    assert said.startswith("Cheapest 3 hours ahead: Fri 20 Nov, 19:00 GMT to 22:00 GMT, about 20 GBP")
    assert "Prices are known until Sat 21 Nov, 20:00 GMT." in said
    assert page.locator("#chart-bar [aria-pressed=true]").inner_text() == "Tomorrow"
    assert "Lowest 10, highest 60" in page.locator("#chart .chart").get_attribute("aria-label")
    auction[4:] = [None]
    page = visit(path, before=lambda page: page.route("**/v1/geo/live/GB", published))
    page.wait_for_selector('#panel[aria-busy="false"]')
    assert page.inner_text("#window").startswith("Prices are known until Fri 20 Nov, 18:00 GMT, which is too few hours")
    page = visit(path)
    page.wait_for_selector('#panel[aria-busy="false"]')
    assert page.locator("#chart-bar [aria-pressed=true]").inner_text() == "7 d"
    assert page.locator("#chart .chart").count() == 1
    assert "No future prices are available" in page.inner_text("#window")


def test_lines_plants_and_the_state_of_sources_are_shown(visit: Callable[..., Any], address: str) -> None:
    page = visit(flows=True)
    targets = "paths => paths.map(p => [p.dataset.line, p.dataset.to ?? null])"
    drawn = dict(page.eval_on_selector_all("path.flow", targets))
    lines = {f["id"]: f["properties"] for f in api(address, "/v1/geo/interconnectors")["features"]}
    assert set(drawn) == set(lines)
    assert drawn["DC_S"] is None, "no flow is published for it"
    flows = {(f["zone"], f["link"] or f["counterparty"]): f["mw"] for f in api(address, "/v1/geo/live")["flows"]}
    assert drawn["gb-fr-ifa"] == ("GB" if flows["GB", "gb-fr-ifa"] > 0 else "FR")
    assert drawn["INTIRL"] == ("GB" if flows["GB", "INTIRL"] > 0 else "Northern Ireland")
    assert drawn["gb-no2-nsl"] == ("GB" if flows["GB", "gb-no2-nsl"] > 0 else "NO-2")
    assert drawn["de-pl-ac"] == ("DE-LU" if flows["DE-LU", "PL"] > 0 else "PL")
    moving = page.locator("path.flow.moving")
    assert moving.count() > 40
    assert moving.first.get_attribute("marker-end") == "url(#arrow)"
    page.uncheck("#show-flows")
    assert page.locator("path.flow").count() == 0
    page.check("#show-flows")
    page.wait_for_selector("path.flow.moving")
    assert page.locator("path.plant").count() == 0
    page.check("#show-plants")
    page.wait_for_selector("#fuels li")
    assert page.locator("path.plant").count() == len(api(address, "/v1/geo/plants")["features"])
    page.uncheck("#show-plants")
    assert page.locator("path.plant").count() == 0
    page.wait_for_selector("#source-rows tr")
    assert page.inner_text("#freshness-note") == "1 of 2 sources is late or down."
    late, on_time = page.locator("#source-rows tr").all_inner_texts()
    assert "late (1 of 24)" in late
    assert "the publisher answered 503" in late
    assert "on time" in on_time
    assert "5 min ago" in on_time


def test_sign_up_yields_a_key_that_works(visit: Callable[..., Any], address: str) -> None:
    page = visit()
    page.click("#get-key")
    page.fill("#email", "no address")
    page.click("#sign-up-form [type=submit]")
    assert page.inner_text("#sign-up-error") == "Enter a valid e-mail address, for example name@example.org."
    page.click("#sign-up-form [data-close]")
    page.click("#get-key")
    assert page.inner_text("#sign-up-error") == "", "opened again it complains of nothing"
    page.fill("#email", "reader@example.org")
    page.click("#sign-up-form [type=submit]")
    page.wait_for_selector("#sign-up-done:not([hidden])")
    key = page.inner_text("#new-key")
    assert re.fullmatch(r"emds_[0-9A-Za-z]{40,}", key)
    assert key in page.inner_text("#example")
    latest = api(address, "/v1/latest/GB", Authorization=f"Bearer {key}")
    assert latest["zone"] == "GB"
    assert "sample" not in latest
    page.click("#sign-up-done [data-close]")
    for shown in (
        "#new-key",
        "#example",
    ):  # its close event follows in a later task; a key left on the page times out
        page.wait_for_selector(f"{shown}:empty", state="attached")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_key_is_copied_without_https_too(visit: Callable[..., Any], allowed: bool) -> None:
    """A page that another machine serves over http has no clipboard."""
    script = """
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
      document.execCommand = () => { window.copied = document.activeElement.value; return ALLOWED; };
    """.replace("ALLOWED", str(allowed).lower())
    page = visit(before=lambda page: page.add_init_script(script))
    page.click("#get-key")
    page.fill("#email", f"copied-{allowed}@example.org")
    page.click("#sign-up-form [type=submit]")
    page.wait_for_selector("#sign-up-done:not([hidden])")
    page.click("#copy-key")
    page.wait_for_selector(f"#copy-key >> text=/^{'Copied' if allowed else 'Not copied'}$/")
    assert page.evaluate("window.copied") == page.inner_text("#new-key")
    assert page.locator("#sign-up textarea").count() == 0


@pytest.mark.parametrize("given", ["name@", "name@localhost"])
def test_an_address_that_the_form_or_the_service_refuses_is_called_invalid(
    visit: Callable[..., Any], given: str
) -> None:
    page = visit()
    page.click("#get-key")
    page.fill("#email", given)
    page.click("#sign-up-form [type=submit]")
    page.wait_for_selector("#sign-up-error >> text=Enter a valid e-mail address, for example name@example.org.")
    visit.faults.clear()  # the browser itself logs the 400


def test_a_key_that_waits_for_its_e_mail_is_called_so(visit: Callable[..., Any]) -> None:
    made = {"api_key": "emds_1", "email": "name@example.org", "confirmed": False}
    page = visit(
        before=lambda page: page.route("**/v1/keys/signup", lambda route: route.fulfill(status=201, json=made))
    )
    page.click("#get-key")
    page.fill("#email", "name@example.org")
    page.click("#sign-up-form [type=submit]")
    page.wait_for_selector("#sign-up-done >> text=open the link in the e-mail to name@example.org within 24 hours")


def test_with_a_key_of_ones_own_the_panel_is_exact(visit: Callable[..., Any], address: str) -> None:
    page = visit("/#metric=price&zone=GB")
    page.wait_for_selector('#panel[aria-busy="false"]')
    page.click("#get-key")
    page.fill("#email", "exact@example.org")
    page.click("#sign-up-form [type=submit]")
    page.wait_for_selector("#sign-up-done:not([hidden])")
    key = page.inner_text("#new-key")
    page.click("#use-key")
    page.wait_for_selector("#exact .summary")
    brief = api(address, "/v1/brief/GB", Authorization=f"Bearer {key}")
    assert page.inner_text("#exact .summary") == brief["summary"]
    assert f"{brief['current']['price']['value']:.2f} GBP/MWh" in page.inner_text("#exact")
    page.wait_for_selector("text=Hourly means; GBP/MWh")
    page.click("text=Forget my key")
    page.wait_for_selector("text=Values on this page are rounded")
    assert page.evaluate("localStorage.getItem('emds-key')") is None


OVERLAPS = """() => {
  const labels = [...document.querySelectorAll('.zone-label span')].filter((label) => label.offsetWidth);
  const boxes = labels.map((label) => [label.innerText, label.getBoundingClientRect()]);
  const shared = (a, b, low, high) => Math.min(a[high], b[high]) - Math.max(a[low], b[low]);
  const meet = (a, b) => shared(a, b, 'left', 'right') > 3 && shared(a, b, 'top', 'bottom') > 3;
  const pairs = boxes.flatMap((one, i) => boxes.slice(i + 1).map((other) => [one, other]));
  return [boxes.length, pairs.filter(([a, b]) => meet(a[1], b[1])).map(([a, b]) => a[0] + ' and ' + b[0])];
}"""


def test_labels_give_way_to_each_other(visit: Callable[..., Any]) -> None:
    """All labels are complete on a laptop. Labels that would overlap show only their value, or nothing."""
    page = visit(viewport={"width": 1366, "height": 650})
    assert page.evaluate(OVERLAPS) == [25, []]
    assert page.locator(".zone-label .short, .zone-label .crowded").count() == 0
    small = visit(viewport={"width": 1100, "height": 480})
    shown, overlaps = small.evaluate(OVERLAPS)
    assert overlaps == []
    assert 12 < shown <= 25
    assert small.locator(".zone-label .short, .zone-label .crowded").count() > 0
