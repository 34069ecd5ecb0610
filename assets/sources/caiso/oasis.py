"""Parse responses of OASIS, the California ISO's market: zips with a CSV of prices or an XML error.

For the requests see `assets.sources.caiso`. The interface is described at
https://www.caiso.com/documents/oasis-interfacespecification.pdf.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from assets.parsing.body import (
    columns,
    is_zip,
    local,
    no_html,
    only_lines_with,
    reading,
    table,
    text_of,
    unzipped,
    xml_of,
)
from assets.parsing.columns import extend_filled
from assets.parsing.members import Members, require_known
from assets.parsing.stamps import iso_instant
from assets.parsing.totals import Part, extend_total
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market.clock import HOUR, RESOLUTIONS
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Forecast, Fuel
from warehouse.rows.schema import Rows, SeriesKey

PRICE_COLUMNS = ("MW", "VALUE", "PRC")
"""The names of the price column in the day-ahead, the 5-minute and the 15-minute responses."""
TEMPORARY = frozenset({"1003", "1006", "1007", "1008", "1009", "1012", "1013", "1015"})
"""Temporary error codes: time-outs, refusals under load, a response that is still in progress."""
PAUSE = 5.0
"""Seconds that OASIS requires between two requests."""


def parse_lmp(node: str, market: str, key: SeriesKey, body: bytes, request: Request) -> Rows:
    """Return the LMP rows of one node and market run (RTM, DAM), without other nodes and the price's components.

    Raises NotPublished if OASIS has no data, FeedUnavailable if it throttles, FeedChanged otherwise, also if every row
    is of another node.
    """
    rows = Rows()
    texts, found = list(_texts(body)), False
    for text in texts:
        prices = _node_prices(text, node, market, RESOLUTIONS[key.resolution])
        extend_filled(rows, key, prices)
        found = found or bool(prices)
    if not found:
        if any(text.strip().partition("\n")[2] for text in texts):
            raise FeedChanged(f"no price for {node}")
        raise NotPublished("the file has a header but no rows")
    return rows


def parse_load_forecast(area: str, market: str, key: SeriesKey, body: bytes, request: Request) -> Rows:
    """Return the demand forecast of one area and market run (each run is another product). Raises like `parse_lmp`."""
    rows, found = Rows(), False
    names = ("INTERVALSTARTTIME_GMT", "INTERVALENDTIME_GMT", "MARKET_RUN_ID", "TAC_AREA_NAME", "MW")
    for text in _texts(body):
        header, lines = table(only_lines_with(area, text))
        start, end, run, name, value = columns(header, *names)
        own = [cells for cells in lines if cells[name] == area]
        if any(cells[run] != market for cells in own):
            raise FeedChanged(f"the market run is not {market}")
        step = RESOLUTIONS[key.resolution]
        extend_filled(rows, key, [(_begin(c[start], c[end], step), reading(c[value], "MW")) for c in own])
        found = found or bool(own) or not text.strip().partition("\n")[2]
    if not found:
        raise FeedChanged(f"no forecast for {area}")
    if not len(rows):
        raise NotPublished("the file has a header but no rows")
    return rows


HUBS = ("NP15", "SP15", "ZP26")
"""The trading hubs that make up the area."""
RENEWABLE_TYPES = Members("renewable type", Forecast.MIX, {"Solar": Fuel.SOLAR, "Wind": Fuel.WIND}, "US-CAISO")


def parse_renewable_forecast(market: str, body: bytes, request: Request) -> Rows:
    """Return `mix_forecast` rows of US-CAISO, sums over the trading hubs. Raises like `parse_lmp`."""
    rows, parts = Rows(), dict[tuple[Fuel, str], dict[int, float]]()
    names = ("INTERVALSTARTTIME_GMT", "INTERVALENDTIME_GMT", "MARKET_RUN_ID", "TRADING_HUB", "RENEWABLE_TYPE", "MW")
    for text in _texts(body):
        header, lines = table(text)
        start, end, run, hub, kind, value = columns(header, *names)
        for cells in lines:
            if cells[run] != market or cells[hub] not in HUBS:
                raise FeedChanged(f"hub {cells[hub][:20]!r} of market run {cells[run][:20]!r}")
            ts, megawatts = _begin(cells[start], cells[end], HOUR), reading(cells[value], "MW")
            if megawatts is not None and (fuel := RENEWABLE_TYPES.find(rows, cells[kind], [ts])):
                parts.setdefault((fuel, cells[hub]), {})[ts] = megawatts
    for fuel in dict.fromkeys(fuel for fuel, _ in parts):
        of_hubs = [parts.get((fuel, name), {}) for name in HUBS]
        key = SeriesKey("US-CAISO", Forecast.MIX, "MW", "1h", fuel.value)
        extend_total(rows, key, [Part([*known], [*known.values()]) for known in of_hubs])
    require_known(rows)
    if not len(rows):
        raise NotPublished("no forecast in the response")
    return rows


def _begin(start: str, end: str, step: int) -> int:
    """Return the start of an interval. Raises FeedChanged if it is not `step` seconds long, or off the grid."""
    begin = _instant(start)
    if _instant(end) - begin != step or begin % step:
        raise FeedChanged(f"an interval lasts from {start} to {end}; expected {step} s")
    return begin


def _texts(body: bytes) -> Iterator[str]:
    """Yield the CSV members of a zip, or the body itself if it is a member. Raises the error that an error member
    means."""
    members = [content for _, content in unzipped(body, depth=1)] if is_zip(body) else [body]
    if not members:
        raise FeedChanged("zip file is empty")
    for member in members:
        text = text_of(member)
        if text[:80].lstrip().startswith("<"):
            raise _refusal(text, member)
        yield text


def _refusal(text: str, member: bytes) -> FeedError:
    """Return the meaning of an error. It arrives with status 200 inside the zip, or as a web page if throttled."""
    if "acceptable use" in text.lower():
        return FeedUnavailable("OASIS: acceptable use policy, too many requests", PAUSE)
    no_html(text)
    answer = {local(e): (e.text or "").strip() for e in xml_of(member).iter() if isinstance(e.tag, str)}
    code, words = answer.get("ERR_CODE", ""), answer.get("ERR_DESC", "")[:120]
    if code == "1000":
        return NotPublished(f"OASIS 1000: {words}")
    if code in TEMPORARY:
        return FeedUnavailable(f"OASIS {code}: {words}")
    return FeedChanged(f"OASIS {code or 'answers XML without an error code'}: {words}")


def _node_prices(text: str, node: str, market: str, step: int) -> list[tuple[int, float | None]]:
    """Return interval starts and LMPs of one node in the body's order (OASIS shuffles rows), with None for blanks."""
    # Four of five rows are components of the price. If the type is between two other columns, they are left unread.
    between = ",LMP_TYPE," in text[:1000] and '"' not in text
    header, lines = table(only_lines_with(",LMP,", text) if between else text)
    names = ("INTERVALSTARTTIME_GMT", "INTERVALENDTIME_GMT", "NODE", "MARKET_RUN_ID", "LMP_TYPE")
    start, end, name, run, kind = columns(header, *names)
    price = _price_column(header)
    prices = []
    for cells in lines:
        if cells[run] != market:
            raise FeedChanged(f"market run {cells[run][:20]!r}; expected {market}")
        if cells[kind] == "LMP" and cells[name] == node:
            prices.append((_begin(cells[start], cells[end], step), reading(cells[price], "LMP")))
    return prices


@lru_cache(maxsize=16384)
def _instant(stamp: str) -> int:
    """Return the time of a stamp. The cache helps, because an interval's end is the next start."""
    return iso_instant(stamp)


def _price_column(header: list[str]) -> int:
    places = [header.index(name) for name in PRICE_COLUMNS if name in header]
    if len(places) != 1:
        raise FeedChanged(f"{len(places)} price columns in {', '.join(header)[:200]}")
    return places[0]
