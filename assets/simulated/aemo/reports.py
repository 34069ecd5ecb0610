"""Render AEMO's C/I/D files: the tables of its reports from the model grid, with the columns that parsers read.

Timestamps are interval ends in market time (UTC+10). `nemweb` defines directories and publication times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import lines, shorts
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES
from assets.sources.aemo.rows import HALF_HOUR, REGIONS, TIES
from assets.sources.aemo.units import Unit, known_units
from warehouse.market.clock import utc

FIVE_MINUTE_TRADING = date(2021, 10, 1)
"""The first day of five-minute trading intervals. Before, they lasted half an hour."""


def market_time(ts: int) -> datetime:
    """Return the local time in Brisbane (UTC+10 all year)."""
    return utc(ts + AHEAD_OF_UTC)


def stamp(ts: int) -> str:
    """Return a timestamp such as `2026/11/20 12:00:00`."""
    return f"{market_time(ts):%Y/%m/%d %H:%M:%S}"


def trading_step(day: date) -> int:
    """Return the seconds of a trading interval on a market day."""
    return FIVE_MINUTES if day >= FIVE_MINUTE_TRADING else HALF_HOUR


def next_month(month: date) -> date:
    """Return the first day of the month after a day's month."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


@dataclass(frozen=True, slots=True)
class Block:
    """Contiguous intervals: their starts (Unix seconds) and length."""

    ts: Ints
    step: int

    def of_regions(self, value: Callable[[str, Ints, int], Floats], digits: int) -> dict[str, list[str]]:
        """Return a quantity of each region as texts."""
        return {region: shorts(value(zone, self.ts, self.step), digits) for region, zone in sorted(REGIONS.items())}

    def of_units(self, digits: int) -> dict[str, list[str]]:
        """Return the values of units. A fuel of a region has one or two units; a fuel without a known unit is left out.

        A battery's load is positive while it charges. Pumps represent pumped storage in both directions.
        """
        readings: dict[str, list[str]] = {}
        for region, zone in sorted(REGIONS.items()):
            for fuel, megawatts in grid.mix(zone, self.ts, self.step).items():
                units = [(duid, unit.is_load) for duid, unit in _units_of(region, fuel)]
                sources, loads = ([duid for duid, is_load in units if is_load == of] for of in (False, True))
                if sources and loads:
                    shares = {sources[0]: np.maximum(megawatts, 0.0), loads[0]: np.maximum(-megawatts, 0.0)}
                elif sources[1:]:
                    shares = {sources[0]: 0.6 * megawatts, sources[1]: 0.4 * megawatts}
                else:
                    shares = {duid: -megawatts if is_load else megawatts for duid, is_load in units[:1]}
                readings |= {duid: shorts(values, digits) for duid, values in shares.items()}
        return readings

    def flows(self, digits: int) -> dict[str, list[str]]:
        """Return the flow from each interconnector's first region to its second."""
        ties = {name: grid.line(link) for name, (_, _, link) in sorted(TIES.items())}
        flowing = {name: tie for name, tie in ties.items() if tie.since <= self.ts[0]}
        return {name: shorts(grid.flow(tie, self.ts, self.step), digits) for name, tie in flowing.items()}


@cache
def _units_of(region: str, fuel: str) -> list[tuple[str, Unit]]:
    """Return the known units of a region's fuel, by DUID."""
    return sorted((duid, unit) for duid, unit in known_units().items() if (unit.region, unit.fuel) == (region, fuel))


def block(start: int, end: int, step: int = FIVE_MINUTES) -> Block:
    """Return the intervals of `[start, end)`."""
    return Block(np.arange(start, end, step, dtype=np.int64), step)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, the start of its lines with the version, and the constant columns that identify a row."""

    name: str
    start: str
    fixed: Mapping[str, str]
    figures: Mapping[str, Callable[[Block], dict[str, list[str]]]]
    """The texts of each interval, by column and by region or interconnector."""

    @property
    def header(self) -> str:
        return f"I,{self.start},SETTLEMENTDATE,{','.join([*self.fixed, *self.figures])}"

    def rows(self, part: Block, quote: str = "") -> Iterator[tuple[str, ...]]:
        """Return the D lines of each interval. Timestamps are enclosed in `quote`, as in the five-minute reports."""
        stamps = [f"{quote}{stamp(start + part.step)}{quote}" for start in part.ts.tolist()]
        columns = [figures(part) for figures in self.figures.values()]
        return zip(
            *(self._rows_of(name, stamps, [column[name] for column in columns]) for name in columns[0]), strict=True
        )

    def _rows_of(self, name: str, stamps: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
        fixed = ",".join(value or name for value in self.fixed.values())
        return [f"D,{self.start},{at},{fixed},{','.join(row)}" for at, *row in zip(stamps, *columns, strict=True)]


def _exports(zone: str, ts: Ints, step: int) -> Floats:
    return -grid.interchange(zone, ts, step)


_REGION, _TIE = {"RUNNO": "1", "REGIONID": ""}, {"RUNNO": "1", "INTERCONNECTORID": ""}
_RUN = {"INTERVENTION": "0"}
PRICE = Table("DISPATCHPRICE", "DISPATCH,PRICE,5", _REGION | _RUN, {"RRP": lambda part: part.of_regions(grid.price, 5)})
REGIONSUM = Table(
    "DISPATCHREGIONSUM",
    "DISPATCH,REGIONSUM,9",
    _REGION | _RUN,
    {
        "TOTALDEMAND": lambda part: part.of_regions(grid.demand, 2),
        "NETINTERCHANGE": lambda part: part.of_regions(_exports, 2),
    },
)
INTERCONNECTORRES = Table(
    "DISPATCHINTERCONNECTORRES", "DISPATCH,INTERCONNECTORRES,3", _TIE | _RUN, {"MWFLOW": lambda part: part.flows(5)}
)
UNIT_SCADA = Table(
    "DISPATCH_UNIT_SCADA",
    "DISPATCH,UNIT_SCADA,1",
    {"DUID": ""},
    {"SCADAVALUE": lambda part: part.of_units(5)},
)
TRADING_INTERCONNECTORRES = Table(
    "TRADINGINTERCONNECTORRES", "TRADING,INTERCONNECTORRES,2", _TIE, {"MWFLOW": lambda part: part.flows(2)}
)
TRADING_PRICE = Table("TRADINGPRICE", "TRADING,PRICE,3", _REGION, {"RRP": lambda part: part.of_regions(grid.price, 2)})


def render_report(kind: str, written: int, tables: Iterable[tuple[str, Sequence[str]]]) -> bytes:
    """Return a report with its writing time, and each table's header and rows."""
    body = [line for header, rows in tables for line in (header, *rows)]
    first = f"C,NEMP.WORLD,{kind},AEMO,PUBLIC,{market_time(written):%Y/%m/%d,%H:%M:%S}"
    return lines([first, *body, f'C,"END OF REPORT",{len(body) + 2}'])
