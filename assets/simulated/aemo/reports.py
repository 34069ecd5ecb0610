"""Renders AEMO's files: five-minute reports, tables of the monthly archive, price and demand, the dashboard.

Stamps are interval ends in market time (UTC+10). For directories and publication times see `nemweb`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np

from assets.simulated.aemo.model import Block
from assets.simulated.aemo.tables import Table
from assets.simulated.format import short, shorts
from assets.simulated.grid.ties import TIES as LINES
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES
from assets.sources.aemo.rows import TIES
from warehouse.market.clock import DAY, HOUR, utc

LOSSES = 0.03
TRADING_ORDER = ("SA1", "NSW1", "QLD1", "TAS1", "VIC1")
"""Regions in a trading report; elsewhere they come by name."""

_Figures = Mapping[str, Mapping[str, Sequence[str]]]
"""Region or interconnector -> column -> a text for each interval."""


def market_time(ts: int) -> datetime:
    """Wall-clock time in Brisbane (UTC+10 all year)."""
    return utc(ts + AHEAD_OF_UTC)


def stamp(ts: int) -> str:
    """`2026/11/20 12:00:00`."""
    day, second = divmod(ts + AHEAD_OF_UTC, DAY)
    return f"{_written(day, '%Y/%m/%d')} {second // HOUR:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def minute(ts: int) -> str:
    """`202611201200`, as file names have it."""
    day, second = divmod(ts + AHEAD_OF_UTC, DAY)
    return f"{_written(day, '%Y%m%d')}{second // HOUR:02d}{second // 60 % 60:02d}"


def dispatch_interval(end: int) -> str:
    """`20260331241`: the market's day begins at 04:00, its intervals are counted from 1."""
    day, second = divmod(end - FIVE_MINUTES + AHEAD_OF_UTC - 4 * HOUR, DAY)
    return f"{_written(day, '%Y%m%d')}{second // FIVE_MINUTES + 1:03d}"


@lru_cache(maxsize=1024)
def _written(day: int, form: str) -> str:
    """A day since 1970 as a stamp begins: a month has 9,000 stamps of 31 days."""
    return f"{utc(day * DAY):{form}}"


def trading_period(end: int, step: int) -> str:
    """Counted from midnight, from 1."""
    return str((end - step + AHEAD_OF_UTC) % DAY // step + 1)


def lines_of(table: Table, part: Block, quote: str = "") -> Iterator[tuple[str, ...]]:
    """The D lines of each interval in turn; `quote` stands around stamps, as in the five-minute reports."""
    return zip(*_lines_by_name(table, part, quote), strict=True)


def _lines_by_name(table: Table, part: Block, quote: str) -> Iterator[list[str]]:
    """The D lines of all intervals of each region or interconnector; one list where a table has neither."""
    ends = part.ends.tolist()
    makers: dict[str, Callable[[int], str]] = {
        "SETTLEMENTDATE": lambda end: f"{quote}{stamp(end)}{quote}",
        "LASTCHANGED": lambda end: f"{quote}{stamp(end - part.step + 4)}{quote}",
        "DISPATCHINTERVAL": dispatch_interval,
        "PERIODID": lambda end: trading_period(end, part.step),
    }
    stamps = {column: list(map(make, ends)) for column, make in makers.items() if column in table.filled}
    for name, figures in _FIGURES[table.name](part).items():
        columns = stamps | dict(figures)
        fixed = {"INTERVENTION": "0", table.key: name}
        # What is the same in every line is filled in once.
        form = table.row % {column: "%s" if column in columns else fixed[column] for column in table.filled}
        varying = [columns[column] for column in table.filled if column in columns]
        yield [form % cells for cells in zip(*varying, strict=True)]


def _case(part: Block) -> _Figures:
    return {"": {}}


def _price(part: Block) -> _Figures:
    texts = {region: shorts(values, 5) for region, values in part.price.items()}
    return {region: {"RRP": price, "ROP": price, "PRE_AP_ENERGY_PRICE": price} for region, price in texts.items()}


def _region_sum(part: Block) -> _Figures:
    return {
        region: {
            "TOTALDEMAND": shorts(demand, 2),
            "NETINTERCHANGE": shorts(part.export[region], 2),
            "DISPATCHABLEGENERATION": shorts(demand + part.export[region], 2),
        }
        for region, demand in part.demand.items()
    }


def _interconnectors(part: Block) -> _Figures:
    limits = {tie.id: {"EXPORTLIMIT": short(tie.forward, 0), "IMPORTLIMIT": short(-tie.backward, 0)} for tie in LINES}
    return {
        name: {**flow, **{column: [text] * len(part.ends) for column, text in limits[TIES[name][2]].items()}}
        for name, flow in _flows(part, 5).items()
    }


def _flows(part: Block, digits: int) -> _Figures:
    return {
        name: {
            "METEREDMWFLOW": shorts(part.metered[name], digits),
            "MWFLOW": shorts(flow, digits),
            "MWLOSSES": shorts(LOSSES * np.abs(flow), digits),
        }
        for name, flow in part.flow.items()
    }


def _trading_price(part: Block) -> _Figures:
    texts = {region: shorts(part.price[region], 2) for region in TRADING_ORDER}
    return {region: {"RRP": price, "ROP": price} for region, price in texts.items()}


def _trading_flows(part: Block) -> _Figures:
    return _flows(part, 2)


_FIGURES: Mapping[str, Callable[[Block], _Figures]] = {
    "DISPATCHCASE_SOLUTION": _case,
    "DISPATCHPRICE": _price,
    "DISPATCHREGIONSUM": _region_sum,
    "DISPATCHINTERCONNECTORRES": _interconnectors,
    "TRADINGPRICE": _trading_price,
    "TRADINGINTERCONNECTORRES": _trading_flows,
}


def render_report(kind: str, written: int, number: int, tables: Iterable[tuple[Table, Sequence[str]]]) -> bytes:
    """A five-minute report (DISPATCHIS or TRADINGIS) with its number, writing time and the D lines of each table."""
    at = f"{market_time(written):%Y/%m/%d,%H:%M:%S}"
    first = f"C,NEMP.WORLD,{kind},AEMO,PUBLIC,{at},{number:016d},{kind},{number - 1:016d}"
    lines = [first, *(line for table, rows in tables for line in (table.header, *rows))]
    return "\r\n".join([*lines, f'C,"END OF REPORT",{len(lines) + 1}', ""]).encode()


def render_monthly(table: Table, written: int, rows: Sequence[str]) -> bytes:
    """A table of the monthly archive; its number is the instant in milliseconds."""
    number = f"{written}799".zfill(15)
    at = f"{market_time(written):%Y/%m/%d,%H:%M:%S}"
    first = f"C,SETP.WORLD,DVD_{table.name},AEMO,PUBLIC,{at},{number},MONTHLY_ARCHIVE,{number}"
    return "\n".join([first, table.header, *rows, f'C,"END OF REPORT",{len(rows) + 3}']).encode()


def render_price_and_demand(region: str, ends: Sequence[int], demand: Sequence[float], price: Sequence[float]) -> bytes:
    """A region's month: MW to two decimals, AUD/MWh to cents."""
    figures = zip(ends, shorts(np.asarray(demand), 2), shorts(np.asarray(price), 2), strict=True)
    lines = [f"{region},{stamp(end)},{mw},{aud},TRADE" for end, mw, aud in figures]
    return "\n".join(["REGION,SETTLEMENTDATE,TOTALDEMAND,RRP,PERIODTYPE", *lines, ""]).encode()


def render_five_minute(rows: Iterable[tuple[int, str, float, float, float, float, float]]) -> bytes:
    """The dashboard's JSON. A row: end, region, RRP, TOTALDEMAND, NETINTERCHANGE, scheduled and semi-scheduled MW."""
    entries = [
        f'{{"SETTLEMENTDATE":"{market_time(end):%Y-%m-%dT%H:%M:%S}","REGIONID":"{region}","REGION":"{region}","RRP":{price:.5f},'
        f'"TOTALDEMAND":{demand:.5f},"PERIODTYPE":"ACTUAL","NETINTERCHANGE":{export:.5f},"SCHEDULEDGENERATION":{firm:.5f},'
        f'"SEMISCHEDULEDGENERATION":{weather:.5f}}}'
        for end, region, price, demand, export, firm, weather in rows
    ]
    return f'{{"5MIN":[{",".join(entries)}]}}'.encode()
