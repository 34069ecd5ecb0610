"""Simulate MISO: the newest five-minute price, today's load and net scheduled interchange, the daily reports.

`reports` generates the reports. Quirks: numbers as texts, prices labelled by the interval's end, a load dated by its
reference only, minus for import, a net that differs from the sum of its neighbours. The originals:
https://public-api.misoenergy.org, https://docs.misoenergy.org.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer, typed
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.simulated.miso.reports import NODES, report
from assets.sources.miso.interchange import NEIGHBOURS
from assets.sources.miso.requests import EST, LIVE, LIVE_PRICES, REPORTS, TZ, ZONE
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Request

Page = dict[str, Any]
FIVE = 300
PRICE_AFTER, READING_AFTER = 150, 150
"""Seconds until publication: of a price after the interval's end, and of a value after its timestamp."""
BORDERS = {code: NEIGHBOURS[code][0] for code in ("AECI", "LGEE", "MHEB", "ONT", "PJM", "SOCO", "SWPP", "TVA")}
"""The grid's area by column. A ninth column, SPA, has no border: it is the difference between neighbours and net."""
_FILE = re.compile(rf"{urlsplit(REPORTS).path}/(\d{{4}})(\d\d)(\d\d)_(\w+\.\w+)", re.ASCII)


def simulate_response(request: Request, now: int) -> Answer:
    """Return the live response or the report at this URL as of `now`; 404 if there is none."""
    path = urlsplit(request.url).path
    if request.url.startswith(LIVE):
        page = _LIVE.get(path.removeprefix(urlsplit(LIVE).path + "/"))
        return json_answer(page(now)) if page else json_answer({"message": "Resource not found"}, 404)
    match = _FILE.fullmatch(path)
    body = report(date(*map(int, match.groups()[:3])), match[4], now) if match else b""
    return Answer(200, body) if body else typed(b"<Error><Code>BlobNotFound</Code></Error>", "application/xml", 404)


def _prices_so_far(now: int) -> Page:
    newest = (now - PRICE_AFTER) // FIVE * FIVE
    return _prices_at(np.arange(MarketDay.at(newest - FIVE, TZ).start + FIVE, newest + FIVE, FIVE))


def _prices_of_yesterday(now: int) -> Page:
    day = MarketDay.at(now, TZ).next(-1)
    return _prices_at(np.arange(day.start + FIVE, day.end + FIVE, FIVE))


def _prices_at(ends: Ints) -> Page:
    """Return the response for these interval ends."""
    rows = [
        [f"{est(end):%Y-%m-%dT%H:%M:%S}", node, f"{share * hub:.2f}"]
        for end, hub in zip(ends.tolist(), grid.price(ZONE, ends - FIVE).round(2).tolist(), strict=True)
        for node, share in NODES.items()
    ]
    return {"headers": ["INTERVAL", "CPNODE", "LMP"], "data": rows}


def _readings(now: int) -> Ints:
    """Return the timestamps of the newest value's day, up to the newest value."""
    newest = (now - READING_AFTER) // FIVE * FIVE
    return np.arange(MarketDay.at(newest, TZ).start, newest + FIVE, FIVE)


def _load(now: int) -> Page:
    """Return the values of the day so far in whole MW."""
    stamps = _readings(now)
    readings = zip(stamps.tolist(), _whole(grid.demand(ZONE, stamps)), strict=True)
    return {
        "LoadInfo": {
            "RefId": _reference(int(stamps[-1])),
            "FiveMinTotalLoad": [{"Load": {"Time": f"{est(ts):%H:%M}", "Value": str(mw)}} for ts, mw in readings],
        }
    }


def _interchange(now: int) -> Page:
    """Return whole MW, minus for import."""
    stamps = _readings(now)
    columns = {name: _whole(-grid.border(ZONE, area, stamps)) for name, area in BORDERS.items()}
    columns |= {
        "MISO": _whole(-grid.interchange(ZONE, stamps)),
        "SPA": _whole(-110.0 + 45.0 * smooth("spa/miso", stamps, 8 * HOUR)),
    }
    rows = [
        {"timestamp": f"{est(ts):%Y-%m-%d %H:%M:%S}", **{name: str(columns[name][i]) for name in sorted(columns)}}
        for i, ts in enumerate(stamps.tolist())
    ]
    return {"instance": rows}


def est(ts: int) -> datetime:
    """Return MISO's naive local time, which has no clock changes."""
    return datetime(1970, 1, 1) + timedelta(seconds=ts + EST * HOUR)  # noqa: DTZ001  on MISO's own clock


def _reference(ts: int) -> str:
    return f"{est(ts):%d-%b-%Y} - Interval {est(ts):%H:%M} EST"


def _whole(values: Floats) -> list[int]:
    return [int(value) for value in values.round()]


_LIVE: dict[str, Callable[[int], Page]] = {
    f"{LIVE_PRICES}/Current": lambda now: _prices_at(np.array([(now - PRICE_AFTER) // FIVE * FIVE])),
    f"{LIVE_PRICES}/Rolling": _prices_so_far,
    f"{LIVE_PRICES}/Previous": _prices_of_yesterday,
    "RealTimeTotalLoad": _load,
    "Interchange/GetNsi/FiveMinute": _interchange,
}
