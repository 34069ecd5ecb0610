"""Simulated OASIS of the California ISO: prices as a CSV in a zip, or an XML in a zip that says why there is none.

Quirks that are kept: a row for a part of each price beside its own, rows in no order, price columns that differ between
real time and day ahead, errors with status 200. The original: https://oasis.caiso.com.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, typed, zipped
from assets.simulated.format import lines, short
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.caiso import AREA, HUB, TZ, ZONE
from warehouse.market.clock import DAY, HOUR, MarketDay, local_instant, utc

FIVE = 300
RTM_AFTER = 240
"""Seconds from an interval's end until its price is out."""
FORECAST_AT = time(9, 10)
DAM_AT = time(13)
"""Of the day before, Pacific time."""
KEPT_DAYS, LONGEST_DAYS = 1187, 31
NO_DATA = ("1000", "No data returned for the specified selection")
TOO_LONG = ("1004", "Date Range exceeded the allowed number of days")
_SPAN = "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT"


def answer(params: Mapping[str, str], now: int) -> Answer:
    """The zip for a SingleZip request at `now`."""
    query = _QUERIES.get((params.get("queryname", ""), params.get("market_run_id", "")))
    try:
        start, end = (_instant(params[name]) for name in ("startdatetime", "enddatetime"))
    except (KeyError, ValueError):
        query = None
    if query is None or params.get("node", HUB) != HUB:
        return _refused(NO_DATA)
    if end - start > LONGEST_DAYS * DAY + HOUR:
        return _refused(TOO_LONG)
    step, until, rows = query
    since = max(start, MarketDay.at(now, TZ).next(-KEPT_DAYS).start)
    starts = np.arange(-(-since // step) * step, min(end, until(now)), step, dtype=np.int64)
    return _zipped("PRC.csv", lines(rows(starts), "\n")) if starts.size else _refused(NO_DATA)


def _instant(text: str) -> int:
    """The instant of `20261025T07:00-0000`. Raises ValueError."""
    return int(datetime.strptime(text, "%Y%m%dT%H:%M%z").timestamp())


def _day_ahead(out_at: time) -> Callable[[int], int]:
    """Where what is out end: with tomorrow from an hour of the day on, Pacific time."""

    def until(now: int) -> int:
        today = MarketDay.at(now, TZ)
        return (today.next() if now >= local_instant(datetime.combine(today.day, out_at), TZ) else today).end

    return until


def _real_time(now: int) -> int:
    return (now - RTM_AFTER) // FIVE * FIVE


def _shuffled(starts: Ints, step: int, values: Floats, form: str) -> list[str]:
    """A row an interval, in no order. `form` has the span and the value."""
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
    """The day-ahead demand forecast of the whole area and of one part."""
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


_QUERIES: Mapping[tuple[str, str], tuple[int, Callable[[int], int], Callable[[Ints], Sequence[str]]]] = {
    ("PRC_LMP", "DAM"): (HOUR, _day_ahead(DAM_AT), lambda starts: _prices(starts, HOUR, "DAM", "MW")),
    ("PRC_INTVL_LMP", "RTM"): (FIVE, _real_time, lambda starts: _prices(starts, FIVE, "RTM", "VALUE")),
    ("SLD_FCST", "DAM"): (HOUR, _day_ahead(FORECAST_AT), _load_forecast),
}
"""Report and market run -> seconds of its intervals, where what is out ends at an instant, and the lines."""


def _refused(reason: tuple[str, str]) -> Answer:
    """The XML that OASIS puts into the zip in place of a CSV."""
    words = f"<m:ERROR><m:ERR_CODE>{reason[0]}</m:ERR_CODE><m:ERR_DESC>{reason[1]}</m:ERR_DESC></m:ERROR>"
    report = f'<m:OASISReport xmlns:m="http://www.caiso.com/soa/OASISReport_v1.xsd">{words}</m:OASISReport>'
    return _zipped("INVALID_REQUEST.xml", report.encode())


def _zipped(name: str, body: bytes) -> Answer:
    return typed(zipped([(name, body)], level=1), "application/x-zip-compressed")
