"""Publish a month of 25 markets and serve it on a loopback port, for the tests of the map page.

The values are invented but of realistic size. Each follows from `wave`, so that tests can compute it.
"""

from __future__ import annotations

import math
import os
import shutil
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from werkzeug.serving import make_server

from api.application import create_app
from api.settings import Settings
from assets.documents import geo_layers
from assets.documents.publish import publish
from geo_data import table_rows
from tests.pages.apart import Apart, serve_apart
from tests.pages.browser import browser, visit  # fixtures
from tests.stand_ins import declared
from tests.stand_ins.shared import made_once
from warehouse.documents import catalogue, health
from warehouse.documents.health import Health
from warehouse.market.clock import DAY, HOUR, instant
from warehouse.market.feeds import Feed, Publication, Source
from warehouse.market.vocabulary import Forecast, Metric, actual_of
from warehouse.market.zones import ZONES, zones_with
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import layout
from warehouse.store.storage import Folder

__all__ = ["browser", "visit"]

NOW = "2026-11-20T14:10:00Z"
TOMORROW_ENDS = instant("2026-11-21T23:00:00Z")
"""The end of tomorrow in Central European time."""
SIZES_MW = {zone: 1500 + 3600 * place for place, zone in enumerate(ZONES)}
AUCTION = ("ES", "FR")
"""Zones whose prices are known until the end of tomorrow."""
DAY_AHEAD = ("US-CAISO", "US-MISO")
"""Zones whose day-ahead prices are a separate series, known until the end of tomorrow. US-MISO has no other prices."""
PREDISPATCH = ("AU-NSW",)
"""Zones whose operators forecast prices until the end of tomorrow."""
EXPECTED = ("ES", "GB")
"""Zones whose operators forecast demand until the end of tomorrow."""
ESTIMATED = tuple(zone for zone, of in ZONES.items() if of.published_carbon is None and zone != "NL")
"""Zones whose carbon intensity is estimated. The estimate of NL is refused."""
NO_PRICE = ("US-PJM", "US-MISO")
"""Zones without headline prices, as if their publishers withheld them."""
MIX = {
    "gas": 31.4,
    "wind": 28.2,
    "nuclear": 14.9,
    "imports": 11.3,
    "biomass": 6.8,
    "solar": 4.1,
    "hydro": 2.1,
    "coal": 0.0,
    "other": 1.2,
}
MIX_MW = {"gas": 9_000.0, "wind_onshore": 6_500.0, "nuclear": 4_000.0, "biomass": 250.0, "pumped_storage": -1_500.0}


def _feed(name: str, metric: Metric | Forecast, zones: tuple[str, ...], resolution: str) -> Feed:
    out = Publication(lag_minutes=10, grace_minutes=120)
    return declared.feed(name, zones, (metric,), resolution, since=date(2020, 1, 1), publication=out, every_minutes=60)


def sources() -> dict[str, Source]:
    """Return one publisher that is on time, and one that is late."""
    priced = tuple(z for z in ZONES if z not in NO_PRICE)
    return {
        "toy": _source(
            "toy",
            (
                _feed("toy.price", Metric.PRICE, priced, "1h"),
                _feed("toy.demand", Metric.DEMAND, tuple(ZONES), "1h"),
                _feed("toy.carbon", Metric.CARBON_INTENSITY, zones_with(Metric.CARBON_INTENSITY), "30m"),
                _feed("toy.generation", Metric.GENERATION, ("GB",), "30m"),
                _feed("toy.mix", Metric.MIX, ("GB", "DE-LU"), "30m"),
                _feed("toy.estimate", Metric.CARBON_ESTIMATE, ESTIMATED, "1h"),
                _feed("toy.expected", Forecast.DEMAND, EXPECTED, "1h"),
                _feed("toy.mix-ahead", Forecast.MIX, ("ES",), "1h"),
                _feed("toy.auction", Metric.PRICE_DAY_AHEAD, DAY_AHEAD, "1h"),
                _feed("toy.predispatch", Forecast.PRICE, PREDISPATCH, "1h"),
                _feed("toy.carbon-ahead", Forecast.CARBON_INTENSITY, ("GB",), "1h"),
            ),
        ),
        "ties": _source(
            "ties", (_feed("ties.flows", Metric.INTERCHANGE, tuple(z for z in ZONES if z != "AU-TAS"), "1h"),)
        ),
    }


def _source(code: str, feeds: tuple[Feed, ...]) -> Source:
    name = f"{code.title()} Grid"
    return declared.source(code, feeds, name=name, licence=f"{code.title()}-1.0", attribution=f"Data: {name}.")


def wave(zone: str, metric: str, ts: int) -> float:
    """Return a value that swings daily and weekly about a level, out of step from zone to zone."""
    phase = list(ZONES).index(zone) * 0.7
    swing = math.sin(ts / DAY * math.tau + phase) + 0.4 * math.sin(ts / (7 * DAY) * math.tau + 2 * phase)
    match metric:
        case "demand_forecast":
            return 1.05 * wave(zone, "demand", ts)
        case "mix_forecast":
            return 0.3 * SIZES_MW[zone] * (2 + math.sin(ts / DAY * math.tau))
        case "price_day_ahead" | "price_forecast":
            return wave(zone, "price", ts) + 10
        case "carbon_intensity_forecast":
            return wave(zone, "carbon_intensity", ts) + 30
        case "price":
            return round(58 + 34 * swing + (-40 if zone in ("AU-SA", "US-SPP") else 0), 2)
        case "carbon_intensity" | "carbon_estimate":
            return round(142 + 61 * swing)
        case "interchange":
            return round(SIZES_MW[zone] * 0.09 * swing)
        case _:
            return round(SIZES_MW[zone] * (1 + 0.18 * swing))


def build(home: Path, mode: str = "live") -> None:
    """Write the month, and publish the catalogue, documents and layers."""
    storage, known, now = Folder(home), sources(), instant(NOW)
    storage.put(layout.MODE, mode.encode())
    feeds = [feed for source in known.values() for feed in source.feeds]
    last = now - now % HOUR
    for feed in feeds:
        [metric] = feed.metrics
        rows = Rows()
        for zone in feed.zones:
            _fill(rows, zone, metric, last)
        fold(storage, feed.id, rows, {}, {f.id: f.rank for f in feeds}, now, mode)
        health.note(storage, feed.source, [_health(feed.id, zone, now, last) for zone in feed.zones])
    catalogue.publish(storage, known, mode, (), tuple(known), now)
    publish(storage, now)
    geo_layers.publish(storage)


def _health(feed: str, zone: str, now: int, last: int) -> Health:
    late = (feed, zone) == ("ties.flows", "GB")
    return Health(
        feed, zone, now - 300, "the publisher answered 503" if late else "", now - 60, last - 4 * HOUR if late else last
    )


def _fill(rows: Rows, zone: str, metric: Metric | Forecast, last: int) -> None:
    unit = {
        Metric.PRICE: f"{ZONES[zone].currency}/MWh",
        Metric.PRICE_DAY_AHEAD: f"{ZONES[zone].currency}/MWh",
        Metric.CARBON_INTENSITY: "gCO2/kWh",
        Metric.CARBON_ESTIMATE: "gCO2/kWh",
        Metric.GENERATION: "%",
    }.get(actual_of(metric), "MW")
    ahead = range(last + HOUR, TOMORROW_ENDS, HOUR)
    if isinstance(metric, Forecast):
        fuel = "wind_onshore" if metric is Forecast.MIX else None
        key = SeriesKey(zone, metric, unit, "1h", fuel, published_at=last, basis="body")
        rows.extend(key, [last, *ahead], [wave(zone, metric, ts) for ts in (last, *ahead)])
        return
    if metric is Metric.GENERATION:
        for fuel, share in MIX.items():
            rows.extend(SeriesKey(zone, metric, unit, "30m", fuel), [last - 1800 * i for i in range(48)], [share] * 48)
        return
    if metric is Metric.MIX:
        for fuel, mw in MIX_MW.items():
            rows.extend(SeriesKey(zone, metric, unit, "30m", fuel), [last - 1800 * i for i in range(96)], [mw] * 96)
        return
    step = 1800 if metric is Metric.CARBON_INTENSITY else HOUR
    stamps = list(range(last - 31 * DAY, last + 1, step))
    if zone == "FR":
        # Three hours have no measurements: the page must not draw across them.
        stamps = [ts for ts in stamps if not last - 20 * HOUR <= ts < last - 17 * HOUR]
    if (metric is Metric.PRICE and zone in AUCTION) or metric is Metric.PRICE_DAY_AHEAD:
        stamps += ahead
    rows.extend(
        SeriesKey(zone, metric, unit, "30m" if step == 1800 else "1h"),
        stamps,
        [wave(zone, metric, ts) for ts in stamps],
    )
    if metric is Metric.INTERCHANGE:
        _borders(rows, zone, last)


def _borders(rows: Rows, zone: str, last: int) -> None:
    """Add five hours of flows: per interconnector if a publisher names it, otherwise the border's total."""
    totals = set()
    for line in table_rows.interconnectors():
        if zone not in (line.from_zone, line.to_zone) or line.status == "retired":
            continue
        named = line.elexon_id or line.aemo_id or line.nyiso_id or line.ercot_id or line.neighbour
        other = (line.to_zone or line.neighbour) if zone == line.from_zone else line.from_zone
        if not named and other in totals:
            continue
        if not named:
            totals.add(other)
        stamps = [last - HOUR * i for i in range(5)]
        into_to = math.sin(len(line.id) * 1.7 + ord(line.id[-1])) * (line.capacity_mw or 1500) * 0.8
        sign = 1 if zone == line.to_zone else -1
        key = SeriesKey(zone, Metric.INTERCHANGE, "MW", "1h", None, other, line.id if named else None)
        rows.extend(key, stamps, [round(sign * into_to)] * len(stamps))


def serve(home: Path, **changes: object) -> tuple[object, int]:
    """Serve the application over `home` in a thread. Return the server and its port."""
    database = f"sqlite:///{home / 'accounts.sqlite'}"
    given = {
        "home": str(home),
        "database_url": database,
        "free_calls_per_minute": 0,
        "sample_calls_per_day": 0,
        "signups_per_hour": 0,
    }
    app = create_app(Settings(**given | changes))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_port


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of a warehouse that is built once per run. The service keeps its accounts in the copy."""
    home = tmp_path_factory.mktemp("markets") / "home"
    shutil.copytree(made_once(tmp_path_factory, "pages", build), home)
    return home


@pytest.fixture(scope="module")
def address(warehouse: Path) -> Iterator[str]:
    """Yield the URL of the service."""
    before = os.environ.get("EMDS_NOW")
    os.environ["EMDS_NOW"] = NOW
    server, port = serve(warehouse)
    yield f"http://127.0.0.1:{port}"
    server.shutdown()
    if before is None:
        del os.environ["EMDS_NOW"]
    else:
        os.environ["EMDS_NOW"] = before


@pytest.fixture(scope="module")
def apart(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    """Yield the service in a process of its own."""
    yield from serve_apart(warehouse, NOW, tmp_path_factory.mktemp("apart") / "log")
