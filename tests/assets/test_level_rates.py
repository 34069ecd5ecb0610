"""How often level shifts are reported, over three simulated weeks.

False alarms by day, and shares of true shifts by kind.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from assets.ingest.runs import ingest_days
from assets.sources import feed
from orchestration.work.resources import open_context
from tests.stand_ins import stored_rows
from warehouse.judge import levels
from warehouse.judge.levels import Hourly
from warehouse.market.clock import DAY, MarketDay, Window, instant, local_date
from warehouse.series import series

pytestmark = pytest.mark.slow

NOW = instant("2026-11-18T12:00:00Z")
FEEDS = (
    "aemo.price_and_demand",
    "elexon.price",
    "elexon.demand",
    "elexon.interconnectors",
    "nyiso.flows",
    "nyiso.load",
)
PAST, JUDGED = 14, 8
SHIFTS = {"demand": 2.0, "price": 10.0, "interchange": -1.0}


def part(hours: Hourly, first: int, last: int) -> Hourly:
    inside = (hours.hour >= first) & (hours.hour < last)
    return Hourly(hours.hour[inside], hours.value[inside])


def test_shifts_are_told_and_weather_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_NOW", str(NOW))
    for name in ("EMDS_FEEDS", "EMDS_FAULTS"):
        monkeypatch.delenv(name, raising=False)
    pipeline = open_context()
    for name in FEEDS:
        of = feed(name)
        days = [MarketDay(local_date(NOW, of.tz) - timedelta(days=i), of.tz) for i in range(PAST + JUDGED, -1, -1)]
        ingest_days(pipeline, of, days)
    judged, false, reported, restated = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for metric, zone in sorted({(metric, zone) for metric, zone, _ in series.places(pipeline.storage)}):
        if metric not in SHIFTS:
            continue
        net = stored_rows.net(stored_rows.read(pipeline.storage, zone, metric, Window(NOW - 40 * DAY, NOW)))
        hours = levels.hourly(net.column("ts").to_numpy(), net.column("value").to_numpy().astype(np.float64))
        for number in range(1, JUDGED + 1):
            day = Window(NOW // DAY * DAY - number * DAY, NOW // DAY * DAY - (number - 1) * DAY)
            first, last = day.start // 3600, day.end // 3600
            new, past, known = part(hours, first, last), part(hours, 0, first), part(hours, 0, last)
            shifted = Hourly(new.hour, new.value * SHIFTS[metric])
            judged[metric] += 1
            false[metric] += bool(levels.shifts(metric, zone, [day], new, past))
            reported[metric] += bool(levels.shifts(metric, zone, [day], shifted, past))
            restated[metric] += bool(levels.shifts(metric, zone, [day], shifted, known))
    rates = {m: (judged[m], false[m], reported[m] / judged[m], restated[m] / judged[m]) for m in SHIFTS}
    print(rates)
    assert false.total() <= judged.total() / 100, rates
    assert reported["demand"] == judged["demand"], rates
    assert reported["price"] >= 0.9 * judged["price"], rates
    assert restated["interchange"] >= 0.8 * judged["interchange"], rates
