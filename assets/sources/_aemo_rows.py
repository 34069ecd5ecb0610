"""AEMO's dispatch and trading reports as rows: which columns of which tables are what, signs, regions and interconnectors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from assets.sources._aemo_csv import Table, tables
from assets.sources._aemo_files import FIVE_MINUTES
from assets.sources._columns import floats
from assets.sources._stamps import wall_seconds
from warehouse.clock import HOUR
from warehouse.errors import FeedChanged
from warehouse.market import Metric, Request
from warehouse.schema import Key, Rows

AHEAD_OF_UTC = 10 * HOUR
HALF_HOUR = 1800
FIVE_MINUTE_SETTLEMENT = wall_seconds("2021/10/01 00:00:00")
"""Trading intervals that end until here last half an hour."""

REGIONS = {"NSW1": "AU-NSW", "QLD1": "AU-QLD", "VIC1": "AU-VIC", "SA1": "AU-SA", "TAS1": "AU-TAS"}
ZONES = tuple(REGIONS.values())
FORMER_REGIONS = frozenset({"SNOWY1"})
"""Abolished in 2008."""

TIES = {
    "N-Q-MNSP1": ("AU-NSW", "AU-QLD", "au-nsw-qld-directlink"),
    "NSW1-QLD1": ("AU-NSW", "AU-QLD", "au-nsw-qld-qni"),
    "VIC1-NSW1": ("AU-VIC", "AU-NSW", "au-vic-nsw-vni"),
    "V-SA": ("AU-VIC", "AU-SA", "au-vic-sa-heywood"),
    "V-S-MNSP1": ("AU-VIC", "AU-SA", "au-vic-sa-murraylink"),
    "T-V-MNSP1": ("AU-TAS", "AU-VIC", "au-tas-vic-basslink"),
}
"""INTERCONNECTORID -> where its positive flow comes from, where it goes, and its line in the geographic layer."""

MEASURES = {
    "RRP": (Metric.PRICE, "AUD/MWh", 1.0),
    "TOTALDEMAND": (Metric.DEMAND, "MW", 1.0),
    "NETINTERCHANGE": (Metric.INTERCHANGE, "MW", -1.0),
}
_DISPATCH = {
    "DISPATCHPRICE": ("RRP",),
    "DISPATCHREGIONSUM": ("TOTALDEMAND", "NETINTERCHANGE"),
    "DREGION": ("RRP", "TOTALDEMAND", "NETINTERCHANGE"),
    "DISPATCHINTERCONNECTORRES": ("MWFLOW",),
    "DINT": ("MWFLOW",),
}
_TRADING = {"TRADINGPRICE": ("RRP",), "TRADINGREGIONSUM": ("TOTALDEMAND", "NETINTERCHANGE"), "TRADINGINTERCONNECTORRES": ("MWFLOW",)}
_RESOLUTIONS = {FIVE_MINUTES: "5m", HALF_HOUR: "30m"}

_Step = Callable[[int], int]
"""From an interval's end in market time to its length in seconds."""
Readings = dict[tuple[str, int], list[tuple[int, Sequence[str]]]]
"""(region or interconnector, seconds) -> interval start and the line's cells."""


def _dispatch_step(end: int) -> int:
    return FIVE_MINUTES


def trading_step(end: int) -> int:
    return FIVE_MINUTES if end > FIVE_MINUTE_SETTLEMENT else HALF_HOUR


def parse_dispatch(body: bytes, request: Request) -> Rows:
    """Price, demand, net interchange and ties of the dispatch tables in a csv, a zip or a zip of zips."""
    return _report_rows(tables(body, _DISPATCH), _DISPATCH, _dispatch_step)


def parse_trading(body: bytes, request: Request) -> Rows:
    """The same of the trading tables, as far as the report has them."""
    return _report_rows(tables(body, _TRADING), _TRADING, trading_step)


def _report_rows(found: Iterable[Table], wanted: Mapping[str, Sequence[str]], step_of: _Step) -> Rows:
    rows = Rows()
    for one in found:
        places = {name: one.place(name) for name in wanted[one.name]}
        if "MWFLOW" in places:
            _put_ties(rows, _readings(one, "INTERCONNECTORID", places, step_of, rows), places["MWFLOW"])
        else:
            put_regions(rows, _readings(one, "REGIONID", places, step_of, rows), places)
    return rows


def _readings(one: Table, by: str, places: Mapping[str, int], step_of: _Step, rows: Rows) -> Readings:
    """The lines of the pricing run by region or interconnector; what is left out is counted in `rows`."""
    stamp, name = one.place("SETTLEMENTDATE"), one.place(by)
    flag = one.place("INTERVENTION") if "INTERVENTION" in one.header else None
    found: Readings = defaultdict(list)
    for cells in one.cells(max(stamp, name, flag or 0, *places.values())):
        if flag is not None and cells[flag] != "0":
            if cells[flag] != "1":
                raise FeedChanged(f"{one.name}: INTERVENTION is {cells[flag][:20]!r}")
            rows.dropped["intervention run"] += 1
            continue
        end = wall_seconds(cells[stamp])
        step = step_of(end)
        if end % step:
            rows.dropped["off the grid"] += 1
            continue
        found[cells[name], step].append((end - step - AHEAD_OF_UTC, cells))
    return found


def put_regions(rows: Rows, readings: Readings, places: Mapping[str, int]) -> None:
    for (region, step), lines in readings.items():
        zone = zone_of(region, rows, len(lines))
        if zone is None:
            continue
        for name, place in places.items():
            metric, unit, sign = MEASURES[name]
            ts, values = _column(lines, place, name)
            rows.extend(Key(zone, metric, unit, _RESOLUTIONS[step]), ts, values if sign > 0 else _turned(values))


def _put_ties(rows: Rows, readings: Readings, place: int) -> None:
    """Two rows a reading: an import into the one region is an export from the other."""
    for (name, step), lines in readings.items():
        if name not in TIES:
            # A line that is new to us: the net does not need it, and which regions it joins is not in the file.
            rows.dropped[f"interconnector {name[:20]}"] += len(lines)
            continue
        origin, target, link = TIES[name]
        ts, values = _column(lines, place, "MWFLOW")
        for zone, other, flow in ((target, origin, values), (origin, target, _turned(values))):
            rows.extend(Key(zone, Metric.INTERCHANGE, "MW", _RESOLUTIONS[step], counterparty=other, link=link), ts, flow)


def _column(lines: Sequence[tuple[int, Sequence[str]]], place: int, name: str) -> tuple[list[int], list[float]]:
    """Interval starts and values of the lines where the cell is not empty."""
    told = [(ts, cells[place]) for ts, cells in lines if cells[place]]
    return [ts for ts, _ in told], floats([text for _, text in told], name)


def _turned(values: Sequence[float]) -> list[float]:
    return [0.0 - value for value in values]


def zone_of(region: str, rows: Rows, count: int) -> str | None:
    """Our zone of a region; None for one that is no more. Raises FeedChanged for an unknown one."""
    if region in FORMER_REGIONS:
        rows.dropped[f"former region {region}"] += count
        return None
    try:
        return REGIONS[region]
    except KeyError:
        raise FeedChanged(f"unknown region {region[:20]!r}") from None
