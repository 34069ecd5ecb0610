"""Simulated NYISO: daily files on oasis-postings, monthly zips on mis.

Quirks that are kept: quotes and seconds in real-time files only, no mark of the repeated hour but in the load file,
readings off the grid on some days, advisory quarter hours at the end of a running day's real-time file, on one day in
sixty a meter that is dark for an hour and a half. The originals: https://mis.nyiso.com/public/.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.simulated.format import choice, lines, local, short
from assets.sources.nyiso import QUEBEC_AGAIN, TIES
from warehouse.clock import HOUR, MarketDay
from warehouse.market import Request

ZONE, TZ = "US-NYISO", "America/New_York"
HUB = "N.Y.C."
FIVE, QUARTER = 300, 900
OUT_AFTER = 120
"""Seconds after a reading until it is in the file."""
AUCTION_OUT = 10 * HOUR
"""After midnight of the day before."""
DARK = "MILLWD"
"""The zone whose load reads 0 MW while its meter is out."""
DARK_DAYS = 60
POSTED_SINCE = date(2025, 12, 6)
"""Real-time prices before this day are not on oasis-postings."""

PTID = {
    "CAPITL": 61757,
    "CENTRL": 61754,
    "DUNWOD": 61760,
    "GENESE": 61753,
    "H Q": 61844,
    "HUD VL": 61758,
    "LONGIL": 61762,
    "MHK VL": 61756,
    "MILLWD": 61759,
    "N.Y.C.": 61761,
    "NORTH": 61755,
    "NPX": 61845,
    "O H": 61846,
    "PJM": 61847,
    "WEST": 61752,
}
LOAD_SHARE = {
    "CAPITL": 0.077,
    "CENTRL": 0.106,
    "DUNWOD": 0.037,
    "GENESE": 0.063,
    "HUD VL": 0.065,
    "LONGIL": 0.122,
    "MHK VL": 0.049,
    "MILLWD": 0.014,
    "NORTH": 0.032,
    "WEST": 0.101,
}
"""N.Y.C. takes the rest, a third."""
PRICE_SHARE = {
    "CAPITL": 0.98,
    "CENTRL": 0.93,
    "DUNWOD": 0.99,
    "GENESE": 0.91,
    "H Q": 0.90,
    "HUD VL": 0.985,
    "LONGIL": 1.03,
    "MHK VL": 0.94,
    "MILLWD": 0.99,
    "NORTH": 0.88,
    "NPX": 0.97,
    "O H": 0.87,
    "PJM": 0.92,
    "WEST": 0.89,
}
"""Of the price in N.Y.C."""
INTERFACES = {
    "23330": ("CENTRAL EAST - VC", 2175, -9999),
    "23326": ("DYSINGER EAST", 1500, -9999),
    "23319": ("MOSES SOUTH", 2850, -1600),
    "23324": ("SCH - HQ - NY", 1500, -500),
    "325274": ("SCH - HQ_CEDARS", 190, -100),
    "625211": ("SCH - HQ_CHPE", 1250, -1250),
    "325376": ("SCH - HQ_IMPORT_EXPORT", 1310, -9999),
    "23318": ("SCH - NE - NY", 1400, -1600),
    "325277": ("SCH - NPX_1385", 200, -200),
    "325154": ("SCH - NPX_CSC", 330, -330),
    "23317": ("SCH - OH - NY", 1900, -1650),
    "23316": ("SCH - PJ - NY", 1650, -1600),
    "325905": ("SCH - PJM_HTP", 660, 0),
    "325305": ("SCH - PJM_NEPTUNE", 660, -660),
    "325658": ("SCH - PJM_VFT", 315, -315),
    "23320": ("SPR/DUN-SOUTH", 4600, -9999),
    "23314": ("TOTAL EAST", 6800, -9999),
    "23315": ("UPNY CONED", 5700, -9999),
    "23312": ("WEST CENTRAL", 9999, -9999),
}
"""Point ID -> name, positive and negative limit; the internal ones carry made-up flows."""

Stamps = Sequence[int]
Figures = Sequence[float]


def answer(request: Request, now: int) -> Answer:
    """The file under that address as it stands at `now`; 404 where there is none."""
    path = urlsplit(request.url).path
    if match := re.fullmatch(r"/(\w+)/CSV/(\d{4})/(\d\d)/(\d\d)/\w+-\d{8}\.csv", path):
        day = date(*map(int, match.groups()[1:]))
        posted = match[1] in _BY_FOLDER and (match[1] != "RT_LBMP_ZONE" or day >= POSTED_SINCE)
        body = _BY_FOLDER[match[1]](day, now) if posted else b""
        return Answer(200, body, (("content-type", "text/csv"),)) if body else Answer(404, b"")
    match = re.fullmatch(r"/public/csv/(\w+)/(\d{4})(\d\d)01(\w+)_csv\.zip", path)
    if match and match[1] in _BY_DATASET:
        return _zip(match[1], match[4], date(int(match[2]), int(match[3]), 1), now)
    return Answer(404, b"")


def _zip(dataset: str, file: str, first: date, now: int) -> Answer:
    out, day = io.BytesIO(), first
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        while day.month == first.month:
            if body := _BY_DATASET[dataset](day, now):
                archive.writestr(
                    zipfile.ZipInfo(f"{day:%Y%m%d}{file}.csv", (day.year, day.month, day.day, 23, 59, 0)), body
                )
            day += timedelta(days=1)
        empty = not archive.namelist()
    return Answer(404, b"") if empty else Answer(200, out.getvalue(), (("content-type", "application/zip"),))


def _real_time(day: date, now: int) -> bytes:
    ends = [ts for ts in _steps(day, FIVE, FIVE) if ts + OUT_AFTER <= now]
    if not ends:
        return b""
    last = MarketDay(day, TZ).end
    ahead = [
        ts for ts in range(ends[-1] // QUARTER * QUARTER + QUARTER, ends[-1] + 10 * QUARTER, QUARTER) if ts <= last
    ]
    stray = [ends[11] + 168] if choice("real-time run", day, 4) == 0 and len(ends) > 12 else []
    stamps = sorted([*ends, *stray]) + ahead
    prices = grid.price(ZONE, np.array(stamps) - FIVE)
    return render_real_time(stamps, prices.tolist())


def _day_ahead(day: date, now: int) -> bytes:
    if now < MarketDay(day, TZ).next(-1).start + AUCTION_OUT:
        return b""
    hours = _steps(day, HOUR, 0)
    return render_day_ahead(hours, grid.price(ZONE, np.array(hours), HOUR, "day_ahead").tolist())


def _load(day: date, now: int) -> bytes:
    stamps = [ts for ts in _steps(day, FIVE, 0) if ts + OUT_AFTER <= now]
    if not stamps:
        return b""
    if choice("load reading", day, 3) == 0 and len(stamps) > 2:
        stamps[2:2] = [stamps[1] + 154, stamps[1] + 280]
    return render_load(stamps, grid.demand(ZONE, np.array(stamps)).tolist(), _dark(day))


def _dark(day: date) -> range:
    """The instants at which a meter is out; none on most days."""
    start = MarketDay(day, TZ).start + 9 * HOUR
    return range(start, start + (5400 if choice("meter outage", day, DARK_DAYS) == 0 else 0))


def _flows(day: date, now: int) -> bytes:
    stamps = [ts for ts in _steps(day, FIVE, 0) if ts + FIVE + OUT_AFTER <= now]
    if not stamps:
        return b""
    if choice("flow reading", day, 5) == 0 and len(stamps) > 3:
        stamps[3:3] = [stamps[2] + 60, stamps[2] + 120]
    starts = np.array(stamps)
    by_link = {line.id: line for line in grid.ties(ZONE) if line.since <= stamps[0]}
    there = {point: by_link[tie.link] for point, tie in TIES.items() if tie.link in by_link}
    return render_flows(stamps, {point: grid.inflow(ZONE, line, starts).tolist() for point, line in there.items()})


def _steps(day: date, step: int, first: int) -> list[int]:
    """The instants of a market day, `first` seconds after its midnight on."""
    market_day = MarketDay(day, TZ)
    return list(range(market_day.start + first, market_day.end + first, step))


def render_real_time(ends: Stamps, prices: Figures) -> bytes:
    """A real-time price file from interval ends and prices of N.Y.C.: every name at each stamp."""
    return lines([",".join(f'"{name}"' for name in _PRICE_HEADER), *_priced(ends, prices, '"%m/%d/%Y %H:%M:%S"', '"')])


def render_day_ahead(starts: Stamps, prices: Figures) -> bytes:
    """A day-ahead price file from hour starts and prices of N.Y.C."""
    return lines([",".join(_PRICE_HEADER), *_priced(starts, prices, "%m/%d/%Y %H:%M", "")])


_PRICE_HEADER = (
    "Time Stamp",
    "Name",
    "PTID",
    "LBMP ($/MWHr)",
    "Marginal Cost Losses ($/MWHr)",
    "Marginal Cost Congestion ($/MWHr)",
)


def _priced(stamps: Stamps, prices: Figures, form: str, quote: str) -> list[str]:
    """The lines of every name at each stamp: LBMP is energy and losses minus congestion here."""
    rendered = []
    for ts, hub in zip(stamps, prices, strict=True):
        stamp, energy = format(local(ts, TZ), form), 0.95 * hub
        for name, ptid in PTID.items():
            price = PRICE_SHARE.get(name, 1.0) * hub
            losses = 0.04 * (PRICE_SHARE.get(name, 1.0) - 0.9) * energy
            rendered.append(
                f"{stamp},{quote}{name}{quote},{ptid},{price:.2f},{losses:.2f},{energy + losses - price:.2f}"
            )
    return rendered


def render_load(stamps: Stamps, totals: Figures, dark: range = range(0)) -> bytes:
    """A load file from instants and the load of all New York, the sum of the eleven zones but where one is dark."""
    rows = ['"Time Stamp","Time Zone","Name","PTID","Load"']
    for ts, total in zip(stamps, totals, strict=True):
        moment = local(ts, TZ)
        head = f'"{moment:%m/%d/%Y %H:%M:%S}","{moment:%Z}"'
        loads = {name: round(total * share, 1) for name, share in LOAD_SHARE.items()}
        loads[HUB] = round(total, 1) - sum(loads.values())
        if ts in dark:
            loads[DARK] = 0.0
        rows += [f'{head},"{name}",{PTID[name]},{short(loads[name], 1)}' for name in sorted(loads)]
    return lines(rows)


def render_flows(starts: Stamps, ties: Mapping[str, Figures]) -> bytes:
    """A file of interface flows from interval starts and the scheduled ties' flows by Point ID, + into New York."""
    rows = ["Timestamp,Interface Name,Point ID,Flow (MWH),Positive Limit (MWH),Negative Limit (MWH)"]
    listed = {point: entry for point, entry in INTERFACES.items() if point in ties or point not in TIES}
    for i, ts in enumerate(starts):
        stamp = f"{local(ts, TZ):%m/%d/%Y %H:%M}"
        now = {point: flows[i] for point, flows in ties.items()}
        now[QUEBEC_AGAIN] = 0.98 * (now["23324"] + now["325274"])
        rows += [
            f"{stamp},{name},{point},{short(now.get(point, 0.4 * abs(positive)), 2)},{positive},{negative}"
            for point, (name, positive, negative) in listed.items()
        ]
    return lines(rows)


_BY_FOLDER: dict[str, Callable[[date, int], bytes]] = {
    "RT_LBMP_ZONE": _real_time,
    "DAM_LBMP_ZONE": _day_ahead,
    "RT_ACTUAL_LOAD": _load,
    "INTERFACE_LIMITS_FLOWS": _flows,
}
_BY_DATASET: dict[str, Callable[[date, int], bytes]] = {
    "realtime": _real_time,
    "damlbmp": _day_ahead,
    "pal": _load,
    "ExternalLimitsFlows": _flows,
}
