"""Build warehouse.duckdb, and compare feeds with each other, in one step over the views of all feeds.

The file contains only views, macros and small tables. The Parquet files remain authoritative, and no service reads
warehouse.duckdb, since DuckDB locks it for a writer. Its paths are relative, so open it in its own folder
(docs/sql.md). If the warehouse is in a bucket, there is no such file, but the checks run. No `from __future__ import
annotations`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import dagster as dg
from dagster_duckdb import DuckDBResource
from duckdb import Error as DuckDBError

from assets.ingest.context import PipelineContext
from assets.partitions import asset_key, made_every
from assets.series_assets import OWNER
from assets.sql.database import month_keys, open_views
from assets.sql.rules import RULES, Rule, SqlFinding
from assets.sql.views import patterns, quoted, statements
from warehouse.errors import StorageError
from warehouse.market import clock
from warehouse.market.clock import Window, months
from warehouse.market.feeds import Source
from warehouse.series import monthfile
from warehouse.store.storage import Folder, Storage

NAME = "warehouse.duckdb"
KEY = dg.AssetKey(["marts", "warehouse_duckdb"])
COMPARED_DAYS = 35
"""The number of past days whose UTC months the rules compare."""
SHOWN = 50
"""The maximum number of findings per rule that Dagster shows."""


def build(home: Path, duckdb: DuckDBResource) -> int:
    """Build the file at another path, move it into place and return the number of views."""
    scratch = home / "scratch" / NAME
    scratch.parent.mkdir(parents=True, exist_ok=True)
    scratch.unlink(missing_ok=True)
    sql = statements(patterns(home))
    with duckdb.get_connection() as connection:
        connection.execute(f"SET file_search_path = {quoted(str(home))}")
        connection.execute(f"ATTACH {quoted(str(scratch))} AS warehouse")
        connection.execute("USE warehouse")
        for statement in sql:
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH warehouse")
    scratch.replace(home / NAME)
    return sum(statement.startswith("CREATE VIEW") for statement in sql)


def evaluation(rule: Rule, findings: Sequence[SqlFinding]) -> dg.AssetCheckResult:
    """Return the result of a rule. A failure is a warning, since either feed may be right."""
    return dg.AssetCheckResult(
        check_name=rule.name,
        passed=not findings,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"count": len(findings), "findings": _table(findings[:SHOWN])},
    )


def compare(
    duckdb: DuckDBResource, storage: Storage, span: Sequence[str], left_out: Mapping[str, str] | None = None
) -> tuple[list[dg.AssetCheckResult], int, list[str]]:
    """Return the result of every rule, the number of compared rows, and a line for each damaged file that was left out.

    Raises duckdb.Error if no file is damaged, since a run may replace a file while DuckDB reads.
    """
    left_out = left_out or {}
    try:
        with open_views(duckdb, storage, span, left_out) as connection:
            evaluations = [evaluation(rule, rule.find(connection)) for rule in RULES]
            [(rows,)] = connection.execute("SELECT count(*) FROM versions").fetchall()
            return evaluations, rows, [*left_out.values()]
    except DuckDBError:
        damaged = {key: reason for key in month_keys(storage, span) if (reason := _damage(storage, key))}
        if damaged.keys() <= left_out.keys():
            raise
        return compare(duckdb, storage, span, damaged)


def _damage(storage: Storage, key: str) -> str:
    """Return what is wrong with a monthly file; empty if the file is intact."""
    try:
        monthfile.whole(storage, key)
    except StorageError as error:
        return str(error)
    return ""


def _table(findings: Sequence[SqlFinding]) -> dg.TableMetadataValue:
    names = ("day", "zone", "detail")
    records = [dg.TableRecord({"day": str(f.day), "zone": f.zone, "detail": f.detail}) for f in findings]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(name, "string") for name in names]))


def analyst_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """Return the asset downstream of every feed. It has a retry, since a run may replace a file while DuckDB reads."""

    @dg.asset(
        key=KEY,
        group_name="marts",
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"duckdb"},
        freshness_policy=made_every(60),
        pool="marts",
        retry_policy=dg.RetryPolicy(max_retries=1, delay=10),
        check_specs=[
            dg.AssetCheckSpec(rule.name, asset=KEY, description=f"{rule.sentence} Query: assets/sql/{rule.name}.sql")
            for rule in RULES
        ],
        description="All feeds in one SQL database, the file warehouse.duckdb: views of the served rows, of every"
        " version, and of each metric. Its checks compare feeds with each other.",
    )
    def warehouse_duckdb(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[PipelineContext], duckdb: DuckDBResource
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        storage, now = warehouse.storage, clock.now()
        span = months(Window(now - COMPARED_DAYS * clock.DAY, now + 2 * clock.DAY))
        evaluations, rows, left_out = compare(duckdb, storage, span)
        for line in left_out:
            context.log.error(f"left out until `emds repair` has made it again: {line}")
        figures: dict[str, int | str] = {"compared_months": ", ".join(span), "compared_rows": rows}
        figures["left_out"] = "; ".join(left_out)
        if isinstance(storage, Folder):
            figures |= {"views": build(storage.root, duckdb), "dagster/uri": str(storage.root / NAME)}
        yield dg.MaterializeResult(metadata=figures)
        yield from evaluations

    return warehouse_duckdb
