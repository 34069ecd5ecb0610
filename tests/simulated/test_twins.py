"""Compare every simulated publisher with the model grid: values, times and refused requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.sources import feeds
from warehouse.errors import FeedError
from warehouse.judge import coverage, quality
from warehouse.market import carbon
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, MarketDay, instant, iso, local_date, utc
from warehouse.market.feeds import Feed, Request
from warehouse.market.vocabulary import Forecast, Metric, actual_of, is_forecast
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey

Ask = Callable[..., tuple[Rows, list[tuple[Request, FeedError]]]]
FEEDS = sorted(feeds())
NOON = "2026-11-20T20:20:37Z"
SPRING = {"Europe": date(2026, 3, 29), "America": date(2026, 3, 8), "Australia": date(2026, 10, 4)}
AUTUMN = {"Europe": date(2026, 10, 25), "America": date(2026, 11, 1), "Australia": date(2026, 4, 5)}
VIKING_LINK = date(2024, 5, 15)
"""Denmark's net of earlier years lacks this interconnector."""
NOT_IN_THE_GRID = {("US-MISO", "Southwestern Power Administration")}
"""A column of MISO, by which the sum of its neighbours differs from its net."""
HALF_HOURS_STATED_BY_A_QUARTER = {"rte.eco2mix", "rte.eco2mix_consolidated"}
YOUNG_LOG = "entsoe_files"
"""The log of its twin names the files of only two years."""
SHORT = {"autumn": {"caiso.demand", "caiso.fuelsource", "spp.load"}, "spring": {"eia.interchange"}}
"""Outlook's files contain the repeated hour once. A chart has 24 hours of a 25-hour day. PJM's borders skip an hour."""
NEWEST_ONLY = {"miso.lmp_rt", "spp.lmp_rt"}
"""Feeds that publish only their newest rows. Earlier polls fetched the other rows of the current day."""
ESTIMATES = 0.0101
"""The maximum relative error of first estimates."""
TOLERANCE = {
    Metric.PRICE: 0.0051,
    Metric.PRICE_DAY_AHEAD: 0.0051,
    Metric.GENERATION: 1.01,
    Metric.MIX: 1.01,
    Metric.CARBON_ESTIMATE: 1.0,
    Metric.INTERCHANGE: 6.0,
}
"""Errors of rounding to cents, whole MW and tenths of a per cent. A net is a sum of up to twelve rounded flows."""


def day_of(feed: Feed, kind: str) -> MarketDay:
    if kind == "old":
        return MarketDay(VIKING_LINK if feed.id == "entsoe.flows" else date(2021, 9, 30), feed.tz)
    region = ZONES[feed.zones[0]].tz.split("/")[0]
    return MarketDay({"spring": SPRING, "autumn": AUTUMN}.get(kind, {}).get(region, date(2026, 9, 16)), feed.tz)


def year_or_day(feed: Feed, day: MarketDay) -> MarketDay:
    return MarketDay(date(day.day.year, 1, 1), feed.tz) if feed.yearly else day


def after(feed: Feed, day: MarketDay, days: int) -> int:
    """Return the time `days` after `day`, in Unix seconds, or the last time at which the publisher still serves it."""
    return day.end + (days * DAY if feed.reach_days is None or feed.reach_days > days else feed.reach_days * DAY - 1)


def truth(feed: Feed, key: SeriesKey, ts: Any) -> Any:
    zone, step = key.zone, RESOLUTIONS["15m" if feed.id in HALF_HOURS_STATED_BY_A_QUARTER else key.resolution]
    if key.metric in (Metric.PRICE, Metric.PRICE_DAY_AHEAD):
        auction = key.metric == Metric.PRICE_DAY_AHEAD or ZONES[zone].day_ahead_metric is Metric.PRICE
        return grid.price(zone, ts, step, "day_ahead" if auction else "real_time")
    if key.metric == Metric.DEMAND:
        return grid.demand(zone, ts, step)
    if key.metric == Metric.CARBON_INTENSITY:
        return grid.carbon_intensity(ts, step)
    if key.metric == Metric.GENERATION:
        mix = grid.generation(zone, ts, step)
        wide = feed.source == "eia"  # its "other" includes biomass, and its oil is always 0
        return mix["other"] + mix["biomass"] * wide if key.fuel == "other" else mix.get(str(key.fuel), 0.0 * ts)
    if key.metric == Metric.MIX:
        mix = {"solar_rooftop": grid.rooftop(zone, ts, step), **grid.mix(zone, ts, step)}
        # If a publisher does not separate onshore and offshore wind, they are one fuel.
        return (
            mix[key.fuel] if key.fuel in mix else sum(mw for fuel, mw in mix.items() if fuel.startswith(f"{key.fuel}_"))
        )
    if key.metric == Metric.CARBON:
        return grid.carbon(zone, ts, step)
    if key.metric == Metric.CARBON_ESTIMATE:
        mix = grid.mix(zone, ts, step)
        mw = [carbon.FuelReadings(fuel, key.resolution, ts, values) for fuel, values in mix.items()]
        return carbon.estimate(zone, mw).value
    if key.metric == Metric.CAPACITY:
        return [grid.capacity(zone, utc(at + DAY).year)[str(key.fuel)] for at in ts.tolist()]
    assert key.metric == Metric.INTERCHANGE, f"truth() has no figures of {key.metric}: add what the grid says of it"
    if key.link:
        return grid.inflow(zone, grid.line(key.link), ts, step)
    return grid.border(zone, key.counterparty, ts, step) if key.counterparty else grid.interchange(zone, ts, step)


def require_whole(rows: Rows, feed: Feed, day: MarketDay, now: int) -> None:
    """Check that everything due by `now` is present and valid."""
    judgement = quality.judge(rows, feed, [] if feed.yearly else [day.window], now)
    assert judgement.incomplete == {}
    assert len(judgement.quarantined) == 0


PAST = (("ordinary", 2), ("ordinary", 20), ("ordinary", 50), ("spring", 50), ("autumn", 50), ("old", 1800))
"""Kinds of days, and the number of days after which they are requested: with estimates, from a bundle, an archive or
another API, and years later.
"""


@pytest.mark.parametrize("feed_id", FEEDS)
def test_past_days_are_whole_and_the_grids(feed_id: str, ask: Ask) -> None:
    for kind, age in PAST:
        require_truth(feeds()[feed_id], kind, age, ask)


def require_truth(feed: Feed, kind: str, age: int, ask: Ask) -> None:
    """Check that the rows of a day are those of the grid, and that no row due by then is missing."""
    day = day_of(feed, kind)
    now = after(feed, day, age)
    if feed.out_of_reach(day.day, local_date(now, feed.tz)) or (kind == "old" and feed.source == YOUNG_LOG):
        return
    rows, _ = ask(feed.id, [year_or_day(feed, day)], iso(now))
    if feed.id not in SHORT.get(kind, ()):
        require_whole(rows, feed, day, now)
    if coverage.due_until(feed, day.window, now) == day.end:
        assert {(k.zone, k.metric) for k in rows.readings} >= {(z, m) for z in feed.zones for m in feed.metrics}, kind
    window, estimated = day.window, ESTIMATES if now < day.end + 30 * DAY else 0.0
    for key, readings in rows.readings.items():
        if (key.zone, key.counterparty) not in NOT_IN_THE_GRID and not is_forecast(key.metric):
            inside = [feed.yearly or ts in window for ts in readings.ts]
            expected = truth(feed, key, np.array(readings.ts)[inside])
            error = np.abs(np.array(readings.values)[inside] - expected) - estimated * np.abs(expected)
            assert error.max(initial=0.0) <= TOLERANCE.get(Metric(key.metric), 0.51), (kind, key)


@pytest.mark.parametrize("at", ["2026-11-20T02:11:30Z", "2026-11-20T17:07:30Z"])
@pytest.mark.parametrize("feed_id", FEEDS)
def test_a_running_day_has_what_must_be_out_and_nothing_of_the_future(feed_id: str, at: str, ask: Ask) -> None:
    feed, now = feeds()[feed_id], instant(at)
    day = MarketDay.at(now, feed.tz)
    rows, _ = ask(feed_id, [year_or_day(feed, day)], at)
    ahead = {Metric.PRICE_DAY_AHEAD, *Forecast}
    measured = [key for key in rows.readings if not feed.yearly and key.metric not in ahead]
    ends = (ts + RESOLUTIONS[key.resolution] for key in measured for ts in rows.readings[key].ts)
    newest = max(ends, default=0)
    if feed_id in NEWEST_ONLY:
        assert newest >= coverage.due_until(feed, day.window, now)
    else:
        require_whole(rows, feed, day, now)
    assert feed.ahead_days or newest <= now + RESOLUTIONS["5m"]


NOT_REVISED = {"caiso.demand_forecast", "eia.demand_forecast"}
"""Their publishers forecast each day once."""
FORECASTING = [feed.id for feed in feeds().values() if any(map(feed.carries, Forecast))]


@pytest.mark.parametrize("feed_id", FORECASTING)
def test_forecasts_are_near_the_grid_of_vintages_that_differ(feed_id: str, ask: Ask) -> None:
    feed, values = feeds()[feed_id], defaultdict[tuple[str, str, int], set[float]](set)
    for now in (instant(NOON) + hours * HOUR for hours in (0, 14, 24)):
        day = MarketDay.at(now, feed.tz)
        rows, _ = ask(feed_id, [day if feed.reach_days == 0 else day.next(-1)], iso(now))
        for key, readings in rows.readings.items():
            if not is_forecast(key.metric):
                continue
            assert key.published_at is not None
            assert key.published_at <= now
            assert min(readings.ts) + RESOLUTIONS[key.resolution] > key.published_at
            foreseen = Metric.PRICE_DAY_AHEAD if key.metric == Forecast.PRICE else actual_of(key.metric)
            actual = truth(feed, key._replace(metric=foreseen), np.array(readings.ts))
            assert (np.abs(np.array(readings.values) - actual) <= 0.3 * np.abs(actual) + 10).all(), key
            for ts, value in zip(readings.ts, readings.values, strict=True):
                values[key.zone, key.metric, ts].add(value)
    assert len(values) > 20
    assert any(len(stated) > 1 for stated in values.values()) == (feed_id not in NOT_REVISED)


@pytest.mark.parametrize("feed_id", [feed.id for feed in feeds().values() if feed.ahead_days])
def test_tomorrows_auction_is_out_when_its_feed_says_so(feed_id: str, ask: Ask) -> None:
    feed = feeds()[feed_id]
    tomorrow = MarketDay(date(2026, 11, 20), feed.tz)
    out = feed.publication.out_at(tomorrow)
    before, _ = ask(feed_id, [tomorrow], iso(out - 6 * HOUR))
    assert not [ts for readings in before.readings.values() for ts in readings.ts if ts in tomorrow.window]
    late = out + 60 * feed.publication.grace_minutes
    require_whole(ask(feed_id, [tomorrow], iso(late))[0], feed, tomorrow, late)


def answer_of(request: Request, now: int) -> Answer:
    answer: Answer = import_module(f"assets.simulated.{request.feed.split('.')[0]}").simulate_response(request, now)
    return answer


@pytest.mark.parametrize("feed_id", FEEDS)
def test_an_address_of_nothing_is_not_found(feed_id: str) -> None:
    feed, now = feeds()[feed_id], instant(NOON)
    for request in feed.requests([year_or_day(feed, MarketDay.at(now, feed.tz))], now):
        parts = urlsplit(request.url)
        for url in (f"{parts.scheme}://{parts.netloc}/", f"{parts.scheme}://{parts.netloc}{parts.path}/nothing"):
            assert answer_of(replace(request, url=url, params=(), body=""), now).status in (400, 404), url
