"""Request and parse ERCOT settlement point prices: keyless listings of zips, and the keyed API for earlier days.

The listings (https://www.ercot.com/mp/data-products/data-product-details?id=NP6-905-CD and ...?id=NP4-190-CD) keep some
5 days of real-time files and 30 of day-ahead ones. The keyed API (https://apiexplorer.ercot.com) covers days since its
activation on 2023-12-11. Its archive has the files of earlier days, since 2021-02: each needs a request, 96 per day in
real time. Older prices exist as yearly workbooks (reports 13060 and 13061), which are not read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from assets.parsing.body import (
    columns,
    is_json,
    is_zip,
    json_of,
    member,
    only_lines_with,
    reading,
    table,
    text_of,
    unzipped,
)
from assets.parsing.clocks import wall_instant
from assets.parsing.columns import extend_filled
from assets.parsing.days import age, runs
from assets.parsing.stamps import american_date, clock_minutes, iso_date
from warehouse.errors import FeedChanged, FeedUnavailable, NotPublished
from warehouse.market.clock import RESOLUTIONS, MarketDay
from warehouse.market.feeds import Request, Secret
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

ZONE = "US-ERCOT"
TZ = "America/Chicago"
LISTING = "https://www.ercot.com/misapp/servlets/IceDocListJsonWS"
DOWNLOAD = "https://www.ercot.com/misdownload/servlets/mirDownload"
KEYED = "https://api.ercot.com/api/public-reports"
KEYED_SINCE = date(2023, 12, 11)
"""The first delivery day that the keyed API covers."""
ARCHIVE = f"{KEYED}/archive"
ARCHIVED_SINCE = date(2021, 2, 1)
"""The first delivery day with files in the archive."""
LONGEST = 31
"""Days per keyed request."""
SECRETS = (
    Secret("header", "Ocp-Apim-Subscription-Key", ("ERCOT_API_KEY",)),
    Secret("ercot", "", ("ERCOT_USERNAME", "ERCOT_PASSWORD")),
)
FLAGS = {"N": False, "Y": True, "FALSE": False, "TRUE": True}
"""DSTFlag, since 2026 also RepeatedHourFlag: true in the second, standard-time pass of the repeated hour."""
_ALIASES = {"settlementpointname": "settlementpoint", "repeatedhourflag": "dstflag"}
_STAMPED = re.compile(r"(\d{8})_(\d{4})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Product:
    """One of the two price reports."""

    feed: str
    metric: Metric
    resolution: str
    report: str
    """The listing's reportTypeId."""
    path: str
    """The path under the keyed API."""
    times: tuple[str, ...]
    """The columns that name an interval, in the spelling of `_names`."""
    per_day: int
    """Rows of one settlement point on the longest day."""
    listed_days: int
    """The number of past days that the listing covers completely."""


DAY_AHEAD = Product(
    "ercot.spp_da",
    Metric.PRICE_DAY_AHEAD,
    "1h",
    "12331",
    "np4-190-cd/dam_stlmnt_pnt_prices",
    ("hourending",),
    25,
    30,
)
REAL_TIME = Product(
    "ercot.spp_rt",
    Metric.PRICE,
    "15m",
    "12301",
    "np6-905-cd/spp_node_zone_hub",
    ("deliveryhour", "deliveryinterval"),
    100,
    4,
)


def requests(product: Product, hub: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one listing for recent days, a keyed request per run of older days, and an archive list per day before."""
    listed = tuple(sorted({d.day for d in days if age(d, now) <= product.listed_days}))
    older = [d for d in days if d.day not in listed]
    listing = [_listing(product, listed, now)] if listed else []
    keyed = [_keyed(product, hub, run) for run in runs([d for d in older if d.day >= KEYED_SINCE], LONGEST)]
    return listing + keyed + [_archive(product, day) for day in sorted({d.day for d in older if d.day < KEYED_SINCE})]


def _listing(product: Product, days: tuple[date, ...], now: int) -> Request:
    """Return the request for a listing. `_` makes its URL new, because a cache serves old listings."""
    params = ("reportTypeId", product.report), ("_", str(now))
    return Request(product.feed, LISTING, params, days, kind="listing", ext="json", nonce=("_",))


def _archive(product: Product, day: date) -> Request:
    """Return the request for the archive's files posted around a delivery day, in local times without offset."""
    first = datetime.combine(day, time()) - (timedelta(hours=18) if product is DAY_AHEAD else timedelta(0))
    params = (
        ("postDatetimeFrom", first.isoformat()),
        ("postDatetimeTo", (first + timedelta(hours=30)).isoformat()),
        ("size", "1000"),
    )
    url = f"{ARCHIVE}/{product.path.partition('/')[0]}"
    return Request(product.feed, url, params, (day,), kind="listing", secrets=SECRETS, ext="json")


def _keyed(product: Product, hub: str, run: Sequence[MarketDay]) -> Request:
    params = (
        ("deliveryDateFrom", run[0].day.isoformat()),
        ("deliveryDateTo", run[-1].day.isoformat()),
        ("settlementPoint", hub),
        ("size", str(max(100, product.per_day * len(run)))),
    )
    days = tuple(d.day for d in run)
    return Request(product.feed, f"{KEYED}/{product.path}", params, days, secrets=SECRETS, ext="json")


def follow(product: Product, hub: str, body: bytes, request: Request) -> list[Request]:
    """Return the documents of a listing's requested days, or the next page of a keyed response.

    A day that the listing skips, while it has documents of a later day, is requested from the keyed API. Raises
    FeedChanged.
    """
    if request.url.startswith(ARCHIVE):
        if request.kind != "listing":
            return []
        files = _newest(product, _archived(product, body, request), request.days)
        return files + _next_page(body, request)
    if request.kind == "listing":
        documents = _newest(product, _documents(product, body), request.days)
        listed = {day for document in documents for day in document.days}
        passed = [MarketDay(day, TZ) for day in request.days if listed and day < max(listed) and day not in listed]
        return documents + [_keyed(product, hub, run) for run in runs(passed, LONGEST)]
    return _next_page(body, request) if is_json(body) else []


def _newest(product: Product, files: Iterable[tuple[str, datetime, Request]], days: Sequence[date]) -> list[Request]:
    """Return the files of some days by name and publication time, one per interval: the newest of retries."""
    newest: dict[tuple[date, str], tuple[datetime, Request]] = {}
    for name, published, file in files:
        day = _delivery_day(product, name, published)
        key = day, name.lower().replace("_retry", "")
        if day in days and (key not in newest or newest[key][0] < published):
            newest[key] = published, replace(file, days=(day,), part=name)
    return sorted((file for _, file in newest.values()), key=lambda file: (file.days, file.part))


def _documents(product: Product, body: bytes) -> Iterator[tuple[str, datetime, Request]]:
    """Yield the zips of a listing: the CSV files, not their XML copies."""
    for entry in member(member(json_of(body), "ListDocsByRptTypeRes", dict), "DocumentList", list):
        document = member(entry, "Document", dict)
        name = member(document, "FriendlyName", str)
        if name.lower().endswith("_csv"):
            which = (("doclookupId", str(member(document, "DocID", (str, int)))),)
            published = _moment(document, "PublishDate")
            if published.tzinfo is None:
                raise FeedChanged(f"PublishDate has no UTC offset: {published}")
            yield name, published, Request(product.feed, DOWNLOAD, which, ext="zip")


def _archived(product: Product, body: bytes, request: Request) -> Iterator[tuple[str, datetime, Request]]:
    """Yield the files that the archive lists: the CSV files, not their XML copies."""
    for entry in member(json_of(body), "archives", list):
        name, published = member(entry, "friendlyName", str), _moment(entry, "postDatetime")
        if not name.lower().endswith("xml"):
            which = (("download", str(member(entry, "docId", (str, int)))),)
            yield name, published, Request(product.feed, request.url, which, secrets=SECRETS, ext="zip", once=True)


def _moment(entry: object, name: str) -> datetime:
    text = member(entry, name, str)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise FeedChanged(f"{name} {text[:40]!r}") from None


def _delivery_day(product: Product, name: str, published: datetime) -> date:
    """Return the market day that a document covers.

    Real time: its name contains the end of its quarter hour, and 0000 ends the day before. Day ahead: it is published
    at midday for tomorrow. A document delayed into the night is still for the same day, hence the six hours.
    """
    stamp = _STAMPED.search(name)
    try:
        if product is REAL_TIME and stamp is not None:
            return (datetime.strptime("".join(stamp.groups()), "%Y%m%d%H%M") - timedelta(minutes=15)).date()  # noqa: DTZ007
        if product is REAL_TIME:
            return (published - timedelta(minutes=15)).date()
        return (published - timedelta(hours=6)).date() + timedelta(days=1)
    except (ValueError, OverflowError):
        raise FeedChanged(f"unexpected document {name[:60]!r}, published {published}") from None


def _next_page(body: bytes, request: Request) -> list[Request]:
    """Return the request for the next page, if there is one. A response without rows has page 0 of 0."""
    meta = member(json_of(body), "_meta", dict)
    page, pages = member(meta, "currentPage", int), member(meta, "totalPages", int)
    if not pages:
        return []
    wanted = dict(request.params).get("page", "1")
    if str(page) != wanted:
        raise FeedUnavailable(f"got page {str(page)[:20]}; expected {wanted}")
    if pages <= page:
        return []
    params = tuple(pair for pair in request.params if pair[0] != "page")
    return [replace(request, params=(*params, ("page", str(page + 1))), part=f"page {page + 1}")]


def parse(product: Product, hub: str, body: bytes, request: Request) -> Rows:
    """Return one hub's prices from a zip, its CSV, or a keyed response, without other settlement points.

    A listing gives no rows. Raises NotPublished for a response without any row, FeedChanged otherwise, also if every
    row is of another settlement point.
    """
    rows = Rows()
    if request.kind == "listing":
        return rows
    key, found = SeriesKey(ZONE, product.metric, "USD/MWh", product.resolution), False
    for header, lines, dated in _tables(body, hub):
        places = columns(header, "deliverydate", "settlementpoint", "settlementpointprice", "dstflag", *product.times)
        prices = _hub_prices(lines, places, hub, RESOLUTIONS[product.resolution], dated)
        extend_filled(rows, key, prices)
        found = found or bool(prices)
    if not found:
        raise FeedChanged(f"no price for {hub}")
    return rows


def _tables(body: bytes, hub: str) -> Iterable[tuple[list[str], Iterable[Sequence[Any]], Any]]:
    """Yield header names, lines, and the date parser of every CSV in a zip, or of a keyed response."""
    if is_json(body):
        yield *_keyed_table(json_of(body)), iso_date
        return
    contents = [content for _, content in unzipped(body, depth=1)] if is_zip(body) else [body]
    if not contents:
        raise FeedChanged("zip file is empty")
    for content in contents:
        header, lines = table(only_lines_with(hub, text_of(content)))
        yield _names(header), lines, american_date


def _keyed_table(answer: object) -> tuple[list[str], list[list[Any]]]:
    header = _names([member(entry, "name", str) for entry in member(answer, "fields", list)])
    lines = member(answer, "data", list)
    if not lines:
        raise NotPublished("no rows for these days yet")
    if any(not isinstance(line, list) or len(line) != len(header) for line in lines):
        raise FeedChanged(f"a row does not have the {len(header)} fields")
    return header, lines


def _names(header: Sequence[str]) -> list[str]:
    """Return column names without case, blanks and underscores, and those renamed in 2026 under their old name."""
    plain = [name.lower().replace("_", "").replace(" ", "") for name in header]
    return [_ALIASES.get(name, name) for name in plain]


def _hub_prices(
    lines: Iterable[Sequence[Any]], places: Sequence[int], hub: str, step: int, dated: Any
) -> list[tuple[int, float | None]]:
    """Return interval starts and prices of one settlement point, with None for a blank price.

    Hours are labelled by their end, quarters by their number.
    """
    day, point, price, flag, hour, *quarter = places
    prices = []
    for cells in lines:
        if cells[point] == hub or str(cells[point]).strip() == hub:
            seconds = (_hour(cells[hour]) - 1) * 3600 + sum((_quarter(cells[i]) - 1) * step for i in quarter)
            start = wall_instant(dated(str(cells[day])), seconds, TZ, _is_second_pass(cells[flag]))
            prices.append((start, reading(cells[price], "settlement point price")))
    return prices


def _hour(label: object) -> int:
    """Return the hour 1..24 of `01:00`, `24:00`, `1` or 1. Raises FeedChanged."""
    text = str(label).strip()
    minutes = clock_minutes(text if ":" in text else f"{text}:00")
    if minutes % 60 or minutes < 60:
        raise FeedChanged(f"{text[:20]!r} is not the end of an hour")
    return minutes // 60


def _quarter(label: object) -> int:
    text = str(label).strip()
    if text not in ("1", "2", "3", "4"):
        raise FeedChanged(f"{text[:20]!r} is not a quarter hour")
    return int(text)


def _is_second_pass(flag: object) -> bool:
    second = FLAGS.get(str(flag).strip().upper())
    if second is None:
        raise FeedChanged(f"unexpected repeated-hour flag {str(flag)[:20]!r}")
    return second
