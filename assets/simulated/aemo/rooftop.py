"""Simulate the files of rooftop solar: half hours in `Current` for two weeks, weekly bundles, and monthly tables.

Files contain the measured estimate of the five regions and of parts of two. The monthly table also contains the
satellite's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial

from assets.simulated import grid
from assets.simulated.aemo.reports import Block, block, market_time, render_report, stamp
from assets.simulated.answer import shorts, zipped
from assets.sources.aemo.files import MARKET_TZ
from assets.sources.aemo.rooftop import PREFIX, TABLE
from assets.sources.aemo.rows import HALF_HOUR, REGIONS
from warehouse.market.clock import DAY, MarketDay, local_date

LABEL = 2 * HALF_HOUR
"""Seconds from a half hour's start to the time in its name. The file is written two seconds later."""
CURRENT = 14 * DAY
KEPT = timedelta(days=400)
BUNDLED = 14
"""The minimum number of days from a week's first day, a Thursday, until its bundle is published."""
PARTS = {"QLDC": ("QLD1", 0.1), "QLDN": ("QLD1", 0.2), "QLDS": ("QLD1", 0.7), "TASN": ("TAS1", 0.6)}
SATELLITE = 0.93
"""The satellite's estimate as a share of the measured estimate."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of rooftop solar: the columns after POWER, and whether the satellite's estimate is included."""

    name: str
    columns: tuple[str, ...]
    has_satellite: bool

    @property
    def header(self) -> str:
        return f"I,ROOFTOP,ACTUAL,2,INTERVAL_DATETIME,REGIONID,POWER,{','.join(self.columns)}"

    def rows(self, part: Block) -> Iterator[tuple[str, ...]]:
        """Yield the D lines of each half hour."""
        measured = {region: grid.rooftop(zone, part.ts, part.step) for region, zone in sorted(REGIONS.items())}
        measured |= {name: share * measured[region] for name, (region, share) in PARTS.items()}
        kinds = {"MEASUREMENT": 1.0} | ({"SATELLITE": SATELLITE} if self.has_satellite else {})
        texts = {(kind, name): shorts(s * mw, 3) for kind, s in kinds.items() for name, mw in measured.items()}
        for place, start in enumerate(part.ts.tolist()):
            head, changed = f'D,ROOFTOP,ACTUAL,2,"{stamp(start + HALF_HOUR)}"', stamp(start + HALF_HOUR + 19 * 60)
            yield tuple(f"{head},{name},{of[place]},{self._tail(kind, changed)}" for (kind, name), of in texts.items())

    def _tail(self, kind: str, changed: str) -> str:
        cells = {"QI": "1", "TYPE": kind, "LASTCHANGED": f'"{changed}"'}
        return ",".join(cells[column] for column in self.columns)


FILES = Rows("ROOFTOP_PV_ACTUAL_MEASUREMENT", ("QI", "TYPE", "LASTCHANGED"), False)
MONTHLY = Rows(TABLE, ("LASTCHANGED", "TYPE", "QI"), True)


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory ROOFTOP_PV/ACTUAL: files by name, with the function that creates each."""

    def current(self, now: int) -> dict[str, partial[bytes]]:
        """Return the single files."""
        last = (now - 2) // HALF_HOUR * HALF_HOUR - LABEL
        return {f"{name(start)}.zip": partial(file, start) for start in range(last - CURRENT, last + 1, HALF_HOUR)}

    def archive(self, now: int) -> dict[str, partial[bytes]]:
        """Return the bundles of weeks, which start on Thursday."""
        today = local_date(now, MARKET_TZ)
        newest = today - timedelta(days=(today.weekday() - 3) % 7 + BUNDLED)
        thursdays = [newest - timedelta(days=back) for back in range(0, KEPT.days, 7)]
        return {f"{PREFIX}_{thursday:%Y%m%d}.zip": partial(bundle, thursday) for thursday in thursdays}


def name(start: int) -> str:
    """Return the name of a half hour's file, without its extension."""
    return f"{PREFIX}_{market_time(start + LABEL):%Y%m%d%H%M%S}_{start // HALF_HOUR:016d}"


def file(start: int) -> bytes:
    """Return the zip of a half hour's file."""
    midnight = MarketDay(market_time(start).date(), MARKET_TZ).start
    rows = _lines(midnight)[(start - midnight) // HALF_HOUR]
    body = render_report(FILES.name, start + LABEL + 2, [(FILES.header, rows)])
    return zipped([(f"{name(start)}.CSV", body)], market_time(start), 1)


def bundle(thursday: date) -> bytes:
    """Return the zip of a week's zips."""
    start = MarketDay(thursday, MARKET_TZ).start
    starts = range(start, start + 7 * DAY, HALF_HOUR)
    return zipped([(f"{name(at)}.zip", file(at)) for at in starts], market_time(starts.stop), 1)


@lru_cache(maxsize=8)
def _lines(midnight: int) -> list[tuple[str, ...]]:
    """Return the lines of a market day's files."""
    return list(FILES.rows(block(midnight, midnight + DAY, HALF_HOUR)))
