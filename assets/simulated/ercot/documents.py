"""Simulated ERCOT market information: listed documents, their names and times, and the zip behind each number.

A document's number encodes which one it is, so no list is kept. Quirks that are kept: an XML twin of each (only listed
here), retries that correct a wrong first file, `xhr` in the names of the repeated hour, expiry after 5
(real time) and 31 days.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from assets.simulated.answer import zipped
from assets.simulated.ercot.prices import (
    DAM_AT,
    DAY_AHEAD,
    OUT_AFTER,
    QUARTER,
    REAL_TIME,
    Report,
    prices,
    render_day_ahead,
    render_real_time,
)
from assets.simulated.format import choice, local
from assets.sources.ercot.prices import TZ
from warehouse.market.clock import HOUR, MarketDay, local_date, market_days

KEPT_DAYS = {REAL_TIME.number: 5, DAY_AHEAD.number: 31}
"""Days until a document expires, by its report."""
RETRY_AFTER = 22 * 60
"""Seconds from a quarter's end to the retry of a wrong file."""
WRONG = 1.07
"""How far off its prices are."""
_FIRST_NUMBER = {REAL_TIME.number: 1_000_000_000, DAY_AHEAD.number: 2_000_000_000}
_NUMBERS = 4
"""Of a quarter, or of an auction: csv and xml, each perhaps once more."""


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """One file. `published` is in Unix seconds; `start` is that of the quarter or the delivery day that it is about."""

    report: Report
    number: int
    name: str
    published: int
    start: int
    wrong: bool = False


def listing(report: Report, now: int) -> bytes:
    """What has come out and not expired, the newest first."""
    today = local_date(now, TZ)
    days = market_days(today - timedelta(days=KEPT_DAYS[report.number]), today, TZ)
    known = [entry for day in days for entry in _entries(report, day.day) if entry[0] <= now]
    known.sort(key=lambda entry: -entry[0])
    return b'{"ListDocsByRptTypeRes":{"DocumentList":[' + b",".join(text for _, text in known) + b"]}}"


@lru_cache(maxsize=128)
def _entries(report: Report, day: date) -> list[tuple[int, bytes]]:
    """When each document of a day comes out, and its entry in a listing."""
    return [(document.published, render_entry(document)) for document in documents(report, day)]


@lru_cache(maxsize=128)
def documents(report: Report, day: date) -> tuple[ListedDocument, ...]:
    """The documents of the quarters that end on a day, or of the auction held on it."""
    if report is REAL_TIME:
        market_day = MarketDay(day, TZ)
        return tuple(d for end in range(market_day.start, market_day.end, QUARTER) for d in _of_quarter(end))
    delivery = MarketDay(day, TZ).next().start
    return tuple(_twins(report, _NUMBERS * day.toordinal(), report.file, delivery + DAM_AT, delivery))


def _of_quarter(end: int) -> Iterator[ListedDocument]:
    moment = local(end, TZ)
    stamp = f"{moment:%Y%m%d_%H%M}{'xhr' if moment.fold else ''}"
    number, start = _NUMBERS * (end // QUARTER), end - QUARTER
    wrong = choice(f"ercot {end}", moment.date(), 500) == 0
    yield from _twins(REAL_TIME, number, f"{REAL_TIME.file}_{stamp}", end + OUT_AFTER, start, wrong)
    if wrong:
        yield from _twins(REAL_TIME, number + 2, f"{REAL_TIME.file}_retry_{stamp}", end + RETRY_AFTER, start)


def _twins(
    report: Report, number: int, stem: str, published: int, start: int, wrong: bool = False
) -> list[ListedDocument]:
    first = _FIRST_NUMBER[report.number] + number
    return [
        ListedDocument(report, first + i, f"{stem}_{form}", published, start, wrong)
        for i, form in enumerate(("csv", "xml"))
    ]


def render_entry(document: ListedDocument) -> bytes:
    """A document in a listing."""
    moment = local(document.published, TZ)
    gone = datetime.combine(
        moment.date() + timedelta(days=KEPT_DAYS[document.report.number]), datetime.max.time(), moment.tzinfo
    )
    return orjson.dumps(
        {
            "Document": {
                "ExpiredDate": gone.isoformat(timespec="seconds"),
                "ILMStatus": "EXT",
                "SecurityStatus": "P",
                "ContentSize": str(180_000 + document.number % 9_973),
                "Extension": "zip",
                "ReportTypeID": document.report.number,
                "Prefix": "cdr",
                "FriendlyName": document.name,
                "ConstructedName": f"{_constructed(document, '%H%M%S246')}.{document.name}.zip",
                "DocID": str(document.number),
                "PublishDate": moment.isoformat(),
                "ReportName": document.report.title,
                "DUNS": "0000000000000000",
                "DocCount": "0",
            }
        }
    )


def archive(report: Report, params: Mapping[str, str], now: int) -> dict[str, Any]:
    """The files posted between two local times, the newest first; the archive has csv alone, and never expires."""
    first, last = (datetime.fromisoformat(params[name]) for name in ("postDatetimeFrom", "postDatetimeTo"))
    posted = [
        (moment, document)
        for day in market_days(first.date(), last.date(), TZ)
        for document in documents(report, day.day)
        if document.name.endswith("_csv") and document.published <= now
        if first <= (moment := local(document.published, TZ).replace(tzinfo=None)) <= last
    ]
    posted.sort(key=lambda pair: pair[1].published, reverse=True)
    url = f"https://api.ercot.com/api/public-reports/archive/{report.emil}"
    entries = [
        {
            "emilId": report.emil.upper(),
            "docId": document.number,
            "friendlyName": document.name.removesuffix("_csv"),
            "postDatetime": moment.isoformat(timespec="seconds"),
            "_links": {"endpoint": {"href": f"{url}?download={document.number}"}},
        }
        for moment, document in posted
    ]
    pages = {"totalRecords": len(entries), "pageSize": 1000, "totalPages": min(len(entries), 1), "currentPage": 1}
    return {"_meta": pages, "archives": entries}


def _constructed(document: ListedDocument, time: str) -> str:
    return f"cdr.{document.report.number:0>8}.0000000000000000.{local(document.published, TZ):%Y%m%d.{time}}"


def download(number: int, now: int, archived: bool = False) -> bytes:
    """The zip of that number; empty where there is no such csv document at `now`, or, outside the archive, no more."""
    report, day = _place(number)
    old = local_date(now, TZ) - day
    if not timedelta(0) <= old or (old > timedelta(days=KEPT_DAYS[report.number]) and not archived):
        return b""
    known = (d for d in documents(report, day) if d.number == number and d.published <= now and d.name.endswith("_csv"))
    return next(map(_zipped, known), b"")


def _place(number: int) -> tuple[Report, date]:
    """Which report a number is of, and the day among whose documents it stands."""
    if number < _FIRST_NUMBER[DAY_AHEAD.number]:
        end = (number - _FIRST_NUMBER[REAL_TIME.number]) // _NUMBERS * QUARTER
        return REAL_TIME, local_date(max(end, 0), TZ)
    ordinal = (number - _FIRST_NUMBER[DAY_AHEAD.number]) // _NUMBERS
    return DAY_AHEAD, date.fromordinal(min(max(1, ordinal), date.max.toordinal()))


def _zipped(document: ListedDocument) -> bytes:
    name = f"{_constructed(document, '%H%M%S')}.{document.name.removesuffix('_csv')}.csv"
    return zipped([(name, _text(document))], local(document.published, TZ), level=1)


def _text(document: ListedDocument) -> bytes:
    day = MarketDay.at(document.start, TZ)
    by_point = prices(document.report, day.day)
    if document.report is DAY_AHEAD:
        return render_day_ahead(range(day.start, day.end, HOUR), by_point)
    place, factor = (document.start - day.start) // QUARTER, WRONG if document.wrong else 1.0
    return render_real_time(
        document.start, {point: round(factor * series[place], 2) for point, series in by_point.items()}
    )
