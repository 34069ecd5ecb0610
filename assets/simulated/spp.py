"""Simulate SPP's portal: the file browser's files, and two charts as files; 404 with an empty body for other URLs.

Quirks: a header that changes from day to day, the western area beside the eastern area since April 2026, the `d` files
of the repeated hour, future lines without values, one-minute flows. The current hour is averaged over its elapsed part.
The original: https://portal.spp.org.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, choice, lines, local, short, typed
from assets.simulated.grid.noise import Ints
from assets.sources.spp import requests as paths
from warehouse.market.clock import DAY, HOUR, MarketDay, utc
from warehouse.market.feeds import Request

ZONE, TZ = "US-SPP", paths.TZ
FIVE, MINUTE = 300, 60
OUT_AFTER = 240
"""Seconds after an interval until its file, or its line, is published."""
DAILY_OUT = 4 * DAY + 5 * HOUR
"""Seconds after the midnight that ends the day."""
AUCTION_OUT = 13 * HOUR
"""Seconds after midnight of the day before."""
HOURLY_OUT = 600
AREAS_PARTED = date(2026, 4, 1)
RUNNING_UNTIL = date(2026, 9, 25)
"""Since this day, a mid-term load file does not contain the current hour."""

NODES = {
    "AEC": ("SPP", 1.06),
    "AESO": ("SWPW", 1.2),
    "SPPNORTH_HUB": ("SPP", 0.94),
    "SPPSOUTH_HUB": ("SPP", 1.0),
}
"""The balancing area and the share of the south hub's price, by settlement location."""
HEADERS = ("GMTIntervalEnd,BAA,Settlement Location,LMP", "GMTINTERVALEND,BAA,SETTLEMENT_LOCATION,LMP")
"""The header differs between days."""


def simulate_response(request: Request, now: int) -> Answer:
    """Return the file or chart at this URL as of `now`."""
    place = urlsplit(request.url).path
    path = dict(request.params).get("path", "")
    if place == "/chart-api/load-forecast/asFile":
        body: bytes | None = _load_chart(now)
    elif place == "/chart-api/interchange-trend/asFile":
        body = _interchange_chart(now)
    else:
        body = _file(place.removeprefix("/file-browser-api/download/"), path, now)
    return typed(body, "text/csv") if body else NOTHING


def _file(product: str, path: str, now: int) -> bytes | None:
    stamps = re.findall(r"\d{12}|\d{8}", path.rpartition("/")[2])
    if product == "historical-tie-flow":
        return _month(path, now)
    if not stamps:
        return None
    day = date(int(stamps[0][:4]), int(stamps[0][4:6]), int(stamps[0][6:8]))
    if product == "rtbm-lmp-by-location":
        return _day_of_intervals(day, now) if path == paths.daily(day) else _interval(path, stamps[0], now)
    if product in ("da-lmp-by-settlement-location", "da-lmp-by-location") and path == paths.day_ahead(day):
        return _auction(MarketDay(day, TZ), now)
    return _hourly_load(path, stamps[0], now) if product == "mtlf-vs-actual" else None


def _instants(stamp: str) -> list[int]:
    """Return the possible times of a file's local timestamp, as the clock has two offsets."""
    if len(stamp) != 12:
        return []
    wall = int(datetime.strptime(stamp, "%Y%m%d%H%M").replace(tzinfo=UTC).timestamp())
    return [wall + 5 * HOUR, wall + 6 * HOUR]


def _interval(path: str, stamp: str, now: int) -> bytes | None:
    end = next((end for end in _instants(stamp) if paths.interval(end - FIVE, end) == path), None)
    if end is None or end % FIVE or end + OUT_AFTER > now:
        return None
    prices = grid.price(ZONE, np.array([end - FIVE]))
    return render_prices([end], prices.tolist(), local(end - FIVE, TZ).date())


def _day_of_intervals(day: date, now: int) -> bytes | None:
    market_day = MarketDay(day, TZ)
    if now < market_day.end + DAILY_OUT:
        return None
    starts = np.arange(market_day.start, market_day.end, FIVE)
    return render_prices((starts + FIVE).tolist(), grid.price(ZONE, starts).tolist(), day)


def _auction(day: MarketDay, now: int) -> bytes | None:
    if now < day.next(-1).start + AUCTION_OUT:
        return None
    starts = np.arange(day.start, day.end, HOUR)
    return render_prices((starts + HOUR).tolist(), grid.price(ZONE, starts, HOUR, "day_ahead").tolist(), day.day)


def _hourly_load(path: str, stamp: str, now: int) -> bytes | None:
    hour = next((hour for hour in _instants(stamp) if paths.hourly(hour) == path), None)
    if hour is None or hour % HOUR or hour + HOURLY_OUT > now:
        return None
    ends = np.arange(hour - DAY, hour + 7 * DAY + 1, HOUR)
    running = local(hour, TZ).date() < RUNNING_UNTIL
    known = ends[ends <= hour + HOUR * running]
    actual = grid.demand(ZONE, known - HOUR, HOUR)
    if running:
        actual[-1] *= 0.53  # the hour that has just started
    return render_hourly_load(ends.tolist(), actual.tolist(), local(hour, TZ).date() >= AREAS_PARTED, hour)


def _load_chart(now: int) -> bytes:
    """Return the load of the last day, newest first, after a week of future lines without an actual value."""
    newest = (now - OUT_AFTER) // FIVE * FIVE
    ends = np.arange(newest, newest - DAY, -FIVE)
    loads = zip(ends.tolist(), grid.demand(ZONE, ends - FIVE).tolist(), strict=True)
    rows = ["GMTIntervalEnd,STLF,Actual Load"]
    rows += [f"{_stamp(end)},," for end in range(newest + 7 * DAY, newest, -FIVE)]
    rows += [f"{_stamp(end)},{short(1.002 * load, 3)},{short(load, 3)}" for end, load in loads]
    return lines(rows)


def _interchange_chart(now: int) -> bytes:
    first = MarketDay.at(now, TZ).next(-1).start
    return _flow_table(np.arange(first, now - 2 * MINUTE, MINUTE), chart=True)


def _month(path: str, now: int) -> bytes | None:
    """Return a month's one-minute flows, up to the last complete day."""
    for year in range(2014, local(now, TZ).year + 1):
        for month in range(1, 13):
            if paths.monthly(year, month) == path:
                first, after = date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
                start, end = (
                    MarketDay(first, TZ).start,
                    min(MarketDay(after, TZ).start, MarketDay.at(now - HOUR, TZ).start),
                )
                instants = np.arange(start, max(start, end), MINUTE)
                return _flow_table(instants, chart=False) if len(instants) else None
    return None


def render_prices(ends: Sequence[int], prices: Sequence[float], day: date) -> bytes:
    """Return a price file from interval ends and prices of the south hub, in the format of that day's files."""
    header = HEADERS[choice("price file", day, len(HEADERS))]
    parted = day >= AREAS_PARTED
    rows = [header if parted else re.sub(",BAA", "", header)]
    for end, hub in zip(ends, prices, strict=True):
        stamp = _stamp(end)
        for name, (area, share) in NODES.items():
            if parted or area == "SPP":
                rows.append(",".join([stamp, *([area] if parted else []), name, short(share * hub, 4)]))
    return lines(rows, "\n")


def render_hourly_load(ends: Sequence[int], actual: Sequence[float], parted: bool, written: int = 0) -> bytes:
    """Return a mid-term load file from hour ends and the eastern area's load of the first hours; newest line first."""
    rows = ["GMTIntervalEnd,MTLF,Averaged Actual" + (",BAA" if parted else "")]
    starts = np.array(ends) - HOUR
    expected = grid.as_forecast(grid.demand(ZONE, starts, HOUR), starts, written, "spp.load_hourly")
    for i in range(len(ends) - 1, -1, -1):
        head = _stamp(ends[i])
        known = [round(actual[i]), round(0.1 * actual[i])] if i < len(actual) else ["", ""]
        rows.append(f"{head},{round(expected[i])},{known[0]}" + (",SPP" if parted else ""))
        if parted:
            rows.append(f"{head},{round(0.09 * expected[i])},{known[1]},SWPW")
    return lines(rows, "\n")


def _stamp(end: int) -> str:
    return f"{utc(end):%m/%d/%Y %H:%M:%S}"


def _flow_table(instants: Ints, chart: bool) -> bytes:
    """Return one-minute net flow, + out of the area: a month's file, or the chart with future lines without values."""
    rows = ["GMTTime,SPP NAI" if chart else "GMTTIME,SPP_NAI"]
    flows = zip(instants.tolist(), (-grid.interchange(ZONE, instants)).tolist(), strict=True)
    rows += [f"{_gmt(ts)},{mw:.2f}" for ts, mw in flows]
    rows += [f"{_gmt(int(instants[-1]) + i * MINUTE)}," for i in range(1, 60) if chart]
    return lines(rows)


def _gmt(ts: int) -> str:
    return f"{utc(ts):%Y-%m-%dT%H:%M:%SZ}"
