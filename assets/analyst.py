"""warehouse.duckdb for analysts: documented views over the month files, built whole beside the old file and swapped in.

Views and two small tables only: the Parquet files stay the truth, and no service reads this file, which DuckDB locks
for a writer. Paths are relative: open it in its own folder. docs/sql.md shows how. No `from __future__ import
annotations`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_duckdb import DuckDBResource

from assets.feeds import OWNER
from assets.ingest.context import PipelineContext
from assets.partitions import asset_key
from assets.sources import sources as all_sources
from warehouse import layout
from warehouse.clock import RESOLUTIONS
from warehouse.market import Metric, Source
from warehouse.zones import ZONES

NAME = "warehouse.duckdb"
KEY = dg.AssetKey(["analyst", "warehouse_duckdb"])
_COLUMNS = {
    "zone": "Bidding zone, balancing authority or region; see `zones`",
    "metric": "price, price_day_ahead, demand, interchange, generation, carbon_intensity or capacity",
    "month": "UTC month of the file, as 2026-03: a filter on it opens that file alone",
    "fuel": "Of generation and capacity",
    "counterparty": "The zone across the border; null for the net of the zone",
    "link": "The tie; null for a border or a net",
    "ts": "Start of the interval, Unix seconds UTC",
    "starts_at": "Start of the interval; timezone(zones.tz, starts_at) is local time",
    "value": "In `unit`; of interchange positive = import",
    "unit": "MW, %, gCO2/kWh or currency/MWh",
    "resolution": "Length of the interval: 5m, 15m, 30m, 1h or 1y",
    "source": "The publisher",
    "feed": "The product of the publisher; see `feeds`",
    "known_at": "When the value was first seen, Unix seconds UTC",
    "superseded_at": "Until when the value stood, Unix seconds UTC; null while it stands",
}
"""What each column holds, in the views' order."""
_EXPRESSIONS = {"starts_at": "to_timestamp(ts) AS starts_at", "month": "parse_filename(filename, true) AS month"}
_FILE_COLUMNS = ("fuel", "counterparty", "link", "ts", "value", "unit", "resolution", "source", "feed", "known_at")


@dataclass(frozen=True, slots=True)
class View:
    """A view, its query and what it shows."""

    name: str
    query: str
    comment: str
    columns: tuple[str, ...] = tuple(name for name in _COLUMNS if name != "superseded_at")


def views(home: Path) -> Iterator[View]:
    """The views over the files that there are; none where there is none."""
    metrics = [metric for metric in Metric if _holds(home, layout.series_prefix(metric.value))]
    if not metrics:
        return
    roots = [root for root in (layout.series_prefix(), layout.history_prefix()) if _holds(home, root)]
    everything = (*View("", "", "").columns, "superseded_at")
    yield View("series", _files(roots[:1], everything[:-1]), "What is served: one row an interval of every metric")
    yield View(
        "versions",
        _files(roots, everything),
        "Served rows, rows of lower rank, and superseded values with the span in which they stood",
        everything,
    )
    for metric in metrics:
        if metric != Metric.INTERCHANGE:
            yield View(metric.value, f"SELECT * FROM series WHERE metric = '{metric}'", f"What is served of {metric}")
    if Metric.INTERCHANGE in metrics:
        of_metric = "SELECT * FROM series WHERE metric = 'interchange'"
        net = "counterparty IS NULL AND link IS NULL"
        yield View("interchange", f"{of_metric} AND {net}", "Net import of each zone, MW; positive = import")
        yield View("borders", f"{of_metric} AND NOT ({net})", "Import over each border and tie, MW; positive = import")
    yield View("day_ahead", _day_ahead(), "Day-ahead prices: own series in the US, the headline price in Europe")


def _day_ahead() -> str:
    headline = ", ".join(f"'{zone.id}'" for zone in ZONES.values() if zone.day_ahead_metric == Metric.PRICE)
    own = f"metric = '{Metric.PRICE_DAY_AHEAD}'"
    return f"SELECT * FROM series WHERE {own} OR (metric = '{Metric.PRICE}' AND zone IN ({headline}))"


def _holds(home: Path, prefix: str) -> bool:
    return any((home / prefix).glob("**/????-??.parquet"))


def _files(roots: list[str], columns: tuple[str, ...]) -> str:
    """Over all months below these prefixes. Filters on zone, metric and month choose files by their names."""
    paths = ", ".join(f"'{root}metric=*/zone=*/*.parquet'" for root in roots)
    chosen = ", ".join(_EXPRESSIONS.get(name, name) for name in columns)
    types = "{'metric': VARCHAR, 'zone': VARCHAR}"
    read = f"read_parquet([{paths}], filename=true, hive_partitioning=true, hive_types={types})"
    return f"SELECT {chosen} FROM {read}"


_AS_OF = """CREATE MACRO as_of(t) AS TABLE
WITH stood AS (
    SELECT v.*, f.rank, s.seconds
    FROM versions v JOIN feeds f USING (feed) JOIN resolutions s ON s.resolution = v.resolution
    WHERE v.known_at <= epoch(t::TIMESTAMPTZ)
      AND (v.superseded_at IS NULL OR v.superseded_at > epoch(t::TIMESTAMPTZ))
)
SELECT * EXCLUDE (rank, seconds, superseded_at) FROM stood r
WHERE NOT EXISTS (
    SELECT 1 FROM stood b
    WHERE (b.zone, b.metric) = (r.zone, r.metric) AND b.fuel IS NOT DISTINCT FROM r.fuel
      AND b.counterparty IS NOT DISTINCT FROM r.counterparty AND b.link IS NOT DISTINCT FROM r.link
      AND b.ts < r.ts + r.seconds AND b.ts + b.seconds > r.ts
      AND (b.rank < r.rank OR (b.rank = r.rank AND b.seconds < r.seconds))
)"""
"""Where several feeds state an interval, the best rank's row stands; of one feed's, the finest."""


def statements(home: Path) -> list[str]:
    """The SQL that makes the file, in order; run in `home`, since DuckDB looks at the files of a view it makes."""
    made = [*_tables()]
    for view in views(home):
        made.append(f"CREATE VIEW {view.name} AS {view.query}")
        made.append(f"COMMENT ON VIEW {view.name} IS {_quoted(view.comment)}")
        made += [f"COMMENT ON COLUMN {view.name}.{name} IS {_quoted(_COLUMNS[name])}" for name in view.columns]
    if any(statement.startswith("CREATE VIEW versions") for statement in made):
        made.append(_AS_OF)
        made.append(f"COMMENT ON MACRO TABLE as_of IS {_quoted('series as it was known at an instant')}")
    return made


def _tables() -> Iterator[str]:
    """`zones` with their clocks, `feeds` with their ranks, `resolutions` in seconds."""
    zones = [(z.id, z.name, z.tz, z.market_tz, z.currency, z.headline) for z in ZONES.values()]
    yield _table("zones", ("zone", "name", "tz", "market_tz", "currency", "headline"), zones)
    yield f"COMMENT ON TABLE zones IS {_quoted('The 25 zones with their clocks')}"
    words = {
        "zone": "Id, as in every view",
        "name": "Name for people",
        "tz": "Civil time, for timezone(tz, starts_at)",
        "market_tz": "Clock of the market day",
        "currency": "Of prices",
        "headline": "What `price` is here",
    }
    yield from (f"COMMENT ON COLUMN zones.{column} IS {_quoted(text)}" for column, text in words.items())
    feeds = [(f.id, f.rank, f.title) for source in all_sources().values() for f in source.feeds]
    yield _table("feeds", ("feed", "rank", "title"), feeds)
    yield f"COMMENT ON TABLE feeds IS {_quoted('Feeds in rank order within a zone and metric: 1 is best')}"
    yield _table("resolutions", ("resolution", "seconds"), RESOLUTIONS.items())


def _table(name: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    values = ", ".join("(" + ", ".join(_literal(cell) for cell in row) + ")" for row in rows)
    return f"CREATE TABLE {name} AS SELECT * FROM (VALUES {values}) AS t({', '.join(columns)})"


def _literal(cell: object) -> str:
    return str(cell) if isinstance(cell, int) else _quoted(str(cell))


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
        connection.execute(f"SET file_search_path = {_quoted(str(home))}")
        for statement in made:
            connection.execute(statement)
    scratch.replace(home / NAME)
    return sum(s.startswith("CREATE VIEW") for s in made)


def materialisation(home: Path) -> dg.AssetMaterialization:
    """Builds the file; the event of it."""
    return dg.AssetMaterialization(KEY, metadata=_shown(home))


def _shown(home: Path) -> dict[str, Any]:
    return {"views": build(home), "dagster/uri": str(home / NAME)}


def analyst_asset(sources: Mapping[str, Source]) -> dg.AssetsDefinition:
    """The file as an asset downstream of every feed; built daily, since new metrics and zones are rare, and at will."""

    @dg.asset(
        key=KEY,
        group_name="analyst",
        deps=[asset_key(f) for s in sources.values() for f in s.feeds],
        owners=[OWNER],
        kinds={"duckdb"},
        description="warehouse.duckdb: `series`, `versions`, a view a metric, `day_ahead`, `interchange`, `borders`,"
        " `zones`, `as_of(t)`. See docs/sql.md.",
        automation_condition=dg.AutomationCondition.cron_tick_passed("40 3 * * *")
        & ~dg.AutomationCondition.in_progress(),
    )
    def warehouse_duckdb(pipeline: dg.ResourceParam[PipelineContext]) -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata=_shown(pipeline.storage.root))

    return warehouse_duckdb
