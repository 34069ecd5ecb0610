"""Define the feeds of PSE, the Polish system operator: day-ahead prices, converted back to exact EUR, and demand.

Traps:
- `dtime_utc` is the interval's END. Local labels are wrong in the repeated hour and are never read.
- `csdac_pln` is the SDAC price in PLN. PSE multiplies whole cents of EUR by one rate per day with four decimals, and
  rounds. The EUR price is known only if exactly one rate gives whole cents for all prices of the day. Otherwise the day
  has no rows.
- `rce-pln` is PSE's own settlement price, not the auction.
- A page has 100 rows, then `nextLink`. Quarter hours before 2025-10-01 are hours repeated four times, and are not
  requested.
- Demand arrives some ten hours late and is revised for two days. `load_actual` is null until then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, time
from functools import partial
from typing import Any

import numpy as np

from assets.parsing.body import json_of, member, reading
from assets.parsing.stamps import iso_instant
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST = "api.raporty.pse.pl"
TZ = "Europe/Warsaw"
QUARTER = 900
_RATES = np.arange(30_000, 60_000, dtype=np.int64)
"""Every rate from 3.0000 to 5.9999 PLN/EUR, in 0.0001 PLN."""


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows in EUR/MWh of the days with a proved rate. Raises FeedChanged if no rate fits a day."""
    days: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for entry in _entries(body):
        price = reading(member(entry, "csdac_pln"), "csdac_pln")
        if price is not None:
            days[str(member(entry, "business_date", str))].append((_start(entry), _grosze(price)))
    rows = Rows()
    for day, prices in days.items():
        rates = proved_rates([grosze for _, grosze in prices])
        if not rates:
            raise FeedChanged(f"{day}: no exchange rate turns all prices into whole cents")
        if len(rates) > 1:
            rows.dropped["prices in PLN of a day whose rate is not proved"] += len(prices)
            continue
        for ts, grosze in prices:
            rows.add("PL", Metric.PRICE, ts, _cents(grosze, rates[0]) / 100, "EUR/MWh", "15m")
    return rows


def proved_rates(grosze: Sequence[int]) -> list[int]:
    """Return the rates (in 0.0001 PLN/EUR) that convert whole cents of EUR, with rounding, to all of these prices."""
    amounts = np.asarray(grosze, np.int64)[:, None]
    fits = np.abs(_cents(amounts, _RATES) * _RATES - amounts * 10_000) <= 5_000
    return [int(rate) for rate in _RATES[fits.all(axis=0)]]


def _cents(grosze: Any, rate: Any) -> Any:
    """Return whole cents of EUR, to the nearest."""
    return (2 * grosze * 10_000 + rate) // (2 * rate)


def _grosze(price: float) -> int:
    grosze = round(price * 100)
    if abs(grosze - price * 100) > 1e-6 * max(1.0, abs(price)):
        raise FeedChanged(f"csdac_pln {price} is not a whole number of grosze")
    return grosze


def parse_demand(body: bytes, request: Request) -> Rows:
    """Return `demand` rows, MW, of the quarter hours that have a reading. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for entry in _entries(body):
        load = reading(member(entry, "load_actual"), "load_actual")
        if load is not None:
            rows.add("PL", Metric.DEMAND, _start(entry), load, "MW", "15m")
    return rows


def _entries(body: bytes) -> list[dict[str, Any]]:
    """Return the body's entries. Raises NotPublished without entries."""
    entries: list[dict[str, Any]] = member(json_of(body), "value", list)
    if not entries:
        raise NotPublished("the response has no rows")
    return entries


def _start(entry: dict[str, Any]) -> int:
    end = iso_instant(member(entry, "dtime_utc", str))
    if end % QUARTER:
        raise FeedChanged(f"{entry['dtime_utc'][:40]!r} is not the end of a quarter hour")
    return end - QUARTER


def follow(body: bytes, request: Request) -> list[Request]:
    """Return the request for the next page, if the response names a page on the same host. Raises FeedChanged."""
    link = json_of(body).get("nextLink")
    if link is None:
        return []
    if not isinstance(link, str) or not link.startswith(f"https://{HOST}/api/"):
        raise FeedChanged(f"the next page is on another host or path: {str(link)[:80]!r}")
    return [Request(request.feed, link, days=request.days, zone="PL", part=link.partition("?")[2][:80], ext="json")]


def _requests(feed: str, table: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    url = f"https://{HOST}/api/{table}"
    return [
        Request(feed, url, (("$filter", f"business_date eq '{day}'"),), (day.day,), "PL", ext="json")
        for day in sorted(set(days))
    ]


SOURCE = Source(
    code="pse",
    name="Polskie Sieci Elektroenergetyczne (PSE)",
    homepage="https://raporty.pse.pl",
    hosts=(HOST,),
    requests_per_minute=60,
    licence="PSE conditions of reuse: free, source and date named",
    licence_url="https://www.pse.pl/ponowne-wykorzystywanie-informacji-sektora-publicznego",
    attribution="Informacja pozyskana ze strony www.pse.pl, przetworzona w części",
    redistributable="yes",
    zones=("PL",),
    tz=TZ,
    stamps="end",
    resolution="15m",
    rank=3,
    feeds=(
        Feed(
            id="pse.price",
            title="Day-ahead prices of Poland, converted from PLN to EUR",
            metrics=(Metric.PRICE,),
            since=date(2025, 10, 1),
            publication=Publication(daily_at=time(14, 0), day_offset=-1, grace_minutes=180),
            requests=partial(_requests, "pse.price", "csdac-pln"),
            parse=parse_price,
            follow=follow,
            every_minutes=60,
            hub="day-ahead auction (SDAC)",
        ),
        Feed(
            id="pse.demand",
            title="Demand of Poland",
            metrics=(Metric.DEMAND,),
            since=date(2024, 6, 14),
            publication=Publication(lag_minutes=600, grace_minutes=180),
            requests=partial(_requests, "pse.demand", "kse-load"),
            parse=parse_demand,
            follow=follow,
            every_minutes=60,
        ),
    ),
    notes=(
        "EUR prices are computed with the only four-decimal exchange rate for which all PLN prices of the day are "
        "whole cents.",
    ),
)
