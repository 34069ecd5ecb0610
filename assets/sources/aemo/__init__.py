"""Define the feeds of AEMO, Australia's National Electricity Market: price, demand, net interchange, flows, mix.

Traps:
- Every stamp is the interval's END in market time: UTC+10 all year, also in summer, for all five regions.
- NETINTERCHANGE > 0 is export, so its sign is reversed. An interconnector's MWFLOW > 0 runs from its first region to
  its second, and each of the two gets a row. The five nets do not add to 0 (losses).
- INTERVENTION = 1 rows repeat an interval of a market intervention. Price and demand come from the pricing run (0),
  interchange and flows from the other run (`assets.sources.aemo.rows`).
- TRADING was half-hourly until 2021-10-01 00:00 and is five-minute since then, in one file. Its prices are rounded to
  cents.
- A TRADINGIS report states flows but no net. emds does not sum them, because a region's net is not their sum (losses).
  The monthly TRADINGREGIONSUM (until 2021) states demand and net interchange, half-hourly.
- The mix is published per unit: see `mix` and `units`.
- The dashboard includes forecasts (PERIODTYPE), and its stamps have no offset. Old monthly CSV files write dates
  otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from functools import partial

from assets.parsing.body import columns, json_of, member, reading, table, text_of
from assets.parsing.days import months
from assets.parsing.members import require_known
from assets.parsing.stamps import wall_stamp
from assets.sources.aemo import predispatch
from assets.sources.aemo.files import (
    AHEAD_OF_UTC,
    BUNDLES_KEPT_DAYS,
    FIVE_MINUTES,
    MARKET_TZ,
    MONTHLY_TABLES_SINCE,
    Report,
)
from assets.sources.aemo.mix import follow_mix, parse_mix, request_mix
from assets.sources.aemo.rows import (
    DISPATCH,
    MEASURES,
    REGIONS,
    REGIONS_KNOWN,
    RESOLUTIONS,
    TRADING,
    ZONES,
    dispatch_step,
    parse_report,
    trading_step,
)
from assets.sources.aemo.units import known_units
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, month_of
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows
from warehouse.version import __version__

_DAY_FIRST = re.compile(r"(\d\d?)/(\d\d?)/(\d{4}) (.+)", re.ASCII)


def parse_price_and_demand(body: bytes, request: Request) -> Rows:
    """Return price and demand of one region and month. Raises FeedChanged for rows of any other region."""
    header, lines = table(text_of(body))
    region, stamp, demand, price, kind = columns(header, "REGION", "SETTLEMENTDATE", "TOTALDEMAND", "RRP", "PERIODTYPE")
    rows, starts = Rows(), list[int]()
    for cells in lines:
        cells = [cell.strip() for cell in cells]
        if not _is_actual(cells[kind], "TRADE", rows):
            continue
        if request.zone is not None and REGIONS.get(cells[region], request.zone) != request.zone:
            raise FeedChanged(f"expected {request.zone}, got {cells[region]}")
        end = wall_stamp(_DAY_FIRST.sub(_year_first, cells[stamp]))
        step = trading_step(end)
        if end % step:
            rows.dropped["off the grid"] += 1
            continue
        starts.append(end - step)
        values = {"RRP": reading(cells[price], "RRP"), "TOTALDEMAND": reading(cells[demand], "TOTALDEMAND")}
        _put(rows, cells[region], end - step - AHEAD_OF_UTC, RESOLUTIONS[step], values)
    _require_one_month(starts)
    require_known(rows)
    return rows


def _put(rows: Rows, region: str, start: int, resolution: str, values: Mapping[str, float | None]) -> None:
    """Add the values of a region's interval to `rows`. The keys of `values` are column names."""
    if zone := REGIONS_KNOWN.find(rows, region, [start]):
        for name, value in values.items():
            metric, unit, sign = MEASURES[name]
            if value is not None:
                rows.add(zone, metric, start, 0.0 + sign * value, unit, resolution)


def _year_first(match: re.Match[str]) -> str:
    return f"{match[3]}/{int(match[2]):02d}/{int(match[1]):02d} {match[4]}"


def _require_one_month(starts: Sequence[int]) -> None:
    """Raise NotPublished for a file without rows, FeedChanged for a file of several months, which is a misread date."""
    if not starts:
        raise NotPublished("the monthly file has no rows yet")
    if month_of(min(starts)) != month_of(max(starts)):
        raise FeedChanged("a monthly file contains rows of several months")


def parse_five_minute(body: bytes, request: Request) -> Rows:
    """Return price, demand and net interchange of the dashboard's last two days, without its forecasts."""
    rows = Rows()
    for entry in member(json_of(body), "5MIN", list):
        region, kind = member(entry, "REGIONID", str), member(entry, "PERIODTYPE", str)
        end = wall_stamp(member(entry, "SETTLEMENTDATE"))
        if not _is_actual(kind, "ACTUAL", rows):
            continue
        if end % FIVE_MINUTES:
            rows.dropped["off the grid"] += 1
            continue
        values = {name: reading(member(entry, name), name) for name in MEASURES}
        _put(rows, region, end - FIVE_MINUTES - AHEAD_OF_UTC, "5m", values)
    require_known(rows)
    return rows


def _is_actual(kind: str, actual: str, rows: Rows) -> bool:
    """Check whether a PERIODTYPE is that of actual values. Raises FeedChanged for an unknown one."""
    if kind == actual:
        return True
    if kind not in ("FORECAST", "PREDISPATCH"):
        raise FeedChanged(f"unknown PERIODTYPE {kind[:20]!r}")
    rows.dropped["forecast"] += 1
    return False


def request_price_and_demand(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request for the file of each month and region."""
    return [
        Request(
            "aemo.price_and_demand",
            f"https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_{month[0]:%Y%m}_{region}.csv",
            days=month,
            zone=zone,
            ext="csv",
        )
        for month in months(days)
        for region, zone in REGIONS.items()
    ]


def request_five_minute(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request, whatever the days: the response always covers the last two."""
    asked = Request(
        "aemo.five_minute",
        "https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN",
        days=tuple(sorted({d.day for d in days})),
        method="POST",
        body='{"timeScale":["30MIN"]}',
        headers=(("Content-Type", "application/json"),),
        ext="json",
    )
    return [asked] if days else []


_DISPATCH_IS = Report(
    "aemo.dispatch",
    "DispatchIS_Reports",
    "PUBLIC_DISPATCHIS",
    False,
    ("DISPATCHPRICE", "DISPATCHREGIONSUM", "DISPATCHINTERCONNECTORRES"),
)
_TRADING_IS = Report("aemo.trading", "TradingIS_Reports", "PUBLIC_TRADINGIS", True, ("TRADINGPRICE",))

SOURCE = Source(
    code="aemo",
    name="Australian Energy Market Operator (AEMO)",
    homepage="https://aemo.com.au",
    hosts=("nemweb.com.au", "aemo.com.au", "visualisations.aemo.com.au", "www.nemweb.com.au", "www.aemo.com.au"),
    requests_per_minute=60,  # NEMWEB returns 403 to bursts: https://github.com/opennem/opennem/issues/474
    min_interval_s=0.5,
    licence="AEMO Copyright Permissions: any purpose, with attribution",
    licence_url="https://www.aemo.com.au/privacy-and-legal-notices/copyright-permissions",
    attribution="Source: AEMO (aemo.com.au / nemweb.com.au); values changed in form (interval starts, signs)",
    redistributable="yes",
    user_agent=f"Mozilla/5.0 (compatible; emds/{__version__})",
    zones=ZONES,
    tz=MARKET_TZ,
    since=MONTHLY_TABLES_SINCE,
    stamps="end",
    resolution="5m",
    hub="RRP of the region",
    feeds=(
        Feed(
            id="aemo.dispatch",
            files=True,
            version="3",
            title="NEM dispatch: regional price, demand, net interchange and interconnector flows",
            metrics=(Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE),
            publication=Publication(lag_minutes=0, grace_minutes=15),
            requests=_DISPATCH_IS.requests,
            follow=_DISPATCH_IS.follow,
            parse=partial(parse_report, DISPATCH, dispatch_step),
            every_minutes=5,
            revised_days=1,
            max_bytes=128_000_000,
        ),
        Feed(
            id="aemo.mix",
            files=True,
            # A table with more units produces other rows.
            version=f"1.{len(known_units())}",
            title="NEM generation by fuel: SCADA readings of all units, and rooftop solar in half hours",
            metrics=(Metric.MIX,),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            # SCADA is published within a minute, rooftop solar half an hour after its half hour.
            publication=Publication(lag_minutes=30, grace_minutes=40),
            requests=request_mix,
            follow=follow_mix,
            parse=parse_mix,
            every_minutes=5,
            revised_days=1,
            max_bytes=128_000_000,
        ),
        Feed(
            id="aemo.predispatch",
            files=True,
            title="NEM pre-dispatch: regional price and demand, half hours ahead to the end of the trading day",
            metrics=(Forecast.PRICE, Forecast.DEMAND),
            resolution="30m",
            publication=Publication(grace_minutes=90),
            requests=predispatch.REPORT.requests,
            follow=predispatch.REPORT.follow,
            parse=predispatch.parse,
            every_minutes=30,
            revised_days=1,
            reach_days=BUNDLES_KEPT_DAYS,
            max_bytes=512_000_000,
        ),
        Feed(
            id="aemo.trading",
            files=True,
            title="NEM trading intervals: regional price (rounded to cents) and interconnector flows",
            metrics=(Metric.PRICE,),
            optional_metrics=(Metric.DEMAND, Metric.INTERCHANGE),
            version="3",
            rank=2,
            publication=Publication(lag_minutes=0, grace_minutes=30),
            requests=_TRADING_IS.requests,
            follow=_TRADING_IS.follow,
            parse=partial(parse_report, TRADING, trading_step),
            every_minutes=60,
            revised_days=1,
        ),
        Feed(
            id="aemo.five_minute",
            title="NEM dashboard: the last two days of price, demand and net interchange",
            metrics=(Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE),
            rank=3,
            since=date(2021, 10, 1),
            publication=Publication(lag_minutes=5, grace_minutes=30),
            requests=request_five_minute,
            parse=parse_five_minute,
            every_minutes=30,
            revised_days=1,
            reach_days=1,
        ),
        Feed(
            id="aemo.price_and_demand",
            files=True,
            title="NEM aggregated price and demand, monthly files since 1998",
            metrics=(Metric.PRICE, Metric.DEMAND),
            rank=4,
            since=date(1998, 12, 1),
            publication=Publication(daily_at=time(6, 0), day_offset=1, grace_minutes=24 * 60),
            requests=request_price_and_demand,
            parse=parse_price_and_demand,
            every_minutes=12 * 60,
            zones_per_answer="one",
        ),
    ),
    notes=(
        "Price is the regional reference price (RRP) of the dispatch interval. Demand is TOTALDEMAND, which "
        "scheduled and semi-scheduled generation and net imports supply.",
        "Interchange is -NETINTERCHANGE, the dispatch target: positive values flow into the region. Interconnector "
        "flows are MWFLOW targets for the end of the interval. Because of losses, the five nets do not sum to zero, "
        "and the net of a region is not the sum of its interconnectors.",
        "Pre-dispatch is AEMO's own half-hourly forecast of the same price and demand. A forecast price is compared "
        "with the mean of six dispatch prices.",
        "During a market intervention, price and demand are those of the pricing run, and interchange is the actual "
        "flow.",
        "The mix is the sum of SCADA readings by region and fuel. A table assigns the units. It is based on "
        "openNEM's registry (MIT licence) and AEMO's registration list; `python -m assets.sources units` adds the "
        "units of AEMO's CDEII list. If the absolute MW of unknown units exceeds 2% of that of all five regions "
        "together, the interval has no SCADA rows in any region.",
        "Rooftop solar (`solar_rooftop`) is AEMO's estimate from measurements for panels behind the meter; `solar` "
        "is utility-scale. The turbines of pumped storage are `hydro`, and its pumps are negative `pumped_storage`.",
        "Dispatch and trading data starts in 2015. The monthly files contain price and demand of the years before.",
        "Before October 2021, trading intervals and the monthly price and demand files are half-hourly.",
    ),
)
