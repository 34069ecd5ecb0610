"""Define the feeds of Southwest Power Pool, eastern balancing area: prices, load and interchange.

Every stamp is read from the GMT columns, which have no repeated hour. Files that are not ready yet return 404 with an
empty body.
"""

from __future__ import annotations

import re
from datetime import date, time

from assets.parsing.body import number
from assets.parsing.columns import FIVE_MINUTES as FIVE
from assets.parsing.columns import drop, keep, on_grid
from assets.parsing.stamps import iso_instant
from assets.sources.spp.bodies import Columns, Sheet, readings
from assets.sources.spp.requests import (
    DAILY_AFTER,
    HOST,
    TZ,
    ZONE,
    interchange_requests,
    lmp_da_requests,
    lmp_rt_daily_requests,
    lmp_rt_requests,
    load_hourly_requests,
    load_requests,
    written_at,
)
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import HOUR
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.rows.schema import Rows, SeriesKey

HUB = "SPPSOUTH_HUB"
WESTERN_NEIGHBOURS = frozenset({"aps", "pace", "bhba"})
"""Neighbours that identify the western area's tie flows, whose columns are called SPP as well."""

PRICE = SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m")
DAY_AHEAD = SeriesKey(ZONE, Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h")
DEMAND = SeriesKey(ZONE, Metric.DEMAND, "MW", "1h")
FORECAST = SeriesKey(ZONE, Forecast.DEMAND, "MW", "1h")
INTERCHANGE = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m")


def parse_lmp_rt(body: bytes, request: Request) -> Rows:
    """Return `price` rows of the south hub, from the file of an interval or a day. Raises FeedChanged, NotPublished."""
    rows = Rows()
    starts, values = _prices(rows, body, FIVE)
    ends = {start + FIVE for start in starts}
    if len(ends) > 1 and not any(end % HOUR for end in ends):
        raise FeedChanged("every interval ends on the hour: not the real-time file")
    rows.extend(PRICE, *on_grid(rows, starts, values))
    return rows


def parse_lmp_da(body: bytes, request: Request) -> Rows:
    """Return `price_day_ahead` rows of the south hub. Raises FeedChanged, NotPublished.

    The real-time file of an interval that ends on the hour has the same columns, but a day has more than one interval.
    """
    rows = Rows()
    starts, values = _prices(rows, body, HOUR)
    if any(start % HOUR for start in starts):
        raise FeedChanged("an interval ends within the hour: not the day-ahead file")
    if len(set(starts)) < 2:
        raise FeedChanged("only one interval: not the day-ahead file")
    rows.extend(DAY_AHEAD, starts, values)
    return rows


def _prices(rows: Rows, body: bytes, step: int) -> Columns:
    sheet = Sheet(body, HUB.encode())
    end, value = sheet.place("gmtintervalend", "gmtinterval"), sheet.place("lmp")
    location = sheet.place("settlementlocation", "settlementlocationname")
    own = [cells for cells in sheet.eastern(rows) if cells[location].strip() == HUB]
    if not own:
        raise sheet.nothing()
    return readings(own, end, value, step)


def parse_load_hourly(body: bytes, request: Request) -> Rows:
    """Return the rows of `parse_load`, and the `demand_forecast` rows (MTLF) of a mid-term file.

    The forecast covers a week from when the file was written.
    """
    rows, sheet = parse_load(body, request), Sheet(body)
    if "averagedactual" not in sheet.names:
        return rows
    end, expected = sheet.place("gmtintervalend", "gmtinterval"), sheet.place("mtlf")
    columns = readings(sheet.eastern(Rows(), expected), end, expected, HOUR)
    written = written_at(dict(request.params).get("path", request.url))
    if written is None:
        rows.extend(FORECAST, *columns)
    else:
        rows.extend_vintage(FORECAST, written, "name", *columns)
    return rows


def parse_load(body: bytes, request: Request) -> Rows:
    """Return `demand` rows: five minutes from a chart or short-term file, hours from a mid-term file.

    Raises FeedChanged, NotPublished.
    """
    sheet = Sheet(body)
    end = sheet.place("gmtintervalend", "gmtinterval")
    rows = Rows()
    if "averagedactual" in sheet.names:
        lines = sheet.eastern(rows, sheet.place("mtlf"))
        starts, values = readings(lines, end, sheet.place("averagedactual"), HOUR)
        written = written_at(dict(request.params).get("path", request.url))
        rows.extend(DEMAND, *_finished(rows, starts, values, written))
    else:
        lines = sheet.eastern(rows, sheet.place("stlf"))
        starts, values = readings(lines, end, sheet.place("actualload", "actual"), FIVE)
        if "actualload" in sheet.names:
            starts, values = _whole_hours(rows, starts, values)
        rows.extend(DEMAND._replace(resolution="5m"), *on_grid(rows, starts, values))
    return rows


def _whole_hours(rows: Rows, starts: list[int], values: list[float]) -> Columns:
    """Return the columns without the partial hour at the beginning of the chart of 24 hours.

    An hourly mean that overlaps five-minute rows is not served, so the rows of half an hour would hide the other half.
    A running service has them from earlier charts.
    """
    first = min(starts, default=0)
    whole = -(-first // HOUR) * HOUR
    if max(starts, default=0) < whole:
        return starts, values
    return keep(rows, starts, values, lambda start: start >= whole, "first hour of the chart, not whole")


def _finished(rows: Rows, starts: list[int], values: list[float], written: int | None) -> Columns:
    """Return the hours that were over when the file was written: a later value is the mean of a part of its hour.

    Until 2026-09-24 a file also contained the hour that began as it was written. Since then it ends with the previous
    hour. If the file's name is not known, the newest hour may be either and is left out.
    """
    if any(start % HOUR for start in starts):
        raise FeedChanged("a value ends within the hour")
    over = max(starts, default=0) if written is None else written
    return keep(rows, starts, values, lambda start: start + HOUR <= over, "hour still running")


def parse_interchange(body: bytes, request: Request) -> Rows:
    """Return `interchange` rows of the five-minute instants, + into the area (the reverse of SPP's sign).

    Raises FeedChanged, NotPublished.
    """
    header, *lines = body.lstrip().splitlines(keepends=True) or [b""]  # a web page may begin with blank lines
    chosen = [line for line in lines if _ON_GRID.match(line)]
    sheet = Sheet(b"".join([header, *chosen]))
    if WESTERN_NEIGHBOURS & set(sheet.names):
        raise FeedChanged("tie flows of the western area instead of the eastern")
    stamp, actual = sheet.place("gmttime"), sheet.place("sppnai")
    rows = Rows()
    flows = [
        (iso_instant(cells[stamp]), number(cells[actual], "NAI"))
        for cells in sheet.eastern(rows)
        if cells[actual].strip()
    ]
    if not flows:
        raise FeedChanged("no five-minute times") if lines else NotPublished("the file has a header but no rows")
    rows.extend(INTERCHANGE, [ts for ts, _ in flows], [0.0 - flow for _, flow in flows])
    drop(rows, "between five-minute instants", len(lines) - len(chosen))
    return rows


_ON_GRID = re.compile(rb'"?\d{4}-\d\d-\d\d[T ]\d\d:\d[05](:00)?[^\d:]')
"""The stamp of a whole five-minute instant: of 1440 lines per day, only 288 are read further."""


SOURCE = Source(
    code="spp",
    name="Southwest Power Pool",
    homepage="https://www.spp.org",
    hosts=(HOST,),
    requests_per_minute=30,
    licence="copying with citation; commercial publication needs SPP's written authorisation",
    licence_url="https://www.spp.org",
    attribution="Source: SPP",
    redistributable="unclear",
    withheld=True,
    zones=(ZONE,),
    tz=TZ,
    since=date(2014, 3, 1),
    stamps="end",
    resolution="5m",
    hub=HUB,
    feeds=(
        Feed(
            id="spp.lmp_rt",
            files=True,
            title="Real-time five-minute LMP of the south hub, interval by interval",
            metrics=(Metric.PRICE,),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=lmp_rt_requests,
            parse=parse_lmp_rt,
            every_minutes=5,
            revised_days=0,
            reach_days=DAILY_AFTER,
        ),
        Feed(
            id="spp.lmp_rt_daily",
            files=True,
            title="Real-time five-minute LMP of the south hub, daily files",
            metrics=(Metric.PRICE,),
            rank=2,
            publication=Publication(daily_at=time(6), day_offset=DAILY_AFTER, grace_minutes=2 * 1440),
            requests=lmp_rt_daily_requests,
            parse=parse_lmp_rt,
            every_minutes=1440,
            revised_days=DAILY_AFTER + 1,
            max_bytes=128_000_000,
        ),
        Feed(
            id="spp.lmp_da",
            files=True,
            title="Day-ahead hourly LMP of the south hub",
            metrics=(Metric.PRICE_DAY_AHEAD,),
            resolution="1h",
            publication=Publication(daily_at=time(14), day_offset=-1, grace_minutes=180),
            requests=lmp_da_requests,
            parse=parse_lmp_da,
            every_minutes=120,
            revised_days=0,
        ),
        Feed(
            id="spp.load",
            version="2",
            title="Actual load, five minutes, last day",
            metrics=(Metric.DEMAND,),
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=load_requests,
            parse=parse_load,
            every_minutes=5,
            reach_days=0,
        ),
        Feed(
            id="spp.load_hourly",
            files=True,
            version="3",
            title="Actual load, hourly means, and the mid-term forecast for seven days",
            metrics=(Metric.DEMAND,),
            optional_metrics=(Forecast.DEMAND,),
            rank=2,
            resolution="1h",
            publication=Publication(lag_minutes=75, grace_minutes=60),
            requests=load_hourly_requests,
            parse=parse_load_hourly,
            every_minutes=60,
            revised_days=1,
        ),
        Feed(
            id="spp.interchange",
            files=True,
            title="Net actual interchange, five-minute instants",
            metrics=(Metric.INTERCHANGE,),
            stamps="instant",
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=interchange_requests,
            parse=parse_interchange,
            every_minutes=5,
            revised_days=1,
        ),
    ),
    notes=(
        "US-SPP is the eastern balancing area (SPP in the files, SWPP at EIA), without the western one (SWPW).",
        "The price is the LMP of SPPSOUTH_HUB.",
        "Interchange is net actual interchange (NAI) at every fifth minute with the sign reversed: positive values "
        "flow into the area.",
        "If an hour was still in progress when its hourly load file was written, its value is the mean of a part of "
        "the hour and is left out.",
    ),
)
