"""Define the feeds of the California ISO: OASIS prices, and demand, generation and interchange of Today's Outlook."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, time
from functools import partial

from assets.parsing.body import columns
from assets.parsing.days import age, runs
from assets.parsing.members import Members
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.sources.caiso import oasis
from assets.sources.caiso import outlook as _outlook
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY, MarketDay, utc
from warehouse.market.feeds import Feed, Publication, Request, Source, request_window
from warehouse.market.vocabulary import Forecast, Fuel, Metric
from warehouse.rows.schema import Rows, SeriesKey

ZONE = "US-CAISO"
TZ = _outlook.TZ
HUB = "TH_SP15_GEN-APND"
AREA = "CA ISO-TAC"
OASIS = "https://oasis.caiso.com/oasisapi/SingleZip"
OUTLOOK = "https://www.caiso.com/outlook"
PRICE = SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m")
DAY_AHEAD = SeriesKey(ZONE, Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h")
FORECAST = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h")
LONGEST = 31
"""Days per OASIS request. OASIS responds to a longer range with error 1004."""

FUELS = {
    "solar": Fuel.SOLAR,
    "wind": Fuel.WIND,
    "geothermal": Fuel.GEOTHERMAL,
    "biomass": Fuel.BIOMASS,
    "biogas": Fuel.BIOMASS,
    "small hydro": Fuel.HYDRO,
    "large hydro": Fuel.HYDRO,
    "coal": Fuel.COAL,
    "nuclear": Fuel.NUCLEAR,
    "natural gas": Fuel.GAS,
    "batteries": Fuel.BATTERY,
    "other": Fuel.OTHER,
}
COLUMNS = Members("fuel", Metric.GENERATION, FUELS, ZONE)
IMPORTS = "imports"
DEMAND = "current demand"


def _lmp_requests(
    feed: str, query: str, version: str, market: str, days: Sequence[MarketDay], now: int
) -> list[Request]:
    """Return one OASIS request for each run of at most 31 days of prices."""
    return [_lmp_request(feed, run, query, version, market) for run in runs(days, LONGEST, LONGEST * DAY)]


def _lmp_request(feed: str, run: Sequence[MarketDay], query: str, version: str, market: str) -> Request:
    window = request_window(run)
    start, end = (utc(ts).strftime("%Y%m%dT%H:%M-0000") for ts in (window.start, window.end))
    params = (
        ("resultformat", "6"),
        ("queryname", query),
        ("version", version),
        ("market_run_id", market),
        ("node", HUB),
        ("startdatetime", start),
        ("enddatetime", end),
    )
    return Request(feed, OASIS, params, tuple(d.day for d in run), ext="zip")


def forecast_requests(feed: str, query: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the day-ahead forecast as published on each day, which covers that day and the next."""
    asked = [(day, _lmp_request(feed, [day, day.next()], query, "1", "DAM")) for day in sorted(set(days))]
    return [
        replace(request, params=tuple(pair for pair in request.params if pair[0] != "node"), days=(day.day,))
        for day, request in asked
    ]


def _outlook_requests(feed: str, file: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request per day. `_` is the time of the request: CloudFront serves stale copies of an old URL."""
    # Only today's files are in `current`.
    folders = {d.day: f"history/{d.day:%Y%m%d}" if age(d, now) > 0 else "current" for d in sorted(set(days))}
    return [
        Request(feed, f"{OUTLOOK}/{folder}/{file}", (("_", str(now)),), (day,), ext="csv", nonce=("_",))
        for day, folder in folders.items()
    ]


def parse_demand(body: bytes, request: Request) -> Rows:
    """Return five-minute system demand, without the columns of forecasts and net demand."""
    outlook = _outlook.read(body, request, lambda header: columns(header, DEMAND))
    rows = Rows()
    rows.extend(
        SeriesKey(ZONE, Metric.DEMAND, "MW", "5m"), *_outlook.values(outlook, columns(outlook.header, DEMAND), DEMAND)
    )
    rows.dropped.update(+outlook.dropped)
    return rows


def parse_fuelsource(body: bytes, request: Request) -> Rows:
    """Return generation by fuel, the same values as mix, and the column Imports as the zone's net import."""
    outlook = _outlook.read(body, request, lambda header: [i for i, name in enumerate(header) if name != "time"])
    rows = Rows()
    rows.extend(
        SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m"),
        *_outlook.values(outlook, columns(outlook.header, IMPORTS), IMPORTS),
    )
    by_code = MixByCode()
    for fuel, places in _fuel_columns(rows, outlook).items():
        rows.extend(SeriesKey(ZONE, Metric.GENERATION, "MW", "5m", fuel), *_outlook.values(outlook, places, fuel))
        for place in places:
            code = Code(ZONE, fuel, outlook.header[place], "5m")
            by_code.extend(code, *_outlook.values(outlook, [place], code.name))
    for place, name in enumerate(outlook.header):
        if name not in FUELS and name not in ("time", IMPORTS):
            with suppress(FeedChanged):  # an unknown column only costs its own readings, whatever they are
                for ts, megawatts in zip(*_outlook.values(outlook, [place], name), strict=True):
                    by_code.unknown[ZONE][ts] += megawatts
    extend_mix(rows, by_code)
    rows.dropped.update(+outlook.dropped)
    return rows


def _fuel_columns(rows: Rows, outlook: _outlook.Outlook) -> dict[Fuel, list[int]]:
    """Return the columns to sum for each fuel. The columns are the list here: a new one is an unknown fuel.

    Raises FeedChanged for an incomplete sum.
    """
    by_fuel: dict[Fuel, list[int]] = {}
    for i, name in enumerate(outlook.header):
        if name in ("time", IMPORTS):
            continue
        filled = (ts for ts, cells in zip(outlook.starts, outlook.lines, strict=True) if cells[i].strip())
        if fuel := COLUMNS.find(rows, name, filled):
            by_fuel.setdefault(fuel, []).append(i)
    for fuel, places in by_fuel.items():
        if len(places) != list(FUELS.values()).count(fuel):
            raise FeedChanged(f"cannot sum {fuel}: a column is missing in {', '.join(outlook.header)[:200]}")
    if not by_fuel:
        raise FeedChanged("the header has no fuels")
    return by_fuel


SOURCE = Source(
    code="caiso",
    name="California ISO",
    homepage="https://www.caiso.com/",
    hosts=("oasis.caiso.com", "www.caiso.com"),
    requests_per_minute=12,
    min_interval_s=oasis.PAUSE,
    licence="California ISO terms: use with credit, notices kept",
    licence_url="https://www.caiso.com/privacy-terms-of-use",
    attribution="Source: California ISO (OASIS)",
    redistributable="unclear",
    zones=(ZONE,),
    tz=TZ,
    since=date(2009, 4, 1),
    resolution="5m",
    hub=HUB,
    feeds=(
        Feed(
            id="caiso.lmp_rt",
            title=f"CAISO real-time 5-minute LMP at {HUB}",
            metrics=(Metric.PRICE,),
            publication=Publication(lag_minutes=10, grace_minutes=45),
            requests=partial(_lmp_requests, "caiso.lmp_rt", "PRC_INTVL_LMP", "3", "RTM"),
            parse=partial(oasis.parse_lmp, HUB, "RTM", PRICE),
            every_minutes=5,
            revised_days=1,
            reach_days=1180,
        ),
        Feed(
            id="caiso.lmp_da",
            title=f"CAISO day-ahead hourly LMP at {HUB}",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            publication=Publication(daily_at=time(13), day_offset=-1, grace_minutes=120),
            requests=partial(_lmp_requests, "caiso.lmp_da", "PRC_LMP", "12", "DAM"),
            parse=partial(oasis.parse_lmp, HUB, "DAM", DAY_AHEAD),
            every_minutes=60,
            reach_days=1180,
        ),
        Feed(
            id="caiso.demand",
            files=True,
            version="2",
            title="CAISO demand, five-minute average",
            metrics=(Metric.DEMAND,),
            since=date(2018, 4, 10),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(_outlook_requests, "caiso.demand", "demand.csv"),
            parse=parse_demand,
            every_minutes=5,
            revised_days=1,
        ),
        Feed(
            id="caiso.demand_forecast",
            title="CAISO day-ahead demand forecast",
            metrics=(Forecast.DEMAND,),
            resolution="1h",
            publication=Publication(daily_at=time(9, 10), grace_minutes=180),
            requests=partial(forecast_requests, "caiso.demand_forecast", "SLD_FCST"),
            parse=partial(oasis.parse_load_forecast, AREA, "DAM", FORECAST),
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="caiso.mix_forecast",
            title="CAISO day-ahead forecast of wind and solar",
            metrics=(Forecast.MIX,),
            resolution="1h",
            publication=Publication(daily_at=time(9, 10), grace_minutes=180),
            requests=partial(forecast_requests, "caiso.mix_forecast", "SLD_REN_FCST"),
            parse=partial(oasis.parse_renewable_forecast, "DAM"),
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="caiso.fuelsource",
            files=True,
            version="3",
            title="CAISO generation by fuel, and net imports",
            metrics=(Metric.GENERATION, Metric.MIX, Metric.INTERCHANGE),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            since=date(2018, 4, 10),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(_outlook_requests, "caiso.fuelsource", "fuelsource.csv"),
            parse=parse_fuelsource,
            every_minutes=5,
            revised_days=1,
        ),
    ),
    notes=(
        "Price is the total LMP of the SP15 trading hub, not one of its components (energy, congestion, losses, "
        "greenhouse gas).",
        "Demand does not include dispatchable pump load and battery charging.",
        "The day-ahead demand forecast has no issue time; emds uses the time of the fetch.",
        "The mix has the same columns as generation. Hydro includes pumped storage.",
        "Batteries are negative while charging, and solar may be slightly negative at night. Hydro is small plus "
        "large hydro, and biomass includes biogas.",
        "Interchange is the column Imports: positive values flow into California. It is not part of the generation.",
        "When clocks are set back, CAISO publishes only the first of the two hours that start at 01:00. EIA-930 "
        "supplies the second.",
    ),
)
