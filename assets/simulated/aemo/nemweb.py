"""Simulated nemweb.com.au: the files in each directory at an instant, their names, listings and bundles.

Single reports lie in `Current` for two days (dispatch) or until their week is bundled (trading). `ARCHIVE` keeps
bundles for thirteen months; the monthly archive keeps tables for good. A file's name never changes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain

from assets.simulated.aemo import predispatch, tables
from assets.simulated.aemo.model import block, day_block, trading_step
from assets.simulated.aemo.reports import lines_of, market_time, minute, render_monthly, render_report
from assets.simulated.answer import Answer, typed
from assets.simulated.format import choice
from assets.sources.aemo.files import AHEAD_OF_UTC, FIVE_MINUTES, MARKET_TZ, NEMWEB, monthly_url
from warehouse.market.clock import DAY, HOUR, MarketDay, local_date

WRITTEN = 11
"""Seconds after its start at which an interval's report is written."""
CURRENT = 2 * DAY
KEPT = timedelta(days=400)
"""How long bundles lie in `ARCHIVE`."""
BUNDLED_AT = HOUR + 2 * 60
"""Seconds after midnight, market time: a day's bundle the day after, a week's eight days after its last Saturday."""
NUMBERED_FROM, NUMBER, NUMBERS = 1636346100, 352251582, 248
"""An interval's end, its report's number, and how many numbers the market gives out in five minutes."""
DUPLICATES_SINCE = 1549866660
"""When the folder of duplicates in `Current` was made."""

HTML, ZIP = "text/html; charset=UTF-8", "application/x-zip-compressed"
_NOT_FOUND = typed(b"<html><head><title>404 - File or directory not found.</title></head></html>", "text/html", 404)
_MONTH = re.compile(r"/MMSDM/(\d{4})/MMSDM_\d{4}_(\d\d)/")


@dataclass(frozen=True, slots=True)
class Directory:
    """One of the five-minute reports and where it lies; bundled by weeks, Sunday to Saturday, or by days."""

    directory: str
    kind: str
    tables: tuple[tables.Table, ...]
    weekly: bool

    def name(self, end: int) -> str:
        """The file of the interval that ends then, without its ending."""
        return f"PUBLIC_{self.kind}_{minute(end)}_{number(end):016d}"

    def last_bundled(self, now: int) -> date:
        """The last day that lies in a bundle."""
        today = local_date(now - BUNDLED_AT, MARKET_TZ)
        return today - timedelta(days=(today.weekday() + 1) % 7 + 8 if self.weekly else 1)

    def bundles(self, now: int) -> Iterator[tuple[int, str, tuple[date, ...]]]:
        """When each bundle in `ARCHIVE` was written, its name and the days in it, the newest first."""
        last, oldest = self.last_bundled(now), local_date(now, MARKET_TZ) - KEPT
        while last >= oldest:
            days = tuple(last - timedelta(days=back) for back in reversed(range(7 if self.weekly else 1)))
            span = f"{days[0]:%Y%m%d}_{last:%Y%m%d}" if self.weekly else f"{last:%Y%m%d}"
            written = MarketDay(last + timedelta(days=8 if self.weekly else 1), MARKET_TZ).start + BUNDLED_AT
            yield written, f"PUBLIC_{self.kind}_{span}.zip", days
            last = days[0] - timedelta(days=1)

    def current(self, now: int) -> range:
        """The ends of the intervals whose reports lie in `Current`."""
        last = (now - WRITTEN) // FIVE_MINUTES * FIVE_MINUTES + FIVE_MINUTES
        first = MarketDay(self.last_bundled(now), MARKET_TZ).end + FIVE_MINUTES if self.weekly else last - CURRENT
        return range(first, last + 1, FIVE_MINUTES)


PREDISPATCH = Directory("Predispatch_Reports", "PREDISPATCH", (), True)
DIRECTORIES = {
    directory.directory.lower(): directory
    for directory in (
        Directory(
            "DispatchIS_Reports",
            "DISPATCHIS",
            (tables.CASE_SOLUTION, tables.PRICE, tables.REGIONSUM, tables.INTERCONNECTORRES),
            False,
        ),
        Directory("TradingIS_Reports", "TRADINGIS", (tables.TRADING_INTERCONNECTORRES, tables.TRADING_PRICE), True),
    )
}
MONTHLY = (tables.PRICE, tables.REGIONSUM, tables.INTERCONNECTORRES, tables.TRADING_PRICE)


def number(end: int) -> int:
    """The number of the report of the interval that ends then: the same whenever it is asked for."""
    intervals = (end - NUMBERED_FROM) // FIVE_MINUTES
    return NUMBER + NUMBERS * intervals + intervals * 7919 % 100


def answer(url: str, now: int) -> Answer:
    """A directory, report, bundle or monthly table. Paths are case-insensitive, as on IIS."""
    path = url.removeprefix(NEMWEB)
    parts = path.lower().split("/")
    reply = None
    if len(parts) == 5 and parts[3] == PREDISPATCH.directory.lower():
        reply = _predispatch(path, parts[2] == "current", parts[4], now)
    elif len(parts) == 5 and parts[:2] == ["", "reports"] and parts[3] in DIRECTORIES:
        where = {"current": _current, "archive": _archive}.get(parts[2])
        reply = where(DIRECTORIES[parts[3]], path, parts[4], now) if where else None
    elif (month := _MONTH.search(url)) is not None:
        reply = _monthly(url, int(month[1]), int(month[2]), now)
    return reply or _NOT_FOUND


def _current(directory: Directory, path: str, file: str, now: int) -> Answer | None:
    if not file:
        entries = [
            (end - FIVE_MINUTES, f"{directory.name(end)}.zip", 2_000 + number(end) % 89)
            for end in directory.current(now)
        ]
        return typed(listing(path, [(DUPLICATES_SINCE, "DUPLICATE", 0), *entries]), HTML)
    match = re.fullmatch(rf"public_{directory.kind.lower()}_(\d{{12}})_\d{{16}}\.zip", file)
    try:
        end = int(datetime.strptime(match[1] + "+0000", "%Y%m%d%H%M%z").timestamp()) - AHEAD_OF_UTC if match else 0
    except ValueError:
        return None
    return (
        typed(report(directory, end), ZIP)
        if end in directory.current(now) and file == f"{directory.name(end)}.zip".lower()
        else None
    )


def _archive(directory: Directory, path: str, file: str, now: int) -> Answer | None:
    if file:
        return next(
            (typed(bundle(directory, days), ZIP) for _, name, days in directory.bundles(now) if name.lower() == file),
            None,
        )
    size = 1_600_000 if directory.weekly else 5_300_000
    entries = [(written, name, size + choice(name, days[0], 90_000)) for written, name, days in directory.bundles(now)]
    return typed(listing(path, reversed(entries)), HTML)


def _predispatch(path: str, is_current: bool, file: str, now: int) -> Answer | None:
    if not is_current:
        bundles = {name.lower(): (written, name, days) for written, name, days in PREDISPATCH.bundles(now)}
        if file in bundles:
            return typed(_runs([at for day in bundles[file][2] for at in predispatch.published(day, now)], True), ZIP)
        entries = [(written, name, 30_000_000) for written, name, _ in reversed(bundles.values())]
        return None if file else typed(listing(path, entries), HTML)
    first, today = PREDISPATCH.last_bundled(now) + timedelta(days=1), local_date(now, MARKET_TZ)
    days = [first + timedelta(days=i) for i in range((today - first).days + 1)]
    runs = {f"{predispatch.name(at)}.zip": at for day in days for at in predispatch.published(day, now)}
    if not file:
        return typed(listing(path, [(at, name, 60_000) for name, at in runs.items()]), HTML)
    published = {name.lower(): at for name, at in runs.items()}.get(file)
    return None if published is None else typed(_runs([published], False), ZIP)


def _runs(instants: Sequence[int], is_bundle: bool) -> bytes:
    """A zip of the runs published at these instants; in a bundle each is a zip of its own."""
    members = []
    for at in instants:
        name, body = predispatch.name(at), predispatch.report(at)
        members.append((f"{name}.zip", zipped([(f"{name}.CSV", body)], at)) if is_bundle else (f"{name}.CSV", body))
    return zipped(members, instants[-1])


def _monthly(url: str, year: int, month: int, now: int) -> Answer | None:
    """A table of a month, out on the eighth of the next."""
    table = next((table for table in MONTHLY if 1 <= month <= 12 and monthly_url(table.name, year, month) == url), None)
    if table is None:
        return None
    first, following = date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
    start, end = MarketDay(first, MARKET_TZ).start, MarketDay(following, MARKET_TZ).start
    written = end + 7 * DAY + 11 * HOUR + 1000
    if now < written:
        return None
    step = trading_step(first) if table is tables.TRADING_PRICE else FIVE_MINUTES
    body = render_monthly(table, written, list(chain.from_iterable(lines_of(table, block(start, end, step)))))
    return typed(zipped([(url.rpartition("/")[2].replace("%2523", "#").replace(".zip", ".CSV"), body)], written), ZIP)


def report(directory: Directory, end: int) -> bytes:
    """The zip of the report of the interval that ends then."""
    day = market_time(end - FIVE_MINUTES).date()
    place = (end - MarketDay(day, MARKET_TZ).start) // FIVE_MINUTES - 1
    return zipped([(f"{directory.name(end)}.CSV", _reports(directory, day)[place])], end - FIVE_MINUTES + WRITTEN)


def bundle(directory: Directory, days: Iterable[date]) -> bytes:
    """The zip of the zips of all reports of these days."""
    windows = [MarketDay(day, MARKET_TZ).window for day in days]
    ends = [ts + FIVE_MINUTES for window in windows for ts in range(window.start, window.end, FIVE_MINUTES)]
    return zipped(
        [(f"{directory.name(end)}.zip", report(directory, end)) for end in ends], windows[-1].end, zipfile.ZIP_STORED
    )


@lru_cache(maxsize=4)
def _reports(directory: Directory, day: date) -> list[bytes]:
    """The texts of a day's reports."""
    part = day_block(day)
    by_interval = zip(*(lines_of(table, part, '"') for table in directory.tables), strict=True)
    return [
        render_report(
            directory.kind, end - FIVE_MINUTES + WRITTEN, number(end), zip(directory.tables, lines, strict=True)
        )
        for end, lines in zip(part.ends.tolist(), by_interval, strict=True)
    ]


def zipped(members: Sequence[tuple[str, bytes]], written: int, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of files, all of one age."""
    out = io.BytesIO()
    moment = market_time(written).timetuple()[:6]
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, moment), content, how, 1)
    return out.getvalue()


def listing(path: str, entries: Iterable[tuple[int, str, int]], host: str = "nemweb.com.au") -> bytes:
    """A directory as IIS shows it: when each entry was written, its size in bytes (0: a folder), its name."""
    title, parent = f"{host} - {path}", path.rstrip("/").rpartition("/")[0]
    lines = [f'<A HREF="{parent}/">[To Parent Directory]</A><br>']
    for written, name, size in entries:
        size_text, end = (f"{size:>13}", "") if size else ("        &lt;dir&gt;", "/")
        lines.append(f'{_age(written):>38}{size_text} <A HREF="{path}{name}{end}">{name}</A>')
    head = f"<html><head><title>{title}</title></head><body><H1>{title}</H1><hr>\r\n\r\n<pre>"
    return f"{head}{'<br>'.join(lines)}<br></pre><hr></body></html>".encode()


def _age(written: int) -> str:
    """`Sunday, August 7, 2022  1:02 AM`."""
    moment = market_time(written)
    day = f"{moment:%A, %B} {moment.day}, {moment.year}"
    return f"{day} {(moment.hour - 1) % 12 + 1:>2}:{moment.minute:02d} {'AM' if moment.hour < 12 else 'PM'}"
