"""Define the feeds of EIA-930: demand and interchange of seven US zones, generation of California, mix of the others.

All values are hourly. https://www.eia.gov/opendata/documentation.php describes the API (v2).

Traps:
- `period` is the UTC hour's end. `start` and `end` are both included, so a day is requested from midnight to midnight.
- A response of more than 5000 rows is cut, with a warning. `offset` requests further pages.
- Rows are unordered. `value` and `total` are numbers or texts. Null and an empty text mean that there is no reading.
- Interchange is + out of the balancing authority here, so every sign is reversed. PJM's borders have their own clock:
  see `interchange`.
- California's batteries are reported as OTH in every response that has no BAT for it. Beside BAT, OTH is other sources.
- The response repeats the key under `request`, so only `response` is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, time
from functools import partial

from assets.parsing.body import member
from assets.parsing.columns import drop
from assets.parsing.days import runs
from assets.parsing.members import Members, require_known
from assets.parsing.totals import undisputed
from assets.sources.eia.bodies import (
    FUELS,
    HOST,
    PAGE,
    RESPONDENTS,
    entries_of,
    is_cut,
    megawatts_of,
    offset_of,
    parse_by_zone,
    response_of,
    start_of,
)
from assets.sources.eia.interchange import BORDERS_SINCE, combine_interchange, parse_interchange, sum_whole
from assets.sources.eia.mix import MIX_DAYS, MIX_RESPONDENTS, parse_mix
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Forecast, Fuel, Metric
from warehouse.rows.schema import Readings, Rows, SeriesKey

TZ = "UTC"
SOURCES = Members("energy source", Metric.GENERATION, FUELS, "US-CAISO")

_KEY = (Secret("query", "api_key", ("EIA_API_KEY",)),)


def _requests(
    feed: str, dataset: str, longest: int, facets: tuple[tuple[str, str], ...], days: Sequence[MarketDay], now: int
) -> list[Request]:
    """Return requests of at most `longest` days each, so that the response fits into one page."""
    return [_request(feed, dataset, facets, block) for block in runs(days, longest)]


def _request(
    feed: str, dataset: str, facets: tuple[tuple[str, str], ...], block: Sequence[MarketDay], end: str = ""
) -> Request:
    params = (
        ("data[]", "value"),
        ("end", end or str(block[-1].next())),
        *facets,
        ("frequency", "hourly"),
        ("length", str(PAGE)),
        ("offset", "0"),
        ("start", str(block[0])),
    )
    url = f"https://{HOST}/v2/electricity/rto/{dataset}/data/"
    return Request(feed, url, params, tuple(day.day for day in block), secrets=_KEY, ext="json")


def _interchange_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the borders, until PJM's last period of each block, and for the totals before 2019."""
    totals = [day for day in days if day.day < BORDERS_SINCE]
    borders = [day for day in days if day.day >= BORDERS_SINCE]
    return [
        *_requests("eia.interchange", "region-data", 28, _facets(type=("TI",), respondent=_EVERY), totals, now),
        *(
            _request("eia.interchange", "interchange-data", _facets(fromba=_EVERY), block, f"{block[-1].next()}T04")
            for block in runs(borders, 3)
        ),
    ]


def _forecast_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per publication day: for the forecast of that day, and of the next as far as it exists."""
    facets = _facets(type=("DF",), respondent=_EVERY)
    return [
        replace(_request("eia.demand_forecast", "region-data", facets, [day, day.next()]), days=(day.day,))
        for day in sorted(set(days))
    ]


def next_page(body: bytes, request: Request) -> list[Request]:
    """Return the request for the rows that a cut response left out, if any. Raises FeedChanged."""
    response = response_of(body)
    page = member(response, "data", list)
    reached = offset_of(request) + len(page)
    if not page or not is_cut(response, reached):
        return []
    further = tuple((name, str(reached) if name == "offset" else value) for name, value in request.params)
    return [replace(request, params=further, part=f"offset {reached}")]


def parse_generation(body: bytes, request: Request) -> Rows:
    """Return `generation` rows of California by fuel. Raises FeedChanged, FeedUnavailable, NotPublished."""
    rows = Rows()
    entries = [entry for entry in entries_of(response_of(body)) if member(entry, "respondent", str) == "CISO"]
    reports = [
        (member(entry, "fueltype", str), start_of(entry), megawatts)
        for entry in entries
        if (megawatts := megawatts_of(entry)) is not None
    ]
    zeros = _find_hours_of_zeros(reports)
    drop(rows, "an hour in which every source is 0", len(zeros))
    rows.refuse("US-CAISO", Metric.GENERATION, zeros)
    by_code: dict[str, Readings] = {}
    for code, start, megawatts in reports:
        if start not in zeros and SOURCES.find(rows, code, [start]):
            of_code = by_code.setdefault(code, Readings([], []))
            of_code.ts.append(start)
            of_code.values.append(megawatts)
    fuels = FUELS if any(entry["fueltype"] == "BAT" for entry in entries) else FUELS | {"OTH": Fuel.BATTERY}
    for fuel in sorted({fuels[code] for code in by_code}):
        key = SeriesKey("US-CAISO", Metric.GENERATION, "MW", "1h", fuel.value)
        parts = [of_code for code, of_code in by_code.items() if fuels[code] == fuel]
        if len(parts) == 1:
            rows.extend(key, parts[0].ts, parts[0].values)
        else:
            rows.extend(key, *sum_whole([undisputed(part.ts, part.values) for part in parts]))
    require_known(rows)
    return rows


def _find_hours_of_zeros(reports: Iterable[tuple[str, int, float]]) -> set[int]:
    """Return the hours in which several sources report and every value is exactly 0: these are not readings."""
    by_hour: dict[int, list[float]] = defaultdict(list)
    for _, start, megawatts in reports:
        by_hour[start].append(megawatts)
    return {start for start, values in by_hour.items() if len(values) > 1 and not any(values)}


def _facets(**groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"facets[{name}][{i}]", value) for name, values in groups.items() for i, value in enumerate(values))


_EVERY = tuple(RESPONDENTS)
_PUBLICATION = Publication(lag_minutes=120, grace_minutes=240)

SOURCE = Source(
    code="eia",
    name="U.S. Energy Information Administration, Form EIA-930",
    homepage="https://www.eia.gov/electricity/gridmonitor/",
    hosts=(HOST,),
    requests_per_minute=30,
    licence="public domain (U.S. government work)",
    licence_url="https://www.eia.gov/about/copyrights_reuse.php",
    attribution="Source: U.S. Energy Information Administration (EIA-930)",
    redistributable="yes",
    zones=tuple(RESPONDENTS.values()),
    tz=TZ,
    since=date(2015, 7, 1),
    stamps="end",
    resolution="1h",
    secrets=_KEY,
    rank=9,
    feeds=(
        Feed(
            id="eia.demand",
            title="Hourly demand by balancing authority",
            metrics=(Metric.DEMAND,),
            publication=_PUBLICATION,
            requests=partial(_requests, "eia.demand", "region-data", 28, _facets(type=("D",), respondent=_EVERY)),
            parse=partial(parse_by_zone, Metric.DEMAND, "D", 1.0),
            follow=next_page,
            every_minutes=60,
        ),
        Feed(
            id="eia.demand_forecast",
            title="Day-ahead demand forecast by balancing authority, published during the day",
            metrics=(Forecast.DEMAND,),
            publication=Publication(daily_at=time(12), grace_minutes=600),
            requests=_forecast_requests,
            parse=partial(parse_by_zone, Forecast.DEMAND, "DF", 1.0),
            follow=next_page,
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="eia.interchange",
            version="4",
            title="Hourly interchange by balancing authority and border",
            metrics=(Metric.INTERCHANGE,),
            publication=replace(_PUBLICATION, grace_minutes=360),  # PJM's clock delays its borders
            requests=_interchange_requests,
            parse=parse_interchange,
            follow=next_page,
            combine=combine_interchange,
            every_minutes=60,
        ),
        Feed(
            id="eia.generation",
            version="2",
            title="Hourly net generation of California by energy source",
            zones=("US-CAISO",),
            metrics=(Metric.GENERATION,),
            since=date(2018, 7, 1),
            publication=_PUBLICATION,
            requests=partial(_requests, "eia.generation", "fuel-type-data", 12, _facets(respondent=("CISO",))),
            parse=parse_generation,
            follow=next_page,
            every_minutes=60,
        ),
        Feed(
            id="eia.mix",
            title="Hourly net generation of six balancing authorities by energy source",
            zones=tuple(MIX_RESPONDENTS.values()),
            metrics=(Metric.MIX,),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            rank=1,
            since=date(2018, 7, 1),
            # Authorities must report by 7 a.m. Eastern of the next day. Several do within two hours.
            publication=Publication(lag_minutes=120, grace_minutes=1680),
            requests=partial(
                _requests, "eia.mix", "fuel-type-data", MIX_DAYS, _facets(respondent=tuple(MIX_RESPONDENTS))
            ),
            parse=parse_mix,
            every_minutes=60,
        ),
    ),
    notes=(
        "Balancing authorities report every hour and correct their values for days. Values are hourly means.",
        "The day-ahead demand forecast is published after its day has started; emds uses the time of the fetch as "
        "its issue time.",
        "Interchange is the sum of the borders that the authority reports. If a border is missing, there is no net.",
        "Before 2019, interchange is the total that the authority reports, and there are no borders.",
        "PJM's borders follow PJM's own clock. For the borders with MISO and NYISO, emds uses the rows of these two "
        "authorities.",
        "If a response for California does not list batteries, they are the rows that EIA lists as other.",
        "The mix is net generation by energy source. Before the third quarter of 2024, hydro includes pumped "
        "storage (negative while pumping), and other includes batteries. The mix does not include solar panels "
        "behind the meter.",
        "EIA moves some sources to other, to protect the data of individual plants.",
        "US-SPP is SWPP, the eastern balancing authority. SWPW in the west is a different one.",
    ),
)
