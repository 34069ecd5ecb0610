"""Define the half-hourly feeds of Elexon Insights for GB: market index price, demand, interconnector flows and mix.

Traps:
- Only `startTime` (UTC) dates a row. Settlement periods count from London midnight, 46 to 50 per day. Rows are
  unordered.
- The price is APXMIDP's in the Market Index Data. N2EXMIDP is 0 / 0 by now, and an APX row without volume is not a
  price.
- National demand (INDO) is called `demand` on its dataset and `initialDemandOutturn` on /demand/outturn. `demand` of
  another dataset (ITSDO: with station load, pumping and exports) is another quantity. Zero demand is a missing reading.
- A half hour may be repeated with another `publishTime`. The later publication is the current one.
- The net is a sum. It is written if every interconnector of its era has a value in that half hour, never for a part of
  them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from functools import partial
from typing import Any

from assets.parsing.body import member, reading
from assets.parsing.days import runs
from assets.parsing.members import Members, Tie, require_known
from assets.parsing.outside_areas import IRELAND, NORTHERN_IRELAND
from assets.parsing.stamps import utc_stamp
from assets.parsing.totals import extend_net
from assets.sources.elexon.bodies import HOST, entries_of, request_of, start_of
from assets.sources.elexon.mix import parse_mix, request_mix
from assets.sources.elexon.mix_forecast import parse_mix_forecast, request_mix_forecast
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY, MarketDay, iso
from warehouse.market.feeds import Feed, Publication, Request, Source, request_window
from warehouse.market.further_zones import name_area
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

LONGEST_PRICE = 7
LONGEST_DEMAND = 28
LONGEST_TIES = 7
"""Days per request."""

TIES = {
    "France(IFA)": Tie("FR", "gb-fr-ifa"),
    "Northern Ireland(Moyle)": Tie(name_area(NORTHERN_IRELAND), "INTIRL"),
    "Netherlands(BritNed)": Tie("NL", "gb-nl-britned", utc_stamp("2011-03-01T00:00Z")),
    "Ireland(East-West)": Tie(name_area(IRELAND), "INTEW", utc_stamp("2012-09-01T00:00Z")),
    "Belgium (Nemolink)": Tie("BE", "gb-be-nemo", utc_stamp("2019-01-01T00:00Z")),
    "IFA2 (INTIFA2)": Tie("FR", "gb-fr-ifa2", utc_stamp("2021-01-01T00:00Z")),
    "North Sea Link (INTNSL)": Tie("NO-2", "gb-no2-nsl", utc_stamp("2021-10-01T00:00Z")),
    "Eleclink (INTELEC)": Tie("FR", "gb-fr-eleclink", utc_stamp("2022-05-01T00:00Z")),
    "Denmark (Viking link)": Tie("DK-1", "gb-dk1-viking", utc_stamp("2023-12-01T00:00Z")),
    "Ireland (Greenlink)": Tie(name_area(IRELAND), "INTGRNL", utc_stamp("2024-09-19T00:00Z")),
}


def _spelling(name: str) -> str:
    return "".join(name.split()).casefold()


_TIES = {_spelling(name): tie for name, tie in TIES.items()}
INTERCONNECTORS = Members("interconnector", Metric.INTERCHANGE, _TIES, "GB", costs="total")
"""A new name may be another spelling of a known cable."""
PROVIDERS = Members("provider", Metric.PRICE, {"APXMIDP": True, "N2EXMIDP": False}, "GB")
"""The providers of the market index, and whether emds uses their price."""


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows of APXMIDP. Raises FeedChanged for another dataset, or without any row of APXMIDP."""
    rows, found = Rows(), False
    for entry in _newest(entries_of(body, "MID"), "dataProvider"):
        ts, provider = start_of(entry), member(entry, "dataProvider", str)
        price, volume = (reading(member(entry, name), name) for name in ("price", "volume"))
        ours = PROVIDERS.find(rows, provider, [ts])
        if ours is None:
            continue
        found = found or ours
        if not ours:
            rows.dropped["N2EX leg"] += 1
        elif price is None or not volume:
            rows.dropped["no volume"] += 1
        else:
            rows.add("GB", Metric.PRICE, ts, price, "GBP/MWh", "30m")
    require_known(rows)
    if not found:
        raise FeedChanged("no price for APXMIDP")
    return rows


def parse_demand(body: bytes, request: Request) -> Rows:
    """Return `demand` rows (INDO) of either endpoint. Raises FeedChanged for another demand."""
    rows = Rows()
    for entry in _newest(entries_of(body, "INDO")):
        ts = start_of(entry)
        if "initialDemandOutturn" in entry:
            demand = entry["initialDemandOutturn"]
        elif entry.get("dataset") == "INDO":
            demand = member(entry, "demand")
        else:
            raise FeedChanged("a demand value is not labelled INDO")
        megawatts = reading(demand, "demand")
        if megawatts is None:
            continue
        if megawatts == 0:
            rows.dropped["demand of 0"] += 1
        else:
            rows.add("GB", Metric.DEMAND, ts, megawatts, "MW", "30m")
    return rows


def parse_demand_forecast(body: bytes, request: Request) -> Rows:
    """Return `demand_forecast` rows (NDF): every vintage that was published in the requested period."""
    rows, key = Rows(), SeriesKey("GB", Forecast.DEMAND, "MW", "30m")
    for entry in entries_of(body, "NDF"):
        if entry.get("dataset") != "NDF":
            raise FeedChanged("a forecast is not labelled NDF")
        megawatts = reading(member(entry, "demand"), "demand")
        if megawatts is not None:
            published_at = utc_stamp(member(entry, "publishTime"))
            rows.extend_vintage(key, published_at, "body", [start_of(entry)], [megawatts])
    return rows


def parse_interconnectors(body: bytes, request: Request) -> Rows:
    """Return `interchange` of every interconnector (+ = into GB), and their sum if all have a value.

    Raises FeedChanged if all interconnectors are unknown.
    """
    rows = Rows()
    for entry in _newest(entries_of(body, "INTOUTHH"), "interconnectorName"):
        name, start = member(entry, "interconnectorName", str), start_of(entry)
        flow = reading(member(entry, "generation"), name)
        tie = INTERCONNECTORS.find(rows, name, [start], key=_spelling(name))
        if tie is not None and flow is not None:
            rows.add("GB", Metric.INTERCHANGE, start, flow, "MW", "30m", None, tie.counterparty, tie.link)
    extend_net(rows, SeriesKey("GB", Metric.INTERCHANGE, "MW", "30m"), TIES.values())
    require_known(rows)
    return rows


def _newest(entries: Iterable[dict[str, Any]], *named: str) -> Iterator[dict[str, Any]]:
    """Yield the rows without those that a later publication of the same half hour replaces. Undated rows all stay."""
    own = [(tuple(str(entry.get(name)) for name in ("startTime", *named)), entry) for entry in entries]
    latest: dict[tuple[Any, ...], int] = {}
    for key, entry in own:
        if entry.get("publishTime") is not None:
            latest[key] = max(latest.get(key, 0), utc_stamp(entry["publishTime"]))
    for key, entry in own:
        if entry.get("publishTime") is None or utc_stamp(entry["publishTime"]) == latest[key]:
            yield entry


def request_price(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the market index over at most 7 x 24 hours each: a longer period gets status 400."""
    return [_price(block) for block in runs(days, LONGEST_PRICE, LONGEST_PRICE * DAY)]


def _price(block: Sequence[MarketDay]) -> Request:
    window = request_window(block)
    start, end = (iso(ts).replace(":00Z", "Z") for ts in (window.start, window.end))
    params = (("from", start), ("to", end), ("dataProviders", "APXMIDP"), ("format", "json"))
    return request_of("elexon.price", "balancing/pricing/market-index", params, block)


def request_demand_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for all vintages published on each day."""
    spans = [(day, (iso(day.start), iso(day.end))) for day in sorted(set(days))]
    names = "publishDateTimeFrom", "publishDateTimeTo"
    return [
        request_of("elexon.demand_forecast", "datasets/NDF/stream", tuple(zip(names, span, strict=True)), [day])
        for day, span in spans
    ]


def _by_dates(feed: str, path: str, longest: int, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for settlement dates, both included. This endpoint ignores `from` and `to`."""
    return [request_of(feed, path, _dates(block), block) for block in runs(days, longest)]


def _dates(block: Sequence[MarketDay]) -> tuple[tuple[str, str], ...]:
    return ("settlementDateFrom", str(block[0])), ("settlementDateTo", str(block[-1])), ("format", "json")


SOURCE = Source(
    code="elexon",
    name="Elexon Insights (BMRS)",
    homepage="https://bmrs.elexon.co.uk",
    hosts=(HOST,),
    requests_per_minute=60,
    licence="BMRS data licence: worldwide, royalty-free, perpetual, commercial use allowed",
    licence_url="https://www.elexon.co.uk/bsc/data/balancing-mechanism-reporting-agent/copyright-licence-bmrs-data/",
    attribution="Contains BMRS data © Elexon Limited copyright and database right 2026",
    redistributable="yes",
    zones=("GB",),
    tz="Europe/London",
    since=date(2016, 1, 1),
    resolution="30m",
    feeds=(
        Feed(
            id="elexon.price",
            title="GB market index price (MID, APXMIDP)",
            metrics=(Metric.PRICE,),
            publication=Publication(lag_minutes=60, grace_minutes=180),
            requests=request_price,
            parse=parse_price,
            every_minutes=15,
            hub="APXMIDP",
        ),
        Feed(
            id="elexon.demand",
            title="GB national demand, initial outturn (INDO)",
            metrics=(Metric.DEMAND,),
            publication=Publication(lag_minutes=5, grace_minutes=60),
            requests=partial(_by_dates, "elexon.demand", "demand/outturn", LONGEST_DEMAND),
            parse=parse_demand,
            every_minutes=15,
        ),
        Feed(
            id="elexon.demand_forecast",
            title="GB national demand forecast (NDF), to the end of tomorrow",
            metrics=(Forecast.DEMAND,),
            publication=Publication(grace_minutes=90),
            requests=request_demand_forecast,
            parse=parse_demand_forecast,
            every_minutes=30,
            revised_days=1,
        ),
        Feed(
            id="elexon.interconnectors",
            version="3",
            title="GB interconnector flows (INTOUTHH)",
            metrics=(Metric.INTERCHANGE,),
            publication=Publication(lag_minutes=5, grace_minutes=60),
            requests=partial(_by_dates, "elexon.interconnectors", "generation/outturn/interconnectors", LONGEST_TIES),
            parse=parse_interconnectors,
            every_minutes=15,
        ),
        Feed(
            id="elexon.mix",
            title="GB generation by type (AGPT), with estimates of embedded solar and wind",
            metrics=(Metric.MIX,),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            publication=Publication(lag_minutes=60, grace_minutes=180),
            requests=request_mix,
            parse=parse_mix,
            every_minutes=30,
        ),
        Feed(
            id="elexon.mix_forecast",
            title="GB day-ahead forecast of wind and solar (DGWS)",
            metrics=(Forecast.MIX,),
            publication=Publication(daily_at=time(17), grace_minutes=180),
            requests=request_mix_forecast,
            parse=parse_mix_forecast,
            every_minutes=60,
            revised_days=1,
        ),
    ),
    notes=(
        "The price is the market index of short-term trades (APXMIDP). It is not an auction price and not an "
        "imbalance price.",
        "Demand is INDO. It does not include station load, pumping, exports, or the demand that embedded solar and "
        "wind supply.",
        "The demand forecast (NDF) is for the same demand. Every vintage is kept, and past vintages are available.",
        "The forecast of wind and solar is issued in the afternoon for the next day. It includes embedded generation.",
        "The mix includes the publisher's estimates of solar and wind embedded in distribution networks. Pumped "
        "storage is as published: older history has its output only. Other includes batteries.",
        "Interchange is the sum of all interconnectors, including the Irish ones. If one has no value, there is no "
        "net.",
    ),
)
