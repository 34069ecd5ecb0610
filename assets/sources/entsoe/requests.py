"""Build the requests to ENTSO-E zone by zone and border by border, in blocks with complete responses.

Longer blocks are rejected ("P1M", which 30 days may exceed). Price responses beyond 1000 points were cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial

from assets.parsing.days import runs
from assets.sources.entsoe.areas import EIC, MIX_ZONES, TWO_AUCTIONS, ZONES, Border, borders
from assets.sources.entsoe.net import SILENT_HOURS
from assets.sources.entsoe.xml import TOKEN
from warehouse.market.clock import MarketDay, local_midnight, utc
from warehouse.market.feeds import Request, Secret, request_window
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import zones_with

HOST = "web-api.tp.entsoe.eu"
TZ = "Europe/Brussels"
LONGEST_PRICE = 7
LONGEST = 28
"""Days per request."""
LONGEST_MIX = 7
"""Days per request of the mix. A type that a response has for some of its days costs the sums of the others."""
EARLIER = SILENT_HOURS // 24

CAPACITY_ZONES = tuple(zone for zone in ZONES if zone in zones_with(Metric.CAPACITY))
SECRETS = (Secret("query", "securityToken", (TOKEN,)),)
Params = tuple[tuple[str, str], ...]


def _auction(zone: str) -> Params:
    code = EIC[zone]
    params = (("documentType", "A44"), ("in_Domain", code), ("out_Domain", code))
    sdac = (("classificationSequence_AttributeInstanceComponent.position", "1"),)
    return (*params, ("contract_MarketAgreement.type", "A01"), *(sdac if zone in TWO_AUCTIONS else ()))


def _load(process: str, zone: str) -> Params:
    return ("documentType", "A65"), ("processType", process), ("outBiddingZone_Domain", EIC[zone])


def _by_zone(
    feed: str, longest: int, params_of: Callable[[str], Params], days: Sequence[MarketDay], now: int
) -> list[Request]:
    """Return requests for one zone and at most `longest` days each."""
    return [_request(feed, block, zone, params_of(zone)) for block in runs(days, longest) for zone in ZONES]


request_price = partial(_by_zone, "entsoe.price", LONGEST_PRICE, _auction)
request_demand = partial(_by_zone, "entsoe.demand", LONGEST, partial(_load, "A16"))


def request_mix(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the requests for the mix: a zone and at most a week per request, all production types at once."""
    params = (("documentType", "A75"), ("processType", "A16"))
    return [
        _request("entsoe.mix", block, zone, (*params, ("in_Domain", EIC[zone])))
        for block in runs(days, LONGEST_MIX)
        for zone in MIX_ZONES
    ]


def request_demand_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per zone and day. The publication of a day reaches to the end of the next."""
    return [
        replace(_request("entsoe.demand_forecast", [day, day.next()], zone, _load("A01", zone)), days=(day.day,))
        for day in sorted(set(days))
        for zone in ZONES
    ]


def request_mix_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per zone and day. The publication of a day reaches to the end of the next."""
    params = (("documentType", "A69"), ("processType", "A01"))
    return [
        replace(
            _request("entsoe.mix_forecast", [day, day.next()], zone, (*params, ("in_Domain", EIC[zone]))),
            days=(day.day,),
        )
        for day in sorted(set(days))
        for zone in ZONES
    ]


def request_flows(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for both directions of every existing border of every zone, at most four weeks each.

    The first request of a run of days reaches two weeks further back. A cable without data for two weeks is out of
    service (see `net`), and the responses must show that, and its return.
    """
    return [
        request
        for block, earlier in _flow_blocks(days)
        for border in borders()
        if border.since < request_window(block).end
        for request in _both_ways(block, border, earlier)
    ]


def _flow_blocks(days: Sequence[MarketDay]) -> Iterator[tuple[list[MarketDay], int]]:
    """Yield blocks of consecutive days, each with the number of earlier days that its request also covers."""
    for run in runs(days, len(days) + 1):
        yield run[: LONGEST - EARLIER], EARLIER
        yield from ((block, 0) for block in runs(run[LONGEST - EARLIER :], LONGEST))


def _both_ways(block: Sequence[MarketDay], border: Border, earlier: int) -> Iterator[Request]:
    zone, neighbour = border.eics(block[-1].start)
    for into, out_of, part in (
        (zone, neighbour, f"{border.neighbour}>{border.zone}"),
        (neighbour, zone, f"{border.zone}>{border.neighbour}"),
    ):
        params = (("documentType", "A11"), ("in_Domain", into), ("out_Domain", out_of))
        yield _request("entsoe.flows", block, border.zone, params, part, earlier)


def request_capacity(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for one zone and calendar year each."""
    params = (("documentType", "A68"), ("processType", "A33"))
    spans = {year: (new_year(year), new_year(year + 1)) for year in {d.day.year for d in days}}
    return [
        _question("entsoe.capacity", (*params, ("in_Domain", EIC[zone])), spans[year], (date(year, 1, 1),), zone)
        for year in sorted(spans)
        for zone in CAPACITY_ZONES
    ]


def _request(
    feed: str, block: Sequence[MarketDay], zone: str, params: Params, part: str = "", earlier: int = 0
) -> Request:
    window = request_window([block[0].next(-earlier), *block])
    return _question(feed, params, (window.start, window.end), tuple(d.day for d in block), zone, part)


def _question(
    feed: str, params: Params, span: tuple[int, int], days: tuple[date, ...], zone: str, part: str = ""
) -> Request:
    start, end = (f"{utc(ts):%Y%m%d%H%M}" for ts in span)
    params = (*params, ("periodStart", start), ("periodEnd", end))
    return Request(feed, f"https://{HOST}/api", params, days, zone, part, secrets=SECRETS, ext="xml")


def new_year(year: int) -> int:
    """Return the time at which a calendar year begins."""
    return local_midnight(date(year, 1, 1), TZ)
