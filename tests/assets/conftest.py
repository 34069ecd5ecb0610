"""Build a small warehouse to publish from, with an invented source and hand-folded rows, and set the time of runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import time
from pathlib import Path

import pytest

from tests.assets.demand_feed import NOON
from tests.stand_ins.declared import feed, source
from warehouse.documents import catalogue
from warehouse.market.clock import RESOLUTIONS
from warehouse.market.feeds import Publication, Source
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import folding
from warehouse.store.storage import Folder

AUCTION = Publication(daily_at=time(12, 57), day_offset=-1, grace_minutes=30)
ROLLING = Publication(lag_minutes=10, grace_minutes=20)


def toy() -> Source:
    """Return a source with day-ahead prices for DE-LU and FR; all other feeds are rolling."""
    auction = ("DE-LU", "FR")
    others = tuple(z for z in ZONES if z not in auction)
    feeds = (
        feed("toy.auction", auction, [Metric.PRICE], "1h", publication=AUCTION, tz="Europe/Brussels"),
        feed("toy.price", others, [Metric.PRICE], "1h", publication=ROLLING),
        feed("toy.demand", ZONES, [Metric.DEMAND], "1h", publication=ROLLING),
        feed("toy.flows", ZONES, [Metric.INTERCHANGE], "1h", publication=ROLLING),
        feed("toy.carbon", ["GB"], [Metric.CARBON_INTENSITY], "30m", publication=ROLLING),
        feed("toy.mix", ["GB", "US-CAISO"], [Metric.GENERATION], "30m", publication=ROLLING),
    )
    return source("toy", feeds, name="Toy Grid")


@dataclass
class World:
    """A warehouse and its only source."""

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
        """Fold consecutive values from `start` (Unix seconds) onwards. None leaves a gap."""
        step = RESOLUTIONS[resolution]
        stated = [(start + i * step, v) for i, v in enumerate(values) if v is not None]
        money, share = f"{ZONES[zone].currency}/MWh", "%" if zone == "GB" else "MW"
        units = {"price": money, "price_forecast": money, "generation": share}
        unit = "gCO2/kWh" if metric.startswith("carbon") else units.get(metric, "MW")
        carrier = feed or next(f.id for f in self.source.feeds if zone in f.zones and metric in f.metrics)
        rows = Rows()
        rows.extend(
            SeriesKey(zone, metric, unit, resolution, **key), [t for t, _ in stated], [float(v) for _, v in stated]
        )
        folding.fold(self.storage, carrier, rows, {}, {f.id: f.rank for f in self.source.feeds}, known_at, "live")

    def catalogue(self, mode: str = "live", rights=(), now: int = 0) -> None:
        catalogue.publish(self.storage, {"toy": self.source}, mode, rights, ("toy",), now)

    def withhold(self) -> None:
        """Withhold the source, as if its publisher required written permission."""
        self.source = replace(self.source, withheld=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(Folder(tmp_path), toy())
    made.catalogue()
    return made


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the current time to that of the runs over `demand_feed`."""
    monkeypatch.setenv("EMDS_NOW", str(NOON))
