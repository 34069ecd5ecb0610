"""Simulate the File Library of ENTSO-E: the export log, and each month's prices, load, flows and mix as zipped files.

The values are those of the simulated Web API, exported on the hour, with a few rows of other areas. The original:
https://transparency.entsoe.eu.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, time

from assets.simulated.answer import NOTHING, Answer, lines, short, shorts, zipped
from assets.simulated.day_ahead import auction, is_out, step_of
from assets.simulated.entsoe import flow_of, load_of, mix_of
from assets.sources.entsoe.areas import EIC, MIX_ZONES, borders
from assets.sources.entsoe_files import HOST, LOG, PRODUCTION_TYPES, TOP, TZ
from warehouse.market.clock import HOUR, local_date, market_days, utc
from warehouse.market.feeds import Request

OUT_AT = time(13, 40)
MONTHS = 24
"""The number of months in the log. Files of any month are served."""
_NAME = re.compile(r"\d{4}_\d\d_.+\.csv", re.ASCII)
_CODES = {900: "PT15M", 3600: "PT60M"}
_TYPE_NAMES = {code: name for name, code in PRODUCTION_TYPES.items()}
_AREA = ("AreaCode", "AreaTypeCode")
_WHEN = ("DateTime(UTC)", "ResolutionCode", "UpdateTime(UTC)")


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `POST /downloadFileContent` with the log or a month's file."""
    wanted = json.loads(request.body or "{}")
    name, folder = str(wanted.get("filename", "")), str(wanted.get("folder", "")).removeprefix(f"/{TOP}/").strip("/")
    if request.url.partition("#")[0] != f"https://{HOST}/downloadFileContent" or request.method != "POST":
        return NOTHING
    if name == LOG and not folder:
        return _zipped(name, _log(now))
    product = folder.rpartition("_")[0]
    if not _NAME.fullmatch(name) or name[8:] != f"{folder}.csv" or product not in _TABLES:
        return NOTHING
    _, header, write = _TABLES[product]
    start = datetime(int(name[:4]), int(name[5:7]), 1, tzinfo=UTC)
    end = datetime(start.year + start.month // 12, start.month % 12 + 1, 1, tzinfo=UTC)
    return _zipped(name, _table(header, write, int(start.timestamp()), int(end.timestamp()), now))


def _log(now: int) -> bytes:
    """Return a line per file, without its folder and extension. Each was exported on the last hour."""
    exported = f"{utc(now // HOUR * HOUR):%d-%m-%Y %H:%M:%S}"
    last = utc(now).year * 12 + utc(now + 24 * HOUR).month - 1
    rows = ["file_name\tyear\tmonth\tmax_update_time(UTC)\texport_time(UTC)"]
    for product, (version, *_) in _TABLES.items():
        folder = f"{product}_{version}"
        for number in range(last - MONTHS + 1, last + 1):
            year, month = number // 12, number % 12 + 1
            rows.append(f"{year}_{month:02}_{folder}\t{year}\t{month}\t{exported}\t{exported}")
    return lines(rows)


Write = Callable[[int, int, int], Iterator[tuple[str, ...]]]
"""A function of start, end and now (Unix seconds) that yields rows of cells without the time of the update."""


def _table(header: tuple[str, ...], write: Write, start: int, end: int, now: int) -> bytes:
    update = _stamp(now // HOUR * HOUR)
    return b"\xef\xbb\xbf" + lines(["\t".join(header), *("\t".join((*row, update)) for row in write(start, end, now))])


def _prices(start: int, end: int, now: int) -> Iterator[tuple[str, ...]]:
    days = [d for d in market_days(local_date(start, TZ), local_date(end - 1, TZ), TZ) if is_out(d, now, OUT_AT)]
    for zone, code in EIC.items():
        for day in days:
            resolution = _CODES[step_of(zone, day.day)]
            for ts, price in zip(*auction(zone, day), strict=True):
                if start <= ts < end:
                    yield code, "BZN", "Day-ahead", "1", short(price, 2), "EUR", _stamp(ts), resolution
    yield "10YFI-1--------U", "BZN", "Day-ahead", "1", "1.5", "EUR", _stamp(start), "PT60M"


def _loads(start: int, end: int, now: int) -> Iterator[tuple[str, ...]]:
    for zone, code in EIC.items():
        resolution, ts, values = load_of(zone, start, end, now)
        for at, value in zip(ts.tolist(), shorts(values, 2), strict=True):
            yield code, "BZN/CTA", value, _stamp(at), resolution
    yield "10YAL-KESH-----5", "BZN/CTA/CTY", "470.0", _stamp(start), "PT15M"


def _mixes(start: int, end: int, now: int) -> Iterator[tuple[str, ...]]:
    for zone in MIX_ZONES:
        resolution, ts, types = mix_of(zone, start, end, now)
        stamps = [_stamp(at) for at in ts.tolist()]
        for kind in sorted({kind for kind, _ in types}):
            sides = (
                shorts(types[kind, side], 2) if (kind, side) in types else ["0"] * len(ts) for side in ("in", "out")
            )
            for at, output, consumption in zip(stamps, *sides, strict=True):
                yield EIC[zone], "BZN/CTA", _TYPE_NAMES[kind], output, consumption, at, resolution
    yield "10YFI-1--------U", "BZN/CTA/CTY", "Fossil Peat", "210", "0", _stamp(start), "PT15M"


def _flows(start: int, end: int, now: int) -> Iterator[tuple[str, ...]]:
    for into, out_of in sorted({way for border in borders() for way in (border.eics(start), border.eics(start)[::-1])}):
        resolution, ts, values = flow_of(into, out_of, start, end, now)
        for at, value in zip(ts.tolist(), shorts(values, 2), strict=True):
            yield out_of, "BZN/CTA", into, "BZN/CTA", value, _stamp(at), resolution


_TABLES: Mapping[str, tuple[str, tuple[str, ...], Write]] = {
    "EnergyPrices_12.1.D": (
        "r3.1",
        (*_AREA, "ContractType", "Sequence", "Price[Currency/MWh]", "Currency", *_WHEN),
        _prices,
    ),
    "ActualTotalLoad_6.1.A": ("r3", (*_AREA, "TotalLoad[MW]", *_WHEN), _loads),
    "PhysicalFlows_12.1.G": (
        "r3",
        ("OutAreaCode", "OutAreaTypeCode", "InAreaCode", "InAreaTypeCode", "Flow[MW]", *_WHEN),
        _flows,
    ),
    "AggregatedGenerationPerType_16.1.B_C": (
        "r3",
        (*_AREA, "ProductionType", "ActualGenerationOutput[MW]", "ActualConsumption[MW]", *_WHEN),
        _mixes,
    ),
}
"""The version of the folder, the header and the rows, by product."""


def _stamp(ts: int) -> str:
    return f"{utc(ts):%Y-%m-%d %H:%M:%S}"


def _zipped(name: str, body: bytes) -> Answer:
    return Answer(200, zipped([(name, body)], level=1))
