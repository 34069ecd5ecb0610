"""Convert AEMO's dispatch and trading reports to rows: tables, columns, signs, regions, interconnectors.

A market intervention doubles an interval. Its pricing run (INTERVENTION = 0) contains the price and the demand that
settle. The NETINTERCHANGE and MWFLOW of that run are the flows without the intervention. The actual flows are in the
run with INTERVENTION = 1: over 2018-04 its nets equal AEMO's own TRADINGREGIONSUM in every half hour. The nets of the
pricing run differ by 140 MW on average. METEREDMWFLOW, in the same row, is the target of five minutes before and is not
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from assets.parsing.members import Members, require_known
from assets.parsing.stamps import wall_stamp
from assets.sources.aemo.csv_tables import Table, coded, tables
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES
from warehouse.errors import FeedChanged
from warehouse.market.clock import DAY
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

HALF_HOUR = 1800
FIVE_MINUTE_SETTLEMENT = wall_stamp("2021/10/01 00:00:00")
"""Trading intervals that end by this time last half an hour."""

REGIONS = {"NSW1": "AU-NSW", "QLD1": "AU-QLD", "VIC1": "AU-VIC", "SA1": "AU-SA", "TAS1": "AU-TAS"}
ZONES = tuple(REGIONS.values())

TIES = {
    "N-Q-MNSP1": ("AU-NSW", "AU-QLD", "au-nsw-qld-directlink"),
    "NSW1-QLD1": ("AU-NSW", "AU-QLD", "au-nsw-qld-qni"),
    "NSW1-SA1": ("AU-NSW", "AU-SA", "au-sa-nsw-pec"),
    "VIC1-NSW1": ("AU-VIC", "AU-NSW", "au-vic-nsw-vni"),
    "V-SA": ("AU-VIC", "AU-SA", "au-vic-sa-heywood"),
    "V-S-MNSP1": ("AU-VIC", "AU-SA", "au-vic-sa-murraylink"),
    "T-V-MNSP1": ("AU-TAS", "AU-VIC", "au-tas-vic-basslink"),
}
"""INTERCONNECTORID -> the origin and the target of its positive flow, and its line in the geographic layer."""

REGIONS_KNOWN = Members("region", "", REGIONS)
TIES_KNOWN = Members("interconnector", Metric.INTERCHANGE, TIES)

MEASURES = {
    "RRP": (Metric.PRICE, "AUD/MWh", 1.0),
    "TOTALDEMAND": (Metric.DEMAND, "MW", 1.0),
    "NETINTERCHANGE": (Metric.INTERCHANGE, "MW", -1.0),
}
DISPATCH = {
    "DISPATCHPRICE": ("RRP",),
    "DISPATCHREGIONSUM": ("TOTALDEMAND", "NETINTERCHANGE"),
    "DREGION": ("RRP", "TOTALDEMAND", "NETINTERCHANGE"),
    "DISPATCHINTERCONNECTORRES": ("MWFLOW",),
    "DINT": ("MWFLOW",),
}
TRADING = {
    "TRADINGPRICE": ("RRP",),
    "TRADINGREGIONSUM": ("TOTALDEMAND", "NETINTERCHANGE"),
    "TRADINGINTERCONNECTORRES": ("MWFLOW",),
}
RESOLUTIONS = {FIVE_MINUTES: "5m", HALF_HOUR: "30m"}
_PHYSICAL = frozenset({"NETINTERCHANGE", "MWFLOW"})
"""Columns from an intervention's own run. The others come from the pricing run."""

_Step = Callable[[int], int]
"""A function from an interval's end in market time to its length in seconds."""
Column = tuple[list[int], list[float]]
"""Interval starts and values."""


class Block(NamedTuple):
    """The values of one region or interconnector at one resolution in a table, by column name."""

    name: str
    step: int
    columns: dict[str, Column]


def dispatch_step(end: int) -> int:
    return FIVE_MINUTES


def trading_step(end: int) -> int:
    """Return the length in seconds of the trading interval that ends at `end`."""
    return FIVE_MINUTES if end > FIVE_MINUTE_SETTLEMENT else HALF_HOUR


def parse_report(wanted: Mapping[str, Sequence[str]], step_of: _Step, body: bytes, request: Request) -> Rows:
    """Return the price, demand, net interchange and flows in the `wanted` tables of a CSV, a zip or a zip of zips."""
    rows = Rows()
    for table in tables(body, wanted):
        names = wanted[table.name]
        if "MWFLOW" in names:
            _put_ties(rows, _blocks(table, "INTERCONNECTORID", names, step_of, rows))
        else:
            _put_regions(rows, _blocks(table, "REGIONID", names, step_of, rows))
    require_known(rows)
    return rows


def _blocks(table: Table, by: str, names: Sequence[str], step_of: _Step, rows: Rows) -> Iterator[Block]:
    """Yield a table's columns by region or interconnector, each from the run that applies. Counts lines left out."""
    flagged = ("INTERVENTION",) if "INTERVENTION" in table.header else ()
    columns = table.columns(("SETTLEMENTDATE", by, *flagged), names)
    ends, steps = _placed(columns["SETTLEMENTDATE"], step_of)
    who, places = coded(columns[by])
    pricing = _is_pricing_run(columns["INTERVENTION"], table.name) if flagged else np.ones(len(ends), np.bool_)
    on_grid = ends % steps == 0
    runs = {name: _physical_run(pricing, ends) if name in _PHYSICAL else pricing for name in names}
    _count_left(rows, runs, on_grid)
    series = places * DAY + steps
    order = np.flatnonzero(on_grid)
    order = order[np.argsort(series[order], kind="stable")]
    starts = ends - steps - AHEAD_OF_UTC
    chosen = {name: columns[name].is_valid().to_numpy() & run for name, run in runs.items()}
    for part in np.split(order, np.flatnonzero(np.diff(series[order])) + 1):
        if len(part):
            lines = {name: part[mask[part]] for name, mask in chosen.items()}
            readings = {
                name: (starts[at].tolist(), columns[name].to_numpy()[at].tolist()) for name, at in lines.items()
            }
            yield Block(who[places[part[0]]], int(steps[part[0]]), readings)


def _physical_run(pricing: Flags, ends: Ints) -> Flags:
    """Return the lines with physical flows: the intervention run's, and those of intervals with only one run.

    A run covers the whole market, so a region without a line in an interval's intervention run has no flow there.
    """
    chosen: Flags = ~pricing | ~np.isin(ends, ends[~pricing])
    return chosen


def _count_left(rows: Rows, runs: Mapping[str, Flags], on_grid: Flags) -> None:
    """Count lines off the grid, and the lines of a run that do not supply price and demand, or flows."""
    for reason, physical in (("intervention run", False), ("pricing run of an intervention", True)):
        masks = [mask for name, mask in runs.items() if (name in _PHYSICAL) == physical]
        rows.dropped.update(+Counter({reason: int((~masks[0]).sum()) if masks else 0}))
    read = np.logical_or.reduce(list(runs.values()))
    rows.dropped.update(+Counter({"off the grid": int((read & ~on_grid).sum())}))


def _placed(stamps: pa.ChunkedArray, step_of: _Step) -> tuple[Ints, Ints]:
    """Return interval ends in market time, and lengths, of every line. Raises FeedChanged for an invalid stamp."""
    words, lines = coded(stamps)
    ends = [wall_stamp(word) for word in words]
    return np.array(ends, np.int64)[lines], np.array([step_of(end) for end in ends], np.int64)[lines]


def _is_pricing_run(flags: pa.ChunkedArray, table: str) -> Flags:
    words, lines = coded(flags)
    if unknown := [word for word in words if word not in ("0", "1")]:
        raise FeedChanged(f"{table}: unexpected INTERVENTION {unknown[0][:20]!r}")
    return np.array([word == "0" for word in words], np.bool_)[lines]


def _put_regions(rows: Rows, blocks: Iterable[Block]) -> None:
    """Add price, demand and net interchange by region."""
    for region, step, columns in blocks:
        zone = REGIONS_KNOWN.find(rows, region, (ts for stamps, _ in columns.values() for ts in stamps))
        if zone is None:
            continue
        for name, (ts, values) in columns.items():
            metric, unit, sign = MEASURES[name]
            rows.extend(SeriesKey(zone, metric, unit, RESOLUTIONS[step]), ts, values if sign > 0 else _turned(values))


def _put_ties(rows: Rows, blocks: Iterable[Block]) -> None:
    """Add two rows per reading: an import into one region is an export from the other.

    The nets do not need an unknown interconnector, because they are columns of their own.
    """
    for name, step, columns in blocks:
        ts, values = columns["MWFLOW"]
        if tie := TIES_KNOWN.find(rows, name, ts):
            origin, target, link = tie
            for zone, other, flow in ((target, origin, values), (origin, target, _turned(values))):
                key = SeriesKey(zone, Metric.INTERCHANGE, "MW", RESOLUTIONS[step], counterparty=other, link=link)
                rows.extend(key, ts, flow)


def _turned(values: Sequence[float]) -> list[float]:
    return [0.0 - value for value in values]
