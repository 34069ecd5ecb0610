"""Measure ten years of monthly means in one call: CPU milliseconds per response, from the mart and from rows.

    python -m tests.bench.long_means

Creates a warehouse of one zone with ten years of quarter-hourly prices in a temporary folder. Each result is the median
of nine calls by the WSGI application, each with empty caches.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from api.application import create_app
from api.settings import Settings
from assets.sources import sources
from assets.sql.mart_queries import MARTS, refresh
from warehouse.documents import catalogue
from warehouse.market.clock import local_midnight
from warehouse.rows.schema import Rows, SeriesKey
from warehouse.series.folding import fold
from warehouse.store import layout, modes
from warehouse.store.storage import Folder

ZONE, FEED, YEARS = "FR", "entsoe.price", range(2016, 2026)
CALLS = 9


def fill(storage: Folder) -> None:
    """Store ten civil years of quarter hours."""
    rng, known = random.Random(1), sources()
    modes.ensure(storage, "live")
    for year in YEARS:
        start, end = (local_midnight(date(each, 1, 1), "Europe/Paris") for each in (year, year + 1))
        rows, stamps = Rows(), range(start, end, 900)
        rows.extend(SeriesKey(ZONE, "price", "EUR/MWh", "15m"), stamps, [round(rng.gauss(60, 60), 2) for _ in stamps])
        fold(storage, FEED, rows, {}, catalogue.ranks(known, (), "live"), end, "live")
    catalogue.publish(storage, known, "live", (), tuple(known), int(time.time()))


def measured(home: Path, interval: str) -> tuple[float, int]:
    """Return the median CPU milliseconds of one response with empty caches, and its rows."""
    path = f"/v1/price/{ZONE}?start={YEARS[0]}-01-01&end={YEARS[-1] + 1}-01-01&interval={interval}&limit=5000"
    spent: list[float] = []
    answer = dict[str, Any]()
    for _ in range(CALLS):
        settings = Settings(home=str(home), database_url=f"sqlite:///{home}/accounts.sqlite", signups_per_hour=0)
        application = create_app(settings)
        client = application.test_client()
        key = client.post("/v1/keys/signup", json={"email": f"{len(spent)}{interval}@example.org"}).get_json()[
            "api_key"
        ]
        headers = {"Authorization": f"Bearer {key}"}
        client.get(f"/v1/price/{ZONE}?limit=1", headers=headers)  # covers the application's own first steps
        begun = time.process_time()
        response = client.get(path, headers=headers)
        spent.append(1000 * (time.process_time() - begun))
        answer = response.get_json()
        application.extensions["emds"].gate.close()
    return statistics.median(spent), answer["count"]


def main() -> None:
    """Print a line per interval."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        storage = Folder(home)
        fill(storage)
        for name in ("rows", "mart"):
            if name == "mart":
                with duckdb.connect() as connection:
                    refresh(storage, connection, MARTS[0], None, (), "live")
                size = storage.stat(layout.mart("daily", "price", ZONE))
                print(f"mart of {0 if size is None else size.size} bytes")
            for interval in ("1mo", "1w", "1y", "1d"):
                milliseconds, rows = measured(home, interval)
                print(f"{name}: {rows} means of {interval} in {milliseconds:.1f} ms of CPU")


if __name__ == "__main__":
    main()
