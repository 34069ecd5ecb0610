"""Parse MISO's ex-post prices of the Indiana hub: five minutes from live responses, hours from daily files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from assets.parsing.body import (
    is_json,
    json_of,
    member,
    no_html,
    only_lines_with,
    reading,
    table,
    text_of,
    without_cut_cell,
)
from assets.parsing.clocks import fixed_instant
from assets.parsing.columns import FIVE_MINUTES, extend_filled, filled, on_grid
from assets.parsing.stamps import american_date, iso_instant
from assets.sources.miso.requests import EST, TZ, ZONE
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

HUB = "INDIANA.HUB"
LARGE = 1_000_000
"""Bytes above which a live response is not decoded whole, if its order allows that."""
_HOURS = [f"HE {hour}" for hour in range(1, 25)]
_HUB_ROW = re.compile(rb'\[[^\[\]]*"INDIANA\.HUB"[^\[\]]*\]')
_DATE = re.compile(r"\d{1,2}/\d{1,2}/\d{4}", re.ASCII)


def parse_lmp_rt(body: bytes, request: Request) -> Rows:
    """Return real-time ex-post prices: five minutes from the live responses, hours from the daily files."""
    return _parse_live_lmp(body) if is_json(body) else parse_report(Metric.PRICE, body, request)


def _parse_live_lmp(body: bytes) -> Rows:
    """Return the prices of a live response. `headers` names the positions of `data`. INTERVAL is the interval's end."""
    answer = json_of(_only_hub(body) if len(body) > LARGE else body)
    header, lines = member(answer, "headers", list), member(answer, "data", list)
    if not lines:
        raise FeedChanged(f"no price for {HUB}") if len(body) > LARGE else NotPublished("no intervals yet")
    if missing := [name for name in ("INTERVAL", "CPNODE", "LMP") if header.count(name) != 1]:
        raise FeedChanged(f"not one column {missing[0]} in {str(header)[:200]}")
    end, node, price = (header.index(name) for name in ("INTERVAL", "CPNODE", "LMP"))
    rows = Rows()
    ends: list[int] = []
    prices: list[float | None] = []
    for cells in lines:
        if not isinstance(cells, list) or len(cells) != len(header):
            raise FeedChanged(f"a row does not have the {len(header)} columns")
        if cells[node] == HUB:
            ends.append(iso_instant(cells[end], TZ))
            prices.append(reading(cells[price], "LMP"))
    if not ends:
        raise FeedChanged(f"no price for {HUB}")
    starts, values = filled([ts - FIVE_MINUTES for ts in ends], prices)
    rows.extend(SeriesKey(ZONE, Metric.PRICE, "USD/MWh", "5m"), *on_grid(rows, starts, values))
    return rows


def _only_hub(body: bytes) -> bytes:
    """Return the response with only the hub's rows, a few of thousands, or unchanged if its layout differs."""
    head, data, rest = body.partition(b'"data":[')
    if b'"headers"' not in head or not rest.rstrip().endswith(b"]}"):
        return body
    return head + data + b",".join(_HUB_ROW.findall(rest)) + b"]}"


def parse_report(metric: Metric, body: bytes, request: Request) -> Rows:
    """Return hourly ex-post prices, USD/MWh. A report has a title, date, (an empty line,) a note, a column per hour."""
    text = no_html(text_of(body))
    if text.lstrip().startswith("<"):
        raise NotPublished("BlobNotFound") if "BlobNotFound" in text else FeedChanged("got XML instead of a report")
    preamble, header_start, rest = text.partition("Node,Type,Value,")
    if not header_start:
        raise FeedChanged("missing header Node,Type,Value")
    _check_title(preamble, metric)
    day = _report_day(preamble)
    header, lines = table(only_lines_with(HUB, without_cut_cell(header_start + rest)))
    own = [cells for cells in lines if cells[0].strip() == HUB and cells[2].strip() == "LMP"]
    if not own:
        nodes = rest.partition("\n")[2].strip()
        raise FeedChanged(f"no price for {HUB}") if nodes else NotPublished("the file has a header but no rows")
    rows = Rows()
    for cells in own:
        _extend_hours(rows, metric, day, header[3:], cells[3:])
    return rows


def _check_title(preamble: str, metric: Metric) -> None:
    """Raise FeedChanged for ex-ante prices, whose address is nearly the same, and for the other market's file."""
    title = preamble.strip().partition("\n")[0]
    letters = "".join(filter(str.isalpha, title.lower()))
    market = "dayahead" if metric is Metric.PRICE_DAY_AHEAD else "realtime"
    if market not in letters or "exante" in letters:
        raise FeedChanged(f"unexpected report: {title[:60]!r}")


def _report_day(preamble: str) -> date:
    dates = _DATE.findall(preamble)
    if len(dates) != 1:
        raise FeedChanged(f"{len(dates)} dates above the table")
    return american_date(dates[0])


def _extend_hours(rows: Rows, metric: Metric, day: date, names: Sequence[str], cells: Sequence[str]) -> None:
    """Add the hours of one node. A blank cell is a missing hour. Raises FeedChanged for an unknown column."""
    prices = []
    for name, cell in zip(names, cells, strict=True):
        if name not in _HOURS:
            raise FeedChanged(f"unknown column {name[:20]!r}")
        prices.append((fixed_instant(day, _HOURS.index(name) * 3600, EST), reading(cell, "LMP")))
    extend_filled(rows, SeriesKey(ZONE, metric, "USD/MWh", "1h"), prices)
