"""Simulated ENTSO-E: the model's values on days of 23, 24 and 25 hours, publication times, documents as recorded."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pytest

from assets.simulated import entsoe
from assets.sources import feed
from assets.sources.entsoe.areas import BORDERS, EIC
from warehouse.errors import NotPublished
from warehouse.market.clock import MarketDay, instant
from warehouse.market.market import Request
from warehouse.rows.schema import Rows

TZ = "Europe/Brussels"
DAYS = [MarketDay(date(2026, 11, 18), TZ), MarketDay(date(2026, 3, 29), TZ), MarketDay(date(2026, 10, 25), TZ)]
TODAY = MarketDay(date(2026, 11, 21), TZ)
LATER = "2026-11-25T12:00:00Z"
NOON = "2026-11-21T12:00:00+01:00"


def answered(now=LATER, **params):
    names = {
        "position": "classificationSequence_AttributeInstanceComponent.position",
        "contract": "contract_MarketAgreement.type",
    }
    query = tuple((names.get(name, name), value) for name, value in params.items())
    return entsoe.answer(Request("entsoe.price", "https://web-api.tp.entsoe.eu/api", query), instant(now))


def window(day, last=None):
    first, last = (f"{np.datetime64(ts, 's').item():%Y%m%d%H%M}" for ts in (day.start, (last or day).end))
    return {"periodStart": first, "periodEnd": last}


def test_a_border_of_several_lines_may_flow_both_ways_at_once():
    readings = [entsoe.one_way("FR", "GB", inwards, DAYS[0].start, DAYS[0].end, 3600) for inwards in (True, False)]
    assert min(flow.min() for flow in readings) == 0.0
    always = [
        entsoe.one_way("FR", "GB", inwards, DAYS[0].start - 30 * 86400, DAYS[0].end, 3600) for inwards in (True, False)
    ]
    assert ((always[0] > 0) & (always[1] > 0)).any()


def test_a_year_is_told_from_february_on(ask):
    day = MarketDay(date(2026, 1, 1), TZ)
    assert not len(ask("entsoe.capacity", [day], "2026-01-31T12:00:00Z")[0])
    assert len(ask("entsoe.capacity", [day], "2026-02-02T12:00:00Z")[0])


def test_the_other_auction_is_out_before_and_comes_along_unasked(ask):
    params = {"documentType": "A44", "in_Domain": EIC["AT"], "out_Domain": EIC["AT"], **window(TODAY.next())}
    early, later = (answered(now, **params).body for now in (NOON, "2026-11-21T14:00:00+01:00"))
    assert re.findall(rb"position>(\d)</class", early) == [b"2"]
    assert re.findall(rb"position>(\d)</class", later) == [b"1", b"2"]
    with pytest.raises(NotPublished, match="auction 2"):
        feed("entsoe.price").parse(early, Request("entsoe.price", "", zone="AT"))
    assert b"<code>999</code>" in answered(NOON, position="1", **params).body
    assert b"<code>999</code>" in answered(contract="A07", **params).body


def test_a_cable_has_no_flow_before_it_was_laid():
    params = {"documentType": "A11", "in_Domain": EIC["DK-1"], "out_Domain": "10YGB----------A"}
    assert b"<code>999</code>" in answered(**params, periodStart="202311010000", periodEnd="202311020000").body
    body = answered(**params, periodStart="202311290000", periodEnd="202312020000").body
    assert re.findall(rb"<start>([^<]*)</start>", body)[1] == b"2023-12-01T00:00Z"


GB = "10YGB----------A"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"documentType": "A65", "processType": "A16", "outBiddingZone_Domain": "none"},
            b"[6.1.A] (none) and interval 2026-11-17T23:00:00Z/",
        ),
        ({"documentType": "A65", "processType": "A33", "outBiddingZone_Domain": EIC["FR"]}, b"No matching data found"),
        (
            {"documentType": "A44", "in_Domain": GB, "out_Domain": GB},
            b"ENERGY_PRICES [12.1.D] (10YGB----------A, 10YGB----------A)",
        ),
        ({"documentType": "A11", "in_Domain": EIC["FR"], "out_Domain": EIC["PL"]}, b"No matching data found"),
        ({"documentType": "A68", "processType": "A33", "in_Domain": EIC["SE-3"]}, b"No matching data found"),
    ],
)
def test_what_is_not_there_is_acknowledged(params, words):
    reply = answered(**params, **window(DAYS[0]))
    assert reply.status == 200
    assert words in reply.body
    with pytest.raises(NotPublished):
        feed("entsoe.demand").parse(reply.body, Request("entsoe.demand", ""))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (
            {"documentType": "A65", "outBiddingZone_Domain": EIC["FR"], **window(DAYS[1], DAYS[0])},
            b"maximum allowed period 'P1M'",
        ),
        ({"documentType": "A99", **window(DAYS[0])}, b"not valid"),
        ({"documentType": "A65", "periodStart": "yesterday", "periodEnd": "today"}, b"not valid"),
    ],
)
def test_what_cannot_be_asked_is_refused(params, words):
    reply = answered(**params)
    assert reply.status == 400
    assert words in reply.body


# Compared with recordings


def test_a_border_under_repair_is_silent_and_the_net_goes_on_without_it():
    flows, now = feed("entsoe.flows"), instant(LATER)
    days = [MarketDay(date(2026, 2, 20), TZ).next(number) for number in range(20)]
    rows, silent = Rows(), 0
    for request in flows.requests(days, now):
        if EIC["PL"] not in dict(request.params).values():
            continue
        try:
            rows.merge(flows.parse(entsoe.answer(request, now).body, request))
        except NotPublished:
            silent += 1
    combined, span = flows.combine(rows), range(days[0].start, days[-1].end)
    told = [row for row in combined if row.zone == "PL" and row.ts in span]
    assert silent == 2, "both directions of one border, in the window that lies in the repair"
    assert {row.counterparty for row in told if row.counterparty} == {*BORDERS_OF_PL} - {"Sweden SE4"}
    assert [row.ts for row in told if row.counterparty is None] == [*span[::3600]]
    assert combined.dropped["PL without Sweden SE4, silent for 14 days (hours)"] > 20 * 24


BORDERS_OF_PL = [border.neighbour for border in BORDERS["PL"]]
