"""Simulated daily reports of MISO: prices as CSV, forecast and actual load as a workbook.

Quirks that are kept: numbers without a leading zero, a blank line and zeros in the date that come and go, preliminary
prices that final ones replace, hour ends on standard time, a workbook named by the day after, with days of forecasts
behind the actual day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta

import numpy as np

from assets.simulated import grid
from assets.simulated.format import choice, lines, short
from assets.simulated.grid.noise import Floats, Ints
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
"""File -> when it comes out: days after the day in its name, and the hour in standard time."""
YEARS = 3
"""Calendar years before the running one that stay."""
SPREAD_SINCE = date(2026, 4, 27)
"""The first workbook with blank rows and columns of merged cells."""

NODES = {
    "ALTE.ALTE": ("Loadzone", 0.013, -0.007),
    HUB: ("Hub", 0.035, 0.03),
    "MINN.HUB": ("Hub", -0.052, -0.025),
    "SWPP": ("Interface", -0.065, -0.104),
}
"""Node -> its type, and its losses and congestion as shares of the energy price. The real reports name some 2,500."""
AREAS = {"LRZ1": 0.17, "LRZ2_7": 0.226, "LRZ3_5": 0.137, "LRZ4": 0.066, "LRZ6": 0.143, "LRZ8_9_10": 0.258}
"""The resource zones and their shares of the load."""
FORECAST_DAYS = 6


def report(day: date, name: str, now: int) -> bytes:
    """The file of that name and of the day in it as it is at `now`; empty where there is none."""
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
    date_cell = f"{day:%m/%d/%Y}" if choice("miso date", day, 4) else f"{day.month}/{day.day}/{day.year}"
    gap = [""] if choice("miso gap", day, 3) else []
    hours = ",".join(f"HE {hour}" for hour in range(1, 25))
    head = [
        TITLES[name],
        date_cell,
        *gap,
        ",,,All Hours-Ending are Eastern Standard Time (EST)",
        f"Node,Type,Value,{hours}",
    ]
    table = [
        ",".join([node, NODES[node][0], value, *map(_bare, parts[value].tolist())])
        for value in ("LMP", "MCC", "MLC")
        for node, parts in priced(hub).items()
    ]
    return lines([*head, *table], "\n")


def _hours(day: date) -> Ints:
    start = MarketDay(day, TZ).start
    return np.arange(start, start + DAY, HOUR)


def priced(hub: Floats) -> dict[str, Mapping[str, Floats]]:
    """LMP and its parts at every node from the price at the hub, with two decimals; energy is the same everywhere."""
    total = hub.round(2)
    base = hub / (1.0 + sum(NODES[HUB][1:]))
    parts = {
        node: {"MLC": (loss * base).round(2), "MCC": (congestion * base).round(2)}
        for node, (_, loss, congestion) in NODES.items()
    }
    energy = total - parts[HUB]["MLC"] - parts[HUB]["MCC"]
    return {node: {"LMP": (energy + own["MLC"] + own["MCC"]).round(2), **own} for node, own in parts.items()}


def _bare(value: float) -> str:
    """`29.9`, `.92`, `-.17`."""
    text = short(value, 2)
    return (
        text if text.lstrip("-") == "0" else text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text
    )


def _load(published: date) -> bytes:
    """The workbook: 24 lines of figures a day; later ones have blank rows and columns."""
    every = [published + timedelta(i) for i in range(-1, FORECAST_DAYS)]
    days = {day: _figures(day, published, day == every[-1]) for day in every}
    spread = published >= SPREAD_SINCE
    gap: list[list[Cell]] = [[]] if spread else []
    columns = [f"{area} {what} (MWh)" for area in (*AREAS, "MISO") for what in ("MTLF", "ActualLoad")]
    rows: list[list[Cell]] = [
        ["FORECASTED AND "],
        *gap,
        ["ACTUAL LOAD REPORT"],
        *gap,
        ["Published Date:", published],
        ["Reporting Period:", min(days), "through", max(days)],
    ]
    for day, hours in days.items():
        rows += [["Market Day", "HourEnding", *columns], [f"{day:%B %d, %Y}"]]
        rows += [[day, hour, *figures] for hour, figures in enumerate(hours, start=1)]
    return workbook([*(map(_spread, rows) if spread else rows), ["MISO MAKES NO REPRESENTATIONS OR WARRANTIES"]])


def _figures(day: date, published: date, is_last: bool) -> list[list[float | None]]:
    """By hour: forecast and actual load of each resource zone, then of all; actual load of past days only.

    The forecast of a workbook's last day is one value.
    """
    hours, actual = _hours(day), day < published
    total = grid.demand(ZONE, hours, HOUR)
    issued_at = MarketDay(published, TZ).start
    ahead = np.full(24, total[0]) if is_last else grid.as_forecast(total, hours, issued_at, "miso.load_daily")
    forecasts = np.stack([share * ahead for share in AREAS.values()]).round()
    loads = np.stack([share * total for share in AREAS.values()]).round(2)
    loads[-1] = (total.round(2) - loads[:-1].sum(axis=0)).round(2)
    figures = []
    for foreseen, load in zip(forecasts.T.tolist(), loads.T.tolist(), strict=True):
        pairs = zip([*foreseen, sum(foreseen)], [*load, sum(load)] if actual else [None] * (len(load) + 1), strict=True)
        figures.append([figure for pair in pairs for figure in pair])
    return figures


def _spread(row: Sequence[Cell]) -> list[Cell]:
    """A blank column after every second one."""
    return [cell for i, value in enumerate(row) for cell in ((value, None) if i % 2 == 0 else (value,))]
