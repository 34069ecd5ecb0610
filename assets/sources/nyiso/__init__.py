"""Define the feeds of New York ISO: zonal prices, load and scheduled ties.

`oasis-postings` has one file per day. Real-time prices before December 2025 are only on `mis`, as monthly zips, each
requested once. Real-time prices are stamped at the interval's end, everything else at its start.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from functools import partial

from assets.parsing.columns import FIVE_MINUTES, drop, keep, on_grid
from assets.parsing.days import months
from assets.parsing.members import Members, Tie, require_known
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import utc_stamp
from assets.parsing.totals import Part, extend_total
from assets.sources.nyiso.bodies import TZ, Series, files, flows, loads, placed, prices, settled, wide
from warehouse.errors import FeedChanged
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

ZONE = "US-NYISO"
POSTINGS = "oasis-postings.prod.nysdi.com"
MIS = "mis.nyiso.com"
HUB = "N.Y.C."
UPSTATE = ("CAPITL", "CENTRL", "DUNWOD", "GENESE", "HUD VL", "MHK VL", "MILLWD", "NORTH", "WEST")
LOAD_ZONES = (*UPSTATE, "LONGIL", "N.Y.C.")
CITY_AND_ISLAND = "N.Y.C._LONGIL"
"""The name in load files that covers the last two zones until the end of January 2005."""

_SINCE_2014, _SEEN = utc_stamp("2014-01-01T05:00Z"), utc_stamp("2026-09-20T04:00Z")
TIES = {
    "23324": Tie(AMERICAN["HQT"], "SCH - HQ - NY"),
    "325274": Tie(AMERICAN["HQT"], "SCH - HQ_CEDARS", _SINCE_2014),
    "625211": Tie(AMERICAN["HQT"], "SCH - HQ_CHPE", _SEEN),
    "23318": Tie("US-ISONE", "nyiso-isone-ac"),
    "325277": Tie("US-ISONE", "isone-nyiso-northport", _SINCE_2014),
    "325154": Tie("US-ISONE", "isone-nyiso-crosssound", _SINCE_2014),
    "23317": Tie(AMERICAN["IESO"], "SCH - OH - NY"),
    "23316": Tie("US-PJM", "pjm-nyiso-ac"),
    "325905": Tie("US-PJM", "pjm-nyiso-htp", _SINCE_2014),
    "325305": Tie("US-PJM", "pjm-nyiso-neptune", _SINCE_2014),
    "325658": Tie("US-PJM", "pjm-nyiso-lindenvft", _SINCE_2014),
}
"""Ties by Point ID: names have changed (PJM-NYISO became SCH - PJ - NY in 2005), but Point IDs have not.

The day in 2026 when Champlain Hudson (SCH - HQ_CHPE) was added is not known. The newer ties all existed when the Hudson
line was added in 2013. Each is a part of the net from its first reading on.
"""
QUEBEC_AGAIN = "325376"
"""SCH - HQ_IMPORT_EXPORT repeats SCH - HQ - NY and SCH - HQ_CEDARS."""
_NOTHING = Series([], [])

PRICE = SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m")
DAY_AHEAD = SeriesKey(ZONE, Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h")
DEMAND = SeriesKey(ZONE, Metric.DEMAND, "MW", "5m")
FORECAST = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h")
INTERCHANGE = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m")
INTERFACES = Members("interface", Metric.INTERCHANGE, TIES, ZONE, costs="total")
"""A new interface may repeat known ones, as HQ_IMPORT_EXPORT does."""
ZONES_OF_LOAD = Members(
    "load zone", Metric.DEMAND, dict.fromkeys((*LOAD_ZONES, CITY_AND_ISLAND), True), ZONE, costs="total"
)
"""A new zone may combine two known ones, as New York City and Long Island until 2005."""


@dataclass(frozen=True, slots=True)
class Product:
    """The location of a product's files."""

    folder: str
    """The folder on oasis-postings."""
    file: str
    dataset: str
    """The folder on mis."""
    first: date
    """The first day on oasis-postings. mis has earlier days."""


def _requests(feed: str, product: Product, days: Sequence[MarketDay], now: int) -> list[Request]:
    old = [day for day in days if day.day < product.first]
    new = sorted({day.day for day in days if day.day >= product.first})
    return [_zip(feed, product, month) for month in months(old)] + [_file(feed, product, day) for day in new]


def _file(feed: str, product: Product, day: date) -> Request:
    url = f"https://{POSTINGS}/{product.folder}/CSV/{day:%Y/%m/%d}/{product.file}-{day:%Y%m%d}.csv"
    return Request(feed, url, days=(day,), zone=ZONE, ext="csv")


def _zip(feed: str, product: Product, month: tuple[date, ...]) -> Request:
    url = f"http://{MIS}/public/csv/{product.dataset}/{month[0]:%Y%m}01{product.file}_csv.zip"
    return Request(feed, url, days=month, zone=ZONE, ext="zip")


def parse_lbmp_rt(body: bytes, request: Request) -> Rows:
    """Return `price` rows of N.Y.C. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for text in files(body):
        ends, values = settled(rows, placed(rows, _on_grid(rows, prices(text, HUB))))
        if not ends:
            raise FeedChanged("no five-minute prices: not the real-time file")
        rows.extend(PRICE, [end - FIVE_MINUTES for end in ends], values)
    return rows


def parse_lbmp_da(body: bytes, request: Request) -> Rows:
    """Return `price_day_ahead` rows of N.Y.C. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for text in files(body):
        series = prices(text, HUB)
        if any(wall % HOUR for wall in series.ts):
            raise FeedChanged("times within the hour: not the day-ahead file")
        rows.extend(DAY_AHEAD, *placed(rows, series))
    return rows


def parse_load(body: bytes, request: Request) -> Rows:
    """Return `demand` rows: the sum of the eleven zones, if all eleven have a value. Raises FeedChanged, NotPublished.

    Until the end of January 2005 two of them are stated as one. A zone at exactly 0 MW is an outage of its meter: on
    331 of 5,514 days of the archive this affects one or all of them, between ordinary readings. The sum of such a time
    is not written.
    """
    rows = Rows()
    for text in files(body):
        zones = {name: _on_grid(rows, series) for name, series in loads(rows, text).items()}
        by_zone = {name: series for name, series in zones.items() if ZONES_OF_LOAD.find(rows, name, series.ts)}
        for parts in _wholes(by_zone):
            _refuse_outages(rows, parts)
            extend_total(rows, DEMAND, [Part(*part) for part in parts])
    return rows


def _wholes(by_zone: dict[str, Series]) -> Iterator[list[Series]]:
    """Yield the parts of the sum: the eleven zones, or ten at the times that state two of them as one."""
    joint = set(by_zone.get(CITY_AND_ISLAND, _NOTHING).ts)
    if not joint:
        yield [by_zone.get(name, _NOTHING) for name in LOAD_ZONES]
        return
    yield [_at(by_zone.get(name, _NOTHING), joint) for name in (*UPSTATE, CITY_AND_ISLAND)]
    others = {ts for series in by_zone.values() for ts in series.ts} - joint
    if others:
        yield [_at(by_zone.get(name, _NOTHING), others) for name in LOAD_ZONES]


def _at(series: Series, instants: Collection[int]) -> Series:
    """Return the readings at these times."""
    pairs = [(ts, value) for ts, value in zip(*series, strict=True) if ts in instants]
    return Series([ts for ts, _ in pairs], [value for _, value in pairs])


def _refuse_outages(rows: Rows, parts: Sequence[Series]) -> None:
    """Refuse and count the times at which one of the parts is 0."""
    dark = {ts for part in parts if 0.0 in part.values for ts, value in zip(*part, strict=True) if value == 0.0}
    drop(rows, "a zone at 0 MW: meter outage", len(dark))
    rows.refuse(ZONE, Metric.DEMAND, dark)


OWN_DAY = "own day"


def load_forecast_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for today's file and tomorrow's: a file of six days is overwritten until its first day begins.

    Today's file is therefore used for today only.
    """
    return [
        Request(
            "nyiso.load_forecast",
            f"http://{MIS}/public/csv/isolf/{file.day:%Y%m%d}isolf.csv",
            days=(day.day,),
            zone=ZONE,
            part=part,
            ext="csv",
        )
        for day in sorted(set(days))
        for file, part in ((day, OWN_DAY), (day.next(), "tomorrow"))
    ]


def parse_load_forecast(body: bytes, request: Request) -> Rows:
    """Return `demand_forecast` rows of the whole control area. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for text in files(body):
        series = placed(rows, wide(text, "NYISO"))
        if request.part == OWN_DAY:
            end = MarketDay.at(min(series.ts, default=0), TZ).end
            series = Series(*keep(rows, *series, end.__gt__, "hours that another file forecasts"))
        if any(ts % HOUR for ts in series.ts):
            raise FeedChanged("times within the hour: not the hourly forecast")
        rows.extend(FORECAST, *series)
    return rows


def parse_flows(body: bytes, request: Request) -> Rows:
    """Return `interchange` rows, + into New York: every scheduled tie, and the net if all have a value.

    Raises FeedChanged, NotPublished.
    """
    rows = Rows()
    for text in files(body):
        parts = dict.fromkeys(TIES.values(), _NOTHING)
        for point, name, series in flows(text):
            if point == QUEBEC_AGAIN or not (point in TIES or name.startswith("SCH - ")):
                continue
            series = placed(rows, _on_grid(rows, series))
            if tie := INTERFACES.find(rows, name, series.ts, key=point, note=f" (Point ID {point})"):
                parts[tie] = series
                rows.extend(INTERCHANGE._replace(counterparty=tie.counterparty, link=tie.link), *series)
        extend_total(rows, INTERCHANGE, [Part(*series, tie.since) for tie, series in parts.items()])
    require_known(rows)
    return rows


def _on_grid(rows: Rows, series: Series) -> Series:
    return Series(*on_grid(rows, *series))


_LBMP_RT = Product("RT_LBMP_ZONE", "realtime_zone", "realtime", date(2025, 12, 6))
_LBMP_DA = Product("DAM_LBMP_ZONE", "damlbmp_zone", "damlbmp", date(1999, 11, 18))
_LOAD = Product("RT_ACTUAL_LOAD", "pal", "pal", date(2001, 5, 26))
_FLOWS = Product("INTERFACE_LIMITS_FLOWS", "ExternalLimitsFlows", "ExternalLimitsFlows", date(2002, 1, 1))

SOURCE = Source(
    code="nyiso",
    name="New York Independent System Operator",
    homepage="https://www.nyiso.com",
    hosts=(POSTINGS, MIS),
    requests_per_minute=30,
    licence="no licence granted; terms of use of nyiso.com",
    licence_url="https://www.nyiso.com/legal-notice",
    attribution="Source: NYISO",
    redistributable="unclear",
    zones=(ZONE,),
    tz=TZ,
    since=_LOAD.first,
    resolution="5m",
    hub=HUB,
    feeds=(
        Feed(
            id="nyiso.lbmp_rt",
            files=True,
            title="Real-time five-minute LBMP of zone N.Y.C.",
            metrics=(Metric.PRICE,),
            stamps="end",
            since=date(1999, 11, 18),
            publication=Publication(lag_minutes=5, grace_minutes=20),
            requests=partial(_requests, "nyiso.lbmp_rt", _LBMP_RT),
            parse=parse_lbmp_rt,
            every_minutes=5,
        ),
        Feed(
            id="nyiso.lbmp_da",
            files=True,
            title="Day-ahead hourly LBMP of zone N.Y.C.",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            since=_LBMP_DA.first,
            publication=Publication(daily_at=time(11), day_offset=-1, grace_minutes=120),
            requests=partial(_requests, "nyiso.lbmp_da", _LBMP_DA),
            parse=parse_lbmp_da,
            every_minutes=30,
        ),
        Feed(
            id="nyiso.load",
            files=True,
            version="3",
            title="Real-time actual load, sum of the eleven zones",
            metrics=(Metric.DEMAND,),
            stamps="instant",
            publication=Publication(lag_minutes=5, grace_minutes=20),
            requests=partial(_requests, "nyiso.load", _LOAD),
            parse=parse_load,
            every_minutes=5,
            revised_days=1,
        ),
        Feed(
            id="nyiso.load_forecast",
            files=True,
            title="ISO load forecast for six days",
            metrics=(Forecast.DEMAND,),
            resolution="1h",
            publication=Publication(daily_at=time(9), grace_minutes=360),
            requests=load_forecast_requests,
            parse=parse_load_forecast,
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="nyiso.flows",
            files=True,
            version="2",
            title="Scheduled flows over the external interconnectors",
            metrics=(Metric.INTERCHANGE,),
            since=_FLOWS.first,
            publication=Publication(lag_minutes=5, grace_minutes=20),
            requests=partial(_requests, "nyiso.flows", _FLOWS),
            parse=parse_flows,
            every_minutes=5,
            revised_days=1,
        ),
    ),
    notes=(
        "The price is the LBMP of load zone N.Y.C. (New York City), including congestion and losses.",
        "Demand is the sum of the instantaneous readings of the eleven load zones. A time without all eleven, "
        "or with a zone at exactly 0 MW (a meter outage), is left out. Until the end of January 2005, New York City "
        "and Long Island are published as one.",
        "The load forecast has no issue time; emds uses the time of the fetch.",
        "Interchange is scheduled, not metered. It is the sum of all interconnectors: eleven from "
        "2026-09-20 on. It does not include SCH - HQ_IMPORT_EXPORT, which would count Quebec twice.",
        "Readings off the five-minute grid are left out, and so are the advisory prices at the end of the current "
        "day's file.",
    ),
)
