"""Simulate ISO New England: JSON of its web services and of the website's tie pages.

Quirks: offsets in every timestamp, a single entry as an object, an empty text if nothing is published yet, whole
numbers without a fraction. Preliminary prices differ from final prices, and tie pages have different delays. The
original: https://webservices.iso-ne.com.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, json_answer, local, plain
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.isone import FIVE, TIES, TZ, ZONE
from warehouse.market.clock import DAY, HOUR, MarketDay
from warehouse.market.feeds import Request

HUB = {"@LocId": "4000", "@LocType": "HUB"}
PRICE_OUT, LOAD_OUT, HOUR_OUT = 240, 240, 1500
"""Seconds after an interval's end until it is published."""
FINAL_OUT = 2 * DAY + 15 * HOUR
"""Seconds after a day's midnight until its final real-time prices are published."""
FORECAST_OUT = 9 * HOUR + 330
"""Seconds after midnight."""
AUCTION_OUT = 13 * HOUR
"""Seconds after midnight of the day before."""
PAGE_LAG = {"4010": 600, "4012": 1200, "4013": 1200, "4018": 1200, "4011": 300, "4014": 300, "4017": 300}

Entries = list[dict[str, Any]]


def simulate_response(request: Request, now: int) -> Answer:
    """Return the response to this URL (or form) as of `now`; 404 for other URLs."""
    path = urlsplit(request.url).path
    if path == "/ws/wsclient" and request.method == "POST":
        form = parse_qs(request.body)
        loads = form.get("_nstmp_requestType") == ["systemload"]
        return json_answer(_load_page(form, now) if loads else _tie_page(form, now))
    match = re.fullmatch(r"/api/v1\.1/(.+?)/day/(\d{8})(?:/location/4000)?(?:\.json)?", path)
    if match is None or match[1] not in _SERVICES:
        return NOTHING
    name, entries = _SERVICES[match[1]]
    listed = entries(MarketDay(date.fromisoformat(match[2]), TZ), now)
    # Several entries are a list, a single entry is an object, and no entry is an empty text.
    return json_answer({f"{name}s": {name: listed[0] if len(listed) == 1 else listed} if listed else ""})


def _five_minute_prices(day: MarketDay, now: int, final: bool) -> Entries:
    if final and now < day.start + FINAL_OUT:
        return []
    starts = _out(day, FIVE, now - PRICE_OUT)
    prices = grid.price(ZONE, starts)
    if not final:
        prices = grid.as_published(prices, starts, now, "isone.lmp_rt", settles=10_000 * DAY, share=0.01)
    return _prices(starts, prices)


def _day_ahead_prices(day: MarketDay, now: int) -> Entries:
    starts = _out(day, HOUR, day.end if now >= day.next(-1).start + AUCTION_OUT else day.start)
    return _prices(starts, grid.price(ZONE, starts, HOUR, "day_ahead"))


def _prices(starts: Ints, prices: Floats) -> Entries:
    """Return entries of the hub."""
    return [
        {
            "BeginDate": stamp(ts),
            "Location": HUB,
            "LmpTotal": plain(price, 2),
        }
        for ts, price in zip(starts.tolist(), prices.tolist(), strict=True)
    ]


def _loads(day: MarketDay, until: int, step: int, total: str) -> Entries:
    """Return entries of system load. `total` is the field name: `Load` (hourly) or `LoadMw` (five minutes)."""
    starts = _out(day, step, until)
    return [
        {
            "BeginDate": stamp(ts),
            total: plain(load, 3),
        }
        for ts, load in zip(starts.tolist(), grid.demand(ZONE, starts, step).tolist(), strict=True)
    ]


_SERVICES: dict[str, tuple[str, Callable[[MarketDay, int], Entries]]] = {
    "fiveminutelmp/prelim": ("FiveMinLmp", lambda day, now: _five_minute_prices(day, now, False)),
    "fiveminutelmp/final": ("FiveMinLmp", lambda day, now: _five_minute_prices(day, now, True)),
    "hourlylmp/da/final": ("HourlyLmp", _day_ahead_prices),
    "hourlysysload": ("HourlySystemLoad", lambda day, now: _loads(day, now - HOUR_OUT, HOUR, "Load")),
    "fiveminutesystemload": ("FiveMinSystemLoad", lambda day, now: _loads(day, now - LOAD_OUT, FIVE, "LoadMw")),
}


def _out(day: MarketDay, step: int, until: int) -> Ints:
    """Return the interval starts of a day whose intervals end by `until`."""
    return np.arange(day.start, max(day.start, min(day.end, until - step + 1)), step)


def _day_of(form: Mapping[str, Sequence[str]]) -> MarketDay:
    month, on, year = map(int, form["_nstmp_startDate"][0].split("/"))
    return MarketDay(date(year, month, on), TZ)


def _load_page(form: Mapping[str, Sequence[str]], now: int) -> object:
    """Return the newest forecast of two days, and the forecast for these days from the day before."""
    day = _day_of(form)
    issued_at = day.start + FORECAST_OUT
    newest = issued_at if issued_at <= now else day.next(-1).start + FORECAST_OUT
    before = MarketDay.at(newest, TZ).next(-1).start + FORECAST_OUT
    data = {name: _forecast(day, at) for name, at in (("priorDay", before), ("forecast", newest))}
    return [{"data": {"actual": [], **data, "cleared": []}}]


def _forecast(day: MarketDay, issued_at: int) -> Entries:
    """Return the forecast of the day and the next, as far as a forecast issued at `issued_at` reaches."""
    starts = np.arange(day.start, min(day.next().end, MarketDay.at(issued_at, TZ).next().end), HOUR)
    loads = grid.as_forecast(grid.demand(ZONE, starts, HOUR), starts, issued_at, "isone.load_forecast").round(-1)
    return [
        {"CreationDate": stamp(issued_at), "Mw": plain(mw, 0), "BeginDate": stamp(ts)}
        for ts, mw in zip(starts.tolist(), loads.tolist(), strict=True)
    ]


def _tie_page(form: Mapping[str, Sequence[str]], now: int) -> object:
    """Return flows by tie. Flows into New England are negative."""
    if form.get("_nstmp_requestType") != ["externalflow"]:
        return [{"data": {}, "namespace": "_nstmp_"}]
    day = _day_of(form)
    wanted = [values[0] for name, values in form.items() if name.startswith("_nstmp_zone") and values[0] in TIES]
    pages = {number: _flows(number, _out(day, FIVE, now - PAGE_LAG[number])) for number in wanted}
    return [{"data": {number: page for number, page in pages.items() if page}, "namespace": "_nstmp_"}]


def _flows(number: str, starts: Ints) -> Entries:
    flows = grid.inflow(ZONE, grid.line(TIES[number].link), starts).tolist()
    return [
        {
            "Actual": plain(-flow, 3),
            "BeginDate": stamp(ts),
        }
        for ts, flow in zip(starts.tolist(), flows, strict=True)
    ]


def stamp(ts: int) -> str:
    """Return a timestamp such as `2026-03-08T03:00:00.000-04:00`."""
    return local(ts, TZ).isoformat(timespec="milliseconds")
