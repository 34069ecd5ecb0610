"""Define the feed of Energy-Charts (Fraunhofer ISE): day-ahead prices of bidding zones, if the response is CC BY.

Traps:
- The licence is per zone and may change, so `license_info` of every response decides, not a list. A response without CC
  BY is rejected as NotLicensed. ES and SE-3 returned the restrictive text and are not requested.
- `start` and `end` are local days, both included. Times as bounds lose quarter hours.
- The body does not state its resolution: it is the least step between the stamps of a local day (hourly before
  2025-10-01, in CH still). A single stamp of a day is dropped, because the request for that day has the others too.
- `deprecated` announces that the interface will end.
- The body does not state its zone. A null price gives no row. If the whole range has no data, the status is 404.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, time
from itertools import pairwise
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.clocks import plausible
from assets.parsing.days import runs
from warehouse.errors import FeedChanged, NotLicensed, NotPublished
from warehouse.market.clock import MarketDay, local_date
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST = "api.energy-charts.info"
TZ = "Europe/Brussels"
LONGEST = 31
"""Days per request."""

BIDDING_ZONES = {
    "DE-LU": "DE-LU",
    "FR": "FR",
    "NL": "NL",
    "BE": "BE",
    "PL": "PL",
    "NO-2": "NO2",
    "IT-NO": "IT-North",
    "DK-1": "DK1",
    "AT": "AT",
    "CH": "CH",
}
"""Zone -> its name there, for the zones whose responses were under CC BY."""
_RESOLUTIONS = {900: "15m", 3600: "1h"}
_FREE = re.compile(r"CC BY 4\.0(?![\w-])", re.ASCII)


def parse(body: bytes, request: Request) -> Rows:
    """Return `price` rows of the request's zone. Raises NotLicensed without CC BY, NotPublished without prices."""
    answer = json_of(body)
    if isinstance(answer, dict) and "detail" in answer and "price" not in answer:
        raise _refusal(answer["detail"])
    stamps, prices = member(answer, "unix_seconds", list), member(answer, "price", list)
    if len(stamps) != len(prices):
        raise FeedChanged(f"{len(stamps)} times but {len(prices)} prices")
    _require_licence(answer)
    if member(answer, "unit") not in ("EUR / MWh", "EUR/MWh"):
        raise FeedChanged(f"unexpected price unit {str(answer['unit'])[:20]!r}")
    if request.zone is None:
        raise FeedChanged("neither the response nor the request names a zone")
    if not stamps:
        raise NotPublished("the response has no prices")
    rows = _rows(request.zone, [_instant(ts) for ts in stamps], prices)
    if answer.get("deprecated"):
        rows.notices.add(f"https://{HOST}/price is deprecated: it is to end")
    return rows


def _rows(zone: str, stamps: Sequence[int], prices: Sequence[object]) -> Rows:
    rows = Rows()
    resolutions = _resolutions(stamps)
    for ts, price in zip(stamps, prices, strict=True):
        value = reading(price, "price")
        if value is None:
            continue
        resolution = resolutions.get(local_date(ts, TZ))
        if resolution is None:
            rows.dropped["a lone stamp: its resolution is unknown"] += 1
        else:
            rows.add(zone, Metric.PRICE, ts, value, "EUR/MWh", resolution)
    return rows


def _resolutions(stamps: Sequence[int]) -> dict[date, str]:
    """Return the resolution of the stamps by local day. Raises FeedChanged for an unknown step."""
    days: dict[date, set[int]] = defaultdict(set)
    for ts in stamps:
        days[local_date(ts, TZ)].add(ts)
    by_day = {}
    for day, instants in days.items():
        if len(instants) > 1:
            step = min(later - earlier for earlier, later in pairwise(sorted(instants)))
            if step not in _RESOLUTIONS or any(ts % step for ts in instants):
                raise FeedChanged(f"{day}: prices are {step} s apart, or not aligned")
            by_day[day] = _RESOLUTIONS[step]
    return by_day


def _instant(ts: object) -> int:
    if not isinstance(ts, int) or isinstance(ts, bool):
        raise FeedChanged(f"not a time: {str(ts)[:40]!r}")
    return plausible(ts, ts)


def _require_licence(answer: dict[str, Any]) -> None:
    terms = answer.get("license_info")
    if not isinstance(terms, str) or not _FREE.match(terms.strip()):
        raise NotLicensed(f"licence is not CC BY: {str(terms)[:120]}")


def _refusal(detail: object) -> NotPublished | FeedChanged:
    reason = str(detail)[:200]
    nothing = re.search(r"no (data|content|price)|not found", reason, re.IGNORECASE)
    return NotPublished(reason) if nothing else FeedChanged(f"request rejected: {reason}")


def requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for one zone each. Their bounds are local days, both included."""
    return [
        Request(
            "energy_charts.price",
            f"https://{HOST}/price",
            (("bzn", name), ("start", str(block[0])), ("end", str(block[-1]))),
            tuple(d.day for d in block),
            zone,
            ext="json",
        )
        for block in runs(days, LONGEST)
        for zone, name in BIDDING_ZONES.items()
    ]


SOURCE = Source(
    code="energy_charts",
    name="Energy-Charts (Fraunhofer ISE)",
    homepage="https://www.energy-charts.info",
    hosts=(HOST,),
    requests_per_minute=2,
    licence="CC BY 4.0",
    licence_url="https://creativecommons.org/licenses/by/4.0/",
    attribution="Bundesnetzagentur | SMARD.de, via Energy-Charts.info (Fraunhofer ISE), CC BY 4.0; changed in form",
    redistributable="yes",
    feeds=(
        Feed(
            id="energy_charts.price",
            origin="entsoe-db",
            title="Day-ahead prices of European bidding zones, under CC BY",
            zones=tuple(BIDDING_ZONES),
            metrics=(Metric.PRICE,),
            rank=4,
            resolution="15m",
            stamps="start",
            tz=TZ,
            since=date(2018, 10, 1),
            publication=Publication(daily_at=time(14, 0), day_offset=-1, grace_minutes=180),
            requests=requests,
            parse=parse,
            every_minutes=180,
            zones_per_answer="one",
            hub="day-ahead auction (SDAC)",
        ),
    ),
    notes=(
        "Prices are those of the day-ahead auction, in EUR for every zone: SDAC or, in CH, the auction of EPEX SPOT, "
        "which is not coupled. Only responses under CC BY are used.",
        "ES and SE-3 are not fetched, because their responses permit private and internal use only.",
    ),
)
