"""Simulate daily reports of MISO: prices as CSV, forecast and actual load as a workbook.

Quirks: preliminary prices that final prices replace, hour ends in standard time. The workbook's name has the day after
the actual day, and forecast days follow the actual day.
"""

from __future__ import annotations

from datetime import date, time, timedelta

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import lines, shorts
from assets.simulated.grid.noise import Ints
from assets.simulated.miso.workbook import Cell, workbook
from assets.sources.miso.prices import HUB
from assets.sources.miso.requests import PRELIMINARY_DAYS, TZ, ZONE
from warehouse.market.clock import DAY, HOUR, MarketDay

TITLES = {
    "da_expost_lmp.csv": "Day Ahead Market ExPost LMPs",
    "rt_lmp_prelim.csv": "Real-Time Preliminary Market LMPs",
    "rt_lmp_final.csv": "Real-Time Final Market LMPs",
}
OUT = {
    "da_expost_lmp.csv": (-1, time(13, 45)),
    "rt_lmp_prelim.csv": (1, time(10, 30)),
    "rt_lmp_final.csv": (PRELIMINARY_DAYS, time(12)),
    "df_al.xls": (0, time(0, 20)),
}
"""The publication time by file: days after the day in its name, and the hour in standard time."""
YEARS = 3
"""The number of calendar years before the current year that are kept."""
NODES = {"ALTE.ALTE": 0.97, HUB: 1.0, "MINN.HUB": 0.91}
"""The share of the hub's price by node. The real reports have some 2,500 nodes."""
FORECAST_DAYS = 6


def report(day: date, name: str, now: int) -> bytes:
    """Return the file of a name and its day as of `now`; empty if there is none."""
    if name not in OUT or now < _out(day, name) or day.year < MarketDay.at(now, TZ).day.year - YEARS:
        return b""
    if name == "df_al.xls":
        return _load(day)
    if name == "rt_lmp_prelim.csv" and now >= MarketDay(day, TZ).start + (PRELIMINARY_DAYS + 1) * DAY:
        return b""
    return _prices(day, name, now)


def _out(day: date, name: str) -> int:
    days, at = OUT[name]
    return MarketDay(day, TZ).start + days * DAY + at.hour * HOUR + at.minute * 60


def _prices(day: date, name: str, now: int) -> bytes:
    starts = _hours(day)
    hub = grid.price(ZONE, starts, HOUR, "day_ahead" if name.startswith("da") else "real_time")
    if name == "rt_lmp_prelim.csv":
        hub = grid.as_published(hub, starts, now, "miso preliminary", settles=30 * DAY)
    hours = ",".join(f"HE {hour}" for hour in range(1, 25))
    note = ",,,All Hours-Ending are Eastern Standard Time (EST)"
    head = [TITLES[name], f"{day:%m/%d/%Y}", "", note, f"Node,Type,Value,{hours}"]
    table = [
        ",".join([node, "Hub", value, *shorts(part * share * hub.round(2), 2)])
        for value, part in (("LMP", 1.0), ("MCC", 0.04))
        for node, share in NODES.items()
    ]
    return lines([*head, *table], "\n")


def _hours(day: date) -> Ints:
    start = MarketDay(day, TZ).start
    return np.arange(start, start + DAY, HOUR)


def _load(published: date) -> bytes:
    """Return the workbook: 24 lines of values per day, with forecast load, and actual load for past days only.

    The forecast of a workbook's last day is constant.
    """
    days = [published + timedelta(i) for i in range(-1, FORECAST_DAYS)]
    rows: list[list[Cell]] = [["FORECASTED AND ACTUAL LOAD REPORT"], ["Published Date:", published]]
    for day in days:
        hours, issued_at = _hours(day), MarketDay(published, TZ).start
        total = grid.demand(ZONE, hours, HOUR)
        ahead = (
            np.full(24, total[0]) if day == days[-1] else grid.as_forecast(total, hours, issued_at, "miso.load_daily")
        )
        figures = zip(ahead.round().tolist(), total.round(2).tolist(), strict=True)
        rows.append(["Market Day", "HourEnding", "MISO MTLF (MWh)", "MISO ActualLoad (MWh)"])
        rows += [
            [day, hour, expected, load if day < published else None]
            for hour, (expected, load) in enumerate(figures, start=1)
        ]
    return workbook([*rows, ["MISO MAKES NO REPRESENTATIONS OR WARRANTIES"]])
