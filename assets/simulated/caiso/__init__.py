"""Simulated California ISO: OASIS (see `oasis`) and the CSV files of Today's Outlook.

Quirks of Outlook that are kept: labels without a date, blank lines for the future and for the hour that spring skips,
the repeated autumn hour once, yesterday's file until a quarter past midnight, column names whose case changes by the
day. The original: https://www.caiso.com/todays-outlook.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, typed
from assets.simulated.caiso import oasis
from assets.simulated.format import choice, day_of, lines
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.caiso import OASIS, OUTLOOK, TZ, ZONE
from warehouse.errors import BadWindow
from warehouse.market.clock import local_date, local_instant
from warehouse.market.market import Request

FIVE = 300
READING_AFTER = 300
"""Seconds from an interval's end until it is in the file."""
TURNS_AFTER = 15 * 60
"""Seconds after midnight until `current` holds the new day."""
SINCE = date(2018, 4, 10)
_FILE = re.compile(rf"{urlsplit(OUTLOOK).path}/(current|history/(\d{{8}}))/(demand|fuelsource)\.csv", re.ASCII)


def answer(request: Request, now: int) -> Answer:
    """The zip or the file under that address as it stands at `now`; 404 where there is none."""
    if request.url == OASIS:
        return oasis.answer(dict(request.params), now)
    match = _FILE.fullmatch(urlsplit(request.url).path)
    day = (day_of(match[2]) if match[2] else local_date(now - TURNS_AFTER, TZ)) if match else None
    if match is None or day is None or not SINCE <= day <= local_date(now, TZ):
        return NOTHING
    return typed(_outlook(day, match[3], now), "text/csv")


def _outlook(day: date, file: str, now: int) -> bytes:
    """A line for each label of a day, blank where there is no reading."""
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
    """The instant of a label, of a repeated hour the first; None in the hour that spring skips."""
    try:
        return local_instant(wall, TZ)
    except BadWindow:
        return None


def _fuels(at: Ints) -> dict[str, Floats]:
    """Whole MW by the file's columns: the model's biomass and hydro are parted as the publisher parts them."""
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
