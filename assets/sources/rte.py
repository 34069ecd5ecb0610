"""RTE, the French system operator: demand and net import of France (eco2mix), and day-ahead prices of seven areas.

Traps:
- eco2mix: `date_heure` is the interval's start, with its offset; records come in any order. `ech_physiques` is net
  import as it stands; `ech_comm_*` are commercial. A value may be a string, and null in quarter hours to come.
- Records move to a data set of half hours after the middle of the next month: there `consommation` is null at :15 and
  :45, and an hour may come twice with the same value.
- The records stand in `results` (API 2.1) or below `fields` of `records` (API 1).
- Market prices count hours of Paris from 0. `DL` is Germany and Luxembourg; `DE` is void. `IT` is one zone by all
  signs, not proved to be ours. How a day of 23 or 25 hours looks is unknown: a count that its civil day does not have
  is refused.
- Market prices are EPEX SPOT's as RTE shows them, on unsettled terms: withheld.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, time, timedelta
from typing import Any

from lxml import etree

from assets.parsing.body import json_of, local, member, number, reading, xml_of
from assets.parsing.days import runs
from assets.parsing.members import Members
from assets.parsing.stamps import iso_date, iso_instant
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.clock import MarketDay, iso
from warehouse.market.feeds import Feed, Publication, Request, Source, request_window
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

HOST, PRICE_HOST = "odre.opendatasoft.com", "eco2mix.rte-france.com"
TZ = "Europe/Paris"
REAL_TIME, CONSOLIDATED = "eco2mix-national-tr", "eco2mix-national-cons-def"
PAGE = 100
QUARTER = 900
AREAS = {"AT": "AT", "BE": "BE", "CH": "CH", "DL": "DE-LU", "ES": "ES", "FR": "FR", "NL": "NL"}
PERIMETERS = Members("area", Metric.PRICE, AREAS | dict.fromkeys(("DE", "GB", "IT", "PT"), ""))
"""Those that are none of our zones are empty."""
_METRICS = {"consommation": Metric.DEMAND, "ech_physiques": Metric.INTERCHANGE}
_RESOLUTIONS = {900: "15m", 3600: "1h"}


def parse_eco2mix(body: bytes, request: Request) -> Rows:
    """`demand` and `interchange` rows of France, MW, of the intervals that have a value."""
    readings: dict[Metric, dict[int, float]] = {metric: {} for metric in _METRICS.values()}
    for record in _records(json_of(body)):
        _require_france(record)
        ts = iso_instant(member(record, "date_heure", str))
        if ts % QUARTER:
            raise FeedChanged(f"{record['date_heure'][:40]!r} is off the grid")
        for name, metric in _METRICS.items():
            value = reading(record.get(name), name)
            if value is not None and readings[metric].setdefault(ts, value) != value:
                raise FeedChanged(f"{name} at {record['date_heure']} twice, with different values")
    rows = Rows()
    for metric, values in readings.items():
        resolution = _resolution(values)
        if resolution is None:
            rows.dropped["too few values to tell quarter hours from half hours"] += len(values)
        for ts, value in sorted(values.items()) if resolution else ():
            rows.add("FR", metric, ts, value, "MW", resolution or "")
    return rows


def _require_france(record: dict[str, Any]) -> None:
    """Raise FeedChanged for the record of a region. Bodies from before `perimetre` was requested name no area."""
    if "libelle_region" in record or record.get("perimetre", "France") != "France":
        area = record.get("libelle_region", record.get("perimetre"))
        raise FeedChanged(f"a record of {str(area)[:40]!r}, not of France")


def _resolution(values: Collection[int]) -> str | None:
    """Quarter hours where one has a value, half hours where one without lies between two with; else unknown."""
    if any(ts % (2 * QUARTER) for ts in values):
        return "15m"
    return "30m" if any(ts + 2 * QUARTER in values for ts in values) else None


def _records(answer: Any) -> Iterator[dict[str, Any]]:
    """The records of either version of the API. Raises NotPublished for none."""
    if isinstance(answer, dict) and "results" in answer:
        records = member(answer, "results", list)
    else:
        records = [member(record, "fields", dict) for record in member(answer, "records", list)]
    if not records:
        raise NotPublished("no record in the answer")
    if not any(name in record for record in records for name in _METRICS):
        raise FeedChanged(f"no record has {' or '.join(_METRICS)}")
    if (reading(answer.get("total_count"), "total_count") or 0) > len(records):
        raise FeedChanged(f"{len(records)} of {answer['total_count']} records: the answer is cut")
    yield from records


def parse_price(body: bytes, request: Request) -> Rows:
    """`price` rows of our zones, EUR/MWh, civil day by civil day."""
    rows, areas, root = Rows(), set(), xml_of(body)
    if local(root) != "liste":
        raise FeedChanged(f"the root is {local(root)[:40]!r}, not 'liste'")
    for block in root.iter("donneesMarche"):
        day = MarketDay(iso_date(block.get("date", "")), TZ)
        for series in block:
            area = series.get("perimetre", "")
            areas.add(area)
            if local(series) == "type" and (zone := PERIMETERS.find(rows, area, [day.start])):
                _add_day(rows, zone, day, series)
    if areas and not areas & AREAS.keys():
        raise FeedChanged(f"no area of ours among {', '.join(sorted(areas))[:80]}")
    if not len(rows):
        raise NotPublished("no price in the answer")
    return rows


def _add_day(rows: Rows, zone: str, day: MarketDay, series: etree._Element) -> None:
    prices = {value.get("periode", ""): (value.text or "").strip() for value in series}
    if all(text in ("", "ND") for text in prices.values()):
        return
    step = (day.end - day.start) // len(prices)
    if step not in _RESOLUTIONS or step * len(prices) != day.end - day.start:
        raise FeedChanged(f"{len(prices)} periods of {zone} on {day}")
    for period in range(len(prices)):
        text = prices.get(str(period))
        if text is None:
            raise FeedChanged(f"no period {period} of {zone} on {day}")
        if text not in ("", "ND"):
            price = number(text, "price")
            rows.add(zone, Metric.PRICE, day.start + period * step, price, "EUR/MWh", _RESOLUTIONS[step])


def eco2mix_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """A day a request, from the data set that holds it at `now`; a day has at most 100 records, a page."""
    today = MarketDay.at(now, TZ).day
    this_month = today.replace(day=1)
    # The real-time set holds the last month too, until the middle of this one.
    moved = this_month if today.day > 15 else (this_month - timedelta(days=1)).replace(day=1)
    return [_eco2mix(day, CONSOLIDATED if day.day < moved else REAL_TIME) for day in sorted(set(days))]


def _eco2mix(day: MarketDay, dataset: str) -> Request:
    window = request_window([day])
    return Request(
        "rte.eco2mix",
        f"https://{HOST}/api/explore/v2.1/catalog/datasets/{dataset}/records",
        (
            ("select", "date_heure,perimetre,consommation,ech_physiques"),
            ("where", f"date_heure>=date'{iso(window.start)}' and date_heure<date'{iso(window.end)}'"),
            ("order_by", "date_heure"),
            ("limit", str(PAGE)),
        ),
        (day.day,),
        "FR",
        ext="json",
    )


def price_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """All areas in one request, up to a month a request; both dates included."""
    return [
        Request(
            "rte.market_price",
            f"https://{PRICE_HOST}/curves/getDonneesMarche",
            (("dateDeb", f"{block[0].day:%d/%m/%Y}"), ("dateFin", f"{block[-1].day:%d/%m/%Y}"), ("mode", "NORM")),
            tuple(day.day for day in block),
            ext="xml",
        )
        for block in runs(days, 31)
    ]


SOURCE = Source(
    code="rte",
    name="RTE",
    homepage="https://odre.opendatasoft.com",
    hosts=(HOST, PRICE_HOST),
    requests_per_minute=10,
    licence="Licence Ouverte 2.0",
    licence_url="https://www.etalab.gouv.fr/licence-ouverte-open-licence/",
    attribution="RTE, eco2mix, by Open Data Réseaux Énergies (ODRÉ), Licence Ouverte 2.0",
    redistributable="yes",
    tz=TZ,
    resolution="15m",
    feeds=(
        Feed(
            id="rte.eco2mix",
            title="Demand and net import of France",
            zones=("FR",),
            metrics=(Metric.DEMAND, Metric.INTERCHANGE),
            rank=3,
            since=date(2012, 1, 1),
            publication=Publication(lag_minutes=45, grace_minutes=60),
            requests=eco2mix_requests,
            parse=parse_eco2mix,
            every_minutes=30,
        ),
        Feed(
            id="rte.market_price",
            title="Day-ahead prices of seven areas, as RTE shows them",
            zones=tuple(AREAS.values()),
            metrics=(Metric.PRICE,),
            rank=5,
            since=date(2014, 12, 1),
            publication=Publication(daily_at=time(15, 10), day_offset=-1, grace_minutes=240),
            requests=price_requests,
            parse=parse_price,
            every_minutes=360,
            hub="day-ahead auction (SDAC; of Switzerland its own)",
            withheld=True,
        ),
    ),
    notes=(
        "Market prices are EPEX SPOT's on unsettled terms: they judge the other sources and are withheld.",
        "Days before the middle of last month come in half hours (consolidated figures).",
    ),
)
