"""ENTSO-E's File Library: monthly files of prices, load and flows of all Europe, a way around the Web API.

The figures are those of the Web API, from the same data base. Traps:
- Folder names carry a version that rises (`EnergyPrices_12.1.D_r3` became `..._r3.1`). The export log, requested first,
  names the files of each month and when each was exported: a file that did not change is not requested again.
- The log names files without folder and suffix: `2026_07_EnergyPrices_12.1.D_r3.1` is `EnergyPrices_12.1.D_r3.1/` and
  the name with `.csv`. A log of another data set has a column `folder_name`; both forms are read.
- Files are tab-separated, with a BOM, and hold all Europe: read line by line, never whole.
- `DateTime(UTC)` is the interval's start. Every interval is there; no curve is to be expanded.
- An area may come twice, as zone and as country: only rows whose AreaTypeCode has BZN count.
- A key may come more than once: the newest UpdateTime counts.
- Of prices only the day-ahead auction (Sequence blank or 1) counts.
- The account's password expires every 183 days.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, time
from functools import partial

from assets.parsing.body import columns, lines_of, number
from assets.parsing.members import require_known
from assets.parsing.stamps import wall_stamp
from assets.sources.entsoe import CURRENCIES, put_both_sides
from assets.sources.entsoe.areas import EIC, ZONES, names_of, zone_of
from assets.sources.entsoe.net import combine
from assets.sources.entsoe.xml import RESOLUTIONS
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, utc
from warehouse.market.feeds import Feed, Publication, Request, Secret, Source
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST = "fms.tp.entsoe.eu"
TOP = "TP_export"
LOG = "Export_log_r3.csv"
TZ = "Europe/Brussels"
PRODUCTS = {
    "entsoe_files.price": "EnergyPrices_12.1.D",
    "entsoe_files.load": "ActualTotalLoad_6.1.A",
    "entsoe_files.flows": "PhysicalFlows_12.1.G",
}
"""Feed -> how its folders and files are called, but for the version."""
SECRETS = (Secret("entsoe_files", "", ("ENTSOE_USERNAME", "ENTSOE_PASSWORD")),)
_STAMP, _RESOLUTION, _UPDATE = "DateTime(UTC)", "ResolutionCode", "UpdateTime(UTC)"


def parse_price(body: bytes, request: Request) -> Rows:
    """`price` rows of the day-ahead auction in our zones."""
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
            raise FeedChanged(f"prices of {zone} in {currency[:10]!r}")
        newest.add((zone, f"{currency}/MWh"), price, *when)
    return newest.rows_of(Metric.PRICE)


def parse_load(body: bytes, request: Request) -> Rows:
    """`demand` rows of our zones, MW."""
    newest = _Newest()
    names = ("AreaCode", "AreaTypeCode", "TotalLoad[MW]", _STAMP, _RESOLUTION, _UPDATE)
    for area, kinds, load, *when in _cells(body, *names):
        zone = zone_of(area)
        if zone is not None and "BZN" in kinds:
            newest.add((zone, "MW"), load, *when)
    return newest.rows_of(Metric.DEMAND)


def parse_flows(body: bytes, request: Request) -> Rows:
    """One-way `interchange` rows of our zones' borders, MW; `link` is the way until `combine`."""
    newest = _Newest()
    names = (
        *("OutAreaCode", "OutAreaTypeCode", "InAreaCode", "InAreaTypeCode", "Flow[MW]"),
        *(_STAMP, _RESOLUTION, _UPDATE),
    )
    for out, out_kinds, into, into_kinds, flow, *when in _cells(body, *names):
        if "BZN" in out_kinds and "BZN" in into_kinds:
            pair = names_of(out, into)
            if set(pair) & EIC.keys() and pair[0] != pair[1]:
                newest.add(pair, flow, *when)
    series: dict[tuple[tuple[str, str], str], tuple[list[int], list[float]]] = {}
    for pair, ts, value, resolution in newest:
        stamps, values = series.setdefault((pair, resolution), ([], []))
        stamps.append(ts)
        values.append(value)
    rows = Rows()
    for (pair, resolution), (stamps, values) in series.items():
        put_both_sides(rows, pair, resolution, stamps, values)
    require_known(rows)
    return rows


class _Newest:
    """The reading of the newest update for each series, instant and resolution; a blank one is none."""

    def __init__(self) -> None:
        self._readings: dict[tuple[tuple[str, str], int, str], tuple[str, str]] = {}

    def add(self, series: tuple[str, str], value: str, stamp: str, resolution: str, update: str) -> None:
        if resolution not in RESOLUTIONS:
            raise FeedChanged(f"unknown resolution {resolution[:10]!r}")
        key = series, wall_stamp(stamp), RESOLUTIONS[resolution]
        if update >= self._readings.get(key, ("", ""))[0]:
            self._readings[key] = update, value

    def rows_of(self, metric: Metric) -> Rows:
        """The rows of a metric whose series are zones and units."""
        rows = Rows()
        for (zone, unit), ts, value, resolution in self:
            rows.add(zone, metric, ts, value, unit, resolution)
        return rows

    def __iter__(self) -> Iterator[tuple[tuple[str, str], int, float, str]]:
        for (series, ts, resolution), (_, value) in self._readings.items():
            if value:
                yield series, ts, number(value, "value"), resolution


def _cells(body: bytes, *names: str) -> Iterator[list[str]]:
    """The named cells of every line that holds one of our areas. Raises FeedChanged for a new header and a cut body."""
    lines = lines_of(body)
    header = next(lines, "").rstrip("\n").split("\t")
    places = columns(header, *names)
    codes = tuple(EIC.values())
    line = ""
    for line in lines:
        if any(code in line for code in codes):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != len(header):
                raise FeedChanged(f"{len(cells)} cells under {len(header)} columns")
            yield [cells[place] for place in places]
    if line and not line.endswith("\n"):
        raise FeedChanged("cut: the last line does not end")


def follow(log: bytes, request: Request) -> list[Request]:
    """Return the requests for the files of the months that the days lie in, by the export log."""
    if request.kind != "listing":
        return []
    product = PRODUCTS[request.feed]
    files: dict[tuple[int, int], tuple[str, str, str]] = {}
    for folder, name, year, month, exported in _logged_files(log):
        if folder.startswith(f"{product}_r") and year.isdigit() and month.isdigit():
            key, file = (int(year), int(month)), (folder, name, exported)
            files[key] = max(files.get(key, ("", "", "")), file, key=lambda file: _version(file[0]))
    if not files:
        raise FeedChanged(f"the export log names no folder {product}_r...")
    asked = [MarketDay(day, TZ) for day in request.days]
    wanted = sorted({key for day in asked for key in _months_of(day)} & files.keys())
    if not wanted:
        raise NotPublished("no file of these months yet")
    questions = []
    for key in wanted:
        folder, name, exported = files[key]
        # The fragment is never sent: it tells one export from the next, and an export never changes.
        fragment, days = f"#{name}@{exported.replace(' ', 'T')}", [day for day in asked if key in _months_of(day)]
        questions.append(_download(request.feed, f"/{TOP}/{folder}/", name, days, fragment))
    return questions


def _logged_files(log: bytes) -> Iterator[list[str]]:
    """Yield each file's folder, name, year, month, and when it was exported. Raises FeedChanged."""
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
    """`..._r3.1` -> 3, 1."""
    return [int(part) for part in folder.rpartition("_r")[2].split(".") if part.isdigit()]


def _months_of(day: MarketDay) -> set[tuple[int, int]]:
    """The UTC months that a market day overlaps."""
    return {(utc(ts).year, utc(ts).month) for ts in (day.start, day.end - 1)}


def _download(feed: str, folder: str, name: str, days: Sequence[MarketDay], fragment: str = "") -> Request:
    """The question for a file, or for the export log, which changes and leads to files."""
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
    """The export log, which leads to the files."""
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
    ),
    notes=(
        "The same figures as the Web API's, from the same data base: a second way, not a second opinion.",
        "Asked once a day, and each hour while the Web API's feed is late.",
    ),
)
