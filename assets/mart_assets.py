"""Define the marts as assets with a partition per civil month of all zones, and the records, computed from the days.

Once per day, a schedule requests the months since the first outdated month. A run rebuilds the outdated months and
records every requested month with its row count. No `from __future__ import annotations`: Dagster reads annotations.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import dagster as dg
from dagster_duckdb import DuckDBResource

from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from assets.series_assets import OWNER
from assets.sql.mart_queries import MARTS, Mart, column_types, first_month, refresh, refresh_records, stale_months
from warehouse.documents.catalogue import withheld
from warehouse.market.feeds import Source
from warehouse.store.storage import Storage

GROUP = "marts"
RECORDS = dg.AssetKey([GROUP, "records"])


def mart_key(mart: Mart) -> dg.AssetKey:
    """Return the asset key of a mart, such as `marts/daily`."""
    return dg.AssetKey([GROUP, mart.name])


KEYS = tuple(map(mart_key, MARTS))
"""The keys of the monthly marts."""


def first_partition(storage: Storage, sources: Mapping[str, Source], firsts: Mapping[str, date]) -> str:
    """Return the first month of the marts (`2026-10`): that of the earliest rows, or of the first day to be fetched."""
    day = min(firsts[feed.id] for source in sources.values() for feed in source.feeds if not feed.yearly)
    return min(first_month(storage) or f"{day:%Y-%m}", f"{day:%Y-%m}")


def mart_assets(sources: Mapping[str, Source], first: str) -> list[dg.AssetsDefinition]:
    """Return the four marts, by civil month from `first` (`2026-10`) to the current month, and the records."""
    months = dg.MonthlyPartitionsDefinition(start_date=first, fmt="%Y-%m", end_offset=1)
    return [*(_mart(mart, sources, months) for mart in MARTS), _records()]


def _mart(mart: Mart, sources: Mapping[str, Source], months: dg.PartitionsDefinition) -> dg.AssetsDefinition:
    feeds = [f for s in sources.values() for f in s.feeds if any(map(f.carries, mart.metrics))]

    @dg.asset(
        key=mart_key(mart),
        group_name=GROUP,
        deps=[dg.AssetDep(asset_key(feed), partition_mapping=dg.AllPartitionMapping()) for feed in feeds],
        partitions_def=months,
        backfill_policy=dg.BackfillPolicy.single_run(),
        owners=[OWNER],
        kinds={"duckdb", "parquet"},
        pool=GROUP,
        output_required=False,
        description=mart.description,
        metadata={"sql": f"assets/sql/{mart.name}.sql"},
    )
    def rows_by_month(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext], duckdb: DuckDBResource
    ) -> Iterator[dg.Output[None]]:
        asked = set(context.partition_keys)
        out = withheld(warehouse.sources, warehouse.rights, warehouse.mode)
        with duckdb.get_connection() as connection:
            counts = refresh(warehouse.storage, connection, mart, asked, out, warehouse.mode)
        columns = column_types(warehouse.storage, mart, warehouse.mode)
        schema = dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns])
        for month, rows in counts.items():
            metadata: dict[str, Any] = {"dagster/row_count": rows, "dagster/column_schema": schema}
            context.log_event(dg.AssetMaterialization(mart_key(mart), partition=month, metadata=metadata))
        yield from ()

    return rows_by_month


def _records() -> dg.AssetsDefinition:
    @dg.asset(
        key=RECORDS,
        group_name=GROUP,
        deps=[dg.AssetDep(mart_key(MARTS[0]), partition_mapping=dg.AllPartitionMapping())],
        owners=[OWNER],
        kinds={"duckdb", "parquet"},
        pool=GROUP,
        automation_condition=dg.AutomationCondition.any_deps_updated() & ~dg.AutomationCondition.in_progress(),
        description="Highest and lowest value and longest run of negative prices of each series, in all and by year.",
        metadata={"sql": "assets/sql/records.sql"},
    )
    def records(warehouse: dg.ResourceParam[PipelineContext], duckdb: DuckDBResource) -> dg.MaterializeResult[None]:
        with duckdb.get_connection() as connection:
            rows = refresh_records(warehouse.storage, connection, warehouse.mode)
        return dg.MaterializeResult(metadata={"dagster/row_count": rows})

    return records


def first_stale_month(storage: Storage, mode: str, first: str, last: str) -> str | None:
    """Return the first month from `first` to `last` with an outdated mart; None if all marts are up to date."""
    return min((month for month in stale_months(storage, mode, last) if month >= first), default=None)
