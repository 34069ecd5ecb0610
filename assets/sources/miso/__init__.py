"""MISO: ex-post prices, total load and net scheduled interchange, all on Eastern Standard Time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time, timedelta
from functools import partial
from typing import Any

from assets.parsing.body import (
    is_json,
    json_of,
    member,
    no_html,
    number,
    only_lines_with,
    table,
    text_of,
    without_cut_cell,
)
from assets.parsing.clocks import fixed_instant
from assets.parsing.days import age
from assets.parsing.dropped import FIVE_MINUTES, on_grid
from assets.parsing.outside_areas import AMERICAN, american
from assets.parsing.stamps import american_date, clock_minutes, iso_instant, named_date
from assets.sources.miso import workbook
from warehouse.clock import MarketDay
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market import Feed, Metric, Publication, Request, Source
from warehouse.schema import Rows, SeriesKey

ZONE = "US-MISO"
TZ = "Etc/GMT+5"
EST = -5
HUB = "INDIANA.HUB"
LIVE = "https://public-api.misoenergy.org/api"
REPORTS = "https://docs.misoenergy.org/marketreports"
PRELIMINARY_DAYS = 4
"""How long the preliminary real-time file stays; the final one is out by then."""
LOAD_COLUMN = "MISO ActualLoad (MWh)"
LIVE_PRICES = "MarketPricing/GetRealTimeFiveMinExPost"
LARGE = 1_000_000
"""Bytes of a live answer that is not decoded whole."""
OPENED = date(2025, 12, 12)
"""When public-api.misoenergy.org took over from api.misoenergy.org."""
RETAINED = date(2023, 1, 1)
"""The oldest daily report: the current and three calendar years stay."""
NEIGHBOURS: dict[str, tuple[str, str | None]] = {
    "PJM": ("US-PJM", "pjm-miso-ac"),
    "SWPP": ("US-SPP", "miso-spp-ac"),
    "AECI": (AMERICAN["AECI"], None),
    "LGEE": (AMERICAN["LGEE"], None),
    "MHEB": (AMERICAN["MHEB"], None),
    "ONT": (AMERICAN["IESO"], None),
    "SOCO": (AMERICAN["SOCO"], None),
    "SPA": (AMERICAN["SPA"], None),
    "TVA": (AMERICAN["TVA"], None),
}
"""Column -> the area beyond the border, and the line's id where there is one. A new neighbour keeps its own code."""
_HOURS = frozenset(map(str, range(1, 25)))
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,7}", re.ASCII)
_HUB_ROW = re.compile(rb'\[[^\[\]]*"INDIANA\.HUB"[^\[\]]*\]')
_DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{4}", re.ASCII)


def live(feed: str, path: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """One request whatever the days: these answers hold the running day only."""
    wanted = tuple(sorted({d.day for d in days}))
    return [Request(feed, f"{LIVE}/{path}", days=wanted, ext="json")] if wanted else []


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Today's newest interval; where yesterday is asked for too, both days whole, in answers of some 38 MB each."""
    ages = {age(day, now): day for day in days}
    answers = {0: "Rolling" if 1 in ages else "Current", 1: "Previous"}
    return [
        Request("miso.lmp_rt", f"{LIVE}/{LIVE_PRICES}/{answers[days_ago]}", days=(day.day,), ext="json")
        for days_ago, day in sorted(ages.items(), reverse=True)
        if days_ago in answers
    ]


def report(feed: str, name: str, days: Sequence[MarketDay], now: int, lag: int = 0) -> list[Request]:
    """One file a day; its name bears the market day, or the day `lag` days later on which it came out."""
    ext = name.rpartition(".")[2]
    return [
        Request(feed, f"{REPORTS}/{day.day + timedelta(days=lag):%Y%m%d}_{name}", days=(day.day,), ext=ext)
        for day in sorted(set(days))
    ]


def lmp_rt_daily_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """The preliminary file of the last days, the final one of those before."""
    return [
        request for day in sorted(set(days)) for request in report("miso.lmp_rt_daily", _rt_file(day, now), [day], now)
    ]


def _rt_file(day: MarketDay, now: int) -> str:
    return "rt_lmp_prelim.csv" if age(day, now) <= PRELIMINARY_DAYS else "rt_lmp_final.csv"


def parse_lmp_rt(body: bytes, request: Request) -> Rows:
    """Real-time ex-post prices: five minutes from the live answers, hours from the daily files."""
    return _parse_live_lmp(body) if is_json(body) else _parse_report(body, Metric.PRICE)


def parse_lmp_da(body: bytes, request: Request) -> Rows:
    """Hourly day-ahead ex-post prices, USD/MWh, from a daily file."""
    return _parse_report(body, Metric.PRICE_DAY_AHEAD)


def _parse_live_lmp(body: bytes) -> Rows:
    """`headers` name the positions of `data`; INTERVAL is the interval's end."""
    answer = json_of(_only_hub(body) if len(body) > LARGE else body)
    header, lines = member(answer, "headers", list), member(answer, "data", list)
    if not lines:
        raise NotPublished("no interval yet")
    if missing := [name for name in ("INTERVAL", "CPNODE", "LMP") if header.count(name) != 1]:
        raise FeedChanged(f"not one column {missing[0]} in {str(header)[:200]}")
    end, node, price = (header.index(name) for name in ("INTERVAL", "CPNODE", "LMP"))
    rows = Rows()
    ends: list[int] = []
    prices: list[float] = []
    for cells in lines:
        if not isinstance(cells, list) or len(cells) != len(header):
            raise FeedChanged(f"a row does not have the {len(header)} columns")
        if cells[node] == HUB:
            ends.append(iso_instant(cells[end], TZ))
            prices.append(number(cells[price], "LMP"))
    rows.extend(
        SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m"), *on_grid(rows, [ts - FIVE_MINUTES for ts in ends], prices)
    )
    return rows


def _only_hub(body: bytes) -> bytes:
    """The same answer with the rows of the hub alone: one in thousands. Raises FeedChanged for a body cut short."""
    head, data, rest = body.partition(b'"data":[')
    if not data or not rest.rstrip().endswith(b"]}"):
        raise FeedChanged("no data in the answer, or an answer cut short")
    return head + data + b",".join(_HUB_ROW.findall(rest)) + b"]}"


def _parse_report(body: bytes, metric: Metric) -> Rows:
    """A daily file: title, date, (an empty line,) a note, then a table with a column for every hour's end."""
    text = no_html(text_of(body))
    if text.lstrip().startswith("<"):
        raise NotPublished("BlobNotFound") if "BlobNotFound" in text else FeedChanged("XML instead of a report")
    preamble, header_start, rest = text.partition("Node,Type,Value,")
    if not header_start:
        raise FeedChanged("no header Node,Type,Value")
    _check_title(preamble, metric)
    day = _report_day(preamble)
    header, lines = table(only_lines_with(HUB, without_cut_cell(header_start + rest)))
    rows = Rows()
    for cells in lines:
        if cells[0].strip() == HUB and cells[2].strip() == "LMP":
            _extend_hours(rows, metric, day, header[3:], cells[3:])
    return rows


def _check_title(preamble: str, metric: Metric) -> None:
    """Refuses ex-ante prices, whose address is nearly the same, and the other market's file. Raises FeedChanged."""
    title = preamble.strip().partition("\n")[0]
    letters = "".join(filter(str.isalpha, title.lower()))
    market = "dayahead" if metric is Metric.PRICE_DAY_AHEAD else "realtime"
    if market not in letters or "exante" in letters:
        raise FeedChanged(f"another report: {title[:60]!r}")


def _report_day(preamble: str) -> date:
    dates = _DATE.findall(preamble)
    if len(dates) != 1:
        raise FeedChanged(f"{len(dates)} dates above the table")
    return american_date(dates[0])


def _extend_hours(rows: Rows, metric: Metric, day: date, names: Sequence[str], cells: Sequence[str]) -> None:
    """One node's hours. A blank cell is a missing hour; an unknown column is none."""
    starts: list[int] = []
    values: list[float] = []
    for name, cell in zip(names, cells, strict=True):
        label = name.removeprefix("HE ")
        if label not in _HOURS or name == label:
            raise FeedChanged(f"unknown column {name[:20]!r}")
        if cell.strip():
            starts.append(fixed_instant(day, (int(label) - 1) * 3600, EST))
            values.append(number(cell, "LMP"))
    rows.extend(SeriesKey(ZONE, metric, "USD/MWh", "1h"), starts, values)


def parse_load(body: bytes, request: Request) -> Rows:
    """Five-minute load so far today; only RefId says which day that is, and everything is a string."""
    answer = member(json_of(body), "LoadInfo", dict)
    day = named_date(member(answer, "RefId", str).partition(" ")[0])
    starts: list[int] = []
    values: list[float] = []
    for entry in member(answer, "FiveMinTotalLoad", list):
        reading = member(entry, "Load", dict)
        value = member(reading, "Value")
        if value not in (None, ""):
            starts.append(fixed_instant(day, clock_minutes(member(reading, "Time", str)) * 60, EST))
            values.append(number(value, "load"))
    rows = Rows()
    rows.extend(SeriesKey(ZONE, Metric.DEMAND, "MW", "5m"), *on_grid(rows, starts, values))
    return rows


def parse_load_daily(body: bytes, request: Request) -> Rows:
    """Hourly actual load; the days ahead in the same workbook have forecasts only."""
    rows = Rows()
    for day, hour, value in workbook.hours(body, LOAD_COLUMN):
        rows.add(ZONE, Metric.DEMAND, fixed_instant(day, (hour - 1) * 3600, EST), value, "MW", "1h")
    return rows


def parse_nsi(body: bytes, request: Request) -> Rows:
    """Net scheduled interchange, the zone's and by neighbour; there minus is import, here plus.

    The zone's is its own column: the neighbours do not add up to it.
    """
    readings = member(json_of(body), "instance", list)
    if not readings:
        raise NotPublished("no interval yet")
    rows = Rows()
    starts = [iso_instant(member(reading, "timestamp"), TZ) for reading in readings]
    for name in _areas(readings):
        pairs = [
            (ts, reading[name])
            for ts, reading in zip(starts, readings, strict=True)
            if reading.get(name) not in (None, "")
        ]
        key = SeriesKey(ZONE, Metric.INTERCHANGE, "MW", "5m", None, *_beyond(name))
        rows.extend(key, *on_grid(rows, [ts for ts, _ in pairs], [0.0 - number(value, name) for _, value in pairs]))
    return rows


def _areas(readings: Sequence[dict[str, Any]]) -> list[str]:
    """Every column but the stamp, in order. Raises FeedChanged without MISO's own or for a name that is no code."""
    names = list(dict.fromkeys(name for reading in readings for name in reading if name != "timestamp"))
    if any("MISO" not in reading for reading in readings):
        raise FeedChanged("no column MISO")
    if strange := [name for name in names if not _CODE.fullmatch(name)]:
        raise FeedChanged(f"unknown column {strange[0][:20]!r}")
    return names


def _beyond(name: str) -> tuple[str | None, str | None]:
    return (None, None) if name == "MISO" else NEIGHBOURS.get(name, (american(name), None))


SOURCE = Source(
    code="miso",
    name="Midcontinent ISO",
    homepage="https://www.misoenergy.org/",
    hosts=("public-api.misoenergy.org", "docs.misoenergy.org"),
    requests_per_minute=20,
    licence="MISO legal terms: no publishing, no derivative works",
    licence_url="https://www.misoenergy.org/legal/",
    attribution="Source: MISO",
    redistributable="no",
    withheld=True,
    feeds=(
        Feed(
            id="miso.lmp_rt",
            other_resolutions=("1h",),
            title=f"MISO real-time 5-minute ex-post LMP, {HUB}, the newest interval",
            zones=(ZONE,),
            metrics=(Metric.PRICE,),
            rank=1,
            resolution="5m",
            stamps="end",
            tz=TZ,
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=lmp_rt_requests,
            parse=parse_lmp_rt,
            every_minutes=5,
            revised_days=0,
            reach_days=1,
            hub=HUB,
        ),
        Feed(
            id="miso.lmp_rt_daily",
            other_resolutions=("5m",),
            title=f"MISO real-time hourly ex-post LMP, {HUB}, preliminary and final files",
            zones=(ZONE,),
            metrics=(Metric.PRICE,),
            rank=2,
            resolution="1h",
            stamps="end",
            tz=TZ,
            since=RETAINED,
            publication=Publication(daily_at=time(12), day_offset=1, grace_minutes=720),
            requests=lmp_rt_daily_requests,
            parse=parse_lmp_rt,
            every_minutes=720,
            revised_days=6,
            reach_days=1095,
            hub=HUB,
        ),
        Feed(
            id="miso.lmp_da",
            title=f"MISO day-ahead hourly ex-post LMP, {HUB}",
            zones=(ZONE,),
            metrics=(Metric.PRICE_DAY_AHEAD,),
            rank=1,
            resolution="1h",
            stamps="end",
            tz=TZ,
            since=RETAINED,
            publication=Publication(daily_at=time(14), day_offset=-1, grace_minutes=180),
            requests=partial(report, "miso.lmp_da", "da_expost_lmp.csv"),
            parse=parse_lmp_da,
            every_minutes=120,
            revised_days=0,
            ahead_days=1,
            reach_days=1095,
            hub=HUB,
        ),
        Feed(
            id="miso.load",
            title="MISO total load, five minutes, today",
            zones=(ZONE,),
            metrics=(Metric.DEMAND,),
            rank=1,
            resolution="5m",
            stamps="start",
            tz=TZ,
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(live, "miso.load", "RealTimeTotalLoad"),
            parse=parse_load,
            every_minutes=5,
            revised_days=0,
            reach_days=0,
        ),
        Feed(
            id="miso.load_daily",
            title="MISO actual load, hourly, daily workbook",
            zones=(ZONE,),
            metrics=(Metric.DEMAND,),
            rank=2,
            resolution="1h",
            stamps="end",
            tz=TZ,
            since=RETAINED,
            publication=Publication(daily_at=time(1), day_offset=1, grace_minutes=720),
            requests=partial(report, "miso.load_daily", "df_al.xls", lag=1),
            parse=parse_load_daily,
            every_minutes=360,
            revised_days=2,
            reach_days=1095,
        ),
        Feed(
            id="miso.nsi",
            version="2",
            title="MISO net scheduled interchange, five minutes, today",
            zones=(ZONE,),
            metrics=(Metric.INTERCHANGE,),
            rank=1,
            resolution="5m",
            stamps="start",
            tz=TZ,
            since=OPENED,
            publication=Publication(lag_minutes=10, grace_minutes=30),
            requests=partial(live, "miso.nsi", "Interchange/GetNsi/FiveMinute"),
            parse=parse_nsi,
            every_minutes=5,
            revised_days=0,
            reach_days=0,
        ),
    ),
    notes=(
        "Prices are ex-post LMPs of INDIANA.HUB; ex-ante prices differ and are not taken.",
        "Five-minute prices are the newest interval of each poll; a missed one is the hour of the daily file.",
        "MISO keeps Eastern Standard Time all year: each of its days has 24 hours.",
        "Interchange is scheduled, not metered; MISO's own total differs from the sum over its neighbours.",
    ),
)
