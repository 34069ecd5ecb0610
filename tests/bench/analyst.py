"""What one zone and month costs an analyst in warehouse.duckdb over five years of 25 zones and all metrics.

    python -m tests.bench.analyst

Prints the median of wall and CPU milliseconds of a warm connection, by the macro `months` and by the views.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import duckdb

from assets import analyst
from warehouse import layout, series
from warehouse.clock import HOUR, instant
from warehouse.market import Metric
from warehouse.schema import Rows, SeriesKey
from warehouse.storage import Folder
from warehouse.zones import ZONES

SUM = "SELECT count(*), sum(value) FROM "
TABLES = (
    "months('GB', 'demand', '2023-05')",
    "demand WHERE zone = 'GB' AND month = '2023-05'",
    "series WHERE metric = 'demand' AND zone = 'GB' AND month = '2023-05'",
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="emds-analyst-") as folder:
        home = Path(folder)
        fill(home)
        os.chdir(home)
        analyst.build(home)
        print(f"{sum(1 for _ in home.glob('series/**/*.parquet'))} month files, DuckDB {duckdb.__version__}")
        with duckdb.connect(analyst.NAME, read_only=True) as connection:
            for table in TABLES:
                print("{:75} {:6.1f} ms wall {:6.1f} ms CPU".format(table, *measured(connection, SUM + table)))
        os.chdir("/")


def fill(home: Path) -> None:
    """Hours of one zone's demand, and links to its month files for every other zone and metric."""
    begin, rows = instant("2021-01-01T00:00:00Z"), Rows()
    stamps = list(range(begin, instant("2026-01-01T00:00:00Z"), HOUR))
    rows.extend(SeriesKey("GB", Metric.DEMAND, "MW", "1h"), stamps, [1.0] * len(stamps))
    series.fold(Folder(home), "eia.demand", rows, {}, {"eia.demand": 1}, 1, "live")
    months = sorted((home / layout.series_prefix("demand", "GB")).iterdir())
    for metric in Metric:
        for zone in ZONES:
            target = home / layout.series_prefix(metric.value, zone)
            target.mkdir(parents=True, exist_ok=True)
            for month in months:
                if not (target / month.name).exists():
                    os.link(month, target / month.name)


def measured(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[float, float]:
    wall, cpu = [], []
    for _ in range(15):
        begun, used = time.perf_counter(), time.process_time()
        connection.execute(query).fetchall()
        wall.append(1000 * (time.perf_counter() - begun))
        cpu.append(1000 * (time.process_time() - used))
    return statistics.median(wall), statistics.median(cpu)


if __name__ == "__main__":
    main()
