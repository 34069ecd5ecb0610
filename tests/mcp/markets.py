"""Publish a warehouse of all 25 zones with the real publishers' terms and invented values, for questions of agents.

Prices vary with the hour of civil time, the day and the zone. European prices reach to the end of tomorrow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path

from assets.documents.publish import publish
from assets.sources import sources
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, HOUR, RESOLUTIONS, instant
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import modes
from warehouse.store.storage import Folder

NOW = instant("2026-03-30T12:10:00Z")
TOMORROW_ENDS = instant("2026-03-31T22:00:00Z")
"""The end of tomorrow's European market day."""
DAYS = 35
HOLE = (instant("2026-03-30T02:00:00Z"), instant("2026-03-30T03:00:00Z"))
"""The range without rows of Swiss demand."""
CORRECTED = 4
"""The number of French prices of the previous day that were corrected."""
RIGHTS = ("pjm", "spp", "miso")


def _feed(zone: str, metric: Metric) -> str:
    """Return the ID of the highest-ranked feed that carries `metric` of `zone`."""
    feeds = [f for s in sources().values() for f in s.feeds if zone in f.zones and f.carries(metric)]
    return min(feeds, key=lambda feed: feed.rank).id


def _price(zone: str) -> Callable[[int], float]:
    chance = random.Random(zone)
    base, swing, phase = chance.uniform(35, 90), chance.uniform(15, 45), chance.uniform(0, 4)
    if zone == "AU-NSW":
        base = swing - 20  # below zero for a few hours per day

    def value(ts: int) -> float:
        hour = ts / HOUR + phase
        return round(base + swing * math.sin(hour * math.pi / 12) + 8 * math.sin(ts / DAY) + ts // 900 % 7, 2)

    return value


def _flow(zone: str) -> Callable[[int], float]:
    level = random.Random(f"{zone} flow").uniform(-3000, 3000)
    return lambda ts: round(level + 400 * math.sin(ts / HOUR), 1)


def _demand(zone: str) -> Callable[[int], float]:
    level = random.Random(f"{zone} demand").uniform(4000, 60000)
    return lambda ts: float(round(level * (1 + 0.2 * math.sin(ts / HOUR * math.pi / 12))))


def _put(
    storage: Folder,
    zone: str,
    metric: Metric,
    unit: str,
    step: str,
    end: int,
    value: Callable[[int], float],
    fuel: str | None = None,
    days: int = DAYS,
) -> None:
    start = NOW - NOW % HOUR - days * DAY
    stamps: Iterable[int] = range(start, end, RESOLUTIONS[step])
    if (zone, metric) == ("CH", Metric.DEMAND):
        stamps = [ts for ts in stamps if not HOLE[0] <= ts < HOLE[1]]
    stamps = list(stamps)
    rows = Rows()
    rows.extend(SeriesKey(zone, metric.value, unit, step, fuel=fuel), stamps, [value(ts) for ts in stamps])
    fold(storage, _feed(zone, metric), rows, {}, catalogue.ranks(sources(), RIGHTS, "live"), 1, "live")


def filled(home: Path) -> Path:
    """Write and publish the warehouse in `home`, and return `home`."""
    storage = Folder(home)
    modes.ensure(storage, "live")
    for zone in ZONES.values():
        european = zone.day_ahead_metric is Metric.PRICE
        step, end = ("15m", TOMORROW_ENDS) if european else ("15m", NOW)
        _put(storage, zone.id, Metric.PRICE, f"{zone.currency}/MWh", step, end, _price(zone.id))
        _put(storage, zone.id, Metric.DEMAND, "MW", "15m" if zone.id == "FR" else "1h", NOW, _demand(zone.id))
        _put(storage, zone.id, Metric.INTERCHANGE, "MW", "1h", NOW, _flow(zone.id))
    chance = random.Random("mix")
    for fuel in ("gas", "wind", "nuclear", "solar", "imports"):
        share = chance.uniform(5, 35)
        _put(
            storage, "GB", Metric.GENERATION, "%", "30m", NOW, lambda ts, s=share: round(s + ts // 1800 % 5, 1), fuel, 3
        )
    _put(storage, "GB", Metric.CARBON_INTENSITY, "gCO2/kWh", "30m", NOW, lambda ts: 120.0 + ts // 1800 % 48)
    _put(storage, "US-NYISO", Metric.PRICE_DAY_AHEAD, "USD/MWh", "1h", TOMORROW_ENDS, _price("NY auction"), days=3)
    yesterday = range(NOW - NOW % HOUR - DAY, NOW - NOW % HOUR - DAY + HOUR, 900)
    rows = Rows()
    rows.extend(SeriesKey("FR", Metric.PRICE, "EUR/MWh", "15m"), yesterday, [500.0] * CORRECTED)
    fold(storage, _feed("FR", Metric.PRICE), rows, {}, catalogue.ranks(sources(), RIGHTS, "live"), 2, "live")
    catalogue.publish(storage, sources(), "live", RIGHTS, tuple(sources()), NOW)
    publish(storage, NOW)
    return home
