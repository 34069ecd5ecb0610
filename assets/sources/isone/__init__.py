"""Define the feeds of ISO New England: prices and demand from web services, flows from the pages of the external ties.

Web-service stamps carry their offset, so days of 23 and 25 hours need no special handling. The reports of ISO Express
are read too, but never requested: they need a session cookie and cover a thousand locations instead of the hub.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, time
from functools import partial
from urllib.parse import urlencode

from assets.parsing.body import is_json, member, reading
from assets.parsing.clocks import instants, wall_instant
from assets.parsing.columns import drop, extend_filled, filled
from assets.parsing.days import age
from assets.parsing.members import Members, Tie, require_known
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import american_date, american_stamp, iso_instant, utc_stamp
from assets.parsing.totals import extend_net
from assets.sources.isone.bodies import begin, entries, load_forecasts, location, report, ties
from warehouse.errors import FeedChanged
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

ZONE = "US-ISONE"
TZ = "America/New_York"
SERVICES = "webservices.iso-ne.com"
SITE = "www.iso-ne.com"
HUB = "4000"
FIVE = 300
PRELIMINARY_DAYS = 3
"""Days after the market day until its five-minute prices may be final."""
FINAL_DAYS = 10
"""Days after the market day until they are final, including weekends and holidays."""

BORDERS = {"CA-NB": ("4010",), "CA-QC": ("4012", "4013", "4018"), "US-NY": ("4014", "4017", "4011")}
TIES = {
    "4010": Tie(AMERICAN["NBSO"], "4010"),
    "4012": Tie(AMERICAN["HQT"], "4012"),
    "4013": Tie(AMERICAN["HQT"], "4013"),
    "4018": Tie(AMERICAN["HQT"], "4018", utc_stamp("2025-12-17T05:00Z")),
    "4011": Tie("US-NYISO", "nyiso-isone-ac"),
    "4014": Tie("US-NYISO", "isone-nyiso-crosssound"),
    "4017": Tie("US-NYISO", "isone-nyiso-northport"),
}
"""4018 is the line through Maine (NECEC), the seventh since December 2025."""

PRICE = SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m")
DAY_AHEAD = SeriesKey(ZONE, Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h")
DEMAND = SeriesKey(ZONE, Metric.DEMAND, "MW", "1h")
FORECAST = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h")
INTERCHANGE = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m")
INTERFACES = Members("tie", Metric.INTERCHANGE, TIES, ZONE, costs="total")
"""A location has only a number, which does not show whether a new one is a separate tie or a part of a known one."""

_ACCOUNT = (Secret("basic", "", ("ISONE_USERNAME", "ISONE_PASSWORD")),)
_JSON = (("Accept", "application/json"),)
_FORM = (("Content-Type", "application/x-www-form-urlencoded"),)


def _service(feed: str, path: str, day: MarketDay, part: str = "") -> Request:
    url = f"https://{SERVICES}/api/v1.1/{path}"
    return Request(feed, url, days=(day.day,), zone=ZONE, part=part, headers=_JSON, secrets=_ACCOUNT, ext="json")


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for a day's preliminary prices, later its final ones.

    In between both are requested, because the final ones may still be empty.
    """
    return [
        _service("isone.lmp_rt", f"fiveminutelmp/{state}/day/{day.day:%Y%m%d}/location/{HUB}.json", day, part=state)
        for day in days
        for state in _states(day, now)
    ]


def lmp_da_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request per day."""
    return [
        _service("isone.lmp_da", f"hourlylmp/da/final/day/{day.day:%Y%m%d}/location/{HUB}.json", day) for day in days
    ]


def load_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for five-minute readings, and for the hours, a fallback for a missing hour of readings."""
    products = ("hourlysysload", "fiveminutesystemload")
    return [_service("isone.load", f"{name}/day/{day.day:%Y%m%d}", day, part=name) for day in days for name in products]


def flows_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one page request per day and border."""
    return [_tie_page(day, border) for day in days for border in BORDERS]


def _tie_page(day: MarketDay, border: str) -> Request:
    form = {
        "_nstmp_endDate": f"{day.day:%m/%d/%Y}",
        "_nstmp_twodays": "false",
        "_nstmp_showtwodays": "false",
        **{f"_nstmp_zone{i}": tie for i, tie in enumerate(BORDERS[border])},
    }
    return _page("isone.flows", day, "externalflow", form, border)


def _page(feed: str, day: MarketDay, kind: str, form: Mapping[str, str], part: str = "") -> Request:
    form = {"_nstmp_requestType": kind, "_nstmp_startDate": f"{day.day:%m/%d/%Y}", **form}
    return Request(
        feed,
        f"https://{SITE}/ws/wsclient",
        days=(day.day,),
        zone=ZONE,
        part=part,
        method="POST",
        body=urlencode(form),
        headers=_FORM,
        ext="json",
    )


def _states(day: MarketDay, now: int) -> tuple[str, ...]:
    """Return the kinds of prices that a day may have."""
    days = age(day, now)
    return (*(("prelim",) if days <= FINAL_DAYS else ()), *(("final",) if days > PRELIMINARY_DAYS else ()))


def parse_lmp_da(body: bytes, request: Request) -> Rows:
    """Return `price_day_ahead` rows of the hub, from web service or ISO Express. Raises FeedChanged, NotPublished."""
    if is_json(body):
        return _hub_prices("HourlyLmps", "HourlyLmp", DAY_AHEAD, HOUR, body, request)
    names = ("Date", "Hour Ending", "Location ID", "Locational Marginal Price")
    lines = report(body, "Day-Ahead Energy Market Hourly LMP Report", *names, mark=HUB)
    prices = [(_hour(on, ending), reading(price, "LMP")) for on, ending, place, price in lines if place == HUB]
    if not prices:
        raise FeedChanged(f"no price for location {HUB}")
    return _rows(DAY_AHEAD, prices)


def parse_load(body: bytes, request: Request) -> Rows:
    """Return hourly `demand` rows, or five-minute ones if the body has them. Raises FeedChanged, NotPublished."""
    five = DEMAND._replace(resolution="5m")
    if not is_json(body):
        lines = report(body, "", "Date/Time", "Native Load")
        placed = instants([american_stamp(stamp) for stamp, _ in lines], TZ)
        placed_loads = [(ts, reading(load, "load")) for ts, (_, load) in zip(placed, lines, strict=True)]
        rows = _rows(five, [(ts, load) for ts, load in placed_loads if ts is not None])
        drop(rows, "ambiguous stamp", sum(ts is None and load is not None for ts, load in placed_loads))
        return rows
    if b'"FiveMinSystemLoad' in body:
        loads = entries(body, "FiveMinSystemLoads", "FiveMinSystemLoad")
        return _rows(five, [(begin(entry, FIVE), reading(member(entry, "LoadMw"), "load")) for entry in loads])
    loads = entries(body, "HourlySystemLoads", "HourlySystemLoad")
    return _rows(DEMAND, [(begin(entry, HOUR), reading(member(entry, "Load"), "load")) for entry in loads])


def load_forecast_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for the page of each day and the next."""
    return [
        _page("isone.load_forecast", day, "systemload", {"_nstmp_endDate": f"{day.next().day:%m/%d/%Y}"})
        for day in sorted(set(days))
    ]


def parse_load_forecast(body: bytes, request: Request) -> Rows:
    """Return `demand_forecast` rows, each under its issue time. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for entry in load_forecasts(body):
        megawatts = reading(member(entry, "Mw"), "Mw")
        if megawatts is not None:
            published_at = iso_instant(member(entry, "CreationDate", str))
            rows.extend_vintage(FORECAST, published_at, "body", [begin(entry, HOUR)], [megawatts])
    return rows


def parse_flows(body: bytes, request: Request) -> Rows:
    """Return `interchange` rows of the body's ties, + into New England (the reverse of ISO New England's sign).

    Raises FeedChanged, NotPublished.
    """
    rows = Rows()
    for name, readings_of_tie in ties(body).items():
        starts = [begin(entry, FIVE) for entry in readings_of_tie]
        stamps, flows = filled(starts, [reading(member(entry, "Actual"), "Actual") for entry in readings_of_tie])
        if tie := INTERFACES.find(rows, name, stamps):
            key = INTERCHANGE._replace(counterparty=tie.counterparty, link=tie.link)
            rows.extend(key, stamps, [0.0 - flow for flow in flows])
    require_known(rows)
    return rows


def combine_flows(rows: Rows) -> Rows:
    """Return the same rows with the net of every time at which all ties have a value: their pages differ in delay."""
    extend_net(rows, INTERCHANGE, TIES.values())
    return rows


def _hub_prices(box: str, name: str, key: SeriesKey, step: int, body: bytes, request: Request) -> Rows:
    """Return prices of the hub. Raises FeedChanged, NotPublished."""
    prices = [entry for entry in entries(body, box, name) if location(entry) == HUB]
    if not prices:
        raise FeedChanged(f"no price for location {HUB}")
    return _rows(key, [(begin(entry, step), reading(member(entry, "LmpTotal"), "LMP")) for entry in prices])


def _hour(on: str, ending: str) -> int:
    """Return the start of the hour ending `07` of a day. `02X` is the second pass of the repeated autumn hour."""
    digits = ending.removesuffix("X")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 2 and 1 <= int(digits) <= 24):
        raise FeedChanged(f"not an hour ending: {ending[:20]!r}")
    return wall_instant(american_date(on), (int(digits) - 1) * HOUR, TZ, second_pass=digits != ending)


def _rows(key: SeriesKey, readings: Sequence[tuple[int, float | None]]) -> Rows:
    rows = Rows()
    extend_filled(rows, key, readings)
    return rows


SOURCE = Source(
    code="isone",
    name="ISO New England",
    homepage="https://www.iso-ne.com",
    hosts=(SERVICES, SITE),
    requests_per_minute=10,
    licence="no licence granted; terms of use of iso-ne.com",
    licence_url="https://www.iso-ne.com",
    attribution="Source: ISO New England",
    redistributable="unclear",
    zones=(ZONE,),
    tz=TZ,
    since=date(2015, 1, 1),
    resolution="5m",
    hub=HUB,
    feeds=(
        Feed(
            id="isone.lmp_rt",
            title="Real-time five-minute LMP of the internal hub",
            metrics=(Metric.PRICE,),
            since=date(2017, 3, 1),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=lmp_rt_requests,
            parse=partial(_hub_prices, "FiveMinLmps", "FiveMinLmp", PRICE, FIVE),
            every_minutes=5,
            revised_days=PRELIMINARY_DAYS + 1,
            secrets=_ACCOUNT,
        ),
        Feed(
            id="isone.lmp_da",
            title="Day-ahead hourly LMP of the internal hub",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            since=date(2003, 3, 1),
            publication=Publication(daily_at=time(13, 30), day_offset=-1, grace_minutes=120),
            requests=lmp_da_requests,
            parse=parse_lmp_da,
            every_minutes=30,
            secrets=_ACCOUNT,
        ),
        Feed(
            id="isone.load",
            title="System load, five minutes and hours",
            metrics=(Metric.DEMAND,),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=load_requests,
            parse=parse_load,
            every_minutes=10,
            secrets=_ACCOUNT,
        ),
        Feed(
            id="isone.load_forecast",
            title="System load forecast of today and tomorrow",
            metrics=(Forecast.DEMAND,),
            resolution="1h",
            publication=Publication(daily_at=time(9, 30), grace_minutes=180),
            requests=load_forecast_requests,
            parse=parse_load_forecast,
            every_minutes=60,
            reach_days=0,
        ),
        Feed(
            id="isone.flows",
            version="2",
            title="Metered flows over the external interconnectors",
            metrics=(Metric.INTERCHANGE,),
            publication=Publication(lag_minutes=20, grace_minutes=90),
            requests=flows_requests,
            parse=parse_flows,
            combine=combine_flows,
            every_minutes=10,
            revised_days=1,
            reach_days=7,
        ),
    ),
    notes=(
        "The price is the LMP of the internal hub (location 4000). The real-time prices of the last days are "
        "preliminary.",
        "Demand is system load: native load and dispatchable asset-related demand.",
        "Interchange is metered. It is the sum of all interconnectors with New Brunswick, Quebec and New York, if "
        "all of them have a value.",
    ),
)
