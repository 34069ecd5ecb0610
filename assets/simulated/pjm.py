"""Simulate PJM Data Miner 2: five-minute and hourly prices of the whole area, paged.

Quirks: unverified prices are kept for fifteen days, and the verified prices of the next business day correct them. A
range includes its end, and a page is empty if nothing is published yet. The original: https://dataminer2.pjm.com.
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
"""Seconds from an interval's end until its price is published."""
UNVERIFIED_DAYS = 15
VERIFIED_AT, AUCTION_AT = time(15), time(13, 20)
"""Publication times on the next business day, and on the day before."""


@dataclass(frozen=True, slots=True)
class Product:
    """A feed of Data Miner."""

    name: str
    price: str
    step: int
    verified: bool = False


DAY_AHEAD = Product("da_hrl_lmps", "total_lmp_da", HOUR)
UNVERIFIED = Product("rt_unverified_fivemin_lmps", "total_lmp_rt", FIVE)
VERIFIED = Product("rt_fivemin_hrl_lmps", "total_lmp_rt", FIVE, verified=True)
PRODUCTS = {f"{urlsplit(API).path}/{product.name}": product for product in (DAY_AHEAD, UNVERIFIED, VERIFIED)}


def simulate_response(request: Request, now: int) -> Answer:
    """Return the requested page at `now`; 404 for other feeds."""
    product = PRODUCTS.get(urlsplit(request.url).path)
    if product is None:
        return json_answer({"statusCode": 404, "message": "Resource not found"}, 404)
    params = dict(request.params)
    starts = _starts(product, params["datetime_beginning_ept"], now)
    return json_answer(_page(params, _rows(product, starts, now)))


def _starts(product: Product, span: str, now: int) -> Ints:
    """Return the published intervals at `now` of a range in prevailing Eastern time."""
    first, last = (datetime.fromisoformat(text) for text in span.split("to"))
    begin, end = local_instant(first, TZ), local_instant(last, TZ, second_pass=True)
    since, until = _available(product, now)
    step = product.step
    return np.arange(max(-(-begin // step) * step, since), min(end + 1, until), step, dtype=np.int64)


def _available(product: Product, now: int) -> tuple[int, int]:
    """Return the first and the last start (exclusive) of a product's published intervals at `now`."""
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
    """Return when a day's prices are verified: in the afternoon of the next business day."""
    business = day + timedelta(days=1)
    while business.weekday() > 4:
        business += timedelta(days=1)
    return _wall(business, VERIFIED_AT)


def _wall(day: date, at: time) -> int:
    return local_instant(datetime.combine(day, at), TZ)


def _rows(product: Product, starts: Ints, now: int) -> list[dict[str, Any]]:
    """Return the prices of PJM-RTO by time."""
    columns = zip(starts.tolist(), prices(product, starts, now).round(6).tolist(), strict=True)
    node = {"pnode_id": PNODE, "pnode_name": HUB, "type": "ZONE"}
    current = {} if product is UNVERIFIED else {"row_is_current": True}
    return [
        {"datetime_beginning_utc": f"{utc(ts):%Y-%m-%dT%H:%M:%S}", **node, product.price: price, **current}
        for ts, price in columns
    ]


def prices(product: Product, starts: Ints, now: int) -> Floats:
    """Return the model's prices of PJM-RTO in USD/MWh. Unverified prices remain first estimates while they are kept."""
    if product is DAY_AHEAD:
        return grid.price(ZONE, starts, HOUR, "day_ahead")
    exact = grid.price(ZONE, starts)
    return (
        exact
        if product.verified
        else grid.as_published(exact, starts, now, "pjm unverified", settles=2 * UNVERIFIED_DAYS * DAY)
    )


def _page(params: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the requested page of these rows."""
    first, count = int(params.get("startRow", "1")), int(params.get("rowCount", "25"))
    items = rows[first - 1 : first - 1 + count]
    return {"items": items, "searchSpecification": {"startRow": first}, "totalRows": len(rows)}
