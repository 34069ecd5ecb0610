"""Define the feed of OMIE, the Iberian market operator: day-ahead prices from the publisher of the auction itself.

Traps:
- Column 5 is Portugal, column 6 Spain. The header does not name them.
- Periods count in real time from Madrid midnight: 24 until 2025-09-30, then 96, with 92 in spring and 100 in autumn.
- A day may be published again as version 2, 3, ..., and the highest is used. OMIE withdraws the lower versions, so a
  404 for version 1 does not exclude others. Versions 1 to 3 are requested, and each leads to the next.
- The last line is `*`. A file without it is truncated.
- Decimals have a point and no trailing zeros. A comma was seen too. An empty field is a missing price.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time

from assets.parsing.body import no_html, number, text_of
from warehouse.errors import FeedChanged
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.further_zones import name_area
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST = "www.omie.es"
TZ = "Europe/Madrid"
FIRST_VERSIONS = (1, 2, 3)
"""The versions that are requested whether or not the lower ones exist."""
LAST_VERSION = 9
COLUMNS = {"ES": 5} | {zone: 4 for zone in ("PT",) if zone == name_area(zone)}
"""Zone -> the position of its price in a line."""
_RESOLUTIONS = {900: "15m", 3600: "1h"}


def parse(body: bytes, request: Request) -> Rows:
    """Return the `price` rows of the covered zones, EUR/MWh.

    Raises FeedChanged for a truncated file, and for a wrong number of periods.
    """
    lines = no_html(text_of(body)).split()
    if not lines or lines[0] != "MARGINALPDBC;":
        raise FeedChanged(f"unexpected first line {''.join(lines[:1])[:40]!r}")
    if lines.count("*") != 1:
        raise FeedChanged("the file is truncated: the final asterisk line is missing")
    cells = [
        line.rstrip(";").split(";") if line.count(";") == 6 else _refuse(line) for line in lines[1:] if line != "*"
    ]
    if not cells:
        raise FeedChanged("the file has no periods")
    periods = sorted(row[3] for row in cells)
    if len({tuple(row[:3]) for row in cells}) != 1 or periods != sorted(map(str, range(1, len(cells) + 1))):
        raise FeedChanged("periods cover more than one day, or do not start at 1")
    day = _day(cells[0])
    step = (day.end - day.start) // len(cells)
    if step not in _RESOLUTIONS or step * len(cells) != day.end - day.start:
        raise FeedChanged(f"{len(cells)} periods on {day}")
    rows = Rows()
    for row in cells:
        ts = day.start + (int(row[3]) - 1) * step
        for zone, column in COLUMNS.items():
            if text := row[column] if len(row) > column else "":
                rows.add(zone, Metric.PRICE, ts, number(text.replace(",", "."), "price"), "EUR/MWh", _RESOLUTIONS[step])
    return rows


def _refuse(line: str) -> list[str]:
    raise FeedChanged(f"not a period: {line[:40]!r}")


def _day(row: Sequence[str]) -> MarketDay:
    try:
        return MarketDay(date(int(row[0]), int(row[1]), int(row[2])), TZ)
    except ValueError:
        raise FeedChanged(f"{';'.join(row[:3])[:40]!r} is not a date") from None


def requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the first versions of each day."""
    return [_request(day.day, version) for day in sorted(set(days)) for version in FIRST_VERSIONS]


def follow(body: bytes, request: Request) -> list[Request]:
    """Return the request for the next version of the day."""
    version = int(request.part.removeprefix("version ") or 1)
    return [_request(day, version + 1) for day in request.days if version < LAST_VERSION]


def _request(day: date, version: int) -> Request:
    name = f"marginalpdbc_{day:%Y%m%d}.{version}"
    return Request(
        "omie.price",
        f"https://{HOST}/es/file-download",
        (("parents", "marginalpdbc"), ("filename", name)),
        (day,),
        "ES",
        part=f"version {version}",
        ext="csv",
    )


SOURCE = Source(
    code="omie",
    name="OMIE",
    homepage="https://www.omie.es",
    hosts=(HOST,),
    requests_per_minute=20,
    licence="OMIE legal notice: free use of public information, source named",
    licence_url="https://www.omie.es/en/legal-notice",
    attribution="OMIE (www.omie.es); changed in form",
    redistributable="yes",
    feeds=(
        Feed(
            id="omie.price",
            files=True,
            title="Day-ahead prices of Spain",
            zones=tuple(COLUMNS),
            metrics=(Metric.PRICE,),
            rank=3,
            resolution="15m",
            stamps="start",
            tz=TZ,
            since=date(2023, 1, 1),
            publication=Publication(daily_at=time(13, 30), day_offset=-1, grace_minutes=120),
            requests=requests,
            parse=parse,
            follow=follow,
            every_minutes=60,
            hub="day-ahead auction (SDAC)",
        ),
    ),
    notes=("Daily files go back to 2023. Older years are zip files, which emds does not read.",),
)
