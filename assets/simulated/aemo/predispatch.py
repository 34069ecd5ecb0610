"""Simulated pre-dispatch of NEMWEB: a run each half hour, its file half an hour before the run's nominal time.

Today's runs all lie in `Current`; of days that are over four are left, there until their week is bundled in `ARCHIVE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np

from assets.simulated import grid
from assets.simulated.aemo.reports import minute, render_report, stamp
from assets.simulated.aemo.tables import PREDISPATCH
from assets.sources.aemo.files import AHEAD_OF_UTC, MARKET_TZ
from assets.sources.aemo.rows import HALF_HOUR, REGIONS
from warehouse.market.clock import DAY, HOUR, MarketDay, utc

AHEAD_OF_RUN = 27 * 60 + 20
"""Seconds before a run's nominal time at which its file is published."""
OF_OLD_DAYS = 6 * HOUR
LONGER_FROM = 13 * HOUR
"""From this run on, market time, runs reach to the end of the next trading day, at 04:00."""


def published(day: date, now: int) -> Iterator[int]:
    """The instants of a day at which runs were published that are still there at `now`."""
    window = MarketDay(day, MARKET_TZ).window
    step = OF_OLD_DAYS if window.end <= now else HALF_HOUR
    yield from range(window.start + HALF_HOUR - AHEAD_OF_RUN, min(window.end, now + 1), step)


def name(at: int) -> str:
    """The file that is published at an instant, without its ending."""
    return f"PUBLIC_PREDISPATCH_{minute(at + AHEAD_OF_RUN)}_{utc(at + AHEAD_OF_UTC):%Y%m%d%H%M%S}_LEGACY"


def report(at: int) -> bytes:
    """The CSV of the run that is published at an instant."""
    run = at + AHEAD_OF_RUN
    clock = (run + AHEAD_OF_UTC) % DAY
    last = run - clock + 4 * HOUR + (DAY if clock > 4 * HOUR else 0) + (DAY if clock >= LONGER_FROM else 0)
    starts = np.arange(run - HALF_HOUR, last, HALF_HOUR, dtype=np.int64)
    number = f"{utc(run + AHEAD_OF_UTC - 4 * HOUR):%Y%m%d}{(clock - 4 * HOUR) % DAY // HALF_HOUR + 1:02d}"
    rows = []
    for region, zone in REGIONS.items():
        price = grid.price(zone, starts, HALF_HOUR, "day_ahead")
        columns = {
            "RRP": grid.as_forecast(price, starts, at, f"aemo.predispatch/{zone}/price", 0.25).round(5),
            "TOTALDEMAND": grid.as_forecast(
                grid.demand(zone, starts, HALF_HOUR), starts, at, f"aemo.predispatch/{zone}/demand"
            ).round(2),
        }
        rows += [
            PREDISPATCH.row
            % {
                "PREDISPATCHSEQNO": number,
                "REGIONID": region,
                "PERIODID": f'"{stamp(start + HALF_HOUR)}"',
                **{name: values[i] for name, values in columns.items()},
            }
            for i, start in enumerate(starts.tolist())
        ]
    return render_report("PREDISPATCH", at, int(f"{utc(at):%y%m%d%H%M}"), [(PREDISPATCH, rows)])
