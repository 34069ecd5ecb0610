"""What ENTSO-E is asked: days, auctions, blocks of days, borders and their codes over time."""

from __future__ import annotations

from datetime import date
from urllib.parse import parse_qsl, urlsplit

import pytest

from assets import sources
from assets.sources.entsoe.areas import EIC
from tests.sources.entsoe_documents import DEMAND, FLOWS, PRICE
from warehouse.market import clock
from warehouse.market.clock import market_days


def ask(feed, first, last=None):
    return feed.requests(market_days(first, last or first, feed.tz), clock.now())


def params(url):
    return {k: v for k, v in parse_qsl(urlsplit(url).query) if k not in ("securityToken", "offset")}


@pytest.mark.parametrize(
    ("file", "first", "last", "zone"),
    [
        ("a44_AT_2024-07-28_seq1_pt60m.xml", date(2024, 7, 28), None, "AT"),
        ("a65_BE_2024-01-15_week_pt15m.xml", date(2024, 1, 15), date(2024, 1, 21), "BE"),
        ("a65_NL_2024-09-02_pt15m.xml", date(2024, 9, 2), None, "NL"),
        ("a68_NL_2024.xml", date(2024, 1, 1), None, "NL"),
        ("a11_DE-LU_to_NL_2024-09-02_week_a03gaps.xml", date(2024, 9, 2), date(2024, 9, 8), "NL"),
        ("a11_NL_to_DE-LU_2024-09-02_week_a03gaps.xml", date(2024, 9, 2), date(2024, 9, 8), "NL"),
    ],
)
def test_recorded_requests_are_those_that_we_send(file, first, last, zone, recorded):
    entry = recorded(f"entsoe/{file}")
    mine = [dict(r.params) for r in ask(sources.feed(entry["feed"]), first, last) if r.zone == zone]
    theirs = params(entry["request_url"])
    if entry["feed"] == "entsoe.flows":  # ours reach two weeks further back
        mine = [{**query, "periodStart": theirs["periodStart"]} for query in mine]
    assert theirs in mine


@pytest.mark.parametrize(
    ("day", "start", "end"),
    [
        (date(2026, 11, 20), "202611192300", "202611202300"),
        (date(2026, 3, 29), "202603282300", "202603292200"),
        (date(2026, 10, 25), "202610242200", "202610252300"),
    ],
)
def test_a_day_is_asked_for_from_local_midnight_to_midnight(day, start, end):
    for product in (PRICE, DEMAND):
        assert {dict(r.params)["periodStart"] for r in ask(product, day)} == {start}
    for product in (PRICE, DEMAND, FLOWS):
        assert {dict(r.params)["periodEnd"] for r in ask(product, day)} == {end}


def test_the_first_flows_of_a_run_reach_two_weeks_back_so_that_a_silent_border_shows():
    assert {dict(r.params)["periodStart"] for r in ask(FLOWS, date(2026, 11, 20))} == {"202611052300"}
    assert {r.days for r in ask(FLOWS, date(2026, 11, 20))} == {(date(2026, 11, 20),)}
    month = [r for r in ask(FLOWS, date(2026, 9, 1), date(2026, 10, 31)) if (r.zone, r.part) == ("NL", "BE>NL")]
    assert [(dict(r.params)["periodStart"], dict(r.params)["periodEnd"], len(r.days)) for r in month] == [
        ("202608172200", "202609142200", 14),
        ("202609142200", "202610122200", 28),
        ("202610122200", "202610312300", 19),
    ]


def test_the_first_auction_is_asked_for_where_there_are_two():
    queries = {r.zone: dict(r.params) for r in ask(PRICE, date(2026, 11, 20))}
    name = "classificationSequence_AttributeInstanceComponent.position"
    assert {zone for zone, query in queries.items() if query.get(name) == "1"} == {"DE-LU", "AT"}
    assert {query["contract_MarketAgreement.type"] for query in queries.values()} == {"A01"}
    assert len(queries) == 12


def test_a_border_is_not_asked_for_before_its_cable():
    before = {r.part for r in ask(FLOWS, date(2019, 6, 1)) if r.zone == "DK-1"}
    assert before == {p for p in before if "GB" not in p and "NL" not in p}
    assert "DK-1>GB" in {r.part for r in ask(FLOWS, date(2024, 1, 1)) if r.zone == "DK-1"}


def test_borders_are_asked_for_by_the_zones_own_codes_and_ukraines_by_that_of_its_time():
    for day, zone, way, codes in (
        (date(2026, 11, 20), "BE", "DE-LU>BE", (EIC["DE-LU"], EIC["BE"])),
        (date(2026, 11, 20), "PL", "Ukraine>PL", ("10Y1001C--000182", EIC["PL"])),
        (date(2022, 9, 22), "PL", "Ukraine>PL", ("10Y1001C--000182", EIC["PL"])),
        (date(2022, 9, 21), "PL", "Ukraine>PL", ("10Y1001C--00003F", EIC["PL"])),
    ):
        queries = [dict(r.params) for r in ask(FLOWS, day) if r.zone == zone and r.part == way]
        assert [(q["out_Domain"], q["in_Domain"]) for q in queries] == [codes]
