"""Test that `/embed` and `/badge` are small images without scripts that show the values of the free documents."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from api.documents.zone_figure import TITLES, Hours, ZoneFigure
from api.pages.zone_chart import BOTTOM, LEFT, RIGHT, TOP, draw
from api.pages.zone_images import badge, embed
from tests.api.conftest import NOW, Rig
from warehouse.market.clock import DAY, HOUR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.store import layout

SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = {"embed": 8000, "badge": 2000}
LONGEST_TERMS = 700
"""The attribution and licence of the series with the most publishers have some 600 characters together."""
HOUR_NOW = NOW - NOW % HOUR


def figure(**changes: Any) -> ZoneFigure:
    """Return a price of two days, with another 30 hours that an auction has set."""
    values = [100 - place for place in range(78)]
    known: dict[str, Any] = {
        "zone": "DE-LU",
        "name": "Germany and Luxembourg",
        "metric": Metric.PRICE,
        "title": "Wholesale price",
        "tz": ZoneInfo("Europe/Berlin"),
        "attribution": "Data: A & B <c>.",
        "license": "none",
        "reason": "",
        "simulated": False,
        "now": NOW,
        "value": 53,
        "unit": "EUR/MWh",
        "ts": HOUR_NOW,
        "hours": Hours(HOUR_NOW - 47 * HOUR, values),
    }
    return ZoneFigure(**known | changes)


def drawn_values(path: str, low: int, high: int, start: int, end: int) -> dict[int, int]:
    """Return the values by hour that a path draws, one per step, read back from its pixels."""
    values: dict[int, int] = {}
    for run in path.removeprefix("M").split("M"):
        x, rest = run.split(" ", 1)
        left = float(x)
        for y, right in re.findall(r"([\d.]+)H([\d.]+)", rest):
            ts = start + (left - LEFT) / (RIGHT - LEFT) * (end - start)
            value = low + (BOTTOM - 4 - float(y)) / (BOTTOM - TOP - 8) * (high - low)
            values[round(ts / HOUR) * HOUR] = round(value)
            left = float(right)
    return values


def test_every_zone_has_images_of_its_rounded_values(everywhere: Rig) -> None:
    client = everywhere.client()
    zones = {f["id"]: f["properties"] for f in client.get("/v1/geo/live").get_json()["features"]}
    for zone in ZONES:
        for metric in TITLES:
            value = zones[zone][metric]
            for name, most in MOST_BYTES.items():
                answer = client.get(f"/{name}/{zone}.{metric}.svg")
                assert (answer.status_code, answer.content_type) == (200, "image/svg+xml")
                assert len(answer.data) < most
                root = ElementTree.fromstring(answer.data)
                title = root.findtext(f"{SVG}title") or ""
                expected = "not available" if value is None else f"{value:,}".replace("-", "−")
                shown = title if value is not None or name == "embed" else "".join(root.itertext())
                assert expected in shown or "do not allow" in shown, (zone, metric, title)
                assert {element.tag for element in root.iter()}.isdisjoint({f"{SVG}script", f"{SVG}foreignObject"})
        assert client.get(f"/embed/{zone}.svg").data == client.get(f"/embed/{zone}.price.svg").data


def test_an_image_may_be_framed_by_every_page_and_loads_nothing(everywhere: Rig) -> None:
    answer = everywhere.client().get("/embed/GB.svg")
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    policy = answer.headers["Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors *"
    assert "X-Frame-Options" not in answer.headers
    assert not re.search(rb"https?://(?!www\.w3\.org/2000/svg)|href|url\((?!#)", answer.data)


def test_a_withheld_price_is_not_shown_and_the_image_says_why(everywhere: Rig) -> None:
    client = everywhere.client()
    assert b"do not allow this service to show it" in client.get("/embed/US-PJM.svg").data
    assert b"not available" in client.get("/badge/US-PJM.svg").data
    assert client.get("/embed/US-PJM.demand.svg").data.count(b"MW") > 0


def test_what_is_overdue_is_marked(everywhere: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    client = everywhere.client()
    assert "X-EMDS-Stale" not in client.get("/badge/GB.demand.svg").headers
    monkeypatch.setenv("EMDS_NOW", "2026-03-31T12:10:00Z")
    assert client.get("/badge/GB.demand.svg").headers["X-EMDS-Stale"] == "true"


def test_other_spellings_lead_to_the_image_and_other_metrics_are_404(everywhere: Rig) -> None:
    client = everywhere.client()
    assert client.get("/embed/de_lu.demand.svg").headers["Location"] == "/embed/DE-LU.demand.svg"
    assert client.get("/badge/france.svg").headers["Location"] == "/badge/FR.svg"
    assert client.get("/embed/gb.Price.SVG").headers["Location"] == "/embed/GB.price.svg"
    for path, words in (
        ("/embed/GB.interchange.svg", "carbon. /v1/interchange/GB returns the series."),
        ("/badge/GB.png", "Did you mean /badge/GB.svg?"),
        ("/embed/france", "Did you mean /embed/FR.svg?"),
        ("/embed/GB.price.demand.svg", "demand.svg'. For all paths"),
        ("/embed/GB.nothing.svg", "No resource at"),
        ("/badge/XX.svg", "XX"),
    ):
        answer = client.get(path)
        assert answer.status_code == 404
        assert words in answer.get_json()["detail"]
    detail = client.get("/embed/DE-LU.generation.svg").get_json()["detail"]
    assert detail == "Images show price, demand, carbon."


def test_the_chart_has_each_hour_and_what_is_known_ahead() -> None:
    chart = draw(figure())
    assert chart is not None
    start, end = HOUR_NOW - 47 * HOUR, HOUR_NOW + 31 * HOUR
    assert drawn_values(chart.line, 23, 100, start, end) == {start + HOUR * place: 100 - place for place in range(78)}
    assert LEFT < chart.now < RIGHT
    assert chart.ahead_width == pytest.approx(RIGHT - chart.now)
    assert [text for _, text in chart.days] == ["Sun 29", "Mon 30", "Tue 31"]


def test_missing_hours_are_gaps_and_a_forecast_is_a_line_of_its_own() -> None:
    values: list[int | None] = [10 + place % 5 for place in range(48)]
    values[20:23] = [None] * 3
    expected = Hours(HOUR_NOW - DAY, [7] * 30)
    chart = draw(
        figure(hours=Hours(HOUR_NOW - 47 * HOUR, values), ahead=expected, ahead_note="expected by the operator")
    )
    assert chart is not None
    assert chart.line.count("M") == 2
    start, end = HOUR_NOW - 47 * HOUR, HOUR_NOW + 6 * HOUR
    drawn = drawn_values(chart.line, 7, 14, start, end)
    assert drawn == {start + HOUR * place: value for place, value in enumerate(values) if value is not None}
    assert drawn_values(chart.ahead_line, 7, 14, start, end) == {HOUR_NOW + HOUR * i: 7 for i in range(1, 6)}
    assert "dashed: expected by the operator" in embed(figure(ahead=expected, ahead_note="expected by the operator"))


def test_the_auction_of_a_real_time_market_is_a_line_of_its_own_with_its_terms(everywhere: Rig) -> None:
    hours, ahead = ({"start": HOUR_NOW - 5 * HOUR, "step": HOUR, "values": values} for values in ([40] * 6, [33] * 12))
    newest = {"price": 40, "price_unit": "USD/MWh", "price_ts": HOUR_NOW, "price_expected_by": None}
    everywhere.put_document(layout.LIVE, {"features": [{"id": "US-NYISO", "properties": newest}]})
    metrics = {"price": {"hours": hours, "forecast": None, "day_ahead": ahead}}
    everywhere.put_document(layout.live_history("US-NYISO"), {"generated": NOW, "metrics": metrics})
    text = everywhere.client().get("/embed/US-NYISO.svg").text
    assert "dashed: day-ahead auction" in text
    series = everywhere.client().get("/catalog").get_json()["zones"]["US-NYISO"]["metrics"]["price_day_ahead"]
    assert series["attribution"]
    assert series["attribution"] in "".join(ElementTree.fromstring(text).itertext())
    assert text.count('class="f"') == 1


def test_a_day_begins_at_midnight_where_clocks_are_half_an_hour_off() -> None:
    chart, seconds = draw(figure(tz=ZoneInfo("Australia/Adelaide"))), 78 * HOUR
    assert chart is not None
    at = HOUR_NOW - 47 * HOUR + (chart.days[0][0] - LEFT) / (RIGHT - LEFT) * seconds
    assert at % DAY / HOUR == pytest.approx(13.5, abs=0.1)  # midnight at UTC+10:30


def test_a_flat_series_and_one_without_hours_are_drawn_too() -> None:
    assert draw(figure(hours=Hours(HOUR_NOW - 2 * HOUR, [0, 0, 0]))) is not None
    assert draw(figure(hours=None)) is None
    assert "53 EUR/MWh" in embed(figure(hours=None))


def test_the_longest_series_and_terms_fit() -> None:
    large = [-200_000 - 900 * place for place in range(97)]
    terms = {
        "attribution": "Publisher & co " * (LONGEST_TERMS // 30),
        "license": "Licence <4.0> " * (LONGEST_TERMS // 28),
    }
    own = figure(
        hours=Hours(HOUR_NOW - 47 * HOUR, large),
        ahead=Hours(HOUR_NOW, large[:49]),
        ahead_note="expected by the operator",
        value=-200_000,
        **terms,
    )
    assert len(embed(own).encode()) < MOST_BYTES["embed"]
    assert len(badge(own).encode()) < MOST_BYTES["badge"]
    text = "".join(ElementTree.fromstring(embed(own)).itertext())
    assert "Publisher & co" in text
    assert "Licence <4.0>" in text


def test_simulated_values_say_so_in_the_badge() -> None:
    assert "simulated" in badge(figure(simulated=True))
    assert "simulated" not in badge(figure())


def test_an_unknown_metric_in_capitals_leads_nowhere(everywhere: Rig) -> None:
    assert everywhere.client().get("/badge/GB.AAA.svg").status_code == 404
