"""A small warehouse to publish from: one made-up source, rows folded by hand, the catalogue; and the time of runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, time
from pathlib import Path

import pytest

from tests.assets.demand_feed import NOON
from warehouse.documents import catalogue
from warehouse.market.clock import RESOLUTIONS
from warehouse.market.market import Feed, Metric, Publication, Source
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store.storage import Folder


def _feed(
    product: str, metric: Metric, resolution: str, publication: Publication, zones: tuple[str, ...], tz: str = "UTC"
) -> Feed:
    return Feed(
        id=f"toy.{product}",
        title=product,
        zones=zones,
        metrics=(metric,),
        rank=1,
        resolution=resolution,
        stamps="start",
        tz=tz,
        since=date(2020, 1, 1),
        publication=publication,
        requests=lambda days: [],
        parse=lambda body, request: Rows(),
        every_minutes=5,
    )


AUCTION = Publication(daily_at=time(12, 57), day_offset=-1, grace_minutes=30)
ROLLING = Publication(lag_minutes=10, grace_minutes=20)


def toy() -> Source:
    """Day-ahead prices for DE-LU and FR, everything else rolling."""
    auction = ("DE-LU", "FR")
    others = tuple(z for z in ZONES if z not in auction)
    feeds = (
        _feed("auction", Metric.PRICE, "1h", AUCTION, auction, "Europe/Brussels"),
        _feed("price", Metric.PRICE, "1h", ROLLING, others),
        _feed("demand", Metric.DEMAND, "1h", ROLLING, tuple(ZONES)),
        _feed("flows", Metric.INTERCHANGE, "1h", ROLLING, tuple(ZONES)),
        _feed("carbon", Metric.CARBON_INTENSITY, "30m", ROLLING, ("GB",)),
        _feed("mix", Metric.GENERATION, "30m", ROLLING, ("GB", "US-CAISO")),
    )
    return Source(
        "toy",
        "Toy Grid",
        "https://toy.example",
        ("toy.example",),
        60,
        "Toy-1.0",
        "https://toy.example/licence",
        "Data: Toy Grid",
        "yes",
        feeds,
    )


@dataclass
class World:
    """A warehouse and its one source."""

    storage: Folder
    source: Source

    def fold(
        self,
        zone: str,
        metric: str,
        start: int,
        values,
        resolution: str = "1h",
        known_at: int = 1,
        feed: str = "",
        **key,
    ) -> None:
        """Consecutive values from `start` on; None leaves a hole."""
        step = RESOLUTIONS[resolution]
        stated = [(start + i * step, v) for i, v in enumerate(values) if v is not None]
        unit = {"price": f"{ZONES[zone].currency}/MWh", "carbon_intensity": "gCO2/kWh"}.get(metric, "MW")
        if metric == "generation" and zone == "GB":
            unit = "%"
        carrier = feed or next(f.id for f in self.source.feeds if zone in f.zones and metric in f.metrics)
        rows = Rows()
        rows.extend(
            SeriesKey(zone, metric, unit, resolution, **key), [t for t, _ in stated], [float(v) for _, v in stated]
        )
        series.fold(self.storage, carrier, rows, {}, {f.id: f.rank for f in self.source.feeds}, known_at, "live")

    def catalogue(self, mode: str = "live", rights=(), now: int = 0) -> None:
        catalogue.publish(self.storage, {"toy": self.source}, mode, rights, ("toy",), now)

    def withhold(self) -> None:
        """The publisher wants written permission from now on."""
        self.source = replace(self.source, withheld=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(Folder(tmp_path), toy())
    made.catalogue()
    return made


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The current time is that of the runs over `demand_feed`."""
    monkeypatch.setenv("EMDS_NOW", str(NOON))
