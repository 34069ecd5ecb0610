"""Simulated MISO: the newest five-minute price, today's load and net scheduled interchange, the daily reports.

For the reports see `reports`. Quirks that are kept: numbers as texts, prices stamped by the interval's end, a load
dated by its reference only, minus for import, a net that its neighbours do not add up to. The originals:
https://public-api.misoenergy.org, https://docs.misoenergy.org.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.simulated.miso.reports import priced, report
from assets.sources.miso.requests import EST, LIVE, LIVE_PRICES, REPORTS, TZ, ZONE
from warehouse.clock import HOUR, MarketDay
from warehouse.market import Request

FIVE, MINUTE = 300, 60
PRICE_AFTER, READING_AFTER = 150, 150
"""Seconds from an interval's end until its price is there, and from a reading's stamp until it is."""
BORDERS = {
    "AECI": "Associated Electric Cooperative",
    "LGEE": "LG&E and KU",
    "MHEB": "Manitoba",
    "ONT": "Ontario",
    "PJM": "US-PJM",
    "SOCO": "Southern Company",
    "SWPP": "US-SPP",
    "TVA": "Tennessee Valley Authority",
}
"""Column -> the grid's area. A ninth column, SPA, is no border of the grid: it is what neighbours and net differ by."""
_FILE = re.compile(rf"{urlsplit(REPORTS).path}/(\d{{4}})(\d\d)(\d\d)_(\w+\.\w+)", re.ASCII)
_NO_FILE = (
    '\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code>'
    "<Message>The specified blob does not exist."
    "</Message></Error>"
).encode()


def answer(request: Request, now: int) -> Answer:
    """The live answer or the report under that address as it stands at `now`; 404 where there is none."""
    path = urlsplit(request.url).path
    if request.url.startswith(LIVE):
        write = _LIVE.get(path.removeprefix(urlsplit(LIVE).path + "/"))
        body = write(now) if write else b'{"statusCode":404,"message":"Resource not found"}'
        return Answer(200 if write else 404, body, (("content-type", "application/json"),))
    body = _report(path, now)
    return Answer(200, body) if body else Answer(404, _NO_FILE, (("content-type", "application/xml"),))


def _report(path: str, now: int) -> bytes:
    match = _FILE.fullmatch(path)
    try:
        return report(date(*map(int, match.groups()[:3])), match[4], now) if match else b""
    except ValueError:
        return b""  # A name with a day that no calendar has.


def _prices(now: int) -> bytes:
    return _prices_at(np.array([(now - PRICE_AFTER) // FIVE * FIVE]))


def _prices_so_far(now: int) -> bytes:
    newest = (now - PRICE_AFTER) // FIVE * FIVE
    return _prices_at(np.arange(MarketDay.at(newest - FIVE, TZ).start + FIVE, newest + FIVE, FIVE))


def _prices_of_yesterday(now: int) -> bytes:
    day = MarketDay.at(now, TZ).next(-1)
    return _prices_at(np.arange(day.start + FIVE, day.end + FIVE, FIVE))


def _prices_at(ends: Ints) -> bytes:
    """The answer of these interval ends, each one's nodes in an order of its own."""
    parts = priced(grid.price(ZONE, ends - FIVE))
    rows = []
    for i, end in enumerate(ends.tolist()):
        shuffled = np.random.default_rng(end).permutation(len(parts))
        nodes = ([*parts][k] for k in shuffled)
        rows += [(end, node, *(float(parts[node][part][i]) for part in ("LMP", "MLC", "MCC"))) for node in nodes]
    return render_prices(rows)


def render_prices(rows: Sequence[tuple[int, str, float, float, float]]) -> bytes:
    """GetRealTimeFiveMinExPost from interval ends, nodes, prices, losses and congestion."""
    return orjson.dumps(
        {
            "headers": ["INTERVAL", "CPNODE", "LMP", "MLC", "MCC"],
            "data": [
                [f"{est(end):%Y-%m-%dT%H:%M:%S}", node, *(f"{value:.2f}" for value in parts)]
                for end, node, *parts in rows
            ],
        }
    )


def _readings(now: int) -> Ints:
    """The stamps of the day that the newest reading lies in, up to it."""
    newest = (now - READING_AFTER) // FIVE * FIVE
    return np.arange(MarketDay.at(newest, TZ).start, newest + FIVE, FIVE)


def _load(now: int) -> bytes:
    stamps = _readings(now)
    hours = np.arange(stamps[0], stamps[0] + 24 * HOUR, HOUR)
    expected = grid.demand(ZONE, hours, HOUR) * (1.0 + 0.02 * smooth("miso forecast", hours, 11 * HOUR))
    return render_load(stamps.tolist(), _whole(grid.demand(ZONE, stamps)), _whole(0.97 * expected), _whole(expected))


def render_load(stamps: Sequence[int], loads: Sequence[int], cleared: Sequence[int], forecast: Sequence[int]) -> bytes:
    """RealTimeTotalLoad: the readings so far, and the day's 24 hours cleared and forecast; whole MW."""
    return orjson.dumps(
        {
            "LoadInfo": {
                "RefId": _reference(stamps[-1]),
                "ClearedMW": [
                    {"ClearedMWHourly": {"Hour": str(h), "Value": str(mw)}} for h, mw in enumerate(cleared, start=1)
                ],
                "MediumTermLoadForecast": [
                    {"Forecast": {"HourEnding": str(h), "LoadForecast": str(mw)}}
                    for h, mw in enumerate(forecast, start=1)
                ],
                "FiveMinTotalLoad": [
                    {"Load": {"Time": f"{est(ts):%H:%M}", "Value": str(load)}}
                    for ts, load in zip(stamps, loads, strict=True)
                ],
            }
        }
    )


def _interchange(now: int) -> bytes:
    stamps = _readings(now)
    columns = {name: _whole(-grid.border(ZONE, area, stamps)) for name, area in BORDERS.items()}
    columns |= {
        "MISO": _whole(-grid.interchange(ZONE, stamps)),
        "SPA": _whole(-110.0 + 45.0 * smooth("spa/miso", stamps, 8 * HOUR)),
    }
    return render_interchange(stamps.tolist(), columns, now // MINUTE * MINUTE)


def render_interchange(stamps: Sequence[int], columns: Mapping[str, Sequence[int]], minute: int) -> bytes:
    """GetNsi/FiveMinute from whole MW by column, minus for import; `asked` is the minute of the answer."""
    return orjson.dumps(
        {
            "instance": [
                {
                    "timestamp": f"{est(ts):%Y-%m-%d %H:%M:%S}",
                    **{name: str(columns[name][i]) for name in sorted(columns)},
                }
                for i, ts in enumerate(stamps)
            ],
            "RefId": _reference(minute),
            "MktDay": None,
        }
    )


def est(ts: int) -> datetime:
    """The naive wall clock of MISO, which never changes."""
    return datetime(1970, 1, 1) + timedelta(seconds=ts + EST * HOUR)  # noqa: DTZ001  on MISO's own clock


def _reference(ts: int) -> str:
    return f"{est(ts):%d-%b-%Y} - Interval {est(ts):%H:%M} EST"


def _whole(values: Floats) -> list[int]:
    return [int(value) for value in values.round()]


_LIVE: dict[str, Callable[[int], bytes]] = {
    f"{LIVE_PRICES}/Current": _prices,
    f"{LIVE_PRICES}/Rolling": _prices_so_far,
    f"{LIVE_PRICES}/Previous": _prices_of_yesterday,
    "RealTimeTotalLoad": _load,
    "Interchange/GetNsi/FiveMinute": _interchange,
}
