"""Define the feeds of ENTSO-E's File Library: monthly files of prices, load, flows and mix, a way around the Web API.

The values are those of the Web API, from the same database. Traps:
- Folder names carry a version that increases (`EnergyPrices_12.1.D_r3` became `..._r3.1`). The export log, requested
  first, names the files of each month with their export times. An unchanged file is not requested again.
- The log names files without folder and extension: `2026_07_EnergyPrices_12.1.D_r3.1` is `EnergyPrices_12.1.D_r3.1/`
  and the name with `.csv`. A log of another data set has a column `folder_name`, and both forms are read.
- Files are tab-separated with a BOM and cover all Europe, so they are read line by line.
- `DateTime(UTC)` is the interval's start. Every interval is present, and no curve needs expanding.
- An area may appear twice, as zone and as country. Only rows whose AreaTypeCode has BZN are used.
- A key may be repeated, and the newest UpdateTime is used.
- Output and consumption of a production type are two columns of one row. For their meaning see `entsoe.mix`.
- Only prices of the day-ahead auction (Sequence blank or 1) are used.
- The account's password expires every 183 days.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date, time
from functools import partial
from operator import itemgetter

from assets.parsing.body import columns, lines_of
from assets.parsing.columns import Columns, floats
from assets.parsing.members import require_known
from assets.parsing.mix import MixByCode, extend_mix
from assets.parsing.stamps import wall_stamp
from assets.sources.entsoe import CURRENCIES, put_both_sides
from assets.sources.entsoe.areas import EIC, MIX_ZONES, ZONES, names_of, zone_of
from assets.sources.entsoe.mix import INSIDE, add_readings
from assets.sources.entsoe.net import combine
from assets.sources.entsoe.xml import RESOLUTIONS
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, utc
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

HOST = "fms.tp.entsoe.eu"
TOP = "TP_export"
LOG = "Export_log_r3.csv"
TZ = "Europe/Brussels"
PRODUCTS = {
    "entsoe_files.price": "EnergyPrices_12.1.D",
    "entsoe_files.load": "ActualTotalLoad_6.1.A",
    "entsoe_files.flows": "PhysicalFlows_12.1.G",
    "entsoe_files.mix": "AggregatedGenerationPerType_16.1.B_C",
}
"""Feed -> the names of its folders and files, without the version."""
PRODUCTION_TYPES = {
    "Biomass": "B01",
    "Fossil Brown coal/Lignite": "B02",
    "Fossil Coal-derived gas": "B03",
    "Fossil Gas": "B04",
    "Fossil Hard coal": "B05",
    "Fossil Oil": "B06",
    "Fossil Oil shale": "B07",
    "Fossil Peat": "B08",
    "Geothermal": "B09",
    "Hydro Pumped Storage": "B10",
    "Hydro Run-of-river and poundage": "B11",
    "Hydro Run-of-river and pondage": "B11",
    "Hydro Water Reservoir": "B12",
    "Marine": "B13",
    "Nuclear": "B14",
    "Other renewable": "B15",
    "Solar": "B16",
    "Waste": "B17",
    "Wind Offshore": "B18",
    "Wind Onshore": "B19",
    "Other": "B20",
    "Energy storage": "B25",
}
"""ProductionType -> the psrType of the Web API. The Library has spelt run-of-river both ways."""
SECRETS = (Secret("entsoe_files", "", ("ENTSOE_USERNAME", "ENTSOE_PASSWORD")),)
_Name = tuple[str, str]
"""The name of a series: zone and unit, two areas, or zone and production type."""
_STAMP, _RESOLUTION, _UPDATE = "DateTime(UTC)", "ResolutionCode", "UpdateTime(UTC)"


def parse_price(body: bytes, request: Request) -> Rows:
    """Return `price` rows of the day-ahead auction in the covered zones. Raises FeedChanged."""
    newest = _Newest()
    names = (
        *("AreaCode", "AreaTypeCode", "ContractType", "Sequence"),
        *("Price[Currency/MWh]", "Currency", _STAMP, _RESOLUTION, _UPDATE),
    )
    for area, kinds, contract, sequence, price, currency, *when in _cells(body, *names):
        zone = zone_of(area)
        if zone is None or "BZN" not in kinds or contract != "Day-ahead" or sequence not in ("", "1"):
            continue
        if currency not in CURRENCIES.get(zone, ("EUR",)):
            raise FeedChanged(f"prices for {zone} are in {currency[:10]!r}")
        newest.add((zone, f"{currency}/MWh"), (price,), *when)
    return newest.rows_of(Metric.PRICE)


def parse_load(body: bytes, request: Request) -> Rows:
    """Return `demand` rows of the covered zones, MW."""
    newest = _Newest()
    names = ("AreaCode", "AreaTypeCode", "TotalLoad[MW]", _STAMP, _RESOLUTION, _UPDATE)
    for area, kinds, load, *when in _cells(body, *names):
        zone = zone_of(area)
        if zone is not None and "BZN" in kinds:
            newest.add((zone, "MW"), (load,), *when)
    return newest.rows_of(Metric.DEMAND)


def parse_flows(body: bytes, request: Request) -> Rows:
    """Return one-way `interchange` rows of the covered zones' borders, MW. `link` is the direction until `combine`."""
    newest = _Newest()
    names = (
        *("OutAreaCode", "OutAreaTypeCode", "InAreaCode", "InAreaTypeCode", "Flow[MW]"),
        *(_STAMP, _RESOLUTION, _UPDATE),
    )
    for out, out_kinds, into, into_kinds, flow, *when in _cells(body, *names):
        if "BZN" in out_kinds and "BZN" in into_kinds:
            pair = names_of(out, into)
            if set(pair) & EIC.keys() and pair[0] != pair[1]:
                newest.add(pair, (flow,), *when)
    rows = Rows()
    for (pair, resolution), (stamps, values) in newest.by_series().items():
        put_both_sides(rows, pair, resolution, stamps, values)
    require_known(rows)
    return rows


def parse_mix(body: bytes, request: Request) -> Rows:
    """Return the `mix` rows of the covered zones, MW. Raises FeedChanged, NotPublished."""
    newest = _Newest()
    names = (
        *("AreaCode", "AreaTypeCode", "ProductionType", "ActualGenerationOutput[MW]", "ActualConsumption[MW]"),
        *(_STAMP, _RESOLUTION, _UPDATE),
    )
    for area, kinds, kind, output, consumption, *when in _cells(body, *names):
        zone = zone_of(area)
        if zone in MIX_ZONES and "BZN" in kinds:
            newest.add((zone, kind), (output, consumption), *when)
    rows, by_code = Rows(), MixByCode()
    for is_consumed in (False, True):
        for ((zone, kind), resolution), readings in newest.by_series(int(is_consumed)).items():
            code = PRODUCTION_TYPES.get(kind, kind)
            add_readings(rows, by_code, zone, code, is_consumed, resolution, *readings)
    extend_mix(rows, by_code, INSIDE)
    require_known(rows)
    return rows


class _Newest:
    """The newest update of each series, time and resolution. A blank cell is a missing reading."""

    def __init__(self) -> None:
        self._cells: dict[tuple[_Name, int, str], tuple[str, tuple[str, ...]]] = {}

    def add(self, series: _Name, cells: tuple[str, ...], stamp: str, resolution: str, update: str) -> None:
        if resolution not in RESOLUTIONS:
            raise FeedChanged(f"unknown resolution {resolution[:10]!r}")
        key = series, wall_stamp(stamp), RESOLUTIONS[resolution]
        if update >= self._cells.get(key, ("", ()))[0]:
            self._cells[key] = update, cells

    def by_series(self, column: int = 0) -> dict[tuple[_Name, str], Columns]:
        """Return times and values of each series and resolution, by one of the columns of cells."""
        series: dict[tuple[_Name, str], tuple[list[int], list[str]]] = {}
        for (name, ts, resolution), (_, cells) in self._cells.items():
            if cells[column]:
                stamps, texts = series.setdefault((name, resolution), ([], []))
                stamps.append(ts)
                texts.append(cells[column])
        return {key: (stamps, floats(texts, "value")) for key, (stamps, texts) in series.items()}

    def rows_of(self, metric: Metric) -> Rows:
        """Return the rows of a metric whose series are zones and units."""
        rows = Rows()
        for ((zone, unit), resolution), readings in self.by_series().items():
            rows.extend(SeriesKey(zone, metric, unit, resolution), *readings)
        return rows


def _cells(body: bytes, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield the named cells of lines with a covered area. Raises FeedChanged for a new header and a truncated body."""
    lines = lines_of(body)
    header = next(lines, "").rstrip("\n").split("\t")
    named = itemgetter(*columns(header, *names))
    is_ours = re.compile("|".join(map(re.escape, EIC.values()))).search
    line = ""
    for line in lines:
        if is_ours(line):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != len(header):
                raise FeedChanged(f"a line has {len(cells)} cells; the header has {len(header)}")
            yield named(cells)
    if line and not line.endswith("\n"):
        raise FeedChanged("the file is truncated: the last line is incomplete")


def follow(log: bytes, request: Request) -> list[Request]:
    """Return the requests for the files of the months that the days overlap, by the export log."""
    if request.kind != "listing":
        return []
    product = PRODUCTS[request.feed]
    files: dict[tuple[int, int], tuple[str, str, str]] = {}
    for folder, name, year, month, exported in _logged_files(log):
        if folder.startswith(f"{product}_r") and year.isdigit() and month.isdigit():
            key, file = (int(year), int(month)), (folder, name, exported)
            files[key] = max(files.get(key, ("", "", "")), file, key=lambda file: _version(file[0]))
    if not files:
        raise FeedChanged(f"the export log has no folder {product}_r...")
    asked = [MarketDay(day, TZ) for day in request.days]
    wanted = sorted({key for day in asked for key in _months_of(day)} & files.keys())
    if not wanted:
        raise NotPublished("no file for these months yet")
    questions = []
    for key in wanted:
        folder, name, exported = files[key]
        # The fragment is never sent. It distinguishes exports, and an export never changes.
        fragment, days = f"#{name}@{exported.replace(' ', 'T')}", [day for day in asked if key in _months_of(day)]
        questions.append(_download(request.feed, f"/{TOP}/{folder}/", name, days, fragment))
    return questions


def _logged_files(log: bytes) -> Iterator[list[str]]:
    """Yield each file's folder, name, year, month, and export time. Raises FeedChanged."""
    lines = lines_of(log)
    header = next(lines, "").rstrip("\n").split("\t")
    columns(header, "file_name", "year", "month", "export_time(UTC)")
    for line in filter(str.strip, lines):
        cells = line.rstrip("\n").split("\t")
        if len(cells) != len(header):
            raise FeedChanged(f"{len(cells)} cells under {len(header)} columns of the export log")
        file = dict(zip(header, map(str.strip, cells), strict=True))
        stem = file["file_name"].removesuffix(".csv")
        folder = file.get("folder_name", "").strip("/").removeprefix(f"{TOP}/") or stem[len("2026_07_") :]
        yield [folder, f"{stem}.csv", file["year"], file["month"], file["export_time(UTC)"]]


def _version(folder: str) -> list[int]:
    """Return the numbers of a folder's version: 3, 1 for `..._r3.1`."""
    return [int(part) for part in folder.rpartition("_r")[2].split(".") if part.isdigit()]


def _months_of(day: MarketDay) -> set[tuple[int, int]]:
    """Return the UTC months that a market day overlaps."""
    return {(utc(ts).year, utc(ts).month) for ts in (day.start, day.end - 1)}


def _download(feed: str, folder: str, name: str, days: Sequence[MarketDay], fragment: str = "") -> Request:
    """Return the request for a file, or for the export log, which changes and leads to files."""
    body = {"folder": folder, "filename": name, "topLevelFolder": TOP, "downloadAsZip": True}
    return Request(
        feed,
        f"https://{HOST}/downloadFileContent{fragment}",
        days=tuple(day.day for day in days),
        part=name,
        kind="listing" if name == LOG else "rows",
        method="POST",
        body=json.dumps(body),
        headers=(("Content-Type", "application/json"),),
        secrets=SECRETS,
        ext="zip",
        once=name != LOG,
    )


def _requests(feed: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for the export log, which leads to the files."""
    return [_download(feed, f"/{TOP}/", LOG, sorted(set(days)))] if days else []


SOURCE = Source(
    code="entsoe_files",
    name="ENTSO-E Transparency Platform, File Library",
    homepage="https://transparency.entsoe.eu",
    hosts=(HOST,),
    requests_per_minute=60,
    licence="ENTSO-E Transparency Platform terms; its list of data for free re-use (CC BY 4.0)",
    licence_url="https://transparency.entsoe.eu",
    attribution="Source: ENTSO-E Transparency Platform (transparency.entsoe.eu)",
    redistributable="unclear",
    zones=ZONES,
    tz=TZ,
    since=date(2015, 1, 5),
    resolution="15m",
    secrets=SECRETS,
    origin="entsoe-db",
    rank=2,
    feeds=(
        Feed(
            id="entsoe_files.price",
            title="Day-ahead prices of European bidding zones (SDAC), monthly files",
            metrics=(Metric.PRICE,),
            publication=Publication(daily_at=time(15, 0), day_offset=-1, grace_minutes=240),
            requests=partial(_requests, "entsoe_files.price"),
            parse=parse_price,
            follow=follow,
            every_minutes=24 * 60,
            hub="day-ahead auction (SDAC)",
            stands_in_for="entsoe.price",
        ),
        Feed(
            id="entsoe_files.load",
            title="Actual total load of European bidding zones, monthly files",
            metrics=(Metric.DEMAND,),
            publication=Publication(lag_minutes=240, grace_minutes=24 * 60),
            requests=partial(_requests, "entsoe_files.load"),
            parse=parse_load,
            follow=follow,
            every_minutes=24 * 60,
            revised_days=3,
            stands_in_for="entsoe.demand",
        ),
        Feed(
            id="entsoe_files.flows",
            title="Physical flows over every border of European bidding zones, monthly files",
            metrics=(Metric.INTERCHANGE,),
            resolution="1h",
            since=date(2018, 10, 1),
            publication=Publication(lag_minutes=240, grace_minutes=24 * 60),
            requests=partial(_requests, "entsoe_files.flows"),
            parse=parse_flows,
            follow=follow,
            combine=combine,
            every_minutes=24 * 60,
            revised_days=3,
            stands_in_for="entsoe.flows",
        ),
        Feed(
            id="entsoe_files.mix",
            title="Actual generation of European bidding zones by production type, monthly files",
            zones=MIX_ZONES,
            metrics=(Metric.MIX,),
            optional_metrics=(Metric.CARBON_ESTIMATE,),
            publication=Publication(lag_minutes=240, grace_minutes=24 * 60),
            requests=partial(_requests, "entsoe_files.mix"),
            parse=parse_mix,
            follow=follow,
            every_minutes=24 * 60,
            revised_days=3,
            stands_in_for="entsoe.mix",
        ),
    ),
    notes=(
        "The values are the same as those of the Web API and come from the same database. The files are a second "
        "channel, not an independent source.",
        "The files are fetched once a day, and every hour while the feed of the Web API is late.",
    ),
)
