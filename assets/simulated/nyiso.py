"""Simulate NYISO: daily files on oasis-postings, monthly zips on mis.

Quirks: quotes and seconds in real-time files only, and the repeated hour marked in the load file only. On some days,
timestamps are off the five-minute grid. The real-time file of the current day ends with advisory quarter hours. The
originals: https://mis.nyiso.com/public/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, choice, lines, local, short, typed, zipped
from assets.sources.nyiso import HUB, QUEBEC_AGAIN, TIES, ZONE
from assets.sources.nyiso.bodies import TZ
from warehouse.market.clock import HOUR, MarketDay
from warehouse.market.feeds import Request

FIVE, QUARTER = 300, 900
OUT_AFTER = 120
"""Seconds after a value's time until the file contains it."""
FORECAST_OUT, FORECAST_EVERY = 8 * HOUR, 6 * HOUR
AUCTION_OUT = 10 * HOUR
"""Seconds after midnight of the day before."""
POSTED_SINCE = date(2025, 12, 6)
"""The first day with real-time prices on oasis-postings."""

ZONES = {
    "CAPITL": (61757, 0.077, 0.98),
    "CENTRL": (61754, 0.106, 0.93),
    "DUNWOD": (61760, 0.037, 0.99),
    "GENESE": (61753, 0.063, 0.91),
    "HUD VL": (61758, 0.065, 0.985),
    "LONGIL": (61762, 0.122, 1.03),
    "MHK VL": (61756, 0.049, 0.94),
    "MILLWD": (61759, 0.014, 0.99),
    HUB: (61761, 0.334, 1.0),
    "NORTH": (61755, 0.032, 0.88),
    "WEST": (61752, 0.101, 0.89),
}
"""By load zone: its number, its share of the load, and its price relative to N.Y.C."""
INTERNAL = {"23330": "CENTRAL EAST - VC", "23315": "UPNY CONED"}
"""The names of interfaces within the zone by point ID. Their flows are made up."""


def simulate_response(request: Request, now: int) -> Answer:
    """Return the file at this URL as of `now`; 404 if there is none."""
    path = urlsplit(request.url).path
    if match := re.fullmatch(r"/(\w+)/CSV/(\d{4})/(\d\d)/(\d\d)/\w+-\d{8}\.csv", path):
        day = date(*map(int, match.groups()[1:]))
        posted = match[1] in _FILES and (match[1] != "RT_LBMP_ZONE" or day >= POSTED_SINCE)
        body = _FILES[match[1]](day, now) if posted else b""
        return typed(body, "text/csv") if body else NOTHING
    if match := re.fullmatch(r"/public/csv/isolf/(\d{4})(\d\d)(\d\d)isolf\.csv", path):
        body = _load_forecast(MarketDay(date(*map(int, match.groups())), TZ), now)
        return typed(body, "text/csv") if body else NOTHING
    match = re.fullmatch(r"/public/csv/(\w+)/(\d{4})(\d\d)01(\w+)_csv\.zip", path)
    if not match or match[1] not in _FILES:
        return NOTHING
    days = [date(int(match[2]), int(match[3]), 1) + timedelta(days=n) for n in range(31)]
    bodies = ((day, _FILES[match[1]](day, now)) for day in days if day.month == days[0].month)
    files = [(f"{day:%Y%m%d}{match[4]}.csv", body) for day, body in bodies if body]
    return typed(zipped(files), "application/zip") if files else NOTHING


def _load_forecast(day: MarketDay, now: int) -> bytes:
    """Return six days from a day, published on the morning before and renewed every six hours until the day starts."""
    if now < day.next(-1).start + FORECAST_OUT or now >= day.next(10).start:
        return b""
    issued_at = min(now, day.start) // FORECAST_EVERY * FORECAST_EVERY
    starts = np.arange(day.start, day.next(6).start, HOUR)
    total = grid.as_forecast(grid.demand(ZONE, starts, HOUR), starts, issued_at, "nyiso.load_forecast")
    shares = {zone.title(): share for zone, (_, share, _) in ZONES.items()}
    columns = [(share * total).round().astype(int) for _, share in sorted(shares.items())]
    header = ",".join(f'"{name}"' for name in ("Time Stamp", *sorted(shares), "NYISO"))
    rows = [
        ",".join([f'"{local(ts, TZ):%m/%d/%Y %H:%M}"', *(str(column[i]) for column in columns), str(round(mw))])
        for i, (ts, mw) in enumerate(zip(starts.tolist(), total.tolist(), strict=True))
    ]
    return lines([header, *rows], "\n")


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
    prices = grid.price(ZONE, np.array(stamps) - FIVE).tolist()
    quoted = ",".join(f'"{name}"' for name in _PRICE_HEADER.split(","))
    return lines([quoted, *_priced(stamps, prices, '"%m/%d/%Y %H:%M:%S"', '"')])


def _day_ahead(day: date, now: int) -> bytes:
    if now < MarketDay(day, TZ).next(-1).start + AUCTION_OUT:
        return b""
    hours = _steps(day, HOUR, 0)
    prices = grid.price(ZONE, np.array(hours), HOUR, "day_ahead").tolist()
    return lines([_PRICE_HEADER, *_priced(hours, prices, "%m/%d/%Y %H:%M", "")])


_PRICE_HEADER = "Time Stamp,Name,PTID,LBMP ($/MWHr)"


def _priced(stamps: Sequence[int], prices: Sequence[float], form: str, quote: str) -> list[str]:
    """Return the lines of every zone at each timestamp."""
    return [
        f"{local(ts, TZ):{form}},{quote}{name}{quote},{ptid},{share * hub:.2f}"
        for ts, hub in zip(stamps, prices, strict=True)
        for name, (ptid, _, share) in ZONES.items()
    ]


def _load(day: date, now: int) -> bytes:
    stamps = [ts for ts in _steps(day, FIVE, 0) if ts + OUT_AFTER <= now]
    if not stamps:
        return b""
    if choice("load reading", day, 3) == 0 and len(stamps) > 2:
        stamps[2:2] = [stamps[1] + 154, stamps[1] + 280]
    rows = ['"Time Stamp","Time Zone","Name","PTID","Load"']
    for ts, total in zip(stamps, grid.demand(ZONE, np.array(stamps)).tolist(), strict=True):
        moment = local(ts, TZ)
        head = f'"{moment:%m/%d/%Y %H:%M:%S}","{moment:%Z}"'
        loads = {name: round(total * share, 1) for name, (_, share, _) in ZONES.items() if name != HUB}
        loads[HUB] = round(total, 1) - sum(loads.values())
        rows += [f'{head},"{name}",{ZONES[name][0]},{short(loads[name], 1)}' for name in sorted(loads)]
    return lines(rows)


def _flows(day: date, now: int) -> bytes:
    stamps = [ts for ts in _steps(day, FIVE, 0) if ts + FIVE + OUT_AFTER <= now]
    if not stamps:
        return b""
    if choice("flow reading", day, 5) == 0 and len(stamps) > 3:
        stamps[3:3] = [stamps[2] + 60, stamps[2] + 120]
    starts = np.array(stamps)
    by_link = {line.id: line for line in grid.ties(ZONE) if line.since <= stamps[0]}
    there = {point: by_link[tie.link] for point, tie in TIES.items() if tie.link in by_link}
    flows = {point: grid.inflow(ZONE, line, starts).tolist() for point, line in there.items()}
    rows = ["Timestamp,Interface Name,Point ID,Flow (MWH)"]
    for i, ts in enumerate(stamps):
        stamp = f"{local(ts, TZ):%m/%d/%Y %H:%M}"
        read = {point: values[i] for point, values in flows.items()}
        read[QUEBEC_AGAIN] = 0.98 * (read["23324"] + read["325274"])
        rows += [f"{stamp},SCH - {point},{point},{short(mw, 2)}" for point, mw in read.items()]
        rows += [f"{stamp},{name},{point},900" for point, name in INTERNAL.items()]
    return lines(rows)


def _steps(day: date, step: int, first: int) -> list[int]:
    """Return the timestamps of a market day, starting `first` seconds after its midnight."""
    market_day = MarketDay(day, TZ)
    return list(range(market_day.start + first, market_day.end + first, step))


_FILES: dict[str, Callable[[date, int], bytes]] = {
    **dict.fromkeys(("RT_LBMP_ZONE", "realtime"), _real_time),
    **dict.fromkeys(("DAM_LBMP_ZONE", "damlbmp"), _day_ahead),
    **dict.fromkeys(("RT_ACTUAL_LOAD", "pal"), _load),
    **dict.fromkeys(("INTERFACE_LIMITS_FLOWS", "ExternalLimitsFlows"), _flows),
}
"""By folder on oasis-postings and on mis."""
