"""The MCP tools as clients see them: names, descriptions, input and output schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.mcp import argument_list as takes
from api.mcp.arguments import Argument, input_schema
from api.mcp.protocol import OLDEST
from api.openapi.schemas import SCHEMAS, Schema

COLUMNAR_FROM = 24
"""Rows: as objects 200 take 17 kB, as columns 6 kB, and hosts cut answers at 25,000 tokens."""
_REFERENCE = "#/components/schemas/"
_DEPTH = 2
_STRICT = frozenset(
    {
        "enum",
        "const",
        "pattern",
        "propertyNames",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "format",
        "description",
        "required",
    }
)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. All of them only read."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    answer: Schema
    """JSON Schema of `structuredContent`."""


def loose(schema: Any) -> Any:
    """A schema without references, bounds and descriptions: it stands in every prompt, and clients keep it and
    refuse answers that outgrow it."""
    if isinstance(schema, list):
        return [loose(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return loose(SCHEMAS[schema["$ref"].removeprefix(_REFERENCE)])
    if "anyOf" not in schema and "type" not in schema and ("const" in schema or "enum" in schema):
        return {"type": _kind(schema.get("const", schema.get("enum", [""])[0]))}
    kept = {name: part for name, part in schema.items() if name not in _STRICT and part is not False}
    return {name: _properties(part) if name == "properties" else loose(part) for name, part in kept.items()}


def _properties(named: Mapping[str, Any]) -> Schema:
    """Members keep their names, also those that are words of JSON Schema."""
    return {name: loose(schema) for name, schema in named.items()}


def _kind(value: Any) -> str:
    return {bool: "boolean", int: "integer"}.get(type(value), "string")


def _answer(name: str) -> Schema:
    schema: Schema = loose(SCHEMAS[name])
    return {**schema, "properties": {**schema["properties"], "notes": _NOTES}, "required": SCHEMAS[name]["required"]}


_NOTES: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Whether this is a sample, stale or simulated.",
}


def _shallow(schema: Schema, depth: int = 0) -> Schema:
    """A schema without the members of what lies two levels down: their names say what they are."""
    kept = {name: part for name, part in schema.items() if depth < _DEPTH or name in ("type", "anyOf")}
    if "properties" in kept:
        kept["properties"] = {name: _shallow(part, depth + 1) for name, part in kept["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(kept.get(name), dict):
            kept[name] = _shallow(kept[name], depth + 1)
    return kept


def _derived(name: str) -> Schema:
    """A schema whose answers spell every instant, `start_time` beside `start`."""
    schema = _shallow(_answer(name))
    spelled = {"type": "string", "description": "As ISO 8601; so is every other member that ends in _time."}
    return {**schema, "properties": {**schema["properties"], "start_time": spelled}}


def _snapshot() -> Schema:
    """The snapshot's schema, with the short form of one that is narrowed to some metrics."""
    schema = _shallow(_answer("Snapshot"))
    values = {
        "type": "array",
        "items": {"type": "object"},
        "description": "Instead of zones where metric is given: metric, unit, time and the values by zone.",
    }
    return {**schema, "properties": {**schema["properties"], "values": values}, "required": ["generated"]}


def _history() -> Schema:
    """The series' schema, with the form that long answers take and where to go on."""
    schema = _answer("Series")
    schema["properties"]["gaps"] = {"type": "array"}
    del schema["properties"]["gaps_truncated"]
    rows = schema["properties"]["data"] | {"description": f"The rows, where there are fewer than {COLUMNAR_FROM}."}
    added = {
        "data": rows,
        "by_time": {
            "type": "object",
            "description": f"The rows from {COLUMNAR_FROM} on, instead of data: under each time (UTC) the values from "
            "there on, one each constant.resolution, oldest first; null: missing.",
            "additionalProperties": {"type": "array"},
        },
        "columns": {
            "type": "object",
            "description": "Instead of by_time where more than values differ: time (UTC) and each other member as "
            "arrays of one length. By fuel: an array for each fuel (null: missing).",
            "properties": {"time": {"type": "array", "items": {"type": "string"}}},
            "additionalProperties": {"type": "array"},
            "required": ["time"],
        },
        "constant": {
            "type": "object",
            "description": "Beside by_time or columns: the members that are the same in every row, such as unit.",
        },
        "start_time": {"type": "string", "description": "start as ISO 8601."},
        "units": {"type": "object", "description": "Of several zones: each one's unit; columns has an array a zone."},
        "end_time": {"type": "string", "description": "end as ISO 8601."},
        "held": {"type": "object", "description": "Where there are no rows: the first and last interval held."},
        "next": {
            "type": "object",
            "description": "Where rows were left out: the window to call again with, all other arguments unchanged.",
        },
    }
    # With several zones there is no one zone, and the terms are by zone.
    required = [name for name in schema["required"] if name not in ("data", "zone", "attribution", "license")]
    for name in ("attribution", "license"):
        del schema["properties"][name]
    return {**schema, "properties": {**schema["properties"], **added}, "required": required}


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "list_zones",
            "List grid zones",
            "Lists the 25 electricity grid zones (7 US, Great Britain, 5 Australian, 12 continental European) with id, "
            "name, time zone, currency, source, licence, attribution and the metrics that each publishes. The ids are "
            "what the other tools take as zone. Free, needs no key.",
            (takes.API_KEY,),
            _answer("Zones"),
        ),
        Tool(
            "get_status",
            "Check data freshness",
            "Tells how fresh the data are: for each source and zone the last good reading (Unix seconds, 0 for never), "
            "the last error, a state (ok, late, down, unknown) against the source's own schedule, and when the next "
            "reading is due. Free, needs no key.",
            (takes.API_KEY,),
            _answer("Status"),
        ),
        Tool(
            "get_latest",
            "Get latest values of a zone",
            "Returns the newest value of each metric that a zone publishes: price (local currency per MWh), demand "
            "(MW), interchange (MW, + is net import), carbon_intensity (gCO2/kWh, GB only), and the generation mix (GB "
            "in %, US-CAISO in MW), each with unit, time of its interval's start and length. get_zone_brief tells how "
            "unusual the values are, get_history gives the past, get_map_snapshot all zones at once.",
            (takes.ZONE, takes.SAMPLE, takes.API_KEY),
            _shallow(_answer("Latest")),
        ),
        Tool(
            "get_zone_brief",
            "Get a zone's brief",
            "Returns a zone's market now in context: current values, their percentile, median, minimum and maximum "
            "over the trailing 30 days, the change against 24 hours ago (rising, falling, flat), the generation mix "
            "where published, and a summary. Metrics without enough data are left out, the reason in context_omitted.",
            (takes.ZONE, takes.SAMPLE, takes.API_KEY),
            _shallow(_answer("Brief")),
        ),
        Tool(
            "get_history",
            "Get a zone's history",
            "Returns the rows of one metric of one zone or several in a window [start, end), by default the last 24 "
            "hours; a start in the future alone takes the 24 hours after it, so tomorrow's day-ahead prices of "
            "European zones are found by tomorrow's date once the auction is published. The text holds all rows as a "
            f"table with UTC times; so does the structure, from {COLUMNAR_FROM} rows on as by_time or columns. Where "
            "more rows exist than limit, next holds the window that goes on. A missing interval has no row. interval "
            "gives hourly or daily means.",
            (
                takes.HISTORY_ZONE,
                takes.HISTORY_ZONES,
                takes.METRIC,
                takes.START,
                takes.END,
                takes.LIMIT,
                takes.ORDER,
                takes.INTERVAL,
                takes.MARKET,
                takes.BY,
                takes.AS_OF,
                takes.SAMPLE,
                takes.API_KEY,
            ),
            _history(),
        ),
        Tool(
            "get_map_snapshot",
            "Get latest values of all zones",
            "Returns the newest values of every zone in one answer, for comparing zones: the metrics of get_latest, "
            "each with unit, time and resolution; metric and zones narrow it. Prices are in each zone's own "
            "currency. "
            "A sample holds the price alone.",
            (takes.METRICS, takes.ZONES_WANTED, takes.SAMPLE, takes.API_KEY),
            _snapshot(),
        ),
        Tool(
            "find_window",
            "Find the cheapest or dearest hours ahead",
            "Finds the contiguous block of hours with the lowest or highest mean price among day-ahead prices that are "
            "already published, from now on, also across midnight: start, end, mean, the next best blocks, and whether "
            "it is now. Nothing is forecast: where no price is known ahead (Great Britain, Australia, carbon "
            "intensity, before the auction) available is false with the reason. Times in UTC and civil time.",
            (
                takes.ZONE,
                takes.HOURS,
                takes.WITHIN,
                takes.KIND,
                takes.WINDOW_METRIC,
                takes.SAMPLE,
                takes.API_KEY,
            ),
            _derived("Windows"),
        ),
        Tool(
            "get_statistics",
            "Get statistics of a window",
            "Returns mean, standard deviation, minimum and maximum with their times, p10, p50, p90, coverage, and the "
            "hours and spans above or below a value, of one metric of one zone over a window of up to ten years, by "
            "default the last 24 hours: one answer instead of pages of get_history. Weighted by time; generation by "
            "fuel; not for capacity.",
            (
                takes.ZONE,
                takes.METRIC,
                takes.START,
                takes.END,
                takes.ABOVE,
                takes.BELOW,
                takes.MARKET,
                takes.AS_OF,
                takes.SAMPLE,
                takes.API_KEY,
            ),
            _derived("SeriesStatistics"),
        ),
    )
}
"""In the order in which tools/list gives them, the same every time."""


def described(tool: Tool, version: str) -> dict[str, Any]:
    """A tool as tools/list shows it in a protocol version."""
    hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    shown: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema(tool.arguments),
        "outputSchema": tool.answer,
        "annotations": {"title": tool.title, **hints},
    }
    if version == OLDEST:  # neither member was known then
        del shown["title"], shown["outputSchema"]
    return shown
