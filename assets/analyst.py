"""warehouse.duckdb for analysts: documented views over the Parquet files, built whole beside the old one and swapped in.

Views only: the Parquet files stay the truth, and no service reads this file (duckdb locks it for a single writer). No
`from __future__ import annotations`.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import dagster as dg
from dagster_duckdb import DuckDBResource

from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from warehouse import layout
from warehouse.market import Metric, Source

NAME = "warehouse.duckdb"
_COLUMNS = "zone, metric, fuel, counterparty, link, ts, to_timestamp(ts) AS starts_at, value, unit, resolution, source, feed, known_at"


def statements(home: Path) -> list[str]:
    """The SQL of the views: one a metric that has files, `series` over all of them, and `versions` over every version."""
    metrics = [metric for metric in Metric if _holds(home, layout.series_prefix(metric))]
    words = "What is served of {}: one row an interval; ts: its start, Unix seconds UTC"
    views = {
        metric.value: (f"SELECT {_COLUMNS} FROM {_files(home, layout.series_prefix(metric))}", words.format(metric))
        for metric in metrics
    }
    if metrics:
        roots = [root for root in (layout.series_prefix(), layout.history_prefix()) if _holds(home, root)]
        views["series"] = f"SELECT {_COLUMNS} FROM {_files(home, roots[0])}", "Every metric that is served"
        views["versions"] = (
            f"SELECT {_COLUMNS}, superseded_at FROM {_files(home, *roots)}",
            "Served rows, rows of lower rank, and superseded values with the span in which they stood",
        )
    made = [
        (f"CREATE VIEW {name} AS {query}", f"COMMENT ON VIEW {name} IS '{text}'")
        for name, (query, text) in views.items()
    ]
    return [statement for pair in made for statement in pair]


def _holds(home: Path, prefix: str) -> bool:
    return any((home / prefix).glob("**/????-??.parquet"))


def _files(home: Path, *prefixes: str) -> str:
    """The month files below some prefixes as a table; zone and metric come from their paths."""
    globs = ", ".join(_quoted(f"{home}/{prefix}**/*.parquet") for prefix in prefixes)
    return f"read_parquet([{globs}], hive_partitioning=true, hive_types_autocast=false, union_by_name=true)"


def _quoted(text: str) -> str:
    """A literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def build(home: Path) -> int:
    """Builds the file under a scratch name and renames it into place; returns the number of views."""
    scratch = home / "scratch" / f"{os.getpid()}-{NAME}"
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.unlink(missing_ok=True)
    made = statements(home)
    with DuckDBResource(database=str(scratch)).get_connection() as connection:
        for statement in made:
            connection.execute(statement)
    scratch.replace(home / NAME)
    return sum(s.startswith("CREATE") for s in made)


def analyst_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """The file as an asset downstream of every feed; built daily, and at will."""

    @dg.asset(
        key=["analyst", "warehouse_duckdb"],
        group_name="analyst",
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"duckdb"},
        description="warehouse.duckdb: views `price`, `demand`, ... , `series`, `versions` over the Parquet files.",
    )
    def warehouse_duckdb(pipeline: dg.ResourceParam[PipelineContext]) -> dg.MaterializeResult[None]:
        views = build(pipeline.storage.root)
        return dg.MaterializeResult(metadata={"views": views, "path": str(pipeline.storage.root / NAME)})

    return warehouse_duckdb
