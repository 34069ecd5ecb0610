"""Define the feeds of RTE, the French operator: demand, mix, net import (`eco2mix`), day-ahead prices of seven areas.

Traps:
- Market prices count hours of Paris from 0. `DL` is Germany and Luxembourg; `DE` is void. `IT` is apparently a single
  zone, but not proved to be a covered one. The format of a day of 23 or 25 hours is unknown, so a count that does not
  fit the civil day is rejected.
- Market prices are EPEX SPOT's as RTE shows them, on unsettled terms, so they are withheld.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time
from functools import partial

from lxml import etree

from assets.parsing.body import local, number, xml_of
from assets.parsing.days import runs
from assets.parsing.members import Members
from assets.parsing.stamps import iso_date
from assets.sources.rte.eco2mix import (
    CONSOLIDATED,
    CONSOLIDATED_AFTER,
    HOST,
    REAL_TIME,
    TZ,
    follow_moved,
    parse_eco2mix,
    request_each_day,
)
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

PRICE_HOST = "eco2mix.rte-france.com"
AREAS = {"AT": "AT", "BE": "BE", "CH": "CH", "DL": "DE-LU", "ES": "ES", "FR": "FR", "NL": "NL"}
PERIMETERS = Members("area", Metric.PRICE, AREAS | dict.fromkeys(("DE", "GB", "IT", "PT"), ""))
"""Areas outside the covered zones are empty."""
_RESOLUTIONS = {900: "15m", 3600: "1h"}


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows of the covered zones, EUR/MWh, by civil day. Raises FeedChanged, NotPublished."""
    rows, areas, root = Rows(), set(), xml_of(body)
    if local(root) != "liste":
        raise FeedChanged(f"the root is {local(root)[:40]!r}, not 'liste'")
    for block in root.iter("donneesMarche"):
        day = MarketDay(iso_date(block.get("date", "")), TZ)
        for series in block:
            area = series.get("perimetre", "")
            areas.add(area)
            if local(series) == "type" and (zone := PERIMETERS.find(rows, area, [day.start])):
                _add_day(rows, zone, day, series)
    if areas and not areas & AREAS.keys():
        raise FeedChanged(f"no known area among {', '.join(sorted(areas))[:80]}")
    if not len(rows):
        raise NotPublished("the response has no prices")
    return rows


def _add_day(rows: Rows, zone: str, day: MarketDay, series: etree._Element) -> None:
    prices = {value.get("periode", ""): (value.text or "").strip() for value in series}
    if all(text in ("", "ND") for text in prices.values()):
        return
    step = (day.end - day.start) // len(prices)
    if step not in _RESOLUTIONS or step * len(prices) != day.end - day.start:
        raise FeedChanged(f"{len(prices)} periods for {zone} on {day}")
    for period in range(len(prices)):
        text = prices.get(str(period))
        if text is None:
            raise FeedChanged(f"missing period {period} for {zone} on {day}")
        if text not in ("", "ND"):
            price = number(text, "price")
            rows.add(zone, Metric.PRICE, day.start + period * step, price, "EUR/MWh", _RESOLUTIONS[step])


def price_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for all areas, up to a month each, with both dates included."""
    return [
        Request(
            "rte.market_price",
            f"https://{PRICE_HOST}/curves/getDonneesMarche",
            (("dateDeb", f"{block[0].day:%d/%m/%Y}"), ("dateFin", f"{block[-1].day:%d/%m/%Y}"), ("mode", "NORM")),
            tuple(day.day for day in block),
            ext="xml",
        )
        for block in runs(days, 31)
    ]


SOURCE = Source(
    code="rte",
    name="RTE",
    homepage="https://odre.opendatasoft.com",
    hosts=(HOST, PRICE_HOST),
    requests_per_minute=10,
    licence="Licence Ouverte 2.0",
    licence_url="https://www.etalab.gouv.fr/licence-ouverte-open-licence/",
    attribution="RTE, eco2mix, by Open Data Réseaux Énergies (ODRÉ), Licence Ouverte 2.0",
    redistributable="yes",
    tz=TZ,
    resolution="15m",
    feeds=(
        Feed(
            id="rte.eco2mix",
            title="Demand, mix and net import of France",
            version="2",
            zones=("FR",),
            metrics=(Metric.DEMAND, Metric.INTERCHANGE, Metric.MIX),
            optional_metrics=(Metric.CARBON, Metric.CARBON_ESTIMATE),
            rank=4,
            since=date(2012, 1, 1),
            publication=Publication(lag_minutes=45, grace_minutes=60),
            requests=partial(request_each_day, "rte.eco2mix", REAL_TIME),
            parse=parse_eco2mix,
            follow=follow_moved,
            every_minutes=30,
            reach_days=CONSOLIDATED_AFTER,
        ),
        Feed(
            id="rte.eco2mix_consolidated",
            title="Demand, mix and net import of France, consolidated",
            zones=("FR",),
            metrics=(Metric.DEMAND, Metric.INTERCHANGE, Metric.MIX),
            optional_metrics=(Metric.CARBON, Metric.CARBON_ESTIMATE),
            rank=3,
            resolution="30m",
            since=date(2012, 1, 1),
            publication=Publication(daily_at=time(12), day_offset=CONSOLIDATED_AFTER, grace_minutes=30 * 24 * 60),
            requests=partial(request_each_day, "rte.eco2mix_consolidated", CONSOLIDATED),
            parse=parse_eco2mix,
            every_minutes=24 * 60,
            revised_days=CONSOLIDATED_AFTER + 5,
        ),
        Feed(
            id="rte.market_price",
            title="Day-ahead prices of seven areas, from RTE's website",
            zones=tuple(AREAS.values()),
            metrics=(Metric.PRICE,),
            rank=5,
            since=date(2014, 12, 1),
            publication=Publication(daily_at=time(15, 10), day_offset=-1, grace_minutes=240),
            requests=price_requests,
            parse=parse_price,
            every_minutes=360,
            hub="day-ahead auction (SDAC; of Switzerland its own)",
            withheld=True,
        ),
    ),
    notes=(
        "Market prices are those of EPEX SPOT, whose terms are unclear. They are used to validate other sources, "
        "and are withheld.",
        "Nine months later, consolidated half-hourly values replace the values of the day.",
        "In the mix, pumped storage and batteries are output minus consumption, gas and oil include cogeneration, "
        "and biomass includes biogas. Consolidated responses, and those of days before late 2022, have no wind, "
        "no batteries and no carbon estimate.",
    ),
)
