"""Generate new requests: random zones, metrics and windows over the years of `tests.bench.decade`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.bench.decade import METRICS, resolution
from tests.bench.servers import NOW
from warehouse.market.clock import DAY, RESOLUTIONS
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES

YEARS = 10
COUNT = 20_000
WARM = ("AU-NSW", METRICS[0])


def questions(seed: int, days: int, years: int, series: Sequence[tuple[str, str]], count: int = COUNT) -> Iterator[str]:
    """Yield paths of windows of `days` at random times: nine in ten request JSON, the rest CSV and Parquet."""
    rng = random.Random(seed)
    first = NOW - years * 365 * DAY + DAY
    for _ in range(count):
        zone, metric = rng.choice(series)
        step = RESOLUTIONS[resolution(zone, Metric(metric))]
        start = rng.randrange(first, NOW - days * DAY)
        form = rng.choice(["json"] * 18 + ["csv", "parquet"])
        limit = min(5000, days * DAY // step + 1)
        path = f"/v1/{metric}/{zone}?start={start}&end={start + days * DAY}&limit={limit}"
        yield path if form == "json" else f"{path}&format={form}"


def of_all_zones(seed: int, years: int, count: int = COUNT) -> Iterator[str]:
    """Yield JSON paths of a day of all zones at random times, with some 4,700 rows each."""
    rng = random.Random(seed)
    for _ in range(count):
        start = rng.randrange(NOW - years * 365 * DAY + DAY, NOW - DAY)
        yield f"/v1/{rng.choice(METRICS)}?zones=all&start={start}&end={start + DAY}&limit=5000"


def every_series() -> list[tuple[str, str]]:
    """Return the zone and metric of each series."""
    return [(zone, metric.value) for zone in ZONES for metric in METRICS]
