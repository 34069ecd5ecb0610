"""Parse the mix of the five regions: each unit's meter (Dispatch_SCADA) and rooftop solar, as one feed.

Two feeds would hide each other, because the fuels of an interval are taken from one feed.

Traps:
- A SCADA file is written 16 seconds after its interval begins. It contains the reading at the start of the interval
  that SETTLEMENTDATE ends.
- Loads (SNOWYP, HPRL1) are positive while they consume, so their sign is reversed. Units that both charge and
  discharge, which exist since 2024, carry their own sign.
- The file names units, not fuels: see `units`. A unit that is missing in the table has no region either. If such units
  exceed 2% of the absolute MW of all five regions, the interval only has a row of rooftop solar.
- Rooftop solar is half-hourly, named by the end, and published half an hour after the end. The regions QLDC, QLDN,
  QLDS, TASN and TASS are parts of QLD1 and TAS1. Each half hour has several estimates by TYPE, and only MEASUREMENT is
  read. The monthly archive has its columns in another order.
- `solar` is utility scale. Demand already excludes the supply from roofs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assets.parsing.columns import drop
from assets.parsing.members import require_known
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.parsing.stamps import wall_stamp
from assets.parsing.totals import DIGITS
from assets.sources.aemo import rooftop
from assets.sources.aemo.csv_tables import Table, coded, tables
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES, Report
from assets.sources.aemo.rows import HALF_HOUR, REGIONS, REGIONS_KNOWN, Flags, Floats, Ints
from assets.sources.aemo.units import known_units
from warehouse.errors import NotPublished
from warehouse.market.clock import SPREAD, MarketDay
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.rows.schema import Member, Rows

SCADA = Report("aemo.mix", "Dispatch_SCADA", "PUBLIC_DISPATCHSCADA", False, ("DISPATCH_UNIT_SCADA",))
UNKNOWN_SHARE = 0.02
"""The share of the absolute MW of all units above which unknown units cost an interval its rows."""
NO_MIX = "more than 2% of the output, so that there is no mix (add units by `python -m assets.sources units FILE`)"
NAMED = 5
"""The number of these units that are named, the largest first."""
_SCADA_TABLE, _ROOFTOP_TABLE = "DISPATCHUNIT_SCADA", "ROOFTOPACTUAL"
_PARTS = frozenset({"QLDC", "QLDN", "QLDS", "TASN", "TASS"})


def request_mix(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the requests for SCADA and rooftop files of these days."""
    return [*rooftop.requests(days, now), *SCADA.requests(days, now)]


def follow_mix(body: bytes, request: Request) -> list[Request]:
    """Return the files of a listing of either. Raises FeedChanged."""
    return rooftop.follow(body, request) if rooftop.DIRECTORY in request.url else SCADA.follow(body, request)


def parse_mix(body: bytes, request: Request) -> Rows:
    """Return the `mix` rows of SCADA or rooftop files. Raises FeedChanged, NotPublished."""
    rows, by_code = Rows(), MixByCode()
    found = tables(body, (_SCADA_TABLE, _ROOFTOP_TABLE))
    for table in found:
        if table.name == _ROOFTOP_TABLE:
            _add_rooftop(rows, by_code, table)
    extend_mix(rows, by_code)
    require_known(rows)
    by_code = MixByCode()
    for table in found:
        if table.name == _SCADA_TABLE:
            _add_units(rows, by_code, table)
    extend_mix(rows, by_code)
    if not len(rows) and not rows.unknown:
        raise NotPublished("no reading in the file")
    return rows


def _add_rooftop(rows: Rows, by_code: MixByCode, table: Table) -> None:
    """Add the measured half hours of the five regions."""
    texts = ("INTERVAL_DATETIME", "REGIONID", "TYPE")
    columns = table.columns(texts, ("POWER",)).to_pydict()
    for stamp, region, kind, power in zip(*(columns[name] for name in (*texts, "POWER")), strict=True):
        start = wall_stamp(stamp) - HALF_HOUR - AHEAD_OF_UTC
        if kind != "MEASUREMENT" or region in _PARTS:
            rows.dropped["rooftop solar of another TYPE, or of a part of a region"] += 1
        elif start % HALF_HOUR:
            rows.dropped["off the grid"] += 1
        elif power is not None and (zone := REGIONS_KNOWN.find(rows, region, [start])):
            by_code.add(Code(zone, Fuel.SOLAR_ROOFTOP, "rooftop", "30m"), start, power)


def _add_units(rows: Rows, by_code: MixByCode, table: Table) -> None:
    """Add the sums of the units of each region and fuel. An interval with too many unknown units has no sum."""
    columns = table.columns(("SETTLEMENTDATE", "DUID"), ("SCADAVALUE",))
    words, lines = coded(columns["SETTLEMENTDATE"])
    ends = np.array([wall_stamp(word) for word in words], np.int64)[lines]
    names, units = coded(columns["DUID"])
    on_grid = ends % FIVE_MINUTES == 0
    drop(rows, "off the grid", int((~on_grid).sum()))
    ends, units, values = _agreed(ends[on_grid], units[on_grid], columns["SCADAVALUE"].to_numpy()[on_grid])
    stamps, place = np.unique(ends, return_inverse=True)
    known = [known_units().get(name) for name in names]
    groups = sorted({(unit.region, unit.fuel) for unit in known if unit is not None})
    group = np.array([-1 if unit is None else groups.index((unit.region, unit.fuel)) for unit in known], np.int64)
    sign = np.array([-1.0 if unit is not None and unit.is_load else 1.0 for unit in known])
    is_known = group[units] >= 0
    refused = _refused(rows, names, stamps, place, units, values, is_known)
    cells = (group[units] * len(stamps) + place)[is_known]
    size = len(groups) * len(stamps)
    sums = np.bincount(cells, (sign[units] * values)[is_known], size).reshape(len(groups), len(stamps))
    has_units = np.bincount(cells, minlength=size).reshape(len(groups), len(stamps)) > 0
    starts = stamps - FIVE_MINUTES - AHEAD_OF_UTC
    for (region, fuel), sums_of, has_unit in zip(groups, sums, has_units, strict=True):
        whole = has_unit & ~np.isnan(sums_of) & ~refused
        drop(rows, "sum without all its parts", int((has_unit & np.isnan(sums_of)).sum()))
        megawatts = np.round(sums_of[whole], DIGITS) + 0.0
        by_code.extend(Code(REGIONS[region], fuel, fuel.value, "5m"), starts[whole].tolist(), megawatts.tolist())


def _agreed(ends: Ints, units: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """Return each unit's reading of an interval once. A reading that is stated with two values becomes NaN."""
    key, first, place = np.unique(units * SPREAD + ends, return_index=True, return_inverse=True)
    if len(key) == len(ends):
        return ends, units, values
    agreed = values[first]
    agreed[place[values != agreed[place]]] = np.nan
    return ends[first], units[first], agreed


def _refused(
    rows: Rows, names: Sequence[str], stamps: Ints, place: Ints, units: Ints, values: Floats, is_known: Flags
) -> Flags:
    """Return which intervals unknown units cost, and note these units. `place` is each reading's interval."""
    size = np.nan_to_num(np.abs(values))
    unknown = np.bincount(place, np.where(is_known, 0.0, size), len(stamps))
    refused: Flags = unknown > UNKNOWN_SHARE * np.bincount(place, size, len(stamps))
    drop(rows, "reading of a unit that the table of units lacks", int((~is_known).sum()))
    if refused.any():
        costly = refused[place] & ~is_known
        instants = (stamps[refused] - FIVE_MINUTES - AHEAD_OF_UTC).tolist()
        by_unit = np.bincount(units[costly], size[costly], len(names))
        largest = [number for number in np.argsort(-by_unit)[:NAMED] if by_unit[number]]
        for name in (NO_MIX, *(f"unit {names[number]!r}" for number in largest)):
            rows.note_unknown(Member("", Metric.MIX, name), instants)
    return refused
