"""MISO's total load: five minutes of the running day, hours from the daily workbook."""

from __future__ import annotations

from assets.parsing.body import (
    json_of,
    member,
    number,
)
from assets.parsing.clocks import fixed_instant
from assets.parsing.dropped import on_grid
from assets.parsing.stamps import clock_minutes, named_date
from assets.sources.miso import workbook
from assets.sources.miso.requests import EST, ZONE
from warehouse.market import Metric, Request
from warehouse.schema import Rows, SeriesKey

LOAD_COLUMN = "MISO ActualLoad (MWh)"


def parse_load(body: bytes, request: Request) -> Rows:
    """Five-minute load so far today; only RefId says which day that is, and everything is a string."""
    answer = member(json_of(body), "LoadInfo", dict)
    day = named_date(member(answer, "RefId", str).partition(" ")[0])
    starts: list[int] = []
    values: list[float] = []
    for entry in member(answer, "FiveMinTotalLoad", list):
        reading = member(entry, "Load", dict)
        value = member(reading, "Value")
        if value not in (None, ""):
            starts.append(fixed_instant(day, clock_minutes(member(reading, "Time", str)) * 60, EST))
            values.append(number(value, "load"))
    rows = Rows()
    rows.extend(SeriesKey(ZONE, Metric.DEMAND, "MW", "5m"), *on_grid(rows, starts, values))
    return rows


def parse_load_daily(body: bytes, request: Request) -> Rows:
    """Hourly actual load; the days ahead in the same workbook have forecasts only."""
    rows = Rows()
    for day, hour, value in workbook.hours(body, LOAD_COLUMN):
        rows.add(ZONE, Metric.DEMAND, fixed_instant(day, (hour - 1) * 3600, EST), value, "MW", "1h")
    return rows
