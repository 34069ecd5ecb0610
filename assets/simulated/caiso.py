"""California ISO as it would answer: OASIS zips of prices, Today's Outlook files. Values are the model grid's.

Written as recorded answers are: OASIS rows shuffled, five rows a price, errors as XML in a 200 zip; Outlook labels without a
date, future lines blank, the autumn hour once, the spring hour blank. Reference: FEEDS-US.md section 1.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache

import numpy as np

from assets.simulated import grid
from assets.simulated._answer import Answer
from assets.sources.caiso import HUB, TZ, ZONE
from warehouse.clock import DAY, HOUR, MarketDay, instant, local_date, local_instant, utc
from warehouse.errors import BadWindow
from warehouse.market import Request

FIVE = 300
OUTLOOK_LAG = 10 * 60
RTM_LAG = 10 * 60
DAM_AT = 13
"""Hour of the day before, Pacific time, at which the day-ahead market is out."""

_DAM_HEADER = (
    "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,OPR_INTERVAL,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,"
    "XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS,MW,GROUP"
)
_RTM_HEADER = (
    "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,"
    "XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS,VALUE,OPR_INTERVAL,GROUP"
)
_PARTS = (("LMP", "LMP_PRC", 1.0), ("MCC", "LMP_CONG_PRC", 0.04), ("MCE", "LMP_ENE_PRC", 0.97), ("MCL", "LMP_LOSS_PRC", -0.01), ("MGHG", "LMP_GHG_PRC", 0.0))
FUELSOURCE = (
    "Time", "Solar", "Wind", "Geothermal", "Biomass", "Biogas", "Small hydro", "Coal", "Nuclear", "Natural Gas", "Large Hydro",
    "Batteries", "Imports", "Other",
)
DEMAND = ("Time", "Day ahead forecast", "Hour ahead forecast", "Current demand", "Demand response")


def answer(request: Request, now: int) -> Answer:
    """OASIS or Outlook, by host and path."""
    if "oasis" in request.url:
        return _oasis(dict(request.params), now)
    folder, file = request.url.rsplit("/", 2)[1:]
    today = local_date(now - 15 * 60, TZ)
    day = today if folder == "current" else datetime.strptime(folder, "%Y%m%d").date()  # noqa: DTZ007
    if file not in ("demand.csv", "fuelsource.csv") or day > today:
        return Answer(404, b"<html><body>Not Found</body></html>")
    names, columns = (DEMAND, demand_columns) if file == "demand.csv" else (FUELSOURCE, fuel_columns)
    return Answer(200, render_outlook(names, day, columns(day), now - OUTLOOK_LAG), (("content-type", "text/csv"),))


def _oasis(params: Mapping[str, str], now: int) -> Answer:
    start, end = (instant(_iso(params[name])) for name in ("startdatetime", "enddatetime"))
    if end - start > 31 * DAY + HOUR:
        return _zip("INVALID_REQUEST.xml", _error("1004", "Date Range exceeded the allowed number of days"))
    market = params["market_run_id"]
    step = HOUR if market == "DAM" else FIVE
    until = _dam_until(now) if market == "DAM" else (now - RTM_LAG) // FIVE * FIVE
    ts = np.arange(-(-start // step) * step, min(end, until), step, dtype=np.int64)
    if not len(ts) or params["node"] != HUB:
        return _zip("INVALID_REQUEST.xml", _error("1000", "No data returned for the specified selection"))
    name = "day_ahead" if market == "DAM" else "real_time"
    body = render_lmp(HUB, market, ts.tolist(), grid.price(ZONE, ts, step, name).round(5).tolist())
    stamp = f"{local_date(start, TZ):%Y%m%d}_{local_date(end, TZ):%Y%m%d}_{params['queryname']}_{market}_{utc(now):%Y%m%d_%H_%M_%S}_v1.csv"
    return _zip(stamp, body)


def _iso(text: str) -> str:
    """`20261025T07:00-0000` as RFC 3339. Raises BadWindow for anything else."""
    try:
        return datetime.strptime(text, "%Y%m%dT%H:%M%z").isoformat()
    except ValueError:
        raise BadWindow(f"OASIS would not read {text!r}") from None


def _dam_until(now: int) -> int:
    """The end of the last market day whose day-ahead prices are out."""
    today = MarketDay.at(now, TZ)
    out = now >= local_instant(datetime.combine(today.day, datetime.min.time()).replace(hour=DAM_AT), TZ)
    return today.next().end if out else today.end


def render_lmp(node: str, market: str, starts: Sequence[int], prices: Sequence[float]) -> bytes:
    """The CSV of PRC_LMP (DAM, hourly) or PRC_INTVL_LMP (RTM, five minutes): five rows a price, in no order."""
    lines = []
    for ts, price in zip(starts, prices, strict=True):
        lines += _lmp_lines(node, market, ts, price)
    shuffled = [lines[i] for i in np.random.default_rng(len(lines)).permutation(len(lines))]
    return ("\n".join([_DAM_HEADER if market == "DAM" else _RTM_HEADER, *shuffled]) + "\n").encode()


def _lmp_lines(node: str, market: str, ts: int, price: float) -> list[str]:
    step = HOUR if market == "DAM" else FIVE
    begin, end = (f"{utc(t):%Y-%m-%dT%H:%M:%S}-00:00" for t in (ts, ts + step))
    day = local_date(ts, TZ)
    hour = operating_hour(ts)
    found = []
    for place, (kind, item, share) in enumerate(_PARTS):
        value = f"{price * share:.5f}"
        names = f"{node},{node},{node},{market},{kind},{item},{node}"
        if market == "DAM":
            found.append(f"{begin},{end},{day},{hour},0,{names},ALL_APNODES,{place},{value},{place + 1}")
        else:
            found.append(f"{begin},{end},{day},{hour:02d},{names},ALL_APNODES,{place},{value},{ts % HOUR // FIVE + 1},{place + 1}")
    return found


def operating_hour(ts: int) -> int:
    """OPR_HR: 1..24 by the wall clock, no 3 in spring, 25 for the repeated autumn hour."""
    local = datetime.fromtimestamp(ts, _zone())
    return 25 if local.fold else local.hour + 1


@lru_cache(maxsize=1)
def _zone():  # type: ignore[no-untyped-def]
    from warehouse.clock import zone_of

    return zone_of(TZ)


def _error(code: str, words: str) -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<m:OASISReport xmlns:m="http://www.caiso.com/soa/OASISReport_v1.xsd">\n'
        "<m:MessageHeader>\n\t<m:Source>OASIS</m:Source>\n\t<m:Version>v20131201</m:Version>\n</m:MessageHeader>\n<m:MessagePayload>\n"
        f"<m:RTO>\n<m:name>CAISO</m:name>\n<m:ERROR>\n<m:ERR_CODE>{code}</m:ERR_CODE>\n<m:ERR_DESC>{words}</m:ERR_DESC>\n</m:ERROR>\n"
        "</m:RTO>\n</m:MessagePayload>\n</m:OASISReport>"
    ).encode()


def _zip(name: str, body: bytes) -> Answer:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), body)
    return Answer(200, out.getvalue(), (("content-type", "application/x-zip-compressed"),))


def labels(day: date) -> list[tuple[str, int | None]]:
    """The 288 labels of a day with their instants: None for the hour that spring skips, the first pass of the repeated one."""
    found = []
    for minutes in range(0, 24 * 60, 5):
        wall = datetime.combine(day, datetime.min.time()) + timedelta(minutes=minutes)
        try:
            found.append((f"{wall:%H:%M}", local_instant(wall, TZ)))
        except BadWindow:
            found.append((f"{wall:%H:%M}", None))
    return found


Columns = Mapping[str, Mapping[int, float]]
"""Column name -> interval start -> MW."""


@lru_cache(maxsize=128)
def demand_columns(day: date) -> Columns:
    """Today's demand and its forecasts."""
    ts = np.array([ts for _, ts in labels(day) if ts is not None], np.int64)
    demand = grid.demand(ZONE, ts).round()
    hours = ts // HOUR * HOUR
    ahead = {"Day ahead forecast": 1.01, "Hour ahead forecast": 1.003}
    columns = {name: dict(zip(ts.tolist(), (grid.demand(ZONE, hours) * share).round().tolist(), strict=True)) for name, share in ahead.items()}
    return {**columns, "Current demand": dict(zip(ts.tolist(), demand.tolist(), strict=True)), "Demand response": {}}


@lru_cache(maxsize=128)
def fuel_columns(day: date) -> Columns:
    """Generation by the file's columns; the model's biomass and hydro are parted as the publisher parts them."""
    ts = np.array([ts for _, ts in labels(day) if ts is not None], np.int64)
    mix = {fuel: mw.round() for fuel, mw in grid.generation(ZONE, ts).items()}
    biogas, small = (mix["biomass"] * 0.4).round(), (mix["hydro"] * 0.1).round()
    columns = {
        "Solar": mix["solar"], "Wind": mix["wind"], "Geothermal": mix["geothermal"], "Biomass": mix["biomass"] - biogas, "Biogas": biogas,
        "Small hydro": small, "Coal": mix["coal"], "Nuclear": mix["nuclear"], "Natural Gas": mix["gas"], "Large Hydro": mix["hydro"] - small,
        "Batteries": mix["battery"], "Imports": grid.interchange(ZONE, ts).round(), "Other": mix["other"],
    }
    return {name: dict(zip(ts.tolist(), mw.tolist(), strict=True)) for name, mw in columns.items()}


def render_outlook(names: Sequence[str], day: date, columns: Columns, until: int) -> bytes:
    """A file of that day as it stands once intervals up to `until` are known: later lines have forecasts only."""
    lines = [",".join(names)]
    for label, ts in labels(day):
        cells = [label]
        for name in names[1:]:
            known = ts is not None and (ts < until or "forecast" in name)
            value = columns[name].get(ts) if known and ts is not None else None
            cells.append("" if value is None else f"{value:.0f}")
        lines.append(",".join(cells))
    return ("\r\n".join(lines) + "\r\n").encode()
