"""Parse MISO's total load: five minutes of the current day, hours and their forecast from the daily workbook."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import date

from assets.parsing.body import json_of, member, reading
from assets.parsing.clocks import fixed_instant
from assets.parsing.columns import filled, keep, on_grid
from assets.parsing.stamps import clock_minutes, named_date
from assets.sources.miso import workbook
from assets.sources.miso.requests import EST, ZONE
from warehouse.errors import FeedChanged
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

LOAD_COLUMN = "MISO ActualLoad (MWh)"
FORECAST_COLUMN = "MISO MTLF (MWh)"
_REFERENCE = re.compile(r"(\S+) - Interval (\d\d?:\d\d) EST", re.ASCII)


def parse_load(body: bytes, request: Request) -> Rows:
    """Return today's five-minute load so far. The values are texts.

    Only RefId gives the day and the newest interval: a list with later intervals is still yesterday's.
    """
    answer = member(json_of(body), "LoadInfo", dict)
    reference = _REFERENCE.fullmatch(member(answer, "RefId", str).strip())
    if reference is None:
        raise FeedChanged(f"unexpected RefId {answer['RefId'][:40]!r}")
    day = named_date(reference[1])
    newest = fixed_instant(day, clock_minutes(reference[2]) * 60, EST)
    loads = [member(entry, "Load", dict) for entry in member(answer, "FiveMinTotalLoad", list)]
    starts, values = filled(
        [fixed_instant(day, clock_minutes(member(load, "Time", str)) * 60, EST) for load in loads],
        [reading(member(load, "Value"), "load") for load in loads],
    )
    rows = Rows()
    columns = keep(rows, starts, values, lambda start: start <= newest, "after the interval that RefId names")
    rows.extend(SeriesKey(ZONE, Metric.DEMAND, "MW", "5m"), *on_grid(rows, *columns))
    return rows


def parse_load_daily(body: bytes, request: Request) -> Rows:
    """Return hourly actual load, and the forecast of the hours that were ahead when the workbook was published.

    The workbook states only the day of publication, and the forecast counts from its midnight. Its last day is one
    value 24 times and gives no rows.
    """
    rows, sheet = Rows(), workbook.first_sheet(body)
    for day, hour, value in workbook.hours(sheet, LOAD_COLUMN):
        # The workbook contains sums of floats: 67,391.01000000001.
        rows.add(ZONE, Metric.DEMAND, fixed_instant(day, (hour - 1) * 3600, EST), round(value, 6), "MW", "1h")
    published = workbook.published(sheet)
    ahead: dict[date, list[tuple[int, float]]] = defaultdict(list)
    for day, hour, value in workbook.hours(sheet, FORECAST_COLUMN) if published is not None else ():
        ahead[day].append((fixed_instant(day, (hour - 1) * 3600, EST), round(value, 6)))
    for hours in ahead.values():
        if max(Counter(value for _, value in hours).values()) > len(hours) // 2:
            rows.dropped["a day of one value"] += len(hours)
        elif published is not None:
            key, columns = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h"), zip(*hours, strict=True)
            rows.extend_vintage(key, fixed_instant(published, 0, EST), "body", *map(list, columns))
    return rows
