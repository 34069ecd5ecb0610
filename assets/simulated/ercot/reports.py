"""Simulate ERCOT price reports: listed documents with a zip by number, and pages of the keyed API.

A document's number encodes its identity, so no list is stored. Quirks: `xhr` in the names of the repeated hour, expiry
after 5 (real time) and 31 days. Hours and quarters are in local time with a flag on the repeated hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.answer import lines, local, short, zipped
from assets.sources.ercot import HUB
from assets.sources.ercot import prices as prices_of
from assets.sources.ercot.prices import KEYED_SINCE, TZ, ZONE
from warehouse.market.clock import HOUR, MarketDay, local_date, market_days

QUARTER = 900
OUT_AFTER = 121
"""Seconds from a quarter's end until its prices are published."""
DAM_AT = 12 * HOUR + 32 * 60 + 39 - 24 * HOUR
"""Seconds from the delivery day's midnight: half past noon of the day before, after any clock change."""
POINTS = {HUB: 1.0, "HB_BUSAVG": 0.995, "LZ_NORTH": 0.995}
"""The ratio to the hub average by settlement point. The real reports contain a thousand points."""


@dataclass(frozen=True, slots=True)
class Report:
    """A price report."""

    product: prices_of.Product
    file: str
    step: int
    kept_days: int
    """Days until a document expires."""
    first_number: int
    times: tuple[str, ...]
    """The columns that identify an interval."""


DAY_AHEAD = Report(prices_of.DAY_AHEAD, "DAMSPNP4190", HOUR, 31, 2_000_000_000, ("HourEnding",))
REAL_TIME = Report(prices_of.REAL_TIME, "SPPHLZNP6905", QUARTER, 5, 1_000_000_000, ("DeliveryHour", "DeliveryInterval"))
REPORTS = (DAY_AHEAD, REAL_TIME)


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A file. `published` is in Unix seconds, and `start` is that of its quarter or delivery day."""

    report: Report
    number: int
    name: str
    published: int
    start: int


@lru_cache(maxsize=128)
def prices(report: Report, day: date) -> dict[str, list[float]]:
    """Return the model's prices of a market day at every point, with two decimals."""
    market_day = MarketDay(day, TZ)
    starts = np.arange(market_day.start, market_day.end, report.step)
    hub = grid.price(ZONE, starts, report.step, "day_ahead" if report is DAY_AHEAD else "real_time")
    return {point: (share * hub).round(2).tolist() for point, share in POINTS.items()}


def listing(report: Report, now: int) -> bytes:
    """Return the published documents that have not expired, the newest first."""
    today = local_date(now, TZ)
    days = market_days(today - timedelta(days=report.kept_days), today, TZ)
    known = [entry for day in days for entry in _entries(report, day.day) if entry[0] <= now]
    known.sort(key=lambda entry: -entry[0])
    return b'{"ListDocsByRptTypeRes":{"DocumentList":[' + b",".join(text for _, text in known) + b"]}}"


@lru_cache(maxsize=128)
def _entries(report: Report, day: date) -> list[tuple[int, bytes]]:
    """Return each document of a day: its publication time, and its entry in a listing."""
    entries = []
    for document in documents(report, day):
        posted = local(document.published, TZ).isoformat()
        entry = {"FriendlyName": document.name, "DocID": str(document.number), "PublishDate": posted}
        entries.append((document.published, orjson.dumps({"Document": entry})))
    return entries


@lru_cache(maxsize=128)
def documents(report: Report, day: date) -> tuple[ListedDocument, ...]:
    """Return the documents of the quarters that end on a day, or of the auction held on it."""
    market_day = MarketDay(day, TZ)
    if report is REAL_TIME:
        return tuple(map(_of_quarter, range(market_day.start, market_day.end, QUARTER)))
    delivery, number = market_day.next().start, report.first_number + day.toordinal()
    return (ListedDocument(report, number, f"{report.file}_csv", delivery + DAM_AT, delivery),)


def _of_quarter(end: int) -> ListedDocument:
    moment = local(end, TZ)
    name = f"{REAL_TIME.file}_{moment:%Y%m%d_%H%M}{'xhr' if moment.fold else ''}_csv"
    number = REAL_TIME.first_number + end // QUARTER
    return ListedDocument(REAL_TIME, number, name, end + OUT_AFTER, end - QUARTER)


def archive(report: Report, params: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return the files posted between two local times, the newest first. The archive never expires."""
    first, last = (datetime.fromisoformat(params[name]) for name in ("postDatetimeFrom", "postDatetimeTo"))
    posted = [
        (local(document.published, TZ).replace(tzinfo=None), document)
        for day in market_days(first.date(), last.date(), TZ)
        for document in documents(report, day.day)
        if document.published <= now
    ]
    entries = [
        {"docId": d.number, "friendlyName": d.name.removesuffix("_csv"), "postDatetime": moment.isoformat()}
        for moment, d in sorted(posted, key=lambda pair: -pair[1].published)
        if first <= moment <= last
    ]
    return {"_meta": {"totalPages": min(len(entries), 1), "currentPage": 1}, "archives": entries}


def download(number: int, now: int, archived: bool = False) -> bytes:
    """Return the zip of a number; empty if the document is not published at `now` or has expired (unless
    `archived`).
    """
    report, day = _place(number)
    old = local_date(now, TZ) - day
    if not timedelta(0) <= old or (old > timedelta(days=report.kept_days) and not archived):
        return b""
    known = (d for d in documents(report, day) if d.number == number and d.published <= now)
    return next((zipped([(f"{d.name}.csv", _text(d))], local(d.published, TZ), 1) for d in known), b"")


def _place(number: int) -> tuple[Report, date]:
    """Return the report of a number, and the day whose documents include it."""
    if number < DAY_AHEAD.first_number:
        end = (number - REAL_TIME.first_number) * QUARTER
        return REAL_TIME, local_date(max(end, 0), TZ)
    ordinal = number - DAY_AHEAD.first_number
    return DAY_AHEAD, date.fromordinal(min(max(1, ordinal), date.max.toordinal()))


def _text(document: ListedDocument) -> bytes:
    """Return the CSV of an auction or of a quarter. Hours are labelled by their end, the repeated hour flagged Y."""
    day, report = MarketDay.at(document.start, TZ), document.report
    starts = range(day.start, day.end, report.step)
    wanted = starts if report is DAY_AHEAD else [document.start]
    rows = [["DeliveryDate", *report.times, "SettlementPoint", "SettlementPointPrice", "DSTFlag"]]
    for start in wanted:
        moment, place = local(start, TZ), starts.index(start)
        head = [f"{moment:%m/%d/%Y}", *map(str, _times(report, start))]
        rows += [
            [*head, point, short(series[place], 2), "NY"[moment.fold]]
            for point, series in sorted(prices(report, day.day).items())
        ]
    return lines(rows, "\n")


def _times(report: Report, start: int) -> Sequence[str | int]:
    """Return the identification of an interval in local time: `24:00`, or hour ending and quarter."""
    moment = local(start, TZ)
    hour = moment.hour + 1
    return (f"{hour:02d}:00",) if report is DAY_AHEAD else (hour, moment.minute // 15 + 1)


def keyed(report: Report, params: Mapping[str, str], now: int) -> dict[str, Any]:
    """Return the requested page: published prices of a settlement point for a range of delivery days."""
    days = market_days(date.fromisoformat(params["deliveryDateFrom"]), date.fromisoformat(params["deliveryDateTo"]), TZ)
    point = params["settlementPoint"]
    rows = [
        [str(day), *_times(report, start), point, price, bool(local(start, TZ).fold)]
        for day in days
        if point in POINTS and day.day >= KEYED_SINCE
        for start, price in zip(range(day.start, day.end, report.step), prices(report, day.day)[point], strict=True)
        if _out_at(report, start) <= now
    ]
    page, size = int(params.get("page", "1")), int(params.get("size", "1000"))
    names = ("deliveryDate", *report.times, "settlementPoint", "settlementPointPrice", "DSTFlag")
    return {
        "_meta": {"totalPages": -(-len(rows) // size), "currentPage": page if rows else 0},
        "fields": [{"name": name} for name in names],
        "data": rows[(page - 1) * size : page * size],
    }


def _out_at(report: Report, start: int) -> int:
    """Return the publication time of an interval's price."""
    return MarketDay.at(start, TZ).start + DAM_AT if report is DAY_AHEAD else start + QUARTER + OUT_AFTER
