"""Check what every SOURCE declares, its page and second origins, and what feeds request for days of every type."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from assets.fetch.credentials import names_of
from assets.sources import codes, feed, feeds, source, sources
from tools.feeds_page import feeds_table
from warehouse.documents import catalogue
from warehouse.market import clock
from warehouse.market.clock import RESOLUTIONS, MarketDay, days_of, instant, market_days
from warehouse.market.feeds import Feed, Source
from warehouse.market.vocabulary import Metric, actual_of
from warehouse.market.zones import ZONES

FEEDS = sorted(feeds().values(), key=lambda f: f.id)
DAYS = {
    "spring": [date(2026, 3, 8), date(2026, 3, 29)],
    "autumn": [date(2025, 10, 26), date(2025, 11, 2)],
    "ordinary": [date(2026, 6, 17)],
    "month": [date(2026, 4, 1) + timedelta(days=i) for i in range(30)],
    "today": [date(2026, 11, 18)],
    "tomorrow": [date(2026, 11, 19)],
}
NOON = instant("2026-11-18T12:00:00Z")


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_NOW", str(NOON))


def test_a_source_has_the_name_of_its_file() -> None:
    assert {code: one.code for code, one in sources().items()} == {code: code for code in codes()}


@pytest.mark.parametrize("one", sources().values(), ids=lambda s: s.code)
def test_a_source_says_whose_figures_it_has_and_on_what_terms(one: Source) -> None:
    assert source(one.code) is one
    for text in (one.name, one.homepage, one.licence, one.attribution):
        assert text.strip()
    assert one.hosts
    assert one.requests_per_minute > 0
    assert one.withheld or one.redistributable != "no", "nobody may pass these rows on"
    assert not (one.withheld and one.redistributable == "yes"), "nothing forbids to pass these rows on"


@pytest.mark.parametrize("one", FEEDS, ids=lambda f: f.id)
def test_a_feed_says_what_it_carries(one: Feed) -> None:
    assert feed(one.id) is one
    assert one.title
    assert one.zones
    assert set(one.zones) <= set(ZONES)
    assert one.rank > 0
    assert one.stamps
    assert one.resolution in RESOLUTIONS
    for zone in one.zones:
        for metric in (*one.metrics, *one.optional_metrics):
            beside = {
                Metric.PRICE_DAY_AHEAD: Metric.PRICE,
                Metric.CARBON: Metric.MIX,
                Metric.CARBON_ESTIMATE: Metric.MIX,
            }
            assert beside.get(actual_of(metric), actual_of(metric)) in ZONES[zone].metrics, (
                f"{zone} publishes no {metric}"
            )
    assert MarketDay(one.since, one.tz).hours in (23, 24, 25)
    assert not set(one.optional_metrics) & set(one.metrics)
    assert one.hub or not {Metric.PRICE, Metric.PRICE_DAY_AHEAD} & set(one.metrics)
    assert one.every_minutes > 0


def test_what_a_feed_leaves_out_is_its_sources_and_what_it_says_goes_first() -> None:
    isone = source("isone")
    bare = replace(isone.feed("lmp_rt"), zones=(), tz="", stamps=None, resolution="", rank=0, hub="", secrets=())
    own = replace(bare, id="isone.own", zones=("GB",), tz="UTC", stamps="end", resolution="1h", rank=7, hub="own")
    load = replace(bare, id="isone.load", metrics=(Metric.DEMAND,))
    shared = {
        "zones": ("US-ISONE",),
        "tz": isone.tz,
        "stamps": "start",
        "resolution": "5m",
        "rank": 1,
        "hub": isone.hub,
    }
    completed = replace(isone, feeds=(bare, own, load)).feeds
    assert {field: getattr(completed[0], field) for field in shared} == shared
    assert completed[1] == own
    assert completed[2].hub == "", "a feed without a price has no hub"


def test_every_series_of_the_specification_has_its_feeds_in_a_clear_order() -> None:
    carrying: dict[tuple[str, Metric], list[Feed]] = defaultdict(list)
    for one in FEEDS:
        for zone in one.zones:
            for metric in (*one.metrics, *one.optional_metrics):
                carrying[zone, metric].append(one)
    for zone in ZONES.values():
        for metric in zone.stored_metrics:
            ranks = {one.id: one.rank for one in carrying[zone.id, metric]}
            assert ranks, f"no feed carries {metric} of {zone.id}"
            assert len({*ranks.values()}) == len(ranks), f"{zone.id} {metric}: two feeds of one rank: {ranks}"


@pytest.mark.parametrize("one", FEEDS, ids=lambda f: f.id)
def test_what_a_feed_asks_is_its_publishers_and_asked_once(one: Feed) -> None:
    for which, days in DAYS.items():
        if which != "tomorrow" or one.ahead_days:
            require_own([MarketDay(day, one.tz) for day in days], one)


def require_own(days: list[MarketDay], one: Feed) -> None:
    """Check that each request for the days is for a file of the feed's publisher, within the feed's terms."""
    requests = one.requests(days, clock.now())
    terms = source(one.source)
    assert len(set(requests)) == len(requests), "asks twice for one file"
    for request in requests:
        address = urlsplit(request.url)
        assert request.feed == one.id
        assert address.hostname in terms.hosts
        assert address.scheme == "https" or (address.scheme == "http" and not request.secrets)
        assert set(request.days) <= {d.day.replace(month=1, day=1) if one.yearly else d.day for d in days}
        assert request.zone is None or request.zone in one.zones
        assert request.ext in ("csv", "json", "xml", "zip", "xls", "html", "txt")
        for secret in request.secrets:
            assert secret.name not in dict(request.params)
            assert set(secret.env) <= {name for f in terms.feeds for name in names_of(f.secrets)} | ERCOT_KEYED


ERCOT_KEYED = {"ERCOT_API_KEY", "ERCOT_USERNAME", "ERCOT_PASSWORD"}
"""Credentials only for days before the keyless listings begin; no feed requires them."""


@pytest.mark.parametrize("one", FEEDS, ids=lambda f: f.id)
def test_a_month_is_asked_for_in_few_requests_or_one_a_day_in_whatever_order(one: Feed) -> None:
    days = market_days(date(2026, 4, 1), date(2026, 4, 30), one.tz)
    siblings, requests = max(1, len(one.requests(days[:1], clock.now()))), one.requests(days, clock.now())
    assert len(requests) <= siblings * len(days)
    assert one.requests([], clock.now()) == []
    assert set(one.requests([*reversed(days), days[0]], clock.now())) == set(requests)


@pytest.mark.parametrize(("name", "first", "last", "most"), [
    ("elexon.price", "from", "to", 7), ("caiso.lmp_rt", "startdatetime", "enddatetime", 31),
])  # fmt: skip
def test_no_question_is_longer_than_its_publisher_answers_in_the_month_of_a_repeated_hour(
    name: str, first: str, last: str, most: int
) -> None:
    """Check October and November, which are an hour longer; both publishers limit a request in hours."""
    one = feed(name)
    days = market_days(date(2026, 10, 15), date(2026, 11, 14), one.tz)
    asked = [dict(request.params) for request in one.requests(days, clock.now())]
    spans = [(datetime.fromisoformat(params[first]), datetime.fromisoformat(params[last])) for params in asked]
    assert max(end - start for start, end in spans) <= timedelta(days=most)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert (spans[0][0].timestamp(), spans[-1][1].timestamp()) == (days[0].start, days[-1].end)


AS_RECORDED = {
    *("aemo.dispatch", "aemo.price_and_demand", "caiso.fuelsource", "eia.demand", "eia.generation"),
    *("elexon.demand", "energy_charts.price", "entsoe.capacity", "entsoe.demand", "entsoe.price", "ercot.load"),
    *("ercot.load_hourly", "ercot.spp_da", "ercot.system_wide_prices", "isone.lmp_da", "isone.load", "miso.lmp_da"),
    *("miso.load", "miso.load_daily", "miso.nsi", "spp.lmp_da", "spp.lmp_rt"),
}


def test_recorded_requests_are_among_those_that_we_send(recordings: Path) -> None:
    """Skip recordings from a mirror, for part of a day, or with other parameters of the same meaning."""
    sent = set()
    for entry in json.loads((recordings / "MANIFEST.json").read_bytes()):
        if entry["feed"] in AS_RECORDED and entry["day"] and ".." not in entry["request_url"]:
            one = feed(entry["feed"])
            address, _, query = entry["request_url"].partition(" (")[0].partition("?")
            recorded = {name: value for name, value in parse_qsl(query) if value != "REDACTED"}
            days = [MarketDay(day, one.tz) for day in days_of(entry["day"])]
            if any(r.url == address and recorded.items() <= dict(r.params).items() for r in one.requests(days, NOON)):
                sent.add(one.id)
    assert sent == AS_RECORDED


EUROPEAN = frozenset(feeds()["entsoe.price"].zones)


def test_european_series_that_may_be_passed_on_have_the_origins_that_the_page_counts() -> None:
    withheld = catalogue.withheld(sources(), (), "live")
    origins: dict[tuple[str, str], set[str]] = defaultdict(set)
    channels: dict[tuple[str, str], int] = defaultdict(int)
    for one in feeds().values():
        for zone in EUROPEAN.intersection(one.zones):
            for metric in one.metrics:
                origins[zone, metric] |= {one.origin} if one.id not in withheld else set()
                channels[zone, metric] += one.id not in withheld
    two = {f"{zone} {metric}" for (zone, metric), of in origins.items() if len(of) > 1}
    assert two == {
        *("DE-LU price", "DK-1 price", "NO-2 price", "SE-3 price", "ES price", "PL price"),
        *("FR demand", "PL demand", "FR interchange", "DK-1 interchange"),
    }
    assert all(channels[zone, metric] >= 2 for zone in EUROPEAN for metric in ("price", "demand", "interchange"))


def test_a_stand_in_carries_what_it_stands_in_for_and_ranks_behind() -> None:
    known = feeds()
    for one in known.values():
        if one.stands_in_for:
            first = known[one.stands_in_for]
            assert set(one.metrics) <= set(first.metrics)
            assert set(one.zones) <= set(first.zones) <= set(ZONES)
            assert one.rank > first.rank


PAGE = Path(__file__).resolve().parents[2] / "docs" / "feeds.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text() == feeds_table(sources().values()), (
        "run: .venv/bin/python -m tools.feeds_page > docs/feeds.md"
    )
