"""Simulated OASIS of the California ISO: prices as a CSV in a zip, or an XML in a zip that says why there is none.

Quirks that are kept: five rows a price that add up, group after group with rows in no order, columns and number formats
that differ between real time and day ahead, hour 25 in autumn, errors with status 200. The original:
https://oasis.caiso.com.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from itertools import groupby

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, typed, zipped
from assets.simulated.format import local, short
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.caiso import HUB, TZ, ZONE
from warehouse.errors import BadWindow
from warehouse.market.clock import DAY, HOUR, MarketDay, local_date, local_instant, utc

FIVE = 300
RTM_AFTER = 240
"""Seconds from an interval's end until its price is out."""
FORECAST_AT = time(9, 10)
DAM_AT = time(13)
"""Of the day before, Pacific time."""
KEPT_DAYS, LONGEST_DAYS = 1187, 31
QUERIES = {("PRC_LMP", "DAM"): HOUR, ("PRC_INTVL_LMP", "RTM"): FIVE}
"""Report and market run -> seconds of its intervals."""

_BEGIN = "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR"
_MIDDLE = "NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS"
_HEADERS = {"DAM": f"{_BEGIN},OPR_INTERVAL,{_MIDDLE},MW,GROUP", "RTM": f"{_BEGIN},{_MIDDLE},VALUE,OPR_INTERVAL,GROUP"}
_ITEMS = {"LMP": "LMP_PRC", "MCC": "LMP_CONG_PRC", "MCE": "LMP_ENE_PRC", "MCL": "LMP_LOSS_PRC", "MGHG": "LMP_GHG_PRC"}
NO_DATA = ("1000", "No data returned for the specified selection")
TOO_LONG = ("1004", "Date Range exceeded the allowed number of days")


def answer(params: Mapping[str, str], now: int) -> Answer:
    """The zip for a SingleZip request at `now`."""
    query, market = params.get("queryname", ""), params.get("market_run_id", "")
    if (query, market) == ("SLD_FCST", "DAM"):
        return _load_forecast(params, now)
    step = QUERIES.get((query, market))
    try:
        start, end = (_instant(params[name]) for name in ("startdatetime", "enddatetime"))
    except (KeyError, BadWindow):
        step = None
    if step is None or params.get("node") != HUB:
        return _refused(NO_DATA, now)
    if end - start > LONGEST_DAYS * DAY + HOUR:
        return _refused(TOO_LONG, now)
    since = max(start, MarketDay.at(now, TZ).next(-KEPT_DAYS).start)
    starts = np.arange(-(-since // step) * step, min(end, _until(market, now)), step, dtype=np.int64)
    if not starts.size:
        return _refused(NO_DATA, now)
    prices = grid.price(ZONE, starts, step, "day_ahead" if market == "DAM" else "real_time").round(5)
    span = "_".join(f"{local_date(ts, TZ):%Y%m%d}" for ts in (start, end))
    return _zipped(
        f"{span}_{query}_{market}_{utc(now):%Y%m%d_%H_%M_%S}_v1.csv", render_lmp(HUB, market, starts, parts_of(prices))
    )


def _load_forecast(params: Mapping[str, str], now: int) -> Answer:
    """The day-ahead demand forecast of the whole area and of one part, out in the morning of the day before."""
    try:
        start, end = (_instant(params[name]) for name in ("startdatetime", "enddatetime"))
    except (KeyError, BadWindow):
        return _refused(NO_DATA, now)
    today = MarketDay.at(now, TZ)
    out = now >= local_instant(datetime.combine(today.day, FORECAST_AT), TZ)
    starts = np.arange(start, min(end, (today.next() if out else today).end), HOUR, dtype=np.int64)
    if not starts.size:
        return _refused(NO_DATA, now)
    issued = np.array([MarketDay.at(ts, TZ).next(-1).start for ts in starts.tolist()]) + 9 * HOUR
    demand = grid.demand(ZONE, starts, HOUR)
    for instant in np.unique(issued).tolist():
        own = issued == instant
        demand[own] = grid.as_forecast(demand[own], starts[own], instant, "caiso.demand_forecast")
    span = "_".join(f"{local_date(ts, TZ):%Y%m%d}" for ts in (start, end))
    return _zipped(
        f"{span}_SLD_FCST_DAM_{utc(now):%Y%m%d_%H_%M_%S}_v1.csv",
        render_load_forecast(starts, {"CA ISO-TAC": demand, "PGE-TAC": 0.45 * demand}),
    )


def render_load_forecast(starts: Ints, areas: Mapping[str, Floats]) -> bytes:
    """The CSV of an hourly forecast by area, in no order within each."""
    rows = [
        "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,LOAD_TYPE,OPR_DT,OPR_HR,OPR_INTERVAL,MARKET_RUN_ID,TAC_AREA_NAME,"
        "LABEL,XML_DATA_ITEM,POS,MW,EXECUTION_TYPE,GROUP"
    ]
    begins, ends = (np.datetime_as_string(ts.astype("datetime64[s]")).tolist() for ts in (starts, starts + HOUR))
    for number, (area, megawatts) in enumerate(areas.items(), start=1):
        for i in np.random.default_rng(number).permutation(len(starts)).tolist():
            day, hour = _operating_hour(int(starts[i]))
            head = f"{begins[i]}-00:00,{ends[i]}-00:00,0,{day},{hour},0,DAM,{area}"
            rows.append(f"{head},Demand Forecast Day Ahead,SYS_FCST_DA_MW,1.6,{short(megawatts[i], 2)},DAM,{number}")
    return ("\n".join(rows) + "\n").encode()


def _instant(text: str) -> int:
    """The instant of `20261025T07:00-0000`. Raises BadWindow."""
    try:
        return int(datetime.strptime(text, "%Y%m%dT%H:%M%z").timestamp())
    except ValueError:
        raise BadWindow(f"OASIS would not read {text!r}") from None


def _until(market: str, now: int) -> int:
    """Where the prices that are out end."""
    if market == "RTM":
        return (now - RTM_AFTER) // FIVE * FIVE
    today = MarketDay.at(now, TZ)
    return (today.next() if now >= local_instant(datetime.combine(today.day, DAM_AT), TZ) else today).end


def parts_of(prices: Floats) -> dict[str, Floats]:
    """The price and what it is made of: congestion, energy, losses, greenhouse gas."""
    congestion, losses, gas = (0.04 * prices).round(5), (-0.012 * prices).round(5), np.full(prices.shape, 0.0)
    return {
        "LMP": prices,
        "MCC": congestion,
        "MCE": (prices - congestion - losses - gas).round(5),
        "MCL": losses,
        "MGHG": gas,
    }


def render_lmp(
    node: str, market: str, starts: Ints, parts: Mapping[str, Floats], point: tuple[str, int] = ("ALL_APNODES", 0)
) -> bytes:
    """The CSV of a node's prices by LMP_TYPE, one group a day and type. `point`: the kind of node and its place."""
    step = HOUR if market == "DAM" else FIVE
    begins, ends = (np.datetime_as_string(ts.astype("datetime64[s]")).tolist() for ts in (starts, starts + step))
    hours = [_operating_hour(ts) for ts in starts.tolist()]
    # Groups are numbered by type day ahead, by data item in real time.
    kinds = sorted(parts, key=None if market == "DAM" else lambda kind: _ITEMS[kind])
    rows, number = [_HEADERS[market]], 0
    for _, places in groupby(range(len(hours)), key=lambda i: hours[i][0]):
        of_day = [*places]
        for kind in kinds:
            number += 1
            names = f"{node},{node},{node},{market},{kind},{_ITEMS[kind]},{node},{point[0]},{point[1]}"
            values = parts[kind].tolist()
            for i in np.random.default_rng(number).permutation(of_day).tolist():
                head, quarter = f"{begins[i]}-00:00,{ends[i]}-00:00,{hours[i][0]}", starts[i] % HOUR // FIVE + 1
                rows.append(
                    f"{head},{hours[i][1]},0,{names},{short(values[i], 5)},{number}"
                    if market == "DAM"
                    else f"{head},{hours[i][1]:02d},{names},{values[i]:.5f},{quarter},{number}"
                )
    return ("\n".join(rows) + "\n").encode()


def _operating_hour(ts: int) -> tuple[str, int]:
    """Operating day and hour: 1..24 by the wall clock, no 3 in spring, 25 for the repeated autumn hour."""
    moment = local(ts, TZ)
    return str(moment.date()), 25 if moment.fold else moment.hour + 1


def _refused(reason: tuple[str, str], now: int) -> Answer:
    """The XML that OASIS puts into the zip in place of a CSV."""
    return _zipped(
        "INVALID_REQUEST.xml",
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<m:OASISReport xmlns:m="http://www.caiso.com/soa/OASISReport_v1.xsd">\n<m:MessageHeader>'
            f"<m:TimeDate>{utc(now):%Y-%m-%dT%H:%M:%S}.806Z</m:TimeDate><m:Source>OASIS</m:Source>"
            "<m:Version>v20131201</m:Version></m:MessageHeader>\n<m:MessagePayload><m:RTO><m:name>CAISO</m:name>\n"
            f"<m:ERROR><m:ERR_CODE>{reason[0]}</m:ERR_CODE><m:ERR_DESC>{reason[1]}</m:ERR_DESC></m:ERROR>\n"
            "</m:RTO></m:MessagePayload></m:OASISReport>"
        ).encode(),
    )


def _zipped(name: str, body: bytes) -> Answer:
    return typed(zipped([(name, body)], datetime(2026, 1, 1), level=1), "application/x-zip-compressed")  # noqa: DTZ001
