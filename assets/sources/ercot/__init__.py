"""Define the feeds of ERCOT, Texas: settlement point prices, and the dashboards' prices, demand and DC ties.

The meaning of a dashboard's epoch differs:
- `supply-demand` (five-minute demand): the reading's own time, which begins its row. Rows start at 00:00. Over 15 hours
  of 2026-09-26 they fit the hourly system load of `system-wide-demand` to 51 MW (root mean square) as interval starts.
  They fit to 64 MW as instants and 176 MW as interval ends.
- `system-wide-demand` (hours) and `system-wide-prices`: the interval's end.
- `dc-tie-flows`: an instant.

A dashboard's `lastUpdated` is its own clock. Later intervals are not measured yet, whatever their forecast flag. The
dashboards' former names (loadForecastVsActual, systemWidePrices, rtsyscond) redirect to these, and both formats are
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, time
from functools import partial
from math import inf
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.members import Members, require_known
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import epoch_instant, iso_instant
from assets.sources.ercot import prices
from assets.sources.ercot.prices import TZ, ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import HOUR, RESOLUTIONS, MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

HUB = "HB_HUBAVG"
DASHBOARDS = "https://www.ercot.com/api/1/services/read/dashboards"
SEEN = date(2023, 2, 1)
"""The day of the oldest known dashboard. Dashboards cover a day or two and do not state their start."""
MEXICO = AMERICAN["CEN"]
TIES = {
    "dcE": ("US-SPP", "spp-ercot-east"),
    "dcN": ("US-SPP", "spp-ercot-north"),
    "dcL": (MEXICO, "DC_L"),
    "dcR": (MEXICO, "DC_R"),
    "dcS": (MEXICO, "DC_S"),
}
"""DC tie -> the area beyond it and the link's id: East, North, Laredo, Railroad, Eagle Pass."""
DC_TIES = Members("tie", Metric.INTERCHANGE, TIES, ZONE, costs="total")
"""A new member may be the sum of known ties."""
ALWAYS = frozenset(TIES) - {"dcS"}
"""Eagle Pass is retired and no longer in the feed. The net is complete without it, but not without the others."""

MOST_BETWEEN = 30
"""The ten-second readings of five minutes, only one of them at a five-minute instant."""

_NOT_YET = "after the dashboard's own time"
_OFFSET = re.compile(r"[+-]\d{4}$", re.ASCII)


def dashboard(feed: str, name: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request whatever the days: a dashboard covers the current day, and some of them yesterday."""
    wanted = tuple(sorted({d.day for d in days}))
    return [Request(feed, f"{DASHBOARDS}/{name}.json", days=wanted, ext="json")] if wanted else []


def parse_prices(body: bytes, request: Request) -> Rows:
    """Return today's 15-minute real-time and hourly day-ahead prices of the hub average."""
    answer = json_of(body)
    rows = Rows()
    for name, metric, resolution in (("rtSppData", Metric.PRICE, "15m"), ("damSppData", Metric.PRICE_DAY_AHEAD, "1h")):
        key = SeriesKey(ZONE, metric, "USD/MWh", resolution)
        until = _updated(answer) if metric is Metric.PRICE else inf
        _extend(rows, key, member(answer, name, list), "interval", "hbHubAvg", RESOLUTIONS[resolution], until)
    return rows


def parse_load(body: bytes, request: Request) -> Rows:
    """Return today's five-minute demand so far, without rows flagged as forecast."""
    answer = json_of(body)
    readings = member(answer, "data", list)
    if not readings:
        raise NotPublished("no readings yet")
    rows = Rows()
    over = [entry for entry in readings if not _is_forecast(entry)]
    _extend(rows, SeriesKey(ZONE, Metric.DEMAND, "MW", "5m"), over, "epoch", "demand", 0, _updated(answer))
    return rows


def _is_forecast(row: object) -> bool:
    flag = member(row, "forecast")
    if flag not in (0, 1):
        raise FeedChanged(f"unexpected forecast flag {str(flag)[:20]!r}")
    return bool(flag)


def parse_load_hourly(body: bytes, request: Request) -> Rows:
    """Return hourly demand of yesterday and of today's past hours, and ERCOT's current forecast of the next hours.

    `dayAheadForecast` beside it is an older product.
    """
    answer = json_of(body)
    rows = _load_hours(answer)
    key = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h")
    expected = Rows()
    for name in ("currentDay", "nextDay"):
        hours = member(answer[name], "data", list) if name in answer else []
        ahead = [hour for hour in hours if isinstance(hour, dict) and "currentLoadForecast" in hour]
        _extend(expected, key, ahead, "epoch", "currentLoadForecast", HOUR, inf)
    for readings in expected.readings.values():
        updated = _updated(answer)
        if updated == inf:
            rows.extend(key, readings.ts, readings.values)
        else:
            rows.extend_vintage(key, int(updated), "body", readings.ts, readings.values)
    return rows


def _load_hours(answer: object) -> Rows:
    rows = Rows()
    for name in ("previousDay", "currentDay"):
        hours = member(member(answer, name, dict), "data", list)
        over = [hour for hour in hours if not isinstance(hour, dict) or "systemLoad" in hour]
        _extend(rows, SeriesKey(ZONE, Metric.DEMAND, "MW", "1h"), over, "epoch", "systemLoad", HOUR, _updated(answer))
    if not rows:
        raise FeedChanged("no hour has a systemLoad")
    return rows


def parse_demand(body: bytes, request: Request) -> Rows:
    """Return the rows of either demand dashboard: five-minute ones have `data`, hourly ones their days by name."""
    answer = json_of(body)
    return parse_load(body, request) if isinstance(answer, dict) and "data" in answer else _load_hours(answer)


def _updated(answer: object) -> float:
    """Return when a dashboard was generated (Unix seconds), or infinity without an offset, as until 2023."""
    text = str(answer.get("lastUpdated", "")) if isinstance(answer, dict) else ""
    return iso_instant(text) if _OFFSET.search(text) else inf


def _extend(
    rows: Rows, key: SeriesKey, readings: list[Any], stamp: str, value: str, after_start: int, until: float
) -> None:
    """Add the readings that begin by `until`. A stamp is an epoch `after_start` seconds after the interval's start."""
    step = RESOLUTIONS[key.resolution]
    starts: list[int] = []
    values: list[float] = []
    for entry in readings:
        figure = reading(member(entry, value), value)
        if figure is None:
            continue
        start = epoch_instant(member(entry, stamp)) - after_start
        if start % step:
            rows.dropped["off the grid"] += 1
            continue
        if start > until:
            rows.dropped[_NOT_YET] += 1
            continue
        starts.append(start)
        values.append(figure)
    rows.extend(key, starts, values)


def parse_dc_ties(body: bytes, request: Request) -> Rows:
    """Return each tie's flow and their net at five-minute instants, positive into ERCOT (the reverse of its sign)."""
    answer = json_of(body)
    readings = member(answer, "data", list)
    if not readings:
        raise NotPublished("no readings yet")
    rows = Rows()
    for ts, flows, whole in _five_minute_flows(readings, rows, _updated(answer)):
        for tie, flow in flows.items():
            rows.add(ZONE, Metric.INTERCHANGE, ts, flow, "MW", "5m", None, *TIES[tie])
        if whole and ts not in rows.refused.get((ZONE, Metric.INTERCHANGE), ()):
            rows.add(ZONE, Metric.INTERCHANGE, ts, sum(flows.values()), "MW", "5m")
        else:
            rows.dropped["a tie is missing"] += 1
    require_known(rows)
    if not rows:
        between = rows.dropped["between five-minute instants"]
        if between > MOST_BETWEEN:
            raise FeedChanged(f"{between} readings, and none at a five-minute instant")
        raise NotPublished("no flow at a five-minute instant")
    return rows


def _five_minute_flows(readings: list[Any], rows: Rows, until: float) -> Iterator[tuple[int, dict[str, float], bool]]:
    """Yield five-minute instants up to `until`, the net imports by tie, and whether all ties are present.

    Other instants are counted as dropped. A named tie has a part in the net, even a retired one.
    """
    for entry in readings:
        # rtsyscond.json, this dashboard's former name, had its epoch under `interval`.
        ts = epoch_instant(member(entry, "epoch" if isinstance(entry, dict) and "epoch" in entry else "interval"))
        if ts % 300:
            rows.dropped["between five-minute instants"] += 1
            continue
        if ts > until:
            rows.dropped[_NOT_YET] += 1
            continue
        named = [name for name in entry if name[:2] == "dc"]
        if not named:
            raise FeedChanged("a reading has no DC ties")
        by_tie = {tie: reading(entry[tie], tie) for tie in named if DC_TIES.find(rows, tie, [ts])}
        flows = {tie: 0.0 - flow for tie, flow in by_tie.items() if flow is not None}
        yield ts, flows, flows.keys() >= ALWAYS | by_tie.keys()


SOURCE = Source(
    code="ercot",
    name="ERCOT",
    homepage="https://www.ercot.com/",
    hosts=("www.ercot.com", "api.ercot.com"),
    requests_per_minute=30,
    licence="ERCOT website terms, section 5: raw public data may be used in compilations",
    licence_url="https://www.ercot.com/help/terms",
    attribution="Source: ERCOT. ERCOT does not guarantee the accuracy of derived compilations.",
    redistributable="yes",
    zones=(ZONE,),
    tz=TZ,
    since=SEEN,
    stamps="end",
    hub=HUB,
    feeds=(
        Feed(
            id="ercot.spp_rt",
            title=f"ERCOT real-time 15-minute settlement point price, {HUB}",
            metrics=(Metric.PRICE,),
            resolution="15m",
            since=prices.ARCHIVED_SINCE,
            # Published minutes after each quarter, but a day is a listing and 96 zips, and `system_wide_prices` has
            # today in 35 kB. Whole days are therefore fetched once a day, and they are not late before that.
            publication=Publication(daily_at=time(0, 15), day_offset=1, grace_minutes=1080),
            requests=partial(prices.requests, prices.REAL_TIME, HUB),
            parse=partial(prices.parse, prices.REAL_TIME, HUB),
            follow=partial(prices.follow, prices.REAL_TIME, HUB),
            every_minutes=1440,
            revised_days=1,
        ),
        Feed(
            id="ercot.spp_da",
            title=f"ERCOT day-ahead hourly settlement point price, {HUB}",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            since=prices.ARCHIVED_SINCE,
            publication=Publication(daily_at=time(12, 35), day_offset=-1, grace_minutes=120),
            requests=partial(prices.requests, prices.DAY_AHEAD, HUB),
            parse=partial(prices.parse, prices.DAY_AHEAD, HUB),
            follow=partial(prices.follow, prices.DAY_AHEAD, HUB),
            every_minutes=60,
            revised_days=0,
        ),
        Feed(
            id="ercot.system_wide_prices",
            title=f"ERCOT dashboard: today's real-time and day-ahead prices, {HUB}",
            metrics=(Metric.PRICE, Metric.PRICE_DAY_AHEAD),
            rank=2,
            resolution="15m",
            publication=Publication(lag_minutes=5, grace_minutes=30),
            requests=partial(dashboard, "ercot.system_wide_prices", "system-wide-prices"),
            parse=parse_prices,
            every_minutes=5,
            reach_days=0,
        ),
        Feed(
            id="ercot.load",
            version="2",
            title="ERCOT demand, five minutes, today",
            metrics=(Metric.DEMAND,),
            resolution="5m",
            stamps="instant",
            publication=Publication(lag_minutes=5, grace_minutes=30),
            requests=partial(dashboard, "ercot.load", "supply-demand"),
            parse=parse_demand,
            every_minutes=5,
            reach_days=0,
        ),
        Feed(
            id="ercot.load_hourly",
            version="2",
            title="ERCOT demand, hourly, yesterday and today, and its forecast to the end of tomorrow",
            metrics=(Metric.DEMAND,),
            optional_metrics=(Forecast.DEMAND,),
            rank=2,
            resolution="1h",
            publication=Publication(lag_minutes=20, grace_minutes=60),
            requests=partial(dashboard, "ercot.load_hourly", "system-wide-demand"),
            parse=parse_load_hourly,
            every_minutes=60,
            revised_days=1,
            reach_days=1,
        ),
        Feed(
            id="ercot.dc_ties",
            title="ERCOT flows over the DC ties, five-minute instants",
            metrics=(Metric.INTERCHANGE,),
            resolution="5m",
            stamps="instant",
            publication=Publication(lag_minutes=10, grace_minutes=45),
            requests=partial(dashboard, "ercot.dc_ties", "dc-tie-flows"),
            parse=parse_dc_ties,
            every_minutes=15,
            reach_days=0,
        ),
    ),
    notes=(
        f"Price is the settlement point price of {HUB}, the average of the four hubs. HB_BUSAVG is a different series.",
        f"Only the newest prices need no credentials: {prices.REAL_TIME.listed_days} past days in real time, "
        f"{prices.DAY_AHEAD.listed_days} day-ahead. Older days, back to February 2021, need `ERCOT_API_KEY`, "
        "`ERCOT_USERNAME` and `ERCOT_PASSWORD`. Days before 2023-12-11 are fetched file by file. Prices before "
        "February 2021 exist only as yearly workbooks, which emds does not read.",
        "Demand is the demand of the system without the charging of storage.",
        "Interchange is the sum of the DC ties, taken every five minutes from ten-second telemetry. On ERCOT's "
        "page, negative values flow into ERCOT; emds reverses the sign.",
    ),
)
