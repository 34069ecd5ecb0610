"""How long `publish` takes for all 25 zones, over two months of made-up rows at each zone's real resolutions.

    python -m tests.bench.publish

Budget: all briefs and latests in under 2 s on two cores. Exit 1 when over it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assets.documents.publish import publish
from tests.bench.warehouse import NOW, source
from warehouse.documents import catalogue
from warehouse.market.clock import DAY, RESOLUTIONS
from warehouse.market.market import Metric, Zone
from warehouse.market.zones import ZONES
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series import series
from warehouse.store.storage import Folder

BUDGET_S = 2.0
DAYS = 45


@dataclass(frozen=True, slots=True)
class Shape:
    """Resolution and number of border rows of one metric in a group of zones."""

    metric: Metric
    resolution: str
    borders: int = 0


def shapes(zone: Zone) -> list[Shape]:
    """What the real feeds carry there."""
    if zone.id.startswith(("US-", "AU-")):
        return [
            Shape(Metric.PRICE, "5m"),
            Shape(Metric.DEMAND, "5m"),
            Shape(Metric.INTERCHANGE, "5m", 8),
            *([Shape(Metric.GENERATION, "5m")] if Metric.GENERATION in zone.metrics else []),
        ]
    if zone.id == "GB":
        return [
            Shape(Metric.PRICE, "30m"),
            Shape(Metric.DEMAND, "30m"),
            Shape(Metric.INTERCHANGE, "30m", 10),
            Shape(Metric.CARBON_INTENSITY, "30m"),
            Shape(Metric.GENERATION, "30m"),
        ]
    return [Shape(Metric.PRICE, "15m"), Shape(Metric.DEMAND, "15m"), Shape(Metric.INTERCHANGE, "1h", 8)]


def fill(storage: Folder, zone: Zone, shape: Shape, random: np.random.Generator) -> None:
    """Folds the rows of one zone's metric."""
    step = RESOLUTIONS[shape.resolution]
    ts = list(range(NOW - DAYS * DAY, NOW + 1, step))
    fuels = ["gas", "wind", "solar", "nuclear", "hydro"] if shape.metric is Metric.GENERATION else [None]
    lanes = [(fuel, None) for fuel in fuels] + [(None, f"border-{n}") for n in range(shape.borders)]
    unit = f"{zone.currency}/MWh" if shape.metric is Metric.PRICE else "MW"
    rows = Rows()
    for fuel, border in lanes:
        values = np.round(random.normal(100, 40, len(ts)).cumsum() / 10, 2).tolist()
        rows.extend(SeriesKey(zone.id, shape.metric.value, unit, shape.resolution, fuel, border), ts, values)
    series.fold(storage, f"bench.{shape.metric.value}", rows, {}, {f"bench.{m.value}": 1 for m in Metric}, NOW, "live")


def main() -> int:
    """Prints the best, middle and worst of five calls in one line."""
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        storage = Folder(Path(folder))
        for zone in ZONES.values():
            for shape in shapes(zone):
                fill(storage, zone, shape, random)
        catalogue.publish(storage, {"bench": source()}, "live", (), ("bench",), NOW)
        took = []
        for _ in range(5):
            began = time.perf_counter()
            done = publish(storage, NOW)
            took.append(time.perf_counter() - began)
    best, middle, worst = sorted(took)[0], sorted(took)[2], sorted(took)[4]
    sys.stdout.write(
        f"publish: {len(done.put)} documents, {middle:.2f} s (best {best:.2f}, worst {worst:.2f}); "
        f"budget {BUDGET_S:.0f} s\n"
    )
    return int(middle > BUDGET_S)


if __name__ == "__main__":
    raise SystemExit(main())
