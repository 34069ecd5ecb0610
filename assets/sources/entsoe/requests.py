"""What ENTSO-E is asked: zone by zone, border by border, in blocks that it answers whole.

Longer blocks are refused ("P1M", which 30 days may exceed); price answers beyond 1000 points were cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from assets.parsing.days import runs
from assets.sources.entsoe.areas import EIC, TWO_AUCTIONS, ZONES, Border, borders
from assets.sources.entsoe.net import SILENT_HOURS
from assets.sources.entsoe.xml import TOKEN
from warehouse.market.clock import MarketDay, local_midnight, utc
from warehouse.market.market import Request, Secret, request_window

HOST = "web-api.tp.entsoe.eu"
TZ = "Europe/Brussels"
LONGEST_PRICE = 7
LONGEST = 28
"""Days a request."""
EARLIER = SILENT_HOURS // 24

CAPACITY_ZONES = ("DE-LU", "FR", "ES", "NL", "BE", "PL", "NO-2", "DK-1", "AT", "CH")
SECRETS = (Secret("query", "securityToken", (TOKEN,)),)


def request_price(days: Sequence[MarketDay], now: int) -> list[Request]:
    """A zone and at most a week a request."""
    return [
        _request(
            "entsoe.price",
            block,
            zone,
            (
                ("documentType", "A44"),
                ("in_Domain", EIC[zone]),
                ("out_Domain", EIC[zone]),
                ("contract_MarketAgreement.type", "A01"),
                *(
                    (("classificationSequence_AttributeInstanceComponent.position", "1"),)
                    if zone in TWO_AUCTIONS
                    else ()
                ),
            ),
        )
        for block in runs(days, LONGEST_PRICE)
        for zone in ZONES
    ]


def request_demand(days: Sequence[MarketDay], now: int) -> list[Request]:
    """A zone and at most four weeks a request."""
    return [
        _request(
            "entsoe.demand",
            block,
            zone,
            (("documentType", "A65"), ("processType", "A16"), ("outBiddingZone_Domain", EIC[zone])),
        )
        for block in runs(days, LONGEST)
        for zone in ZONES
    ]


def request_demand_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """A zone a request: what is published on a day reaches to the end of the next."""
    params = (("documentType", "A65"), ("processType", "A01"))
    return [
        replace(
            _request(
                "entsoe.demand_forecast", [day, day.next()], zone, (*params, ("outBiddingZone_Domain", EIC[zone]))
            ),
            days=(day.day,),
        )
        for day in sorted(set(days))
        for zone in ZONES
    ]


def request_flows(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Both directions of every border of every zone, as far as the border was there; at most four weeks a request.

    The first request of a run of days reaches two weeks further back: a cable that is silent for so long is out of
    service (see `net`), and the answers must show it, and that it has returned.
    """
    return [
        request
        for block, earlier in _flow_blocks(days)
        for border in borders()
        if border.since < request_window(block).end
        for request in _both_ways(block, border, earlier)
    ]


def _flow_blocks(days: Sequence[MarketDay]) -> Iterator[tuple[list[MarketDay], int]]:
    """Blocks of consecutive days, each with the number of days before it that its request asks for besides."""
    for run in runs(days, len(days) + 1):
        yield run[: LONGEST - EARLIER], EARLIER
        yield from ((block, 0) for block in runs(run[LONGEST - EARLIER :], LONGEST))


def _both_ways(block: Sequence[MarketDay], border: Border, earlier: int) -> list[Request]:
    zone, neighbour = border.eics(block[-1].start)
    return [
        _request(
            "entsoe.flows",
            block,
            border.zone,
            (("documentType", "A11"), ("in_Domain", target), ("out_Domain", origin)),
            part,
            earlier,
        )
        for origin, target, part in (
            (neighbour, zone, f"{border.neighbour}>{border.zone}"),
            (zone, neighbour, f"{border.zone}>{border.neighbour}"),
        )
    ]


def request_capacity(days: Sequence[MarketDay], now: int) -> list[Request]:
    """A zone and a calendar year a request."""
    return [
        Request(
            "entsoe.capacity",
            f"https://{HOST}/api",
            (
                ("documentType", "A68"),
                ("processType", "A33"),
                ("in_Domain", EIC[zone]),
                *_bounds(new_year(year), new_year(year + 1)),
            ),
            (date(year, 1, 1),),
            zone,
            secrets=SECRETS,
            ext="xml",
        )
        for year in sorted({d.day.year for d in days})
        for zone in CAPACITY_ZONES
    ]


def _request(
    feed: str,
    block: Sequence[MarketDay],
    zone: str,
    params: tuple[tuple[str, str], ...],
    part: str = "",
    earlier: int = 0,
) -> Request:
    window = request_window([block[0].next(-earlier), *block])
    return Request(
        feed,
        f"https://{HOST}/api",
        (*params, *_bounds(window.start, window.end)),
        tuple(d.day for d in block),
        zone,
        part,
        secrets=SECRETS,
        ext="xml",
    )


def _bounds(start: int, end: int) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("periodStart", f"{utc(start):%Y%m%d%H%M}"), ("periodEnd", f"{utc(end):%Y%m%d%H%M}")


def new_year(year: int) -> int:
    """The instant at which a calendar year begins."""
    return local_midnight(date(year, 1, 1), TZ)
