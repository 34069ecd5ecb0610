"""Simulated Elexon Insights: market index, initial demand outturn and interconnector flows of half hours.

Settlement dates and periods count from London midnight, 46 to 50 a day; stamps are UTC. Values come from
the model grid. The original: https://bmrs.elexon.co.uk/api-documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np
import orjson

from assets.simulated import grid
from assets.simulated.answer import Answer
from assets.simulated.grid.noise import Floats, Ints, smooth
from assets.sources.elexon import BASE, TIES
from warehouse.clock import DAY, HOUR, MarketDay, instant, iso, local_midnight
from warehouse.errors import BadWindow
from warehouse.market import Request

HALF_HOUR = 1800
LONDON = "Europe/London"
INDEX_LAG = 50 * 60
"""Seconds after a half hour's end until its market index is out; demand and flows are out at the end itself."""
LONGEST_INDEX = 7 * DAY
"""A longer span of the market index is refused: seven days by the clock of a London autumn last an hour more."""
STATION_LOAD = 600.0
ORDER = (
    "Eleclink (INTELEC)",
    "Ireland(East-West)",
    "France(IFA)",
    "Ireland (Greenlink)",
    "IFA2 (INTIFA2)",
    "Northern Ireland(Moyle)",
    "Netherlands(BritNed)",
    "Belgium (Nemolink)",
    "North Sea Link (INTNSL)",
    "Denmark (Viking link)",
)
"""Of the interconnectors in one half hour: by their fuel types, INTELEC to INTVKL."""

_JSON = (("content-type", "application/json; charset=utf-8"),)
_PROBLEM = {
    "type": "https://tools.ietf.org/html/rfc9110#section-15.5.1",
    "title": "One or more validation errors occurred.",
    "status": 400,
}


def answer(request: Request, now: int) -> Answer:
    """The answer by path; parameters that cannot be read get a 400 problem document."""
    endpoint = _ENDPOINTS.get(request.url.removeprefix(f"{BASE}/"))
    if endpoint is None:
        return Answer(404, b'{ "statusCode": 404, "message": "Resource not found" }', _JSON)
    try:
        return Answer(200, endpoint(dict(request.params), now), _JSON)
    except (KeyError, ValueError, BadWindow):
        return Answer(400, orjson.dumps(_PROBLEM), (("content-type", "application/problem+json; charset=utf-8"),))


def _market_index(params: Mapping[str, str], now: int) -> bytes:
    """Half hours that begin between two instants, both included; both providers unless one is asked for."""
    first, last = instant(params["from"]), instant(params["to"])
    if last - first > LONGEST_INDEX:
        raise BadWindow("from and to lie too far apart")
    ts = _half_hours(first, last + 1, now - INDEX_LAG)[::-1]
    prices = grid.price("GB", ts, HALF_HOUR).round(2).tolist()
    volumes = (2200.0 + 1200.0 * smooth("elexon/market index volume", ts, 3 * HOUR)).round(2).tolist()
    providers = {"APXMIDP": (prices, volumes), "N2EXMIDP": ([0.0] * len(ts), [0.0] * len(ts))}
    wanted = params.get("dataProviders", "").split(",")
    return render_market_index(
        [
            (start, provider, price[i], volume[i])
            for i, start in enumerate(ts.tolist())
            for provider, (price, volume) in providers.items()
            if provider in wanted or wanted == [""]
        ]
    )


def _outturn(params: Mapping[str, str], now: int) -> bytes:
    ts = _half_hours(*_dates(params), now)
    return render_outturn(ts.tolist(), *(column.astype(int).tolist() for column in _demands(ts)))


def _indo(params: Mapping[str, str], now: int) -> bytes:
    """Half hours published, that is ended, between two instants."""
    first, last = (instant(params[name]) - HALF_HOUR for name in ("publishDateTimeFrom", "publishDateTimeTo"))
    ts = _half_hours(first, last + 1, now)[::-1]
    return render_indo(ts.tolist(), _demands(ts)[0].astype(int).tolist())


def _demands(ts: Ints) -> tuple[Floats, Floats]:
    """National demand, and with station load and exports the transmission system's."""
    demand = grid.demand("GB", ts, HALF_HOUR).round()
    exports = sum(
        (np.maximum(0.0, -grid.inflow("GB", tie, ts, HALF_HOUR)) for tie in grid.ties("GB")), np.zeros(ts.shape)
    )
    return demand, (demand + STATION_LOAD + exports).round()


def _interconnectors(params: Mapping[str, str], now: int) -> bytes:
    ts = _half_hours(*_dates(params), now)[::-1]
    flows = {tie.id: grid.inflow("GB", tie, ts, HALF_HOUR).round().astype(int).tolist() for tie in grid.ties("GB")}
    asked = params.get("interconnectorName")
    names = [name for name in ORDER if asked in (None, name)]
    rows = []
    for i, start in enumerate(ts.tolist()):
        rows += [(start, name, flows[TIES[name].link][i]) for name in names]
    return render_interconnectors(rows)


def _dates(params: Mapping[str, str]) -> tuple[int, int]:
    """The window of settlement dates, both included."""
    first, last = (date.fromisoformat(params[name]) for name in ("settlementDateFrom", "settlementDateTo"))
    return local_midnight(first, LONDON), MarketDay(last, LONDON).end


def _half_hours(start: int, end: int, until: int) -> Ints:
    """The starts of the half hours of `[start, end)` that have ended by `until`."""
    return np.arange(-(-start // HALF_HOUR) * HALF_HOUR, min(end, until - HALF_HOUR + 1), HALF_HOUR, dtype=np.int64)


def render_market_index(rows: Iterable[tuple[int, str, float, float]]) -> bytes:
    """The answer for rows of half hour, data provider, GBP/MWh and MWh."""
    return _data(
        {
            "dataset": "MID",
            "startTime": iso(ts),
            "dataProvider": provider,
            **_settlement(ts),
            "price": price,
            "volume": volume,
        }
        for ts, provider, price, volume in rows
    )


def render_indo(starts: Sequence[int], demand: Sequence[int]) -> bytes:
    """The INDO dataset's answer, in MW."""
    return _data(
        {"dataset": "INDO", **_published(ts), **_settlement(ts), "demand": mw}
        for ts, mw in zip(starts, demand, strict=True)
    )


def render_outturn(starts: Sequence[int], national: Sequence[int], transmission: Sequence[int]) -> bytes:
    """The answer of /demand/outturn, which gives the same quantity another name."""
    return _data(
        (
            {
                **_published(ts),
                **_settlement(ts),
                "initialDemandOutturn": indo,
                "initialTransmissionSystemDemandOutturn": itsdo,
            }
            for ts, indo, itsdo in zip(starts, national, transmission, strict=True)
        ),
        ["INDO", "ITSDO"],
    )


def render_interconnectors(rows: Iterable[tuple[int, str, int]]) -> bytes:
    """The answer for rows of half hour, interconnector and MW, + = into GB."""
    return _data(
        (
            {
                "dataset": "INTOUTHH",
                **_published(ts),
                "settlementDate": _settlement(ts)["settlementDate"],
                "settlementDateTimezone": LONDON,
                "settlementPeriod": _settlement(ts)["settlementPeriod"],
                "interconnectorName": name,
                "generation": mw,
            }
            for ts, name, mw in rows
        ),
        ["INTOUTHH"],
    )


def _published(ts: int) -> dict[str, str]:
    return {"publishTime": iso(ts + HALF_HOUR), "startTime": iso(ts)}


@lru_cache(maxsize=4096)
def _settlement(ts: int) -> dict[str, Any]:
    day = MarketDay.at(ts, LONDON)
    return {"settlementDate": str(day), "settlementPeriod": (ts - day.start) // HALF_HOUR + 1}


def _data(rows: Iterable[object], datasets: Sequence[str] = ()) -> bytes:
    envelope = {"metadata": {"datasets": datasets}} if datasets else {}
    return orjson.dumps({**envelope, "data": list(rows)})


_ENDPOINTS: Mapping[str, Callable[[Mapping[str, str], int], bytes]] = {
    "balancing/pricing/market-index": _market_index,
    "datasets/INDO": _indo,
    "demand/outturn": _outturn,
    "generation/outturn/interconnectors": _interconnectors,
}
