"""Simulate California ISO: OASIS, whose zips contain a CSV or an XML with the reason for no data, and Today's Outlook.

Quirks of OASIS: a row for a part of each price beside the price, unordered rows, price columns that differ between real
time and day ahead, errors with status 200. Quirks of Outlook: labels without a date, blank lines for the future and for
the hour that spring skips, the repeated autumn hour once. Until a quarter past midnight, its file is yesterday's. The
case of its column names changes by day. The originals: https://oasis.caiso.com, https://www.caiso.com/todays-outlook.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, choice, lines, short, typed, zipped
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.caiso import AREA, HUB, OASIS, OUTLOOK, TZ, ZONE
from warehouse.errors import BadWindow
from warehouse.market.clock import DAY, HOUR, MarketDay, local_date, local_instant, utc
from warehouse.market.feeds import Request

FIVE = 300
READING_AFTER = 300
"""Seconds from an interval's end until the file contains it."""
TURNS_AFTER = 15 * 60
"""Seconds after midnight until `current` contains the new day."""
SINCE = date(2018, 4, 10)
_FILE = re.compile(rf"{urlsplit(OUTLOOK).path}/(current|history/(\d{{8}}))/(demand|fuelsource)\.csv", re.ASCII)
RTM_AFTER = 240
"""Seconds from an interval's end until its price is published."""
RENEWABLE_HUBS = {"NP15": 0.25, "SP15": 0.55, "ZP26": 0.2}
"""Each trading hub's share of the forecast of wind and solar."""
FORECAST_AT = time(9, 10)
DAM_AT = time(13)
"""Publication time on the day before, Pacific time."""
KEPT_DAYS, LONGEST_DAYS = 1187, 31
NO_DATA = ("1000", "No data returned for the specified selection")
TOO_LONG = ("1004", "Date Range exceeded the allowed number of days")
_SPAN = "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT"


def simulate_response(request: Request, now: int) -> Answer:
    """Return the zip or the file at this URL as of `now`; 404 if there is none."""
    if request.url == OASIS:
        return _oasis(dict(request.params), now)
    match = _FILE.fullmatch(urlsplit(request.url).path)
    if match is None:
        return NOTHING
    day = date.fromisoformat(match[2]) if match[2] else local_date(now - TURNS_AFTER, TZ)
    return typed(_outlook(day, match[3], now), "text/csv") if SINCE <= day <= local_date(now, TZ) else NOTHING


def _outlook(day: date, file: str, now: int) -> bytes:
    """Return a line for each label of a day, blank if there is no value."""
    walls = [datetime.combine(day, time()) + timedelta(seconds=FIVE * i) for i in range(288)]
    starts = [_instant(wall) for wall in walls]
    known = np.array([ts for ts in starts if ts is not None and ts + FIVE + READING_AFTER <= now], np.int64)
    columns = {"Current demand": grid.demand(ZONE, known)} if file == "demand" else _fuels(known)
    cells = [[f"{round(value)}" for value in column.tolist()] for column in columns.values()]
    readings = dict(zip(known.tolist(), zip(*cells, strict=True), strict=True))
    names = [name.title() if choice("caiso names", day, 2) else name for name in columns]
    blank = [""] * len(names)
    rows = [[f"{wall:%H:%M}", *readings.get(ts, blank)] for wall, ts in zip(walls, starts, strict=True)]
    return lines([["Time", *names], *rows])


def _instant(wall: datetime) -> int | None:
    """Return the time of a label, the first time in a repeated hour; None in the hour that spring skips."""
    try:
        return local_instant(wall, TZ)
    except BadWindow:
        return None


def _fuels(at: Ints) -> dict[str, Floats]:
    """Return whole MW by the file's columns. The model's biomass and hydro are split as the publisher splits them."""
    mix = {fuel: mw.round() for fuel, mw in grid.generation(ZONE, at).items()}
    biogas, small = (0.4 * mix["biomass"]).round(), (0.1 * mix["hydro"]).round()
    return {
        "Solar": mix["solar"],
        "Wind": mix["wind"],
        "Geothermal": mix["geothermal"],
        "Biomass": mix["biomass"] - biogas,
        "Biogas": biogas,
        "Small hydro": small,
        "Coal": mix["coal"],
        "Nuclear": mix["nuclear"],
        "Natural Gas": mix["gas"],
        "Large Hydro": mix["hydro"] - small,
        "Batteries": mix["battery"],
        "Imports": grid.interchange(ZONE, at).round(),
        "Other": mix["other"],
    }


def _oasis(params: Mapping[str, str], now: int) -> Answer:
    """Return the zip for a SingleZip request at `now`."""
    query = _QUERIES[params["queryname"], params["market_run_id"]]
    start, end = (_asked(params[name]) for name in ("startdatetime", "enddatetime"))
    if end - start > LONGEST_DAYS * DAY + HOUR:
        return _refused(TOO_LONG)
    step, until, rows = query
    since = max(start, MarketDay.at(now, TZ).next(-KEPT_DAYS).start)
    starts = np.arange(-(-since // step) * step, min(end, until(now)), step, dtype=np.int64)
    return _zipped("PRC.csv", lines(rows(starts), "\n")) if starts.size else _refused(NO_DATA)


def _asked(text: str) -> int:
    """Return the time of a text such as `20261025T07:00-0000`."""
    return int(datetime.strptime(text, "%Y%m%dT%H:%M%z").timestamp())


def _day_ahead(out_at: time) -> Callable[[int], int]:
    """Return a function for the end of the published intervals: tomorrow's end from `out_at` onwards, Pacific time."""

    def until(now: int) -> int:
        today = MarketDay.at(now, TZ)
        return (today.next() if now >= local_instant(datetime.combine(today.day, out_at), TZ) else today).end

    return until


def _real_time(now: int) -> int:
    return (now - RTM_AFTER) // FIVE * FIVE


def _shuffled(starts: Ints, step: int, values: Floats, form: str) -> list[str]:
    """Return a row per interval in random order. `form` has places for the interval and the value."""
    spans = [f"{utc(ts):%Y-%m-%dT%H:%M:%S}-00:00,{utc(ts + step):%Y-%m-%dT%H:%M:%S}-00:00" for ts in starts.tolist()]
    places = np.random.default_rng(len(form)).permutation(len(spans)).tolist()
    return [form.format(spans[i], short(values[i], 5)) for i in places]


def _prices(starts: Ints, step: int, market: str, column: str) -> list[str]:
    prices = grid.price(ZONE, starts, step, "day_ahead" if market == "DAM" else "real_time").round(5)
    return [
        f"{_SPAN},NODE,MARKET_RUN_ID,LMP_TYPE,{column}",
        *_shuffled(starts, step, 0.04 * prices, f"{{}},{HUB},{market},MCC,{{}}"),
        *_shuffled(starts, step, prices, f"{{}},{HUB},{market},LMP,{{}}"),
    ]


def _load_forecast(starts: Ints) -> Sequence[str]:
    """Return the day-ahead demand forecast of the whole area and of one part."""
    issued = np.array([MarketDay.at(ts, TZ).next(-1).start for ts in starts.tolist()]) + 9 * HOUR
    demand = grid.demand(ZONE, starts, HOUR)
    for instant in np.unique(issued).tolist():
        own = issued == instant
        demand[own] = grid.as_forecast(demand[own], starts[own], instant, "caiso.demand_forecast")
    return [
        f"{_SPAN},MARKET_RUN_ID,TAC_AREA_NAME,MW",
        *_shuffled(starts, HOUR, demand.round(2), f"{{}},DAM,{AREA},{{}}"),
        *_shuffled(starts, HOUR, (0.45 * demand).round(2), "{},DAM,PGE-TAC,{}"),
    ]


def _renewable_forecast(starts: Ints) -> Sequence[str]:
    """Return the day-ahead forecast of wind and solar by trading hub."""
    issued = np.array([MarketDay.at(ts, TZ).next(-1).start for ts in starts.tolist()]) + 9 * HOUR
    mix, rows = grid.mix(ZONE, starts, HOUR), list[str]()
    for fuel in ("solar", "wind"):
        expected = mix[fuel].copy()
        for instant in np.unique(issued).tolist():
            own = issued == instant
            expected[own] = grid.as_forecast(expected[own], starts[own], instant, f"caiso.mix_forecast/{fuel}", 0.12)
        for hub, share in RENEWABLE_HUBS.items():
            rows += _shuffled(starts, HOUR, (share * expected).round(2), f"{{}},{hub},{fuel.title()},DAM,{{}}")
    return [f"{_SPAN},TRADING_HUB,RENEWABLE_TYPE,MARKET_RUN_ID,MW", *rows]


_QUERIES: Mapping[tuple[str, str], tuple[int, Callable[[int], int], Callable[[Ints], Sequence[str]]]] = {
    ("PRC_LMP", "DAM"): (HOUR, _day_ahead(DAM_AT), lambda starts: _prices(starts, HOUR, "DAM", "MW")),
    ("PRC_INTVL_LMP", "RTM"): (FIVE, _real_time, lambda starts: _prices(starts, FIVE, "RTM", "VALUE")),
    ("SLD_FCST", "DAM"): (HOUR, _day_ahead(FORECAST_AT), _load_forecast),
    ("SLD_REN_FCST", "DAM"): (HOUR, _day_ahead(FORECAST_AT), _renewable_forecast),
}
"""By report and market run: seconds of its intervals, the end of published intervals at a time, and the lines."""


def _refused(reason: tuple[str, str]) -> Answer:
    """Return the zip with the XML that OASIS sends instead of a CSV."""
    words = f"<m:ERROR><m:ERR_CODE>{reason[0]}</m:ERR_CODE><m:ERR_DESC>{reason[1]}</m:ERR_DESC></m:ERROR>"
    report = f'<m:OASISReport xmlns:m="http://www.caiso.com/soa/OASISReport_v1.xsd">{words}</m:OASISReport>'
    return _zipped("INVALID_REQUEST.xml", report.encode())


def _zipped(name: str, body: bytes) -> Answer:
    return typed(zipped([(name, body)], level=1), "application/x-zip-compressed")
