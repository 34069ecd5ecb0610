"""Parse eco2mix from the API of ODRÉ: demand, net import and mix of France.

Traps:
- `date_heure` is the interval's start, with its offset, and records are unordered. `ech_physiques` is already net
  import; `ech_comm_*` are commercial. A value may be a string, and null in future quarter hours.
- Records move to a data set of half hours after three to six months. There `consommation` is null at :15 and :45, and
  an hour may be repeated with the same value. Moved records are no longer in the real-time set, and no field gives the
  date of the move.
- The records are in `results` (API 2.1) or below `fields` of `records` (API 1).
- `hydraulique` contains the turbines of pumped storage, and `hydraulique`, `eolien` and `bioenergies` are totals of
  columns beside them. The parts are read, never both. `gaz` and `fioul` are read as totals.
- `pompage` and `stockage_batterie` are already zero or negative.
- The consolidated data set lacks the columns of batteries and of wind on land and at sea. A `select` of a missing
  column returns 400, so each data set has its own `select`. In the real-time set these columns are "ND" until late in
  2022. A response without any value of the parts of wind has no row of wind, and no estimate.
- `taux_co2` is g/kWh of French generation, in whole grams; 0 is a value.
- Responses that were archived before the mix was requested have no columns of it, and no mix rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from assets.parsing.body import json_of, member, reading
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.parsing.stamps import iso_instant
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, iso
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.rows.schema import Rows, SeriesKey

HOST = "odre.opendatasoft.com"
TZ = "Europe/Paris"
REAL_TIME, CONSOLIDATED = "eco2mix-national-tr", "eco2mix-national-cons-def"
PAGE = 100
CONSOLIDATED_AFTER = 275
"""Days after which a day is certain to be in the consolidated set: nine months."""
QUARTER = 900
NAMES = ("date_heure", "perimetre")
METRICS = {"consommation": Metric.DEMAND, "ech_physiques": Metric.INTERCHANGE}
FUELS = {
    "nucleaire": Fuel.NUCLEAR,
    "charbon": Fuel.COAL,
    "gaz": Fuel.GAS,
    "fioul": Fuel.OIL,
    "hydraulique_fil_eau_eclusee": Fuel.HYDRO,
    "hydraulique_lacs": Fuel.HYDRO,
    "hydraulique_step_turbinage": Fuel.PUMPED_STORAGE,
    "pompage": Fuel.PUMPED_STORAGE,
    "eolien": Fuel.WIND_ONSHORE,
    "solaire": Fuel.SOLAR,
    "bioenergies_biomasse": Fuel.BIOMASS,
    "bioenergies_biogaz": Fuel.BIOMASS,
    "bioenergies_dechets": Fuel.WASTE,
}
"""Columns of both data sets. `eolien` only shows that there is wind: only its parts have rows."""
PARTS_OF_WIND = {"eolien_terrestre": Fuel.WIND_ONSHORE, "eolien_offshore": Fuel.WIND_OFFSHORE}
REAL_TIME_FUELS = PARTS_OF_WIND | {"destockage_batterie": Fuel.BATTERY, "stockage_batterie": Fuel.BATTERY}
"""Columns of the real-time data set only."""
CARBON = "taux_co2"
NO_READING = ("ND", "-")

By = Mapping[str, Mapping[int, float]]
"""Value by column and interval start."""


def parse_eco2mix(body: bytes, request: Request) -> Rows:
    """Return demand, interchange and mix of France in MW, and its carbon intensity, if they have values."""
    columns = _columns(json_of(body))
    rows = Rows()
    for name, metric in METRICS.items():
        resolution = _resolution_or_drop(rows, columns[name])
        for ts, value in sorted(columns[name].items()) if resolution else ():
            rows.add("FR", metric, ts, value, "MW", resolution)
    if resolution := _resolution_or_drop(rows, columns[CARBON]):
        values = sorted(columns[CARBON].items())
        rows.extend(SeriesKey("FR", Metric.CARBON, "gCO2/kWh", resolution), *zip(*values, strict=True))
    _extend_mix(rows, columns)
    return rows


def _extend_mix(rows: Rows, columns: By) -> None:
    """Add the mix. An interval's fuels share the resolution of the whole mix."""
    in_parts = any(columns[name] for name in PARTS_OF_WIND)
    fuels = {name: fuel for name, fuel in (FUELS | REAL_TIME_FUELS).items() if not in_parts or name != "eolien"}
    resolution = _resolution_or_drop(rows, {ts for name in fuels for ts in columns[name]})
    by_code = MixByCode()
    for name, fuel in fuels.items() if resolution else ():
        # A part of wind without values beside the total makes a sum that lacks a code: no row, and no estimate.
        if columns[name] or (name in PARTS_OF_WIND and not in_parts):
            starts = sorted(columns[name])
            by_code.extend(Code("FR", fuel, name, resolution), starts, [columns[name][ts] for ts in starts])
    extend_mix(rows, by_code)


def _columns(answer: Any) -> By:
    """Return the readings of every column. Raises FeedChanged for an interval stated twice with different values."""
    columns: dict[str, dict[int, float]] = defaultdict(dict)
    for record in _records(answer):
        _require_france(record)
        ts = iso_instant(member(record, "date_heure", str))
        if ts % QUARTER:
            raise FeedChanged(f"{record['date_heure'][:40]!r} is not aligned to the interval")
        for name in (*METRICS, *FUELS, *REAL_TIME_FUELS, CARBON):
            value = None if name not in METRICS and record.get(name) in NO_READING else reading(record.get(name), name)
            if value is not None and columns[name].setdefault(ts, value) != value:
                raise FeedChanged(f"{name} at {record['date_heure']} has two different values")
    return columns


def _require_france(record: dict[str, Any]) -> None:
    """Raise FeedChanged for the record of a region. Bodies from before `perimetre` was requested name no area."""
    if "libelle_region" in record or record.get("perimetre", "France") != "France":
        area = record.get("libelle_region", record.get("perimetre"))
        raise FeedChanged(f"a record of {str(area)[:40]!r}, not of France")


def _resolution_or_drop(rows: Rows, values: Collection[int]) -> str:
    """Return the resolution of some intervals. If it is unknown, return "" and count them as dropped."""
    resolution = _resolution(values)
    if not resolution and values:
        rows.dropped["too few values to tell quarter hours from half hours"] += len(values)
    return resolution


def _resolution(values: Collection[int]) -> str:
    """Return "15m" if a quarter past or to has a value, "30m" if two values are half an hour apart, else ""."""
    if any(ts % (2 * QUARTER) for ts in values):
        return "15m"
    return "30m" if any(ts + 2 * QUARTER in values for ts in values) else ""


def _records(answer: Any) -> Iterator[dict[str, Any]]:
    """Yield the records of either version of the API. Raises NotPublished without records, FeedChanged."""
    if isinstance(answer, dict) and "results" in answer:
        records = member(answer, "results", list)
    else:
        records = [member(record, "fields", dict) for record in member(answer, "records", list)]
    if not records:
        raise NotPublished("the response has no records")
    if not any(name in record for record in records for name in METRICS):
        raise FeedChanged(f"no record has {' or '.join(METRICS)}")
    if (reading(answer.get("total_count"), "total_count") or 0) > len(records):
        raise FeedChanged(f"the response is truncated: {len(records)} of {answer['total_count']} records")
    yield from records


def request_each_day(feed: str, dataset: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per day: a day has at most 100 records, which are a page."""
    return [_eco2mix(feed, dataset, day.day) for day in sorted(set(days))]


def follow_moved(body: bytes, request: Request) -> list[Request]:
    """Return the request for a day in the consolidated set, if the real-time set no longer has it."""
    if f"/{REAL_TIME}/" not in request.url or member(json_of(body), "results", list):
        return []
    return [_eco2mix(request.feed, CONSOLIDATED, day) for day in request.days]


def _eco2mix(feed: str, dataset: str, day: date) -> Request:
    window = MarketDay(day, TZ).window
    columns = [*NAMES, *METRICS, *FUELS, *(REAL_TIME_FUELS if dataset == REAL_TIME else ()), CARBON]
    return Request(
        feed,
        f"https://{HOST}/api/explore/v2.1/catalog/datasets/{dataset}/records",
        (
            ("select", ",".join(columns)),
            ("where", f"date_heure>=date'{iso(window.start)}' and date_heure<date'{iso(window.end)}'"),
            ("order_by", "date_heure"),
            ("limit", str(PAGE)),
        ),
        (day,),
        "FR",
        ext="json",
    )
