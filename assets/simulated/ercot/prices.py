"""Renders ERCOT's settlement point prices: the CSV of a report, and pages of the keyed API.

For the documents that hold the CSV see `documents`. Quirks that are kept: hours and quarters by the wall clock with a
flag on the repeated hour, which the keyed API lists first. The real reports hold a thousand more points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from assets.simulated import grid
from assets.simulated.format import lines, local, short
from assets.sources.ercot import HUB
from assets.sources.ercot.prices import KEYED_SINCE, TZ, ZONE
from warehouse.market.clock import HOUR, MarketDay, market_days

QUARTER = 900
OUT_AFTER = 121
"""Seconds from a quarter's end until its prices are out."""
DAM_AT = 12 * HOUR + 32 * 60 + 39 - 24 * HOUR
"""Seconds from the delivery day's midnight: half past noon of the day before, after any clock change."""

POINTS: dict[str, tuple[float, tuple[str, ...], str]] = {
    "7RNCHSLR_ALL": (0.96, ("RN",), ""),
    "HB_BUSAVG": (0.995, ("SH",), "hbBusAvg"),
    HUB: (1.0, ("AH",), "hbHubAvg"),
    "HB_HOUSTON": (1.02, ("HU",), "hbHouston"),
    "HB_NORTH": (0.99, ("HU",), "hbNorth"),
    "HB_PAN": (0.93, ("HU",), "hbPan"),
    "HB_SOUTH": (1.01, ("HU",), "hbSouth"),
    "HB_WEST": (0.98, ("HU",), "hbWest"),
    "LZ_AEN": (1.01, ("LZ", "LZEW"), "lzAen"),
    "LZ_CPS": (1.015, ("LZ", "LZEW"), "lzCps"),
    "LZ_HOUSTON": (1.025, ("LZ", "LZEW"), "lzHouston"),
    "LZ_LCRA": (1.005, ("LZ", "LZEW"), "lzLcra"),
    "LZ_NORTH": (0.995, ("LZ", "LZEW"), "lzNorth"),
    "LZ_RAYBN": (0.99, ("LZ", "LZEW"), "lzRaybn"),
    "LZ_SOUTH": (1.02, ("LZ", "LZEW"), "lzSouth"),
    "LZ_WEST": (0.99, ("LZ", "LZEW"), "lzWest"),
}
"""Settlement point -> its ratio to the hub average, its point types, and its name on the page of prices."""


class Label(NamedTuple):
    """ERCOT's wall-clock label of an interval: hour ending 1..24, quarter 1..4, and the repeated-hour flag."""

    day: date
    hour: int
    quarter: int
    second: bool


@dataclass(frozen=True, slots=True)
class Report:
    """One of the two price reports, in the words of the listing and the keyed API."""

    number: str
    emil: str
    path: str
    title: str
    file: str
    fields: tuple[tuple[str, str, str, bool], ...]
    """Name, label, type, and whether a range of it can be asked for."""
    order: str


_DAY = ("deliveryDate", "Delivery Date", "DATE", True)
_POINT = ("settlementPoint", "Settlement Point", "VARCHAR", False)
_PRICE = ("settlementPointPrice", "Settlement Point Price", "DOUBLE", True)
_FLAG = ("DSTFlag", "DST Flag", "BOOLEAN", False)
DAY_AHEAD = Report(
    "12331",
    "np4-190-cd",
    "dam_stlmnt_pnt_prices",
    "DAM Settlement Point Prices",
    "DAMSPNP4190",
    (_DAY, ("hourEnding", "Hour Ending", "VARCHAR", False), _POINT, _PRICE, _FLAG),
    "deliveryDate: DESC,hourEnding: ASC,settlementPoint: ASC",
)
REAL_TIME = Report(
    "12301",
    "np6-905-cd",
    "spp_node_zone_hub",
    "Settlement Point Prices at Resource Nodes, Hubs and Load Zones",
    "SPPHLZNP6905",
    (
        _DAY,
        ("deliveryHour", "Delivery Hour", "INTEGER", True),
        ("deliveryInterval", "Delivery Interval", "INTEGER", True),
        _POINT,
        ("settlementPointType", "Settlement Point Type", "VARCHAR", False),
        _PRICE,
        _FLAG,
    ),
    "deliveryDate: DESC,deliveryHour: ASC,deliveryInterval: ASC,settlementPoint: ASC",
)
REPORTS = {report.number: report for report in (DAY_AHEAD, REAL_TIME)}
Prices = Mapping[str, Sequence[float]]
"""Settlement point -> USD/MWh, an interval each."""


def label(start: int) -> Label:
    """The label of the interval that starts at an instant."""
    moment = local(start, TZ)
    return Label(moment.date(), moment.hour + 1, moment.minute // 15 + 1, bool(moment.fold))


def step_of(report: Report) -> int:
    """Seconds of its intervals."""
    return HOUR if report is DAY_AHEAD else QUARTER


@lru_cache(maxsize=128)
def prices(report: Report, day: date) -> Prices:
    """The model's prices of a market day at every point, with two decimals."""
    market_day, step = MarketDay(day, TZ), step_of(report)
    starts = np.arange(market_day.start, market_day.end, step)
    hub = grid.price(ZONE, starts, step, "day_ahead" if report is DAY_AHEAD else "real_time")
    return {point: (share * hub).round(2).tolist() for point, (share, *_) in POINTS.items()}


def out_at(report: Report, start: int) -> int:
    """When the price of an interval comes out."""
    return MarketDay.at(start, TZ).start + DAM_AT if report is DAY_AHEAD else start + QUARTER + OUT_AFTER


def render_day_ahead(starts: Sequence[int], by_point: Prices) -> bytes:
    """The csv of the auction: hours labelled by their end, the second pass of the repeated one flagged Y."""
    rows = ["DeliveryDate,HourEnding,SettlementPoint,SettlementPointPrice,DSTFlag"]
    for i, start in enumerate(starts):
        at = label(start)
        rows += [
            f"{at.day:%m/%d/%Y},{at.hour:02d}:00,{point},{values[i]:6.2f},{'NY'[at.second]}"
            for point, values in sorted(by_point.items())
        ]
    return lines(rows, "\n")


def render_real_time(start: int, by_point: Mapping[str, float]) -> bytes:
    """The csv of a quarter: a row for every type of a point."""
    rows = [
        "DeliveryDate,DeliveryHour,DeliveryInterval,SettlementPointName,SettlementPointType,SettlementPointPrice,DSTFlag"
    ]
    at = label(start)
    head, flag = f"{at.day:%m/%d/%Y},{at.hour},{at.quarter}", "NY"[at.second]
    for point, price in sorted(by_point.items()):
        rows += [f"{head},{point},{kind},{short(price, 2)},{flag}" for kind in POINTS[point][1]]
    return lines(rows, "\n")


def keyed(report: Report, params: Mapping[str, str], now: int) -> dict[str, Any]:
    """The requested page: published prices of one settlement point, delivery days from..to, the newest day first."""
    days = market_days(date.fromisoformat(params["deliveryDateFrom"]), date.fromisoformat(params["deliveryDateTo"]), TZ)
    point = params["settlementPoint"]
    rows = [
        (label(start), price)
        for day in days
        if point in POINTS and day.day >= KEYED_SINCE
        for start, price in zip(range(day.start, day.end, step_of(report)), prices(report, day.day)[point], strict=True)
        if out_at(report, start) <= now
    ]
    rows.sort(key=lambda row: (-row[0].day.toordinal(), row[0].hour, row[0].quarter, not row[0].second))
    query = {name: value for name, value in params.items() if name not in ("page", "size")}
    page, size = int(params.get("page", "1")), int(params.get("size", "1000"))
    base = f"https://api.ercot.com/api/public-reports/{report.emil}"
    return {
        "_meta": {
            "totalRecords": len(rows),
            "pageSize": size,
            "totalPages": -(-len(rows) // size),
            "currentPage": page if rows else 0,
            "query": {"parameterCount": len(query), "parameters": query, "sortedBy": report.order},
        },
        "report": {
            "reportName": report.path,
            "reportDisplayName": report.title,
            "reportId": report.number,
            "reportEMIL": report.emil.upper(),
            "downloadLimit": 2_000_000,
        },
        "fields": [_field(i, *field) for i, field in enumerate(report.fields, start=1)],
        "data": [_cells(report, at, point, price) for at, price in rows[(page - 1) * size : page * size]],
        "_links": {"self": {"href": f"{base}/{report.path}"}, "parent": {"href": base}},
    }


def _field(place: int, name: str, words: str, kind: str, ranged: bool) -> dict[str, Any]:
    return {
        "name": name,
        "label": words,
        "cardinality": place,
        "dataType": kind,
        "searchable": True,
        "sortable": True,
        "hasRange": ranged,
    }


def _cells(report: Report, at: Label, point: str, price: float) -> list[Any]:
    if report is DAY_AHEAD:
        return [at.day.isoformat(), f"{at.hour:02d}:00", point, price, at.second]
    return [at.day.isoformat(), at.hour, at.quarter, point, POINTS[point][1][0], price, at.second]
