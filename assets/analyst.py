"""warehouse.duckdb for analysts: documented views over the month files, built whole beside the old file and swapped in.

Views, macros and small tables only: the Parquet files stay the truth, and no service reads this file, which DuckDB
locks for a writer. Paths are relative: open it in its own folder. docs/sql.md shows how. No `from __future__ import
annotations`.
"""

from collections.abc import Mapping
from pathlib import Path

import dagster as dg
from dagster_duckdb import DuckDBResource

from assets.analyst_views import quoted, statements
from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from warehouse.market.market import Source

NAME = "warehouse.duckdb"
KEY = dg.AssetKey(["analyst", "warehouse_duckdb"])


def scratch_database(home: Path) -> DuckDBResource:
    """The DuckDB in which the file is built, before it takes the old one's place."""
    return DuckDBResource(database=str(home / "scratch" / NAME))


def build(home: Path, duckdb: DuckDBResource) -> int:
    """Builds the file in `duckdb` and renames it into place; returns the number of views."""
    scratch = Path(duckdb.database)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.unlink(missing_ok=True)
    made = statements(home)
    with duckdb.get_connection() as connection:
        connection.execute(f"SET file_search_path = {quoted(str(home))}")
        for statement in made:
            connection.execute(statement)
    scratch.replace(home / NAME)
    return sum(s.startswith("CREATE VIEW") for s in made)


def analyst_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """The file as an asset downstream of every feed; built daily, since new metrics and zones are rare, and at will."""

    @dg.asset(
        key=KEY,
        group_name="marts",
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"duckdb"},
        pool="marts",
        description="Views for SQL in warehouse.duckdb: series, versions, a view a metric, day_ahead, interchange,"
        " borders, zones, months(zone, metric, month) and as_of(t). docs/sql.md shows how.",
        automation_condition=dg.AutomationCondition.cron_tick_passed("40 3 * * *")
        & ~dg.AutomationCondition.in_progress(),
    )
    def warehouse_duckdb(
        warehouse: dg.ResourceParam[PipelineContext], duckdb: DuckDBResource
    ) -> dg.MaterializeResult[None]:
        home = warehouse.storage.local
        return dg.MaterializeResult(metadata={"views": build(home, duckdb), "dagster/uri": str(home / NAME)})

    return warehouse_duckdb
