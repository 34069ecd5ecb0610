"""Define the feeds of the ENTSO-E Transparency Platform: prices, load, flows, mix and capacity of European zones.

The default set has twelve zones. For documents see `xml`, for nets from flows `net`, for the mix `mix`. Traps:
- A zone may have several auctions, and only position 1 (SDAC) is a price here. A response without it is not yet
  published, and position 2 (EXAA) is never a fallback. Responses of 2024 lack the element: there SDAC is the hourly
  auction for DE-LU and AT. Intraday auctions (contract A07) are left out.
- Polish prices were in PLN from 2017-03-02, so each TimeSeries states its own currency.
- Resolutions mix within one TimeSeries. Periods are unordered and may exceed the document's interval.
- A body states a flow in one direction. Both directions of a border may be above zero in one interval.
- Installed capacity is yearly. One Period may cover several years, and A03 leaves out a year that did not change.
- A wrong area code and an area without data look alike (acknowledgement 999). A wrong token returns HTML, or an
  acknowledgement 999 "Authentication failed.".
- Spain's day-ahead series has no sequence number, but its intraday series have: the contract (A01, A07) distinguishes
  them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, time
from functools import partial

from assets.parsing.members import Members, require_known
from assets.parsing.stamps import utc_stamp
from assets.sources.entsoe.areas import EIC, MIX_ZONES, TWO_AUCTIONS, ZONES, borders, names_of, requested_zone
from assets.sources.entsoe.mix import FUELS, parse_mix
from assets.sources.entsoe.mix_forecast import parse_mix_forecast
from assets.sources.entsoe.net import INTO, OUT_OF, combine
from assets.sources.entsoe.requests import (
    CAPACITY_ZONES,
    HOST,
    SECRETS,
    TZ,
    new_year,
    request_capacity,
    request_demand,
    request_demand_forecast,
    request_flows,
    request_mix,
    request_mix_forecast,
    request_price,
)
from assets.sources.entsoe.xml import RESOLUTIONS, Series, column, interval_of, series_of, spread
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import DAY, utc
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

QUARTER_HOURS = utc_stamp("2025-09-30T22:00Z")
"""SDAC's first quarter-hourly delivery day. Before it, an auction without position that is not hourly is EXAA's."""
CURRENCIES = {"PL": ("EUR", "PLN")}

PSR_TYPES = Members("psrType", Metric.CAPACITY, FUELS)
FRONTIERS = Members(
    "border", Metric.INTERCHANGE, {f"{border.zone}-{border.neighbour}": border for border in borders()}, costs="total"
)
"""An unknown area may be a part of a known one, or the same area under another code."""
MOST_YEARS = 100


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows of the day-ahead auction. Raises NotPublished if the body only contains other auctions."""
    rows = Rows()
    for series in series_of(body, "A44"):
        zone = requested_zone(series.texts, "in_Domain.mRID", request.zone)
        series.need("out_Domain.mRID", series.texts["in_Domain.mRID"])
        series.need("price_Measure_Unit.name", "MWH")
        if series.texts.get("contract_MarketAgreement.type", "A01") != "A01":
            rows.dropped["intraday auction"] += 1
            continue
        auction = series.texts.get("classificationSequence_AttributeInstanceComponent.position")
        if auction not in (None, "1"):
            rows.dropped[f"auction {auction[:3]}"] += 1
            continue
        unit = f"{_currency(series, zone)}/MWh"
        _put(rows, zone, Metric.PRICE, unit, series, "price.amount", zone in TWO_AUCTIONS and auction is None)
    if not len(rows):
        raise NotPublished("no day-ahead auction in the response: " + (", ".join(rows.dropped) or "no TimeSeries"))
    return rows


def _currency(series: Series, zone: str) -> str:
    currency = series.texts.get("currency_Unit.name", "")
    if currency not in CURRENCIES.get(zone, ("EUR",)):
        raise FeedChanged(f"prices for {zone} are in {currency[:10]!r}")
    return currency


def _parse_load(process: str, metric: Metric | Forecast, body: bytes, request: Request) -> Rows:
    """Return total load, actual (A16) or forecast a day ahead (A01). The document's time is that of the response."""
    rows = Rows()
    for series in series_of(body, "A65", process=process):
        series.need("quantity_Measure_Unit.name", "MAW")
        zone = requested_zone(series.texts, "outBiddingZone_Domain.mRID", request.zone)
        _put(rows, zone, metric, "MW", series, "quantity")
    return _something(rows)


def _put(rows: Rows, zone: str, metric: str, unit: str, series: Series, value: str, doubtful: bool = False) -> None:
    """Add every Period of a series. If `doubtful`, the body does not name the auction, which may not be SDAC."""
    for period in series.periods:
        interval = interval_of(period)
        if doubtful and (interval.start >= QUARTER_HOURS or interval.resolution != "PT60M"):
            rows.dropped["auction not named"] += 1
            continue
        ts, values = column(period, interval, value, series.texts.get("curveType"))
        if values:
            rows.extend(SeriesKey(zone, metric, unit, RESOLUTIONS[interval.resolution]), ts, values)


def _something(rows: Rows) -> Rows:
    if not len(rows):
        raise NotPublished("the response has no readings")
    return rows


def parse_flows(body: bytes, request: Request) -> Rows:
    """Return one-way `interchange` rows of a border for each covered zone. `link` is the direction until `combine`."""
    rows = Rows()
    for series in series_of(body, "A11"):
        series.need("quantity_Measure_Unit.name", "MAW")
        pair = names_of(*(series.texts.get(name, "") for name in ("out_Domain.mRID", "in_Domain.mRID")))
        if (
            len(set(pair)) < 2
            or not all(pair)
            or not set(pair) & ({*ZONES} if request.zone is None else {request.zone})
        ):
            raise FeedChanged(f"a flow from {pair[0][:20]!r} to {pair[1][:20]!r}, a border that was not requested")
        for period in series.periods:
            interval = interval_of(period)
            ts, values = column(period, interval, "quantity", series.texts.get("curveType"))
            if values:
                put_both_sides(rows, pair, RESOLUTIONS[interval.resolution], ts, values)
    require_known(rows)
    return _something(rows)


def put_both_sides(
    rows: Rows, pair: tuple[str, str], resolution: str, ts: Sequence[int], values: Sequence[float]
) -> None:
    """Add the flow from the first area of a pair to the second, for each covered zone among them."""
    for (zone, other), way in ((pair[::-1], INTO), (pair, OUT_OF)):
        if zone in EIC and FRONTIERS.find(rows, f"{zone}-{other}", ts, zone):
            key = SeriesKey(zone, Metric.INTERCHANGE, "MW", resolution, counterparty=other, link=way)
            rows.extend(key, ts, values if way == INTO else [0.0 - value for value in values])


def parse_capacity(body: bytes, request: Request) -> Rows:
    """Return `capacity` rows by fuel and calendar year. Types that share a fuel here are added up."""
    rows = Rows()
    by_year: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for series in series_of(body, "A68", process="A33"):
        series.need("quantity_Measure_Unit.name", "MAW")
        zone = requested_zone(series.texts, "inBiddingZone_Domain.mRID", request.zone)
        kind = series.texts.get("psrType", "")
        years = _years(series)
        if not kind:
            raise FeedChanged("a series has no psrType")
        if PSR_TYPES.find(rows, kind, (ts for ts, _ in years), zone) is None:
            continue
        for ts, value in years:
            if by_year[zone, ts].setdefault(kind, value) != value:
                raise FeedChanged(f"{zone}: {kind} has two values")
    for (zone, ts), kinds in by_year.items():
        sums: dict[str, float] = defaultdict(float)
        for kind, value in kinds.items():
            sums[FUELS[kind]] += value
        for fuel, value in sums.items():
            rows.add(zone, Metric.CAPACITY, ts, value, "MW", "1y", fuel=fuel)
    require_known(rows)
    return _something(rows)


def _years(series: Series) -> list[tuple[int, float]]:
    """Return the starts of the calendar years of a series, and their values. Raises FeedChanged."""
    years: list[tuple[int, float]] = []
    for period in series.periods:
        interval = interval_of(period)
        first, last = (utc(ts + DAY // 2).year for ts in (interval.start, interval.end))
        # Years begin at local midnight. A response cut at UTC midnight keeps its own start.
        shift = interval.start - new_year(first)
        if interval.resolution != "P1Y" or not 0 < last - first <= MOST_YEARS or abs(shift) >= DAY:
            raise FeedChanged(
                f"a Period of {interval.resolution[:10]!r} from {first} to {last} does not match calendar years"
            )
        places, values = spread(period, "quantity", series.texts.get("curveType"), last - first)
        years += [(new_year(first + place - 1) + shift, value) for place, value in zip(places, values, strict=True)]
    return years


SOURCE = Source(
    code="entsoe",
    name="ENTSO-E Transparency Platform",
    homepage="https://transparency.entsoe.eu",
    hosts=(HOST,),
    requests_per_minute=300,
    licence="ENTSO-E Transparency Platform terms; its list of data for free re-use (CC BY 4.0)",
    licence_url="https://transparency.entsoe.eu",
    attribution="Source: ENTSO-E Transparency Platform (transparency.entsoe.eu)",
    redistributable="unclear",
    endpoint_env="ENTSOE_ENDPOINT",
    zones=ZONES,
    tz=TZ,
    since=date(2015, 1, 5),
    secrets=SECRETS,
    origin="entsoe-db",
    feeds=(
        Feed(
            id="entsoe.price",
            title="Day-ahead prices of European bidding zones (SDAC)",
            metrics=(Metric.PRICE,),
            resolution="15m",
            publication=Publication(daily_at=time(13, 30), day_offset=-1, grace_minutes=120),
            requests=request_price,
            parse=parse_price,
            every_minutes=60,
            zones_per_answer="one",
            hub="day-ahead auction (SDAC)",
        ),
        Feed(
            id="entsoe.demand",
            title="Actual total load of European bidding zones",
            metrics=(Metric.DEMAND,),
            resolution="15m",
            publication=Publication(lag_minutes=120, grace_minutes=240),
            requests=request_demand,
            parse=partial(_parse_load, "A16", Metric.DEMAND),
            every_minutes=60,
            revised_days=3,
            zones_per_answer="one",
        ),
        Feed(
            id="entsoe.demand_forecast",
            title="Day-ahead total load forecast of European bidding zones",
            metrics=(Forecast.DEMAND,),
            resolution="15m",
            publication=Publication(daily_at=time(10), grace_minutes=240),
            requests=request_demand_forecast,
            parse=partial(_parse_load, "A01", Forecast.DEMAND),
            every_minutes=60,
            reach_days=0,
            zones_per_answer="one",
        ),
        Feed(
            id="entsoe.flows",
            version="2",
            title="Physical flows over every border of European bidding zones, and their net",
            metrics=(Metric.INTERCHANGE,),
            resolution="1h",
            since=date(2018, 10, 1),
            publication=Publication(lag_minutes=120, grace_minutes=240),
            requests=request_flows,
            parse=parse_flows,
            combine=combine,
            every_minutes=60,
            revised_days=3,
            zones_per_answer="one",
        ),
        Feed(
            id="entsoe.mix",
            title="Actual generation of European bidding zones by production type",
            zones=MIX_ZONES,
            metrics=(Metric.MIX,),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            resolution="15m",
            publication=Publication(lag_minutes=120, grace_minutes=480),
            requests=request_mix,
            parse=parse_mix,
            every_minutes=60,
            revised_days=3,
            zones_per_answer="one",
        ),
        Feed(
            id="entsoe.mix_forecast",
            title="Day-ahead forecast of wind and solar of European bidding zones",
            metrics=(Forecast.MIX,),
            resolution="15m",
            publication=Publication(daily_at=time(18), grace_minutes=240),
            requests=request_mix_forecast,
            parse=parse_mix_forecast,
            every_minutes=60,
            reach_days=0,
            zones_per_answer="one",
        ),
        Feed(
            id="entsoe.capacity",
            title="Installed capacity by production type, yearly",
            zones=CAPACITY_ZONES,
            metrics=(Metric.CAPACITY,),
            resolution="1y",
            since=date(2015, 1, 1),
            publication=Publication(daily_at=time(0, 0), day_offset=180, grace_minutes=30 * 24 * 60),
            requests=request_capacity,
            parse=parse_capacity,
            every_minutes=24 * 60,
            revised_days=366,
            zones_per_answer="one",
        ),
    ),
    notes=(
        "Prices are those of the day-ahead auction in EUR: SDAC or, in CH, the auction of EPEX SPOT, which is not "
        "coupled. Polish prices were in PLN from March 2017 to 2019.",
        "Demand is actual total load (6.1.A), as the operators report and revise it.",
        "The demand forecast (6.1.B) has no issue time; emds uses the time of the fetch.",
        "Interchange is the sum of the physical flows (12.1.G) over all borders. Each border is the difference of "
        "its two directions, at the coarsest of their resolutions.",
        "If a border is missing, there is no net. If a border with one cable has no reading for 14 days, while most "
        "of its zone's borders report, it is out of service, and the net of that time does not include it.",
        "ENTSO-E does not publish Spain's interconnectors with Morocco. Belgium's border with DE-LU is the cable "
        "ALEGrO.",
        "The mix (16.1.B) is net generation by production type. Pumped storage and batteries are output minus "
        "consumption.",
        "NO-2 publishes only the output of pumped storage. In ES, the turbines of pumped storage count as reservoir "
        "hydro, so that its pumped storage is never positive.",
        "Combined heat and power in SE-3 and a third of the generation in NL are other, and most solar panels in NL "
        "are missing. CH publishes 60% to 90% of its generation.",
        "ENTSO-E's list of data for free re-use names neither actual load (6.1.A) nor 16.1.B. emds uses both on "
        "the assumption that re-use is permitted.",
        "The forecast of wind and solar (14.1.D) is the day-ahead forecast. It has no issue time; emds uses the "
        "time of the fetch.",
        "Installed capacity (14.1.A) is what an operator reports for a year, in MW by fuel. Similar types are added.",
    ),
)
