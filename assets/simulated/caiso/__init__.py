"""Simulated California ISO: OASIS (see `oasis`) and the CSV files of Today's Outlook.

Quirks of Outlook that are kept: labels without a date, forecasts labelled by interval ends, blank lines for the future
and for the hour that spring skips, the repeated autumn hour once, the next day's midnight where there are forecasts,
yesterday's file until a quarter past midnight, column names whose case changes by the day. The original:
https://www.caiso.com/todays-outlook.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.simulated.caiso import oasis
from assets.simulated.format import choice, lines
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.caiso import OASIS, OUTLOOK, TZ, ZONE
from warehouse.errors import BadWindow
from warehouse.market.clock import HOUR, MarketDay, local_date, local_instant
from warehouse.market.market import Request

FIVE, QUARTER = 300, 900
READING_AFTER = 300
"""Seconds from an interval's end until it is in the file."""
TURNS_AFTER = 15 * 60
"""Seconds after midnight until `current` holds the new day."""
SINCE = date(2018, 4, 10)
_FILE = re.compile(rf"{urlsplit(OUTLOOK).path}/(current|history/(\d{{8}}))/(\w+\.csv)", re.ASCII)
Columns = Mapping[str, Sequence[float | None]]
"""Column -> MW by the labels of the day; None is a blank cell."""


def answer(request: Request, now: int) -> Answer:
    """The zip or the file under that address as it stands at `now`; 404 where there is none."""
    if request.url == OASIS:
        return oasis.answer(dict(request.params), now)
    match = _FILE.fullmatch(urlsplit(request.url).path)
    today = local_date(now - TURNS_AFTER, TZ)
    day = (_day(match[2]) if match[2] else today) if match else None
    if match is None or day is None or match[3] not in _FILES or not SINCE <= day <= local_date(now, TZ):
        return Answer(
            404,
            b"<html><head><title>404 Not Found</title></head><body></body></html>",
            (("content-type", "text/html"),),
        )
    return Answer(200, _FILES[match[3]](day, now), (("content-type", "text/csv"),))


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007  a date only
    except ValueError:
        return None


@lru_cache(maxsize=128)
def labels(day: date) -> tuple[list[str], list[int | None]]:
    """The 288 labels of a day with their instants: None in the hour that spring skips; the first of a repeated hour."""
    walls = [datetime.combine(day, time()) + timedelta(seconds=FIVE * i) for i in range(288)]
    return [f"{wall:%H:%M}" for wall in walls], [_instant(wall) for wall in walls]


def _instant(wall: datetime) -> int | None:
    try:
        return local_instant(wall, TZ)
    except BadWindow:
        return None


def _demand(day: date, now: int) -> bytes:
    starts = [ts for ts in labels(day)[1] if ts is not None] + [MarketDay(day, TZ).end]
    at = np.array(starts)
    ending = at - FIVE  # a forecast stands at the label that its interval ends with
    columns = {
        "Day ahead forecast": 1.01 * grid.demand(ZONE, ending // HOUR * HOUR, HOUR),
        "Hour ahead forecast": 1.003 * grid.demand(ZONE, ending // QUARTER * QUARTER, QUARTER),
        "Current demand": _so_far(grid.demand(ZONE, at), at, day, now),
        "Demand response": np.full(len(at), np.nan),
    }
    return render_outlook(day, _placed(day, columns), midnight=True)


def _fuelsource(day: date, now: int) -> bytes:
    at = np.array([ts for ts in labels(day)[1] if ts is not None])
    columns = {name: _so_far(mw, at, day, now) for name, mw in fuels(at).items()}
    if choice("caiso names", day, 2):
        columns = {
            name.replace("hydro", "Hydro").replace("Natural Gas", "Natural gas"): mw for name, mw in columns.items()
        }
    return render_outlook(day, _placed(day, columns))


_FILES: dict[str, Callable[[date, int], bytes]] = {"demand.csv": _demand, "fuelsource.csv": _fuelsource}


def fuels(at: Ints) -> dict[str, Floats]:
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


def _so_far(values: Floats, at: Ints, day: date, now: int) -> Floats:
    """The readings that are out; the next day's are never in a day's file."""
    known = (at + FIVE + READING_AFTER <= now) & (at < MarketDay(day, TZ).end)
    readings: Floats = np.where(known, values, np.nan)
    return readings


def _placed(day: date, columns: Mapping[str, Floats]) -> Columns:
    """The columns by all labels of the day (and what lies behind them), blank in the hour that is skipped."""
    places = [i for i, ts in enumerate(labels(day)[1]) if ts is not None]
    placed = {}
    for name, values in columns.items():
        whole: list[float | None] = [None] * 288
        numbers = [None if value != value else value for value in values.tolist()]
        for i, number in zip(places, numbers, strict=False):
            whole[i] = number
        placed[name] = whole + numbers[len(places) :]
    return placed


def render_outlook(day: date, columns: Columns, midnight: bool = False) -> bytes:
    """A file of that day; `midnight`: a last line for the next day's 00:00 follows."""
    first = labels(day)[0] + (["00:00"] if midnight else [])
    cells = [["" if value is None else f"{round(value)}" for value in column] for column in columns.values()]
    return lines([["Time", *columns], *zip(first, *cells, strict=True)])
