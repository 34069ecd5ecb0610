"""Define the views, tables and macros over monthly files as SQL, with a comment on every column. No Dagster here.

Paths are relative to the folder that contains `series/` and `history/`. Zone, metric and month are read from the path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.sources import sources as all_sources
from warehouse.market.clock import RESOLUTIONS
from warehouse.market.metrics import BY_FUEL, METRICS
from warehouse.market.vocabulary import Forecast, Metric
from warehouse.market.zones import ZONES
from warehouse.store import layout

COLUMNS = {
    "zone": "Bidding zone, balancing authority or region; see `zones`",
    "metric": f"{', '.join([*METRICS][:-1])} or {[*METRICS][-1]}",
    "month": "UTC month of the file, as 2026-03: a filter on it opens that file alone",
    "fuel": f"Of {' and '.join(metric for metric in METRICS if metric in BY_FUEL)}",
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
    "published_at": "Of a forecast: when it was issued, Unix seconds UTC",
    "basis": "Of a forecast: what says when: body, name, fetched",
    "low": "Lower bound of an estimate, in `unit`",
    "high": "Upper bound of an estimate, in `unit`",
    "factors": "Id of the set of factors of an estimate",
}
"""The comment on each column, in the order of the views."""
_OF_FORECASTS, _OF_ESTIMATES = ("published_at", "basis"), ("low", "high", "factors")
_TYPES = dict.fromkeys(("ts", "known_at", "superseded_at", "published_at"), "BIGINT")
_TYPES |= dict.fromkeys(("value", "low", "high"), "DOUBLE") | {"starts_at": "TIMESTAMPTZ"}
_EXPRESSIONS = {
    "starts_at": "to_timestamp(ts) AS starts_at",
    "month": "left(parse_filename(filename, true), 7) AS month",
}


@dataclass(frozen=True, slots=True)
class View:
    """A view with its query and its comment."""

    name: str
    query: str
    comment: str
    columns: tuple[str, ...] = tuple(
        name for name in COLUMNS if name not in ("superseded_at", *_OF_FORECASTS, *_OF_ESTIMATES)
    )


Files = Mapping[str, Sequence[str]]
"""The paths or patterns of monthly files by prefix of `warehouse.store.layout`. Prefixes without files are left out."""


def patterns(home: Path) -> Files:
    """Return patterns of all monthly files of a folder, including those of future months."""
    prefixes = [layout.series_prefix(metric) for metric in (*Metric, *Forecast)]
    found = {prefix: [f"{prefix}zone=*/*.parquet"] for prefix in prefixes if _holds(home, prefix)}
    roots = (layout.series_prefix(), layout.history_prefix())
    return found | {root: [f"{root}metric=*/zone=*/*.parquet"] for root in roots if _holds(home, root)}


def by_prefix(keys: Iterable[str]) -> Files:
    """Return these monthly files by each prefix that a view reads."""
    found: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        metric, _, _, is_history = layout.of_series(key)
        found[layout.history_prefix() if is_history else layout.series_prefix()].append(key)
        if not is_history:
            found[layout.series_prefix(metric)].append(key)
    return found


def views(files: Files) -> Iterator[View]:
    """Yield every view. A view without files has its columns but no rows."""
    columns = View("", "", "").columns
    everything = (*columns, "superseded_at", *_OF_FORECASTS, *_OF_ESTIMATES)
    served = files.get(layout.series_prefix(), ())
    yield View("series", _query(served, columns), "What is served: one row an interval of a metric")
    yield View(
        "versions",
        _query([*served, *files.get(layout.history_prefix(), ())], everything),
        "Served rows, rows of lower rank, and superseded values with the span in which they stood",
        everything,
    )

    def of(metric: str, columns: tuple[str, ...]) -> str:
        # The metric's own folders are read, because DuckDB lists every folder below a pattern before it chooses files.
        return _query(files.get(layout.series_prefix(metric), ()), columns)

    for metric in Metric:
        if metric != Metric.INTERCHANGE:
            wider = (*columns, *_OF_ESTIMATES) if metric is Metric.CARBON_ESTIMATE else columns
            yield View(metric.value, of(metric, wider), f"What is served of {metric}", wider)
    flows, net = of(Metric.INTERCHANGE, columns), "counterparty IS NULL AND link IS NULL"
    yield View("interchange", f"FROM ({flows}) WHERE {net}", "Net import of each zone, MW; positive = import")
    yield View("borders", f"FROM ({flows}) WHERE NOT ({net})", "Import over each border and tie, MW; positive = import")
    for forecast in Forecast:
        wider = (*columns, *_OF_FORECASTS)
        yield View(forecast.value, of(forecast, wider), "The newest vintage of each interval", wider)
    headline = ", ".join(quoted(zone.id) for zone in ZONES.values() if zone.day_ahead_metric == Metric.PRICE)
    yield View(
        "day_ahead",
        f"FROM {Metric.PRICE_DAY_AHEAD} UNION ALL FROM {Metric.PRICE} WHERE zone IN ({headline})",
        "Day-ahead prices: own series in the US, the headline price in Europe",
    )


def _holds(home: Path, prefix: str) -> bool:
    return any((home / prefix).glob("**/????-??*.parquet"))


def _query(paths: Sequence[str], columns: tuple[str, ...]) -> str:
    """Return a query over `paths`. Filters on zone, metric and month choose files by name."""
    if not paths:
        typed = (f"NULL::{_TYPES.get(name, 'VARCHAR')} AS {name}" for name in columns)
        return f"SELECT {', '.join(typed)} WHERE false"
    return _read("[" + ", ".join(map(quoted, paths)) + "]", columns)


def _read(paths: str, columns: tuple[str, ...]) -> str:
    """Return a query over the files that an SQL expression names."""
    chosen = ", ".join(_EXPRESSIONS.get(name, name) for name in columns)
    types = "{'metric': VARCHAR, 'zone': VARCHAR}"
    return f"SELECT {chosen} FROM read_parquet({paths}, filename=true, hive_partitioning=true, hive_types={types})"


def _months() -> str:
    """Return a macro that names the files itself, so that no other folder is listed."""
    path = f"'{layout.series_prefix()}metric=' || of_metric || '/zone=' || of_zone || '/' || of_month || '.parquet'"
    return f"CREATE MACRO months(of_zone, of_metric, of_month) AS TABLE {_read(path, View('', '', '').columns)}"


_MONTHS_COMMENT = "series of one zone, metric and month by the names of its files; each may be a pattern, as '2026-*'"
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
"""If several feeds have an interval, the best-ranked feed's row counts. Of one feed's rows, the finest counts."""


def statements(files: Files) -> list[str]:
    """Return the SQL that creates the views, in order. DuckDB opens a file of each view that it creates."""
    sql = [statement for table in _tables() for statement in _define(table)]
    for view in views(files):
        sql.append(f"CREATE VIEW {view.name} AS {view.query}")
        sql.append(f"COMMENT ON VIEW {view.name} IS {quoted(view.comment)}")
        sql += [f"COMMENT ON COLUMN {view.name}.{name} IS {quoted(COLUMNS[name])}" for name in view.columns]
    sql.append(_months())
    sql.append(f"COMMENT ON MACRO TABLE months IS {quoted(_MONTHS_COMMENT)}")
    sql.append(_AS_OF)
    sql.append(f"COMMENT ON MACRO TABLE as_of IS {quoted('series as it was known at an instant')}")
    return sql


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A small table with its rows and the comments on its columns."""

    name: str
    comment: str
    columns: Mapping[str, str]
    rows: Sequence[tuple[object, ...]]


def _tables() -> list[LookupTable]:
    """Return `zones` with their clocks, `feeds` with their ranks, `resolutions` in seconds, `tolerances` of feeds."""
    return [
        LookupTable(
            "zones",
            f"The {len(ZONES)} zones with their clocks",
            {
                "zone": "Id, as in every view",
                "name": "Name for people",
                "tz": "Civil time, for timezone(tz, starts_at)",
                "market_tz": "Clock of the market day",
                "currency": "Of prices",
                "headline": "What `price` is here",
            },
            [(z.id, z.name, z.tz, z.market_tz, z.currency, z.headline) for z in ZONES.values()],
        ),
        LookupTable(
            "feeds",
            "Feeds in rank order within a zone and metric: 1 is best",
            {
                "feed": "Id, as in every view",
                "rank": "Of several feeds with an interval the lowest rank is served",
                "title": "What the publisher calls it",
            },
            [(f.id, f.rank, f.title) for source in all_sources().values() for f in source.feeds],
        ),
        LookupTable(
            "resolutions",
            "Lengths of intervals",
            {"resolution": "As in every view", "seconds": "Length of the interval; of 1y 365 days"},
            list(RESOLUTIONS.items()),
        ),
        LookupTable(
            "tolerances",
            "How far the hourly means of two feeds of a series may lie apart on a day's average",
            {
                "metric": "As in every view",
                "share": "Of the mean",
                "amount": "In the metric's unit; the larger of the two counts",
            },
            [(metric.value, *of.agreement) for metric, of in METRICS.items() if of.agreement is not None],
        ),
    ]


def _define(table: LookupTable) -> Iterator[str]:
    """Yield the SQL that creates a table with its comments."""
    values = ", ".join("(" + ", ".join(_literal(cell) for cell in row) + ")" for row in table.rows)
    yield f"CREATE TABLE {table.name} AS SELECT * FROM (VALUES {values}) AS t({', '.join(table.columns)})"
    yield f"COMMENT ON TABLE {table.name} IS {quoted(table.comment)}"
    yield from (f"COMMENT ON COLUMN {table.name}.{name} IS {quoted(text)}" for name, text in table.columns.items())


def _literal(cell: object) -> str:
    return str(cell) if isinstance(cell, int | float) else quoted(str(cell))


def quoted(text: str) -> str:
    """Return an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
