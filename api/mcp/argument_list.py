"""The arguments of the MCP tools: name, what it takes, and what a model reads of it.

Schemas stay within what every host takes: no `$ref`, no lists of types, no combinators at the root.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.documents.catalogue import SERIES
from api.mcp.arguments import (
    DEFAULT_ROWS,
    MOST_ROWS,
    Argument,
    key_text,
    metric_name,
    moment,
    number,
    one_of,
    row_limit,
    seconds_of_hours,
    words,
    yes_no,
    zone_id,
)
from api.series.windows import LONGEST_HOURS
from warehouse.clock import HOUR
from warehouse.market import Metric
from warehouse.zones import ZONES, zones_with

MOST_AHEAD = 96
"""Hours that `within` may look ahead."""


def _few(metric: Metric) -> str:
    return ", ".join(zones_with(metric))


_SPELLINGS = list(dict.fromkeys(word for name, metric in SERIES.items() for word in (metric.value, name)))
_INSTANT: Mapping[str, Any] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}

ZONE = Argument(
    "zone",
    zone_id,
    {
        "type": "string",
        "enum": list(ZONES),
        "description": "Zone id, as list_zones gives it.",
    },
    required=True,
)
HISTORY_ZONE = replace(ZONE, required=False)
HISTORY_ZONES = Argument(
    "zones",
    words(zone_id),
    {
        "type": "array",
        "items": {"type": "string"},
        "description": "Instead of zone: several zone ids, a column each; not for generation, capacity or by=border; "
        "dates are not taken then. Costs a call a zone.",
    },
)
METRIC = Argument(
    "metric",
    metric_name,
    {
        "type": "string",
        "enum": _SPELLINGS,
        "description": f"price, demand and interchange: all zones. generation: {_few(Metric.GENERATION)}. "
        "carbon_intensity: "
        f"{_few(Metric.CARBON_INTENSITY)}. capacity (yearly): {_few(Metric.CAPACITY)}.",
    },
    required=True,
)
START = Argument(
    "start",
    moment,
    {
        **_INSTANT,
        "description": "First instant of the window: a date (2026-11-20: midnight of the zone's civil time), Unix "
        "seconds, or RFC 3339 with an offset such as 2026-11-20T00:00:00Z. Default: 24 hours before end.",
    },
)
END = Argument("end", moment, {**_INSTANT, "description": "End of the window, exclusive; as start. Default: now."})
LIMIT = Argument(
    "limit",
    row_limit,
    {
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ROWS,
        "default": DEFAULT_ROWS,
        "description": "Most rows in the answer: the first ones of the window, in order. A sample holds 50 at most.",
    },
    default=DEFAULT_ROWS,
)
ORDER = Argument(
    "order",
    one_of("asc", "desc"),
    {
        "type": "string",
        "enum": ["asc", "desc"],
        "default": "asc",
        "description": "asc: oldest first. desc: newest first.",
    },
    default="asc",
)
INTERVAL = Argument(
    "interval",
    one_of("1h", "1d"),
    {
        "type": "string",
        "enum": ["1h", "1d"],
        "description": "Time-weighted means over UTC hours or the zone's civil days instead of the stored rows; not "
        "for capacity.",
    },
)
MARKET = Argument(
    "market",
    one_of("day_ahead"),
    {
        "type": "string",
        "enum": ["day_ahead"],
        "description": "Price only: the day-ahead auction instead of the headline price. In Europe the headline is "
        "the auction; GB and AU have none.",
    },
)
BY = Argument(
    "by",
    one_of("border"),
    {
        "type": "string",
        "enum": ["border"],
        "description": "Interchange only: rows for each border or tie instead of the net.",
    },
)
AS_OF = Argument(
    "as_of",
    moment,
    {
        **_INSTANT,
        "description": "The rows as they were known at that instant; as start. At most ten seconds ago, which the "
        "answer states; never ahead. Default: the newest.",
    },
)
METRICS = Argument(
    "metric",
    words(lambda sent: SERIES[metric_name(sent)].value),
    {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these metrics, such as price. Default: all.",
    },
)
ZONES_WANTED = Argument(
    "zones",
    words(zone_id),
    {"type": "array", "items": {"type": "string"}, "description": "Only these zone ids. Default: all."},
)
SAMPLE = Argument(
    "sample",
    yes_no,
    {
        "type": "boolean",
        "default": True,
        "description": "false: without a key, no free sample but the offer to pay (x402).",
    },
    default=True,
)
API_KEY = Argument(
    "api_key",
    key_text,
    {
        "type": "string",
        "description": "Free API key; the header Authorization: Bearer <key> is better and goes before it.",
    },
    default="",
)
HOURS = Argument(
    "hours",
    seconds_of_hours(LONGEST_HOURS),
    {
        "type": "number",
        "minimum": 0.25,
        "maximum": LONGEST_HOURS,
        "default": 3,
        "description": "Length of the block in hours, in steps of a quarter.",
    },
    default=3 * HOUR,
)
WITHIN = Argument(
    "within",
    seconds_of_hours(MOST_AHEAD),
    {
        "type": "number",
        "minimum": 0.25,
        "maximum": MOST_AHEAD,
        "description": "How many hours ahead to look. Default: as far as prices are known.",
    },
)
KIND = Argument(
    "kind",
    one_of("lowest", "highest"),
    {
        "type": "string",
        "enum": ["lowest", "highest"],
        "default": "lowest",
        "description": "lowest: the cheapest block. highest: the dearest.",
    },
    default="lowest",
)
WINDOW_METRIC = Argument(
    "metric",
    one_of("price", "carbon_intensity"),
    {
        "type": "string",
        "enum": ["price", "carbon_intensity"],
        "default": "price",
        "description": "What is compared. Only prices are known ahead.",
    },
    default="price",
)
ABOVE = Argument(
    "above", number, {"type": "number", "description": "Also the time above this value, in the series' unit."}
)
BELOW = Argument("below", number, {"type": "number", "description": "Also the time below this value."})
