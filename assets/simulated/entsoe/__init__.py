"""Simulate the ENTSO-E Transparency Platform: day-ahead prices, load, flows, mix and capacity of the European zones.

Responses depend only on the query's parameters. A query without data gets an acknowledgement with HTTP 200. Load and
flows are revised for two days. Values come from the model grid. The original: https://transparency.entsoe.eu.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import NOTHING, Answer, typed
from assets.simulated.day_ahead import auction, is_out, step_of
from assets.simulated.entsoe.documents import MEGAWATTS, STEPS, Period, Series, acknowledgement, document
from assets.simulated.grid.noise import Floats, Ints
from assets.sources.entsoe.areas import EIC, TWO_AUCTIONS, Border, borders
from assets.sources.entsoe.mix import FUELS
from assets.sources.entsoe.mix_forecast import FUELS as FORECAST_FUELS
from assets.sources.entsoe.requests import HOST, TZ, new_year
from warehouse.market.clock import DAY, HOUR, LAST_INSTANT, MarketDay, local_date, market_days
from warehouse.market.feeds import Request

LAG = 70 * 60
"""Seconds after which an hour's load and flows are published."""
AUCTION_OUT = time(12, 57)
"""When tomorrow's results are published, in Brussels."""
LOAD_FORECAST_OUT = (9 * HOUR + 1800, 18 * HOUR)
"""Seconds after midnight of the day before, in its local time."""
MIX_FORECAST_OUT = (17 * HOUR + 1800, 32 * HOUR)
"""Seconds after midnight of the day before: in the evening, and again in the morning of the day."""
HOURLY_LOAD = frozenset({"SE-3", "NO-2", "DK-1", "CH"})
QUARTER_HOURLY_FLOWS = frozenset({"DE-LU", "NL", "BE", "AT"})
"""Flows between two of these zones have quarter-hour intervals."""
BOTH_WAYS = 50.0
"""MW that pumped storage generates and pumps at the same time."""
OWN_USE = {"DE-LU": ("B04", 64.0), "NL": ("B20", 640.0)}
"""Zones that report the consumption of a type other than storage, in MW."""
CAPACITY_OUT = 31 * DAY
"""Seconds into a year until its capacities are published."""
TYPES = {fuel.value: code for code, fuel in reversed(FUELS.items())} | {
    "gas": "B04",
    "other": "B20",
    "wind": "B19",
}
"""The production type of each fuel. If a fuel has several types, the usual type is used."""
RESERVOIRS = 0.4
"""The share of hydro that is reservoirs (B12)."""

_ZONES = {eic: zone for zone, eic in EIC.items()}
_POSITION = "classificationSequence_AttributeInstanceComponent.position"


def _ways() -> dict[tuple[str, str], tuple[Border, bool]]:
    """Return the border by (into, out of) as codes, and whether the flow is into the border's zone."""
    ways = {}
    for border in borders():
        for ts in (0, LAST_INSTANT):  # a code may have changed
            own, neighbour = border.eics(ts)
            ways[own, neighbour], ways[neighbour, own] = (border, True), (border, False)
    return ways


_WAYS = _ways()


class _Question(NamedTuple):
    params: Mapping[str, str]
    start: int
    end: int
    now: int


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/api`, by documentType."""
    params = dict(request.params)
    if request.url != f"https://{HOST}/api":
        return NOTHING
    start, end = (_instant(params[name]) for name in ("periodStart", "periodEnd"))
    longest, render = _ITEMS[params["documentType"]]
    if end - start > longest * DAY:
        return typed(acknowledgement("Time interval is larger than maximum allowed period."), "text/xml", 400)
    body = render(_Question(params, start, end, now))
    return typed(acknowledgement("No matching data found.") if body is None else body, "text/xml")


def _instant(text: str) -> int:
    return int(datetime.strptime(text, "%Y%m%d%H%M").replace(tzinfo=UTC).timestamp())


def _price(query: _Question) -> bytes | None:
    """Return complete market days whose auctions are over. CH has a TimeSeries per day, other zones a single one."""
    zone = _ZONES[query.params["in_Domain"]]
    days = market_days(local_date(query.start, TZ), local_date(query.end - 1, TZ), TZ)
    head = {
        "in_Domain.mRID": EIC[zone],
        "out_Domain.mRID": EIC[zone],
        "contract_MarketAgreement.type": "A01",
        "currency_Unit.name": "EUR",
        "price_Measure_Unit.name": "MWH",
        **({_POSITION: "1"} if zone in TWO_AUCTIONS else {}),
    }
    periods = [_auction(zone, day) for day in days if is_out(day, query.now, AUCTION_OUT)]
    if not periods:
        return None
    return document("A44", [(head, [p]) for p in periods] if zone == "CH" else [(head, periods)])


def _auction(zone: str, day: MarketDay) -> Period:
    resolution = "PT60M" if step_of(zone, day.day) == HOUR else "PT15M"
    return Period(day.start, day.end, resolution, auction(zone, day)[1])


def _load(query: _Question) -> bytes | None:
    zone, process = _ZONES[query.params["outBiddingZone_Domain"]], query.params["processType"]
    found = load_of if process == "A16" else load_forecast_of
    resolution, ts, values = found(zone, query.start, query.end, query.now)
    if not len(ts):
        return None
    elements = {"outBiddingZone_Domain.mRID": EIC[zone], **MEGAWATTS}
    return document("A65", [(elements, [_as_period(ts, resolution, values)])], process)


def load_forecast_of(zone: str, start: int, end: int, now: int) -> tuple[str, Ints, Floats]:
    """Return a zone's load as forecast at `now`. Forecasts are issued each day for the next, and again in the
    evening.
    """
    resolution = "PT60M" if zone in HOURLY_LOAD else "PT15M"
    parts: list[tuple[Ints, Floats]] = []
    for day in market_days(local_date(start, TZ), local_date(end - 1, TZ), TZ):
        issues = [at for at in (day.next(-1).start + out for out in LOAD_FORECAST_OUT) if at <= now]
        ts = _steps(max(start, day.start), min(end, day.end), STEPS[resolution])
        if issues and len(ts):
            demand = grid.demand(zone, ts, STEPS[resolution])
            parts.append((ts, grid.as_forecast(demand, ts, issues[-1], f"entsoe.demand_forecast/{zone}")))
    if not parts:
        return resolution, np.empty(0, np.int64), np.empty(0)
    return resolution, np.concatenate([ts for ts, _ in parts]), np.concatenate([values for _, values in parts])


def _mix_forecast(query: _Question) -> bytes | None:
    """Return a TimeSeries each for onshore wind, offshore wind and solar, if the zone has them."""
    zone, kinds = _ZONES[query.params["in_Domain"]], list[Series]()
    resolution = "PT60M" if zone in HOURLY_LOAD else "PT15M"
    for kind, fuel in FORECAST_FUELS.items():
        parts: list[tuple[Ints, Floats]] = []
        for day in market_days(local_date(query.start, TZ), local_date(query.end - 1, TZ), TZ):
            issues = [at for at in (day.next(-1).start + out for out in MIX_FORECAST_OUT) if at <= query.now]
            ts = _steps(max(query.start, day.start), min(query.end, day.end), STEPS[resolution])
            mix = grid.mix(zone, ts, STEPS[resolution]) if issues and len(ts) else {}
            if fuel in mix:
                expected = grid.as_forecast(mix[fuel], ts, issues[-1], f"entsoe.mix_forecast/{zone}/{fuel}", 0.15)
                parts.append((ts, expected))
        if parts:
            ts, values = (np.concatenate(column) for column in zip(*parts, strict=True))
            head = {"inBiddingZone_Domain.mRID": EIC[zone], **MEGAWATTS, "MktPSRType": f"<psrType>{kind}</psrType>"}
            kinds.append((head, [_as_period(ts, resolution, values)]))
    return document("A69", kinds, query.params["processType"]) if kinds else None


def load_of(zone: str, start: int, end: int, now: int) -> tuple[str, Ints, Floats]:
    """Return the published part of a zone's load at `now`: resolution, interval starts, MW."""
    resolution = "PT60M" if zone in HOURLY_LOAD else "PT15M"
    ts = _published_steps(start, end, now, STEPS[resolution])
    demand = grid.demand(zone, ts, STEPS[resolution])
    return resolution, ts, grid.as_published(demand, ts, now, f"entsoe.demand/{zone}")


def _mix(query: _Question) -> bytes | None:
    """Return a TimeSeries for each production type, and for the consumption of storage and some other plants."""
    zone = _ZONES[query.params["in_Domain"]]
    resolution, ts, types = mix_of(zone, query.start, query.end, query.now)
    if not len(ts):
        return None
    kinds: list[Series] = []
    for (kind, side), values in sorted(types.items()):
        head = {f"{side}BiddingZone_Domain.mRID": EIC[zone], **MEGAWATTS, "MktPSRType": f"<psrType>{kind}</psrType>"}
        kinds.append((head, [_as_period(ts, resolution, values)]))
    return document("A75", kinds, query.params["processType"])


def mix_of(zone: str, start: int, end: int, now: int) -> tuple[str, Ints, Mapping[tuple[str, str], Floats]]:
    """Return the published part of a zone's mix at `now`: resolution, interval starts, MW by production type and side.

    The sides are `in` (output) and `out` (consumption).
    """
    resolution = "PT60M" if zone in HOURLY_LOAD else "PT15M"
    ts = _published_steps(start, end, now, STEPS[resolution])
    types: dict[tuple[str, str], Floats] = {}
    for fuel, megawatts in grid.mix(zone, ts, STEPS[resolution]).items() if len(ts) else ():
        published = grid.as_published(megawatts, ts, now, f"entsoe.mix/{zone}/{fuel}")
        if fuel in ("pumped_storage", "battery"):
            types[TYPES[fuel], "in"] = np.maximum(published, 0.0) + BOTH_WAYS
            types[TYPES[fuel], "out"] = np.maximum(-published, 0.0) + BOTH_WAYS
        elif fuel == "hydro":
            types |= {("B11", "in"): (1.0 - RESERVOIRS) * published, ("B12", "in"): RESERVOIRS * published}
        else:
            types[TYPES[fuel], "in"] = published
    if types and zone in OWN_USE:
        kind, megawatts_used = OWN_USE[zone]
        types[kind, "out"] = np.full(len(ts), megawatts_used)
    return resolution, ts, types


def _flow(query: _Question) -> bytes | None:
    into, out_of = query.params["in_Domain"], query.params["out_Domain"]
    resolution, ts, values = flow_of(into, out_of, query.start, query.end, query.now)
    if not len(ts):
        return None
    elements = {"in_Domain.mRID": into, "out_Domain.mRID": out_of, **MEGAWATTS}
    return document("A11", [(elements, [_as_period(ts, resolution, values)])])


def flow_of(into: str, out_of: str, start: int, end: int, now: int) -> tuple[str, Ints, Floats]:
    """Return the published flow between two areas (EIC) at `now`: resolution, interval starts, MW."""
    border, inwards = _WAYS[into, out_of]
    resolution = "PT15M" if {border.zone, border.neighbour} <= QUARTER_HOURLY_FLOWS else "PT60M"
    ts = _published_steps(start, end, now, STEPS[resolution], border.since)
    if not len(ts):
        return resolution, ts, np.empty(0)
    flow = one_way(border.zone, border.neighbour, inwards, int(ts[0]), int(ts[-1]), STEPS[resolution])
    return resolution, ts, grid.as_published(flow, ts, now, f"entsoe.flows/{into}/{out_of}")


def one_way(zone: str, neighbour: str, inwards: bool, first: int, last: int, step: int) -> Floats:
    """Return MW over a border in one direction, intervals `first` to `last`. Each line flows one way at a time."""
    return _both_ways(zone, neighbour, first, last, step)[0 if inwards else 1]


@lru_cache(maxsize=128)
def _both_ways(zone: str, neighbour: str, first: int, last: int, step: int) -> tuple[Floats, Floats]:
    ts = _steps(first, last + step, step)
    lines = np.stack([grid.inflow(zone, tie, ts, step) for tie in grid.ties_between(zone, neighbour)])
    return np.maximum(lines, 0.0).sum(axis=0), np.maximum(-lines, 0.0).sum(axis=0)


def _capacity(query: _Question) -> bytes | None:
    """Return the published calendar years that start in the window, in one Period."""
    zone = _ZONES[query.params["in_Domain"]]
    first = local_date(query.start + DAY - 1, TZ).year
    latest = min(query.end - 1, query.now - CAPACITY_OUT)
    years = [year for year in range(first, first + 2) if query.start <= new_year(year) <= latest]
    if not years:
        return None
    start, end = new_year(years[0]), new_year(years[-1] + 1)
    capacities = [by_type(grid.capacity(zone, year)) for year in years]
    head = {"inBiddingZone_Domain.mRID": EIC[zone], **MEGAWATTS}
    kinds: list[Series] = [
        (
            {**head, "MktPSRType": f"<psrType>{kind}</psrType>"},
            [Period(start, end, "P1Y", [year[kind] for year in capacities])],
        )
        for kind in sorted(capacities[0])
    ]
    return document("A68", kinds, "A33")


def by_type(fuels: Mapping[str, float]) -> dict[str, float]:
    """Return MW by ENTSO-E's production types, with hydro split into run-of-river (B11) and reservoirs (B12)."""
    capacities = {TYPES[fuel]: mw for fuel, mw in fuels.items()}
    if "B11" in capacities:
        capacities["B12"] = float(round(capacities["B11"] * RESERVOIRS))
        capacities["B11"] -= capacities["B12"]
    return capacities


def _published_steps(start: int, end: int, now: int, step: int, since: int = 0) -> Ints:
    """Return the starts of a window's intervals that are published at `now`."""
    until = (now - LAG) // HOUR * HOUR
    return _steps(-(-max(start, since) // step) * step, min(end, until), step)


def _steps(start: int, end: int, step: int) -> Ints:
    return np.arange(start, end, step, dtype=np.int64)


def _as_period(ts: Ints, resolution: str, values: Floats) -> Period:
    return Period(int(ts[0]), int(ts[-1]) + STEPS[resolution], resolution, values.tolist())


_ITEMS: Mapping[str, tuple[int, Callable[[_Question], bytes | None]]] = {
    "A44": (366, _price),
    "A65": (31, _load),
    "A11": (31, _flow),
    "A75": (31, _mix),
    "A69": (31, _mix_forecast),
    "A68": (366, _capacity),
}
"""The longest window in days, and the renderer, by document type."""
