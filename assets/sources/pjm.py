"""Define the feeds of PJM: real-time and day-ahead prices from Data Miner 2, which needs a key and bans redistribution.

https://dataminer2.pjm.com lists the products, https://apiportal.pjm.com their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, time
from functools import partial
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.days import age, runs
from assets.parsing.stamps import iso_instant
from warehouse.errors import FeedChanged, FeedUnavailable, NotPublished
from warehouse.market.clock import HOUR, RESOLUTIONS, MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

ZONE = "US-PJM"
TZ = "America/New_York"
HUB, PNODE = "PJM-RTO", 1
API = "https://api.pjm.com/api/v1"
PAGE = 50_000
"""The maximum number of rows per response."""
LONGEST = 31
VERIFIED_AFTER = 8
"""Days after which the verified 5-minute prices are requested.

They appear on the next business day. The unverified ones disappear after 15 days.
"""
KEY = Secret("header", "Ocp-Apim-Subscription-Key", ("PJM_API_KEY",))


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the unverified 5-minute prices of recent days, and the verified prices of older ones."""
    older, recent = ([d for d in days if (age(d, now) >= VERIFIED_AFTER) == is_old] for is_old in (True, False))
    verified = _requests("pjm.lmp_rt", "rt_fivemin_hrl_lmps", "total_lmp_rt", True, older, now)
    return verified + _requests("pjm.lmp_rt", "rt_unverified_fivemin_lmps", "total_lmp_rt", False, recent, now)


def _requests(
    feed: str, product: str, price: str, versioned: bool, days: Sequence[MarketDay], now: int
) -> list[Request]:
    """Return a request per run of at most 31 days."""
    return [_request(feed, product, price, run, now, versioned) for run in runs(days, LONGEST)]


def _request(feed: str, product: str, price: str, run: Sequence[MarketDay], now: int, versioned: bool) -> Request:
    """Return the request for one run of days in prevailing Eastern time, with both ends included.

    If `versioned`, the product keeps superseded rows, and only the current rows are requested.
    """
    params = (
        ("rowCount", str(_page_size(run, now))),
        ("startRow", "1"),
        ("fields", f"datetime_beginning_utc,pnode_id,pnode_name,type,{price}{',row_is_current' * versioned}"),
        ("pnode_id", str(PNODE)),
        ("datetime_beginning_ept", f"{run[0].day} 00:00to{run[-1].day} 23:59"),
        *((("row_is_current", "TRUE"),) if versioned else ()),
    )
    return Request(
        feed, f"{API}/{product}", params, tuple(d.day for d in run), secrets=(KEY,), ext="json", nonce=("rowCount",)
    )


def _page_size(run: Sequence[MarketDay], now: int) -> int:
    """Return the rows per page. It changes each minute for days in progress, because Data Miner repeats responses."""
    return PAGE if age(run[-1], now) > 0 else PAGE - now // 60 % 1000


def parse_lmp_rt(body: bytes, request: Request) -> Rows:
    """Return five-minute prices of one page, USD/MWh. Raises FeedChanged, FeedUnavailable, NotPublished."""
    rows = _parse("total_lmp_rt", SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m"), body, request)
    starts = {ts for readings in rows.readings.values() for ts in readings.ts}
    if len(starts) > 1 and not any(ts % HOUR for ts in starts):
        raise FeedChanged("every price starts on the hour: rt_hrl_lmps instead of five-minute prices")
    return rows


def _parse(price: str, key: SeriesKey, body: bytes, request: Request) -> Rows:
    """Return the prices of one page, USD/MWh. Items are unsorted, and other nodes give no rows.

    Raises FeedUnavailable, NotPublished without items, FeedChanged also if all are of other nodes.
    """
    items, _ = _page(body, request)
    step = RESOLUTIONS[key.resolution]
    rows = Rows()
    starts: list[int] = []
    prices: list[float] = []
    own = [item for item in items if _is_ours(item)]
    if not own:
        raise FeedChanged(f"no price for {HUB}")
    for item in own:
        stamp, value = member(item, "datetime_beginning_utc"), reading(member(item, price), price)
        if value is None or item.get("row_is_current") is False:
            continue
        # Some stamps have a stray second (7/8/2026 3:50:01): they mean the minute.
        start = iso_instant(stamp) // 60 * 60
        if start % step:
            rows.dropped["off the grid"] += 1
            continue
        starts.append(start)
        prices.append(value)
    rows.extend(key, starts, prices)
    return rows


def _is_ours(item: object) -> bool:
    """Check whether an item is a price of the aggregate PJM-RTO. Raises FeedChanged for an item without its node."""
    if not isinstance(item, dict) or ("pnode_id" not in item and "pnode_name" not in item):
        raise FeedChanged("an item has no node")
    return bool(item.get("pnode_id", PNODE) == PNODE and item.get("pnode_name", HUB) == HUB)


def follow(body: bytes, request: Request) -> list[Request]:
    """Return the request for the next page, if totalRows shows that there is one."""
    items, total = _page(body, request)
    following = _first_row(request) + len(items)
    if following > total:
        return []
    params = tuple((name, str(following) if name == "startRow" else value) for name, value in request.params)
    return [replace(request, params=params, part=f"{following} of {total}")]


def _page(body: bytes, request: Request) -> tuple[list[Any], int]:
    """Return the items of a page and the total number. Raises FeedUnavailable for a page of another response."""
    answer = json_of(body)
    items, total = member(answer, "items", list), member(answer, "totalRows", int)
    if not total:
        raise NotPublished("no rows for these days yet")
    if not items or len(items) > total:
        raise FeedChanged(f"{len(items)} of {total} items")
    # Caches have returned stale pages. A response repeats its own request, which reveals them.
    specification = answer.get("searchSpecification")
    row = specification.get("startRow") if isinstance(specification, dict) else None
    if row is not None and "startRow" in dict(request.params) and row != _first_row(request):
        raise FeedUnavailable(f"got the page that starts at row {row}; expected row {_first_row(request)}")
    if request.part and request.part.rpartition(" of ")[2] != str(total):
        raise FeedUnavailable(f"this page reports {total} rows, the previous one {request.part}")
    return items, total


def _first_row(request: Request) -> int:
    return int(dict(request.params).get("startRow", "1"))


SOURCE = Source(
    code="pjm",
    name="PJM Interconnection",
    homepage="https://www.pjm.com/",
    hosts=("api.pjm.com",),
    requests_per_minute=6,
    licence="PJM Data Miner terms: internal use only; no redistribution without membership",
    licence_url="https://www.pjm.com/about-pjm/terms-of-use",
    attribution="Source: PJM Interconnection (Data Miner 2)",
    redistributable="no",
    withheld=True,
    zones=(ZONE,),
    tz=TZ,
    secrets=(KEY,),
    hub=HUB,
    feeds=(
        Feed(
            id="pjm.lmp_rt",
            title=f"PJM real-time 5-minute LMP, {HUB}",
            metrics=(Metric.PRICE,),
            resolution="5m",
            since=date(2018, 4, 1),
            publication=Publication(lag_minutes=5, grace_minutes=30),
            requests=lmp_rt_requests,
            parse=parse_lmp_rt,
            follow=follow,
            every_minutes=5,
            revised_days=1,
            # Beyond 186 days the archive filters only by date, and a date includes every node.
            reach_days=185,
        ),
        Feed(
            id="pjm.lmp_da",
            title=f"PJM day-ahead hourly LMP, {HUB}",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            since=date(2000, 6, 1),
            publication=Publication(daily_at=time(13, 30), day_offset=-1, grace_minutes=120),
            requests=partial(_requests, "pjm.lmp_da", "da_hrl_lmps", "total_lmp_da", True),
            parse=partial(_parse, "total_lmp_da", SeriesKey(ZONE, Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h")),
            follow=follow,
            every_minutes=60,
            reach_days=730,
        ),
    ),
    notes=(
        "Price is the total LMP of the aggregate PJM-RTO (pnode 1), not of a trading hub.",
        "Real-time prices of the last days are unverified and may be corrected. Older ones are verified.",
        "Demand and interchange of US-PJM come from EIA-930.",
    ),
)
