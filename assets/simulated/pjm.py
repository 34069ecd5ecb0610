"""Simulated PJM Data Miner 2: five-minute and hourly prices of the whole area, paged.

Quirks that are kept: unverified prices kept for fifteen days and corrected by the verified ones of the next business
day, a range whose end is included, an empty page where nothing is out yet. The original: https://dataminer2.pjm.com.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, json_answer
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.pjm import API, HUB, PNODE, TZ, ZONE
from warehouse.market.clock import DAY, HOUR, MarketDay, local_instant, utc
from warehouse.market.feeds import Request

FIVE = 300
UNVERIFIED_AFTER = 200
"""Seconds from an interval's end until its price is out."""
UNVERIFIED_DAYS = 15
VERIFIED_AT, AUCTION_AT = time(15), time(13, 20)
"""Of the next business day, and of the day before."""


@dataclass(frozen=True, slots=True)
class Product:
    """One feed of Data Miner."""

    name: str
    price: str
    step: int
    verified: bool = False


DAY_AHEAD = Product("da_hrl_lmps", "total_lmp_da", HOUR)
UNVERIFIED = Product("rt_unverified_fivemin_lmps", "total_lmp_rt", FIVE)
VERIFIED = Product("rt_fivemin_hrl_lmps", "total_lmp_rt", FIVE, verified=True)
PRODUCTS = {f"{urlsplit(API).path}/{product.name}": product for product in (DAY_AHEAD, UNVERIFIED, VERIFIED)}


def answer(request: Request, now: int) -> Answer:
    """The requested page at `now`; 404 for another feed."""
    product = PRODUCTS.get(urlsplit(request.url).path)
    if product is None:
        return json_answer({"statusCode": 404, "message": "Resource not found"}, 404)
    params = dict(request.params)
    starts = _starts(product, params["datetime_beginning_ept"], now)
    return json_answer(_page(params, _rows(product, starts, now)))


def _starts(product: Product, span: str, now: int) -> Ints:
    """The intervals of a range in prevailing Eastern time that are there at `now`."""
    first, last = (datetime.fromisoformat(text) for text in span.split("to"))
    begin, end = local_instant(first, TZ), local_instant(last, TZ, second_pass=True)
    since, until = _available(product, now)
    step = product.step
    return np.arange(max(-(-begin // step) * step, since), min(end + 1, until), step, dtype=np.int64)


def _available(product: Product, now: int) -> tuple[int, int]:
    """First and last instant (exclusive) at which intervals of a product begin that are published at `now`."""
    today = MarketDay.at(now, TZ)
    if product is DAY_AHEAD:
        return 0, (today.next(2) if now >= _wall(today.day, AUCTION_AT) else today.next()).start
    if product is UNVERIFIED:
        return today.next(-UNVERIFIED_DAYS).start, (now - UNVERIFIED_AFTER) // FIVE * FIVE
    day = today
    while _verified_at(day.day) > now:
        day = day.next(-1)
    return 0, day.end


def _verified_at(day: date) -> int:
    """When a day's prices are verified: in the afternoon of the next business day."""
    business = day + timedelta(days=1)
    while business.weekday() > 4:
        business += timedelta(days=1)
    return _wall(business, VERIFIED_AT)


def _wall(day: date, at: time) -> int:
    return local_instant(datetime.combine(day, at), TZ)


def _rows(product: Product, starts: Ints, now: int) -> list[dict[str, Any]]:
    """The prices of PJM-RTO by time."""
    columns = zip(starts.tolist(), prices(product, starts, now).round(6).tolist(), strict=True)
    node = {"pnode_id": PNODE, "pnode_name": HUB, "type": "ZONE"}
    current = {} if product is UNVERIFIED else {"row_is_current": True}
    return [
        {"datetime_beginning_utc": f"{utc(ts):%Y-%m-%dT%H:%M:%S}", **node, product.price: price, **current}
        for ts, price in columns
    ]


def prices(product: Product, starts: Ints, now: int) -> Floats:
    """USD/MWh of PJM-RTO: the model's; unverified prices stay first estimates as long as they are kept."""
    if product is DAY_AHEAD:
        return grid.price(ZONE, starts, HOUR, "day_ahead")
    exact = grid.price(ZONE, starts)
    return (
        exact
        if product.verified
        else grid.as_published(exact, starts, now, "pjm unverified", settles=2 * UNVERIFIED_DAYS * DAY)
    )


def _page(params: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The requested page of these rows."""
    first, count = int(params.get("startRow", "1")), int(params.get("rowCount", "25"))
    items = rows[first - 1 : first - 1 + count]
    return {"items": items, "searchSpecification": {"startRow": first}, "totalRows": len(rows)}
