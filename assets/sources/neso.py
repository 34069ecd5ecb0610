"""Define the half-hourly feeds of NESO's Carbon Intensity API for GB: estimated intensity, and mix in per cent.

Traps:
- The window of a request is matched by interval *end*, both ends included. The half hour before `from` is included too,
  and `to` at 23:59 would lose the day's last half hour.
- A window over the new year only returns data up to 31 December (https://github.com/carbon-intensity/api-definitions,
  issue 12), so requests do not cross it.
- `data` is a list on ranges and an object on the bare paths. Key order and white space vary inside one response.
- `actual` is null for the current and future half hours, which give no rows. It is 0 if it is permanently missing, as
  in five half hours of 2023 (forecasts of 89 to 185; the least other value is 26).
- `forecast` is not an actual value. For a past half hour it is the last revision, not a forecast made in advance.
- The forecast of 48 hours is replaced each half hour, so a forecast that was not fetched is lost.
- Stamps are UTC without seconds: 48 half hours every day.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, time
from functools import partial
from itertools import groupby
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.days import runs
from assets.parsing.members import Members, require_known
from assets.parsing.stamps import utc_stamp
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, iso
from warehouse.market.feeds import Feed, Publication, Request, Source, request_window
from warehouse.market.vocabulary import Forecast, Fuel, Metric
from warehouse.rows.schema import Rows, SeriesKey

HOST = "api.carbonintensity.org.uk"
HALF_HOUR = 1800
OVER = "has an actual value"
ROUNDING = 1.0
"""The tolerance for nine shares rounded to a tenth, which add up to 100."""
FAR_FROM_CLEAN = 50.0
"""gCO2/kWh. If the forecast is at least this, an actual value of 0 is a missing value."""
LONGEST = 14
"""Days per request. 30 are accepted, more are rejected."""

FUELS = Members(
    "fuel",
    Metric.GENERATION,
    {
        name: Fuel(name).value
        for name in ("biomass", "coal", "imports", "gas", "nuclear", "other", "hydro", "solar", "wind")
    },
    "GB",
)


def _requests(product: str, feed: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    return [
        _request(feed, product, list(block))
        for run in runs(days, LONGEST)
        for _, block in groupby(run, lambda market_day: market_day.day.year)
    ]


def _request(feed: str, product: str, block: Sequence[MarketDay]) -> Request:
    window = request_window(block)
    start, end = (iso(ts).replace(":00Z", "Z") for ts in (window.start, window.end))
    return Request(
        feed, f"https://{HOST}/{product}/{start}/{end}", days=tuple(d.day for d in block), zone="GB", ext="json"
    )


def parse_intensity(body: bytes, request: Request) -> Rows:
    """Return `carbon_intensity` rows of the half hours that have an actual value. Raises FeedChanged, NotPublished."""
    rows = Rows()
    for entry, ts in _half_hours(body):
        intensity = member(entry, "intensity", dict)
        actual = reading(member(intensity, "actual"), "actual")
        foreseen = reading(intensity.get("forecast"), "forecast")
        if actual == 0 and (foreseen is None or foreseen >= FAR_FROM_CLEAN):
            rows.dropped["actual of 0"] += 1
            rows.refuse("GB", Metric.CARBON_INTENSITY, [ts])
        elif actual is not None:
            rows.add("GB", Metric.CARBON_INTENSITY, ts, actual, "gCO2/kWh", "30m")
    return rows


def request_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for the next 48 hours, whatever the days: older forecasts are not kept."""
    moment = iso(now)[:16] + "Z"
    url = f"https://{HOST}/intensity/{moment}/fw48h"
    return [Request("neso.carbon_forecast", url, days=(max(days).day,), zone="GB", ext="json")] if days else []


def parse_forecast(body: bytes, request: Request) -> Rows:
    """Return `carbon_intensity_forecast` rows. Their issue time is the time of the request, from its URL.

    Raises FeedChanged if actual values cover more than the half hour that has just ended.
    """
    rows, starts, values = Rows(), list[int](), list[float]()
    for entry, ts in _half_hours(body):
        intensity = member(entry, "intensity", dict)
        foreseen = reading(member(intensity, "forecast"), "forecast")
        if intensity.get("actual") is not None:
            rows.dropped[OVER] += 1
            if rows.dropped[OVER] > 1:
                raise FeedChanged("a forecast contains actual values")
        elif foreseen is not None:
            starts.append(ts)
            values.append(foreseen)
    key = SeriesKey("GB", Forecast.CARBON_INTENSITY, "gCO2/kWh", "30m")
    if asked := _ASKED.search(request.url):
        rows.extend_vintage(key, utc_stamp(f"{asked[1]}:{asked[2]}Z"), "fetched", starts, values)
    else:
        rows.extend(key, starts, values)
    return rows


_ASKED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d):?(\d\d)Z", re.ASCII)


def parse_generation(body: bytes, request: Request) -> Rows:
    """Return `generation` rows, per cent by fuel.

    A half hour whose shares do not add up to 100 lacks a fuel and is dropped. A half hour with an unknown fuel keeps
    the others.
    """
    rows = Rows()
    note = ", without which the shares do not add up to 100"
    for entry, ts in _half_hours(body):
        mix = [(member(share, "fuel", str), member(share, "perc")) for share in member(entry, "generationmix", list)]
        shares = [(fuel, reading(percent, fuel)) for fuel, percent in mix]
        known = [(FUELS.find(rows, name, [ts], note=note), percent) for name, percent in shares if percent is not None]
        whole = len(known) == len(shares) and all(fuel for fuel, _ in known)
        if whole and abs(math.fsum(percent for _, percent in known) - 100) > ROUNDING:
            rows.dropped["shares that are not 100 per cent"] += 1
            continue
        for fuel, percent in known:
            if fuel:
                rows.add("GB", Metric.GENERATION, ts, percent, "%", "30m", fuel=fuel)
    require_known(rows)
    return rows


def _half_hours(body: bytes) -> list[tuple[dict[str, Any], int]]:
    """Return the entries with their interval starts. Raises NotPublished without entries, FeedChanged."""
    entries = member(json_of(body), "data", (list, dict))
    if isinstance(entries, dict):
        entries = [entries]
    if not entries:
        raise NotPublished("the response has no half hours")
    return [(entry, _start(entry)) for entry in entries]


def _start(entry: object) -> int:
    start, end = utc_stamp(member(entry, "from")), utc_stamp(member(entry, "to"))
    if end - start != HALF_HOUR or start % HALF_HOUR:
        raise FeedChanged(f"{iso(start)} to {iso(end)} is not a half hour")
    return start


SOURCE = Source(
    code="neso",
    name="National Energy System Operator, Carbon Intensity API",
    homepage="https://carbonintensity.org.uk",
    hosts=(HOST,),
    requests_per_minute=30,
    licence="CC BY 4.0",
    licence_url="https://github.com/carbon-intensity/terms",
    attribution="NESO Carbon Intensity API (carbonintensity.org.uk), CC BY 4.0",
    redistributable="yes",
    zones=("GB",),
    tz="UTC",
    since=date(2017, 9, 12),
    resolution="30m",
    feeds=(
        Feed(
            id="neso.carbon_intensity",
            version="2",
            title="Carbon intensity of GB electricity, estimated from metered output",
            metrics=(Metric.CARBON_INTENSITY,),
            publication=Publication(lag_minutes=15, grace_minutes=60),
            requests=partial(_requests, "intensity", "neso.carbon_intensity"),
            parse=parse_intensity,
            every_minutes=15,
        ),
        Feed(
            id="neso.carbon_forecast",
            title="Carbon intensity of GB electricity, forecast for 48 hours",
            metrics=(Forecast.CARBON_INTENSITY,),
            # Generated each half hour. A response only contains the newest, so one per day is due.
            publication=Publication(daily_at=time(1), grace_minutes=60),
            requests=request_forecast,
            parse=parse_forecast,
            every_minutes=30,
            reach_days=0,
        ),
        Feed(
            id="neso.generation",
            title="Generation mix of GB by fuel, per cent",
            metrics=(Metric.GENERATION,),
            since=date(2018, 1, 1),
            publication=Publication(lag_minutes=15, grace_minutes=60),
            requests=partial(_requests, "generation", "neso.generation"),
            parse=parse_generation,
            every_minutes=15,
        ),
    ),
    notes=(
        "Carbon intensity is the publisher's `actual`: an estimate from metered output.",
        "Its 48-hour forecast has no issue time; emds uses the time of the fetch.",
        "The mix includes imports as a fuel and sums to 100%, within the rounding to one decimal.",
    ),
)
