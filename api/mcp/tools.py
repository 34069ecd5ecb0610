"""Define the MCP tools: names, descriptions, arguments, output schemas and the preparation of each call."""

from __future__ import annotations

from typing import Any

from api.http.parameters import Parameter
from api.mcp import answers, history
from api.mcp import arguments as takes
from api.mcp.calls import Prepare, Tool
from api.openapi.members import Schema
from api.openapi.schemas import SCHEMAS
from warehouse.market.metrics import METRICS, SCALAR
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import DEFAULT_SET, ZONES, zones_with


def _type_of(schema: Schema) -> Schema:
    """Return the type of a field, without the contents that the REST path's schema describes.

    Every prompt includes this schema, and clients reject results that exceed it.
    """
    if "$ref" in schema:
        return _type_of(SCHEMAS[schema["$ref"].removeprefix("#/components/schemas/")])
    return {"anyOf": [*map(_type_of, schema["anyOf"])]} if "anyOf" in schema else {"type": schema["type"]}


def _schema(name: str, **own: Schema | None) -> Schema:
    """Return the schema of a REST response in which the `own` fields of a tool replace others. None removes a field."""
    rest = SCHEMAS[name]
    members = {member: _type_of(schema) for member, schema in rest["properties"].items()}
    properties = {member: schema for member, schema in {**members, "notes": _NOTES, **own}.items() if schema}
    required = [member for member in rest["required"] if member not in own]
    return {"type": "object", "properties": properties, "required": required}


def _as(kind: str, description: str, **more: Any) -> Schema:
    return {"type": kind, "description": description, **more}


# fmt: off
_NOTES = _as("array", "Whether this is a sample, stale or simulated.", items={"type": "string"})
_TIME = _as("string", "ISO 8601, as every other field that ends in _time.")
_SNAPSHOT = _schema(
    "Snapshot", zones={"type": "object"}, values=_as(
        "array", "Instead of zones if metric is given: metric, unit, and columns of zones, the highest first."))
_CHANGES = _schema(
    "Changes", count=None, docs=None, entries={"type": "integer"}, corrected=_as(
        "array", "Corrected series: rows added, changed and withdrawn from first_time to last_time, at_time of the "
        "last correction, and feeds."),
    new_rows_only=_as("object", "By zone, the metrics that only received new rows."))
_HISTORY = _schema(
    "Series", zone={"type": "string"}, gaps={"type": "array"}, start_time=_TIME, columns=_as(
        "object", "All rows, as arrays of one length: time (UTC), or date (civil) for days and longer; and value, or "
        "an array per fuel, border or zone (null: none). Other fields that differ between rows have arrays too.",
        additionalProperties={"type": "array"}),
    constant=_as("object", "Fields that all rows share, such as unit; or all rows of a fuel, border or zone, by its "
        "name."),
    clock=_as("object", "Civil time of the rows: tz, and its utc_offsets by the time at which each starts."),
    next=_as("object", "If rows were omitted: arguments for the next call, others unchanged."),
    reason=_as("string", "If there are no rows, why. available_range then has the first and last interval of the "
        "zone."),
    **dict.fromkeys(("data", "gaps_truncated", "attribution", "license", "known_since", "filling")))
# fmt: on


def _tool(
    name: str, title: str, description: str, arguments: tuple[Parameter, ...], answer: Schema, prepare: Prepare
) -> tuple[str, Tool]:
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    schemas = {"inputSchema": takes.input_schema(arguments), "outputSchema": answer}
    about = {"name": name, "title": title, "description": description}
    return name, Tool({**about, **schemas, "annotations": {"title": title, **hints}}, arguments, prepare)


_SCALAR_WORDS = ", ".join(f"{metric} ({METRICS[metric].units})" for metric in SCALAR)
_MIX_WORDS = ", ".join(f"{name} in {ZONES[name].generation_unit}" for name in zones_with(Metric.GENERATION))

# fmt: off
TOOLS = dict((
    _tool(
        "list_zones", "List grid zones",
        f"List the {len(ZONES)} grid zones (US, Great Britain, Australia, continental Europe) with ID, "
        "name, time zone, currency, source, licence, attribution and available metrics. Other tools take these IDs as "
        f"zone: {', '.join(DEFAULT_SET)}{takes.FURTHER}. Free, no key.",
        (takes.API_KEY,), _schema("Zones"), answers.list_zones),
    _tool(
        "get_status", "Check data freshness",
        "Check how fresh the data is, by source and zone: when data last arrived (Unix seconds, 0 if never), the last "
        "error, the state against the source's own schedule (ok, late, down or unknown), and when new data is due. "
        "Free, no key.",
        (takes.API_KEY,), _schema("Status"), answers.get_status),
    _tool(
        "get_latest", "Get latest values of a zone",
        f"Get the latest value of each metric of one zone: {_SCALAR_WORDS}, and the generation mix ({_MIX_WORDS}). "
        "Each value has its unit, interval start and length. Positive interchange is net import. See "
        "get_zone_brief for how unusual the values are, get_history for the past, get_map_snapshot for all zones.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _schema("Latest"), answers.get_latest),
    _tool(
        "get_zone_brief", "Get a market brief",
        "Get a summary of one zone's market now: current values, their percentile, median, minimum and maximum over "
        "the past 30 days, the change over 24 hours (rising, falling, flat), the generation mix if published, and a "
        "text summary. Metrics with too little data are listed in context_omitted with the reason.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _schema("Brief"), answers.get_zone_brief),
    _tool(
        "get_history", "Get a time series",
        "Get the rows of one metric for one or more zones in a window [start, end), by default the last 24 hours. A "
        "future start without end takes the 24 hours after it: use tomorrow's date for tomorrow's day-ahead prices in "
        "Europe, once published. Results are a table with UTC and local times, and columns. If limit cuts rows, next "
        "contains the next window. A missing interval has no row.",
        (takes.ONE_ZONE, takes.HISTORY_ZONES, takes.METRIC, takes.START, takes.END, takes.LIMIT, takes.ORDER,
         takes.INTERVAL, takes.MARKET, takes.BY, takes.BASIS, takes.AS_OF, takes.FORECAST, takes.LEAD, takes.SAMPLE,
         takes.API_KEY),
        _HISTORY, history.prepare),
    _tool(
        "get_map_snapshot", "Get latest values of all zones",
        "Get the latest values of every zone in one call, to compare zones: the metrics of get_latest, each with unit "
        "and time. If metric is given, zones are ranked with the highest value first. Prices are in each zone's own "
        "currency. A sample contains prices only.",
        (takes.METRICS, takes.ZONES_WANTED, takes.SAMPLE, takes.API_KEY), _SNAPSHOT, answers.get_map_snapshot),
    _tool(
        "find_window", "Find the cheapest or most expensive hours",
        "Find the contiguous block of hours with the lowest or highest mean, and whether it includes the current "
        "interval. Uses day-ahead prices or, if there are none, the operator's own forecast (price in Australia, "
        "carbon in GB and DK-1; wind_solar, in % of demand, in Europe, GB and US-CAISO). Use slots for single "
        "intervals, or kwh and kw for the cost. If no values are known ahead, available is false.",
        (takes.ZONE, takes.HOURS, takes.SLOTS, takes.KWH, takes.KW, takes.FROM, takes.TO, takes.WITHIN, takes.BETWEEN,
         takes.FIND, takes.WINDOW_METRIC, takes.SAMPLE, takes.API_KEY),
        _schema("Windows", start_time=_TIME), answers.find_window),
    _tool(
        "get_statistics", "Get statistics of a window",
        "Get statistics of one metric of one zone over up to ten years (default: the last 24 hours): mean, standard "
        "deviation, minimum and maximum with their times, p10, p50, p90 and coverage. With above or below, also the "
        "hours and periods beyond a value. Use this instead of many pages of get_history. Weighted by time; "
        "generation by fuel.",
        (takes.ZONE, takes.MEASURED, takes.MEASURED_START, takes.MEASURED_END, takes.ABOVE, takes.BELOW,
         takes.MEASURED_MARKET, takes.MEASURED_BASIS, takes.MEASURED_AS_OF, takes.SAMPLE, takes.API_KEY),
        _schema("SeriesStatistics", start_time=_TIME), answers.get_statistics),
    _tool(
        "get_changes", "List corrections",
        "List the series that were corrected since a given time: how many rows were changed or withdrawn, in which "
        "range, and when. Also lists series that only received new rows. To get the previous values, use get_history "
        "with as_of. Free, no key.",
        (takes.ALL_ZONES, takes.CHANGED_METRIC, takes.SINCE, takes.API_KEY),
        _CHANGES, answers.get_changes),
))
"""The tools by name, in the constant order of tools/list."""
# fmt: on
