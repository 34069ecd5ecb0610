"""The MCP tools: names, descriptions, arguments, output schemas, and what prepares the call of each."""

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
    """Return the type of a member. What lies in it is in the REST path's own schema: this one stands in every prompt,
    and clients refuse answers that outgrow it."""
    if "$ref" in schema:
        return _type_of(SCHEMAS[schema["$ref"].removeprefix("#/components/schemas/")])
    return {"anyOf": [*map(_type_of, schema["anyOf"])]} if "anyOf" in schema else {"type": schema["type"]}


def _schema(name: str, **own: Schema | None) -> Schema:
    """Return the schema of a REST answer with a tool's `own` members in place of some, or for None without them."""
    rest = SCHEMAS[name]
    members = {member: _type_of(schema) for member, schema in rest["properties"].items()}
    properties = {member: schema for member, schema in {**members, "notes": _NOTES, **own}.items() if schema}
    required = [member for member in rest["required"] if member not in own]
    return {"type": "object", "properties": properties, "required": required}


def _as(kind: str, description: str, **more: Any) -> Schema:
    return {"type": kind, "description": description, **more}


# fmt: off
_NOTES = _as("array", "Whether this is a sample, stale or simulated.", items={"type": "string"})
_TIME = _as("string", "As ISO 8601; so is every other member that ends in _time.")
_SNAPSHOT = _schema(
    "Snapshot", zones={"type": "object"}, values=_as(
        "array", "Instead of zones where metric is given: metric, unit, and columns of zones, the highest first."))
_CHANGES = _schema(
    "Changes", count=None, docs=None, entries={"type": "integer"}, corrected=_as(
        "array", "Series with corrections: rows added, changed and withdrawn, within first_time to last_time, the last "
        "correction at at_time, and its feeds."),
    new_rows_only=_as("object", "By zone: the metrics that only got new rows."))
_HISTORY = _schema(
    "Series", zone={"type": "string"}, gaps={"type": "array"}, start_time=_TIME, columns=_as(
        "object", "All rows, as arrays of one length: time (UTC), or date (civil) of days and longer; and value, or an "
        "array for each fuel, border or zone (null: none). Other members that differ between rows have arrays too.",
        additionalProperties={"type": "array"}),
    constant=_as("object", "What all rows share, such as unit, or all of a fuel, border or zone, by its name."),
    clock=_as("object", "The civil clock of the rows: tz, and its utc_offsets by the time from which on."),
    next=_as("object", "Where rows were left out: what to call again with, other arguments unchanged."),
    reason=_as("string", "Where there are no rows: why; and available_range, the first and last interval of the zone."),
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
        f"Lists the {len(ZONES)} electricity grid zones (US, Great Britain, Australia, continental Europe) with id, "
        "name, time zone, currency, source, licence, attribution and the metrics that each publishes. Ids, which the "
        f"other tools take as zone: {', '.join(DEFAULT_SET)}{takes.FURTHER}. Free, needs no key.",
        (takes.API_KEY,), _schema("Zones"), answers.list_zones),
    _tool(
        "get_status", "Check data freshness",
        "Tells how fresh the data are: for each source and zone the last good reading (Unix seconds, 0 for never), the "
        "last error, a state (ok, late, down, unknown) against the source's own schedule, and when the next reading is "
        "due. Free, needs no key.",
        (takes.API_KEY,), _schema("Status"), answers.get_status),
    _tool(
        "get_latest", "Get latest values of a zone",
        f"Returns the newest value of each metric that a zone publishes: {_SCALAR_WORDS}, and the generation mix "
        f"({_MIX_WORDS}), each with unit, time of its interval's start and length. Interchange: + is net import. "
        "get_zone_brief tells how unusual the values are, get_history gives the past, get_map_snapshot all zones at "
        "once.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _schema("Latest"), answers.get_latest),
    _tool(
        "get_zone_brief", "Get a zone's brief",
        "Returns a zone's market now in context: current values, their percentile, median, minimum and maximum over "
        "the trailing 30 days, the change against 24 hours ago (rising, falling, flat), the generation mix where "
        "published, and a summary. Metrics without enough data are left out, the reason in context_omitted.",
        (takes.ZONE, takes.SAMPLE, takes.API_KEY), _schema("Brief"), answers.get_zone_brief),
    _tool(
        "get_history", "Get a zone's history",
        "Returns the rows of one metric of one zone or several in a window [start, end), by default the last 24 hours; "
        "a start in the future alone takes the 24 hours after it: tomorrow's date gives tomorrow's day-ahead prices of "
        "European zones once the auction is published. Rows come as a table with UTC and civil times, and as columns. "
        "Where limit leaves rows out, next holds the window that goes on. A missing interval has no row.",
        (takes.ONE_ZONE, takes.HISTORY_ZONES, takes.METRIC, takes.START, takes.END, takes.LIMIT, takes.ORDER,
         takes.INTERVAL, takes.MARKET, takes.BY, takes.BASIS, takes.AS_OF, takes.FORECAST, takes.LEAD, takes.SAMPLE,
         takes.API_KEY),
        _HISTORY, history.prepare),
    _tool(
        "get_map_snapshot", "Get latest values of all zones",
        "Returns the newest values of every zone in one answer, for comparing zones: the metrics of get_latest, each "
        "with unit and time; with metric they are ranked, the highest first. Prices are in each zone's own currency. A "
        "sample holds the price alone.",
        (takes.METRICS, takes.ZONES_WANTED, takes.SAMPLE, takes.API_KEY), _SNAPSHOT, answers.get_map_snapshot),
    _tool(
        "find_window", "Find the cheapest or dearest hours ahead",
        "Finds the contiguous block of hours with the lowest or highest mean among day-ahead prices, else by the "
        "operator's own forecast (price in Australia, carbon in GB and DK-1; wind_solar, in % of demand, in Europe, GB "
        "and US-CAISO), and whether it is now; with slots single intervals, with kwh and kw the cost. Where nothing is "
        "known ahead available is false.",
        (takes.ZONE, takes.HOURS, takes.SLOTS, takes.KWH, takes.KW, takes.FROM, takes.TO, takes.WITHIN, takes.BETWEEN,
         takes.FIND, takes.WINDOW_METRIC, takes.SAMPLE, takes.API_KEY),
        _schema("Windows", start_time=_TIME), answers.find_window),
    _tool(
        "get_statistics", "Get statistics of a window",
        "Returns mean, standard deviation, minimum and maximum with their times, p10, p50, p90, coverage, and the "
        "hours and spans above or below a value, of one metric of one zone over a window of up to ten years, by "
        "default the last 24 hours: one answer instead of pages of get_history. Weighted by time; generation by fuel.",
        (takes.ZONE, takes.MEASURED, takes.MEASURED_START, takes.END, takes.ABOVE, takes.BELOW, takes.MEASURED_MARKET,
         takes.BASIS, takes.AS_OF, takes.SAMPLE, takes.API_KEY),
        _schema("SeriesStatistics", start_time=_TIME), answers.get_statistics),
    _tool(
        "get_changes", "See what was corrected",
        "Tells which series were corrected since a time: how many rows changed or were withdrawn, within which span, "
        "and when; and which series only got new rows. get_history with as_of gives the former values. Free, needs no "
        "key.",
        (takes.ALL_ZONES, takes.CHANGED_METRIC, takes.SINCE, takes.API_KEY),
        _CHANGES, answers.get_changes),
))
"""By name, in the order in which tools/list gives them, the same every time."""
# fmt: on
