"""EIA-930 by API v2: hourly demand and interchange of the seven US zones, generation of California, mix of the others.

https://www.eia.gov/opendata/documentation.php describes the API.

Traps:
- `period` is the UTC hour's end; `start` and `end` are both included, so that a day is asked for from midnight to
  midnight.
- An answer of more than 5000 rows is cut, with a warning; further pages are had by `offset`.
- Rows come unordered; `value` and `total` are numbers or texts. Null and an empty text are no reading.
- Interchange is + out of the balancing authority here, so that every sign turns.
- The answer repeats the key under `request`; only `response` is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from functools import partial

from assets.parsing.body import member
from assets.parsing.days import runs
from assets.parsing.members import Members, require_known
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.totals import summed, undisputed
from assets.sources.eia.bodies import (
    FUELS,
    HOST,
    PAGE,
    RESPONDENTS,
    entries_of,
    is_cut,
    megawatts_of,
    offset_of,
    response_of,
    start_of,
)
from assets.sources.eia.mix import MIX_DAYS, MIX_RESPONDENTS, parse_mix
from warehouse.errors import FeedChanged
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

TZ = "UTC"
NEIGHBOURS = Members("balancing authority", Metric.INTERCHANGE, AMERICAN | RESPONDENTS, summed=True)
SOURCES = Members("energy source", Metric.GENERATION, FUELS, "US-CAISO")

_KEY = (Secret("query", "api_key", ("EIA_API_KEY",)),)


def _requests(
    feed: str, dataset: str, longest: int, facets: tuple[tuple[str, str], ...], days: Sequence[MarketDay], now: int
) -> list[Request]:
    """Questions of at most `longest` days, so that one page holds the answer."""
    return [_request(feed, dataset, facets, block) for block in runs(days, longest)]


def _request(feed: str, dataset: str, facets: tuple[tuple[str, str], ...], block: Sequence[MarketDay]) -> Request:
    params = (
        ("data[]", "value"),
        ("end", str(block[-1].next())),
        *facets,
        ("frequency", "hourly"),
        ("length", str(PAGE)),
        ("offset", "0"),
        ("start", str(block[0])),
    )
    url = f"https://{HOST}/v2/electricity/rto/{dataset}/data/"
    return Request(feed, url, params, tuple(day.day for day in block), secrets=_KEY, ext="json")


def _forecast_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """What is published on a day is the forecast of that day, and of the next as far as it is there."""
    facets = _facets(type=("DF",), respondent=_EVERY)
    return [
        replace(_request("eia.demand_forecast", "region-data", facets, [day, day.next()]), days=(day.day,))
        for day in sorted(set(days))
    ]


def next_page(body: bytes, request: Request) -> list[Request]:
    """The question for the rows that a cut answer left out; none where it is whole. Raises FeedChanged."""
    response = response_of(body)
    page = member(response, "data", list)
    reached = offset_of(request) + len(page)
    if not page or not is_cut(response, reached):
        return []
    further = tuple((name, str(reached) if name == "offset" else value) for name, value in request.params)
    return [replace(request, params=further, part=f"offset {reached}")]


def parse_interchange(body: bytes, request: Request) -> Rows:
    """`interchange` rows, + into the zone: every border, and the net where the page is whole; of totals the net.

    Raises FeedChanged, FeedUnavailable, NotPublished.
    """
    response = response_of(body)
    entries = entries_of(response)
    if "fromba" not in entries[0]:
        return _by_zone(Metric.INTERCHANGE, "TI", -1.0, body, request)
    rows = Rows()
    for entry in entries:
        zone, other = RESPONDENTS.get(member(entry, "fromba", str)), member(entry, "toba", str)
        if zone is not None and (megawatts := megawatts_of(entry)) is not None:
            start = start_of(entry)
            if counterparty := NEIGHBOURS.find(rows, other, [start], zone):
                rows.add(zone, Metric.INTERCHANGE, start, 0.0 - megawatts, "MW", "1h", None, counterparty)
    require_known(rows)
    return rows if is_cut(response, offset_of(request) + len(entries)) else combine_interchange(rows)


def combine_interchange(rows: Rows) -> Rows:
    """The same rows with the nets that their borders add up to; a net that was stated as a total stays as it is."""
    borders: dict[str, list[dict[int, float]]] = defaultdict(list)
    for key, readings in rows.readings.items():
        if key.counterparty is not None:
            borders[key.zone].append(undisputed(readings.ts, readings.values))
    for zone, parts in borders.items():
        rows.readings.pop(_key(zone, Metric.INTERCHANGE), None)
        rows.extend(_key(zone, Metric.INTERCHANGE), *_whole(parts, rows.refused.get((zone, Metric.INTERCHANGE), ())))
    return rows


def _whole(parts: Sequence[Mapping[int, float]], refused: Collection[int] = ()) -> tuple[list[int], list[float]]:
    """The sum of the parts at every hour that lacks none and is not refused.

    A part is lacking where it has a value within half a day of the hour: borders and plants come and go with the years,
    and no list of them is published with the figures.
    """
    hours = sorted(set().union(*parts).difference(refused))
    whole = [
        ts for ts in hours if all(ts in part or not any(ts + shift in part for shift in _HALF_A_DAY) for part in parts)
    ]
    return whole, [summed(part[ts] for part in parts if ts in part) for ts in whole]


_HALF_A_DAY = range(-12 * HOUR, 13 * HOUR, HOUR)


def parse_generation(body: bytes, request: Request) -> Rows:
    """`generation` rows of California by fuel. Raises FeedChanged, FeedUnavailable, NotPublished."""
    rows = Rows()
    by_code: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for entry in entries_of(response_of(body)):
        code = member(entry, "fueltype", str)
        megawatts = megawatts_of(entry) if RESPONDENTS.get(member(entry, "respondent", str)) == "US-CAISO" else None
        if megawatts is not None:
            start = start_of(entry)
            if SOURCES.find(rows, code, [start]):
                by_code[code][0].append(start)
                by_code[code][1].append(megawatts)
    for fuel in sorted({FUELS[code] for code in by_code}):
        codes = [code for code in by_code if FUELS[code] == fuel]
        first = by_code[codes[0]]
        rows.extend(
            _key("US-CAISO", Metric.GENERATION)._replace(fuel=fuel.value),
            *(first if len(codes) == 1 else _whole([undisputed(*by_code[code]) for code in codes])),
        )
    require_known(rows)
    return rows


def _by_zone(metric: str, kind: str, sign: float, body: bytes, request: Request) -> Rows:
    """One net series a zone, from region-data rows of one type. Raises FeedChanged, FeedUnavailable, NotPublished."""
    entries = [entry for entry in entries_of(response_of(body)) if member(entry, "type", str) == kind]
    if not entries:
        raise FeedChanged(f"no row of type {kind}")
    rows = Rows()
    for entry in entries:
        zone = RESPONDENTS.get(member(entry, "respondent", str))
        if zone is not None and (megawatts := megawatts_of(entry)) is not None:
            rows.add(zone, metric, start_of(entry), sign * megawatts + 0.0, "MW", "1h")
    return rows


def _key(zone: str, metric: str) -> SeriesKey:
    return SeriesKey(zone, metric, "MW", "1h")


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
            parse=partial(_by_zone, Metric.DEMAND, "D", 1.0),
            follow=next_page,
            every_minutes=60,
        ),
        Feed(
            id="eia.demand_forecast",
            title="Day-ahead demand forecast by balancing authority, out when the day has begun",
            metrics=(Forecast.DEMAND,),
            publication=Publication(daily_at=time(12), grace_minutes=600),
            requests=_forecast_requests,
            parse=partial(_by_zone, Forecast.DEMAND, "DF", 1.0),
            follow=next_page,
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="eia.interchange",
            version="3",
            title="Hourly interchange by balancing authority and border",
            metrics=(Metric.INTERCHANGE,),
            publication=_PUBLICATION,
            requests=partial(_requests, "eia.interchange", "interchange-data", 3, _facets(fromba=_EVERY)),
            parse=parse_interchange,
            follow=next_page,
            combine=combine_interchange,
            every_minutes=60,
        ),
        Feed(
            id="eia.generation",
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
            rank=1,
            since=date(2018, 7, 1),
            # Authorities must report by 7 a.m. Eastern of the next day; several do within two hours.
            publication=Publication(lag_minutes=120, grace_minutes=1680),
            requests=partial(
                _requests, "eia.mix", "fuel-type-data", MIX_DAYS, _facets(respondent=tuple(MIX_RESPONDENTS))
            ),
            parse=parse_mix,
            every_minutes=60,
        ),
    ),
    notes=(
        "Balancing authorities report hour by hour and correct for days; values are means over the hour.",
        "The day-ahead demand forecast is reported when its day has begun, and counts from when it was fetched.",
        "Interchange is the sum over the borders that the authority reports, written where none of them is missing.",
        "The mix is net generation by energy source. Before the third quarter of 2024, pumped storage is inside hydro "
        "(negative while pumping) and batteries are inside other. Solar panels behind the meter are not in it.",
        "Some sources are put into other to protect what single plants report.",
        "US-SPP is SWPP, the eastern balancing authority; SWPW in the west is another one.",
    ),
)
