"""Define the feeds of Energi Data Service: prices of DK-1, DE-LU, NO-2, SE-3, and flows and carbon intensity of DK-1.

Traps:
- Prices since 2025-10-01 are in `DayAheadPrices` (quarter hours), earlier ones in `Elspotprices` (hours). Each responds
  to a day of the other without records.
- `TimeUTC` and `HourUTC` are interval starts in UTC without `Z`. `start` and `end` of a request are Danish civil time,
  the end excluded. `limit` is 100 unless it is 0.
- EUR values have a float32 error, so they are rounded to the cent. DKK is EUR times a rate of the day, and is not read.
- A response may contain areas that are not covered here.
- Flows are + into the area, and null if an area has no such line. DK1 and DK2 are interleaved, the newest first.
- `CO2Emis` and `CO2EmisProg` have the same columns. A response that names the other data set is rejected, so that a
  forecast cannot become an actual value. The forecast does not state its issue time. No sample body of either was
  available: the columns are those of two public clients, and a failure lists other ones.
- Too many requests return a JSON body that states how long to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from functools import partial
from typing import Any

import orjson

from assets.parsing.body import json_of, member, reading
from assets.parsing.days import runs
from assets.parsing.members import Members, require_known
from assets.parsing.stamps import iso_instant, utc_stamp
from assets.parsing.totals import extend_net
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.further_zones import name_area
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

HOST = "api.energidataservice.dk"
TZ = "Europe/Copenhagen"
LONGEST = 31
"""Days per request."""
QUARTER_HOURS_SINCE = date(2025, 10, 1)
_FURTHER = {"DK2": "DK-2", "SE4": "SE-4"}
AREAS = {"DE": "DE-LU", "DK1": "DK-1", "NO2": "NO-2", "SE3": "SE-3"} | {
    area: zone for area, zone in _FURTHER.items() if zone == name_area(zone)
}
PRICES = {
    "DayAheadPrices": ("TimeUTC", "DayAheadPriceEUR", 900, "15m"),
    "Elspotprices": ("HourUTC", "SpotPriceEUR", 3600, "1h"),
}
"""Data set -> its columns of time and price, its step in seconds, and its resolution."""
FLOWS = "ElectricityProdex5MinRealtime"
CARBON, CARBON_FORECAST = "CO2Emis", "CO2EmisProg"
CARBON_COLUMNS = ("Minutes5UTC", "PriceArea", "CO2Emission")
BORDERS = {
    "ExchangeGreatBelt": name_area("DK-2"),
    "ExchangeGermany": "DE-LU",
    "ExchangeNetherlands": "NL",
    "ExchangeGreatBritain": "GB",
    "ExchangeNorway": "NO-2",
    "ExchangeSweden": "SE-3",
}
"""Column -> the area at the other end of DK-1's border."""
COLUMNS = Members("border", Metric.INTERCHANGE, BORDERS, "DK-1", costs="total")
"""A new column may be the sum of known ones."""
VIKING = utc_stamp("2023-12-01T00:00Z")
"""The time since when GB's border has a cable."""


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows, EUR/MWh, of the covered zones. Raises FeedChanged, NotPublished."""
    answer = _read_object(body)
    name = member(answer, "dataset", str)
    if name not in PRICES:
        raise FeedChanged(f"unknown dataset {name[:40]!r}")
    stamp, price, step, resolution = PRICES[name]
    rows = Rows()
    for record in _records(answer):
        zone, value = AREAS.get(member(record, "PriceArea", str)), reading(member(record, price), price)
        if zone is not None and value is not None:
            ts = _on_grid(member(record, stamp), step)
            rows.add(zone, Metric.PRICE, ts, round(value, 2), "EUR/MWh", resolution)
    return rows


def parse_flows(body: bytes, request: Request) -> Rows:
    """Return `interchange` rows of DK-1's borders, and their sum if all have a value. The columns list the borders."""
    rows, net = Rows(), SeriesKey("DK-1", Metric.INTERCHANGE, "MW", "5m")
    for record in _records(_read_object(body)):
        if member(record, "PriceArea", str) != "DK1":
            continue
        ts = _on_grid(member(record, "Minutes5UTC"), 300)
        columns = {*BORDERS, *(name for name in record if name.startswith("Exchange"))}
        for name in sorted(columns):
            value = reading(member(record, name), name)
            if value is not None and (area := COLUMNS.find(rows, name, [ts])):
                rows.add("DK-1", Metric.INTERCHANGE, ts, value, "MW", "5m", counterparty=area)
    extend_net(rows, net, [(area, None, VIKING if area == "GB" else 0) for area in BORDERS.values()])
    require_known(rows)
    return rows


def parse_carbon(dataset: str, metric: Metric | Forecast, body: bytes, request: Request) -> Rows:
    """Return DK-1's five-minute values in g/kWh. Raises FeedChanged, NotPublished."""
    answer, rows = _read_object(body), Rows()
    if answer.get("dataset", dataset) != dataset:
        raise FeedChanged(f"the response is of {str(answer['dataset'])[:40]!r}, not of {dataset}")
    for record in _records(answer):
        if not isinstance(record, dict) or not {*CARBON_COLUMNS} <= record.keys():
            raise FeedChanged(f"columns {str(sorted(record))[:200]} instead of {', '.join(CARBON_COLUMNS)}")
        grams = reading(record["CO2Emission"], "CO2Emission")
        if record["PriceArea"] == "DK1" and grams is not None:
            rows.add("DK-1", metric, _on_grid(record["Minutes5UTC"], 300), grams, "gCO2/kWh", "5m")
    return rows


def _read_object(body: bytes) -> dict[str, Any]:
    """Return the body's JSON object. Raises FeedChanged for another type."""
    answer = json_of(body)
    if not isinstance(answer, dict):
        raise FeedChanged(f"the response has the type {type(answer).__name__}")
    return answer


def _records(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    records = member(answer, "records", list)
    if not records:
        raise NotPublished("the response has no records")
    total, limit = answer.get("total"), answer.get("limit")
    if limit == 0 and isinstance(total, int) and total > len(records):
        raise FeedChanged(f"the response is truncated: {len(records)} of {total} records")
    yield from records


def _on_grid(stamp: object, step: int) -> int:
    ts = iso_instant(stamp)
    if ts % step:
        raise FeedChanged(f"{str(stamp)[:40]!r} is not aligned to the interval")
    return ts


def price_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for all areas by data set, up to a month each."""
    hourly = [day for day in days if day.day < QUARTER_HOURS_SINCE]
    quarters = [day for day in days if day.day >= QUARTER_HOURS_SINCE]
    return [
        _request("energinet.price", name, sorted(areas), block, f"{stamp} asc")
        for name, stamp, areas, some in (
            ("Elspotprices", "HourUTC", AREAS, hourly),
            ("DayAheadPrices", "TimeUTC", AREAS, quarters),
        )
        for block in runs(some, LONGEST)
    ]


def flow_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for DK-1's flows, up to a week each."""
    return [_request("energinet.flows", FLOWS, ["DK1"], block, "Minutes5UTC asc") for block in runs(days, 7)]


def carbon_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for DK-1's carbon intensity, up to a week each."""
    return [_request("energinet.carbon", CARBON, ["DK1"], block, "Minutes5UTC asc") for block in runs(days, 7)]


def carbon_forecast_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request for the current forecast of the last day and the day after it: older ones are not kept."""
    last = [max(days, key=lambda market_day: market_day.day)] if days else []
    return [
        _request("energinet.carbon_forecast", CARBON_FORECAST, ["DK1"], [day], "Minutes5UTC asc", 2) for day in last
    ]


def _request(
    feed: str, dataset: str, areas: Sequence[str], block: Sequence[MarketDay], sort: str, more_days: int = 1
) -> Request:
    """Return the request for a block of days, which ends before the day `more_days` after its last one."""
    return Request(
        feed,
        f"https://{HOST}/dataset/{dataset}",
        (
            ("start", f"{block[0]}"),
            ("end", f"{block[-1].day + timedelta(days=more_days)}"),
            ("filter", orjson.dumps({"PriceArea": list(areas)}).decode()),
            ("sort", sort),
            ("limit", "0"),
        ),
        tuple(day.day for day in block),
        ext="json",
    )


SOURCE = Source(
    code="energinet",
    name="Energinet, Energi Data Service",
    homepage="https://www.energidataservice.dk",
    hosts=(HOST,),
    requests_per_minute=2,
    licence="CC BY 4.0",
    licence_url="https://www.energidataservice.dk/terms-and-conditions",
    attribution="Source: Energinet (www.energidataservice.dk), CC BY 4.0; rounded to the cent, changed in form",
    redistributable="yes",
    tz=TZ,
    rank=3,
    feeds=(
        Feed(
            id="energinet.price",
            origin="nord-pool",
            title="Day-ahead prices of western Denmark, Germany, southern Norway and central Sweden",
            zones=tuple(AREAS.values()),
            metrics=(Metric.PRICE,),
            resolution="15m",
            since=date(2020, 1, 1),
            publication=Publication(daily_at=time(14, 0), day_offset=-1, grace_minutes=180),
            requests=price_requests,
            parse=parse_price,
            every_minutes=180,
            hub="day-ahead auction (SDAC)",
        ),
        Feed(
            id="energinet.flows",
            title="Flows over the borders of western Denmark",
            zones=("DK-1",),
            metrics=(Metric.INTERCHANGE,),
            resolution="5m",
            since=date(2022, 1, 1),
            publication=Publication(lag_minutes=15, grace_minutes=60),
            requests=flow_requests,
            parse=parse_flows,
            every_minutes=30,
        ),
        Feed(
            id="energinet.carbon",
            title="Carbon intensity of consumption in western Denmark",
            zones=("DK-1",),
            metrics=(Metric.CARBON,),
            rank=1,
            resolution="5m",
            since=date(2017, 1, 1),
            publication=Publication(lag_minutes=15, grace_minutes=60),
            requests=carbon_requests,
            parse=partial(parse_carbon, CARBON, Metric.CARBON),
            every_minutes=15,
        ),
        Feed(
            id="energinet.carbon_forecast",
            title="Forecast of the carbon intensity of consumption in western Denmark",
            zones=("DK-1",),
            metrics=(Forecast.CARBON,),
            rank=1,
            resolution="5m",
            since=date(2017, 1, 1),
            publication=Publication(daily_at=time(15), grace_minutes=180),
            requests=carbon_forecast_requests,
            parse=partial(parse_carbon, CARBON_FORECAST, Forecast.CARBON),
            every_minutes=60,
            reach_days=0,
        ),
    ),
    notes=(
        "Prices are Energinet's copy of Nord Pool's results, in EUR rounded to the cent.",
        "The carbon intensity of DK-1 includes imports. Its forecast has no issue time; emds uses the time of the "
        "fetch.",
        "The demand of DK-1 is not used, because no sample response with a load column was available.",
    ),
)
