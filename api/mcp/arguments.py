"""The arguments of tools and prompts: parameters of REST whose values come as JSON.

Schemas stay within what every host takes: no `$ref`, no lists of types, no combinators at the root.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.datastructures import MultiDict

from api.endpoints import query_parameters as query
from api.http import parameters
from api.http.parameters import Parameter, whole
from api.http.problems import ParameterFault
from warehouse.market.metrics import BY_PATH, PUBLIC, YEARLY, Metric
from warehouse.market.zones import ZONES, zones_with

DEFAULT_ROWS, MOST_ROWS = 200, 1000


def read(arguments: Iterable[Parameter], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every argument, defaults included; null counts as left out. Raises Problem 400."""
    if objects := [name for name, value in sent.items() if isinstance(value, dict)]:
        detail = "takes text, a number, true, false, or a list of these"
        raise parameters.invalid(ParameterFault(name, "invalid", detail) for name in objects)
    query = MultiDict((name[:60], _text(value)) for name, value in sent.items() if value is not None)
    by_name = {argument.name: argument for argument in arguments}
    return parameters.values(by_name, query, "no such argument; there are")


def input_schema(arguments: Iterable[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    properties = {argument.name: {**argument.schema, "description": argument.description} for argument in arguments}
    required = [argument.name for argument in arguments if argument.required]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {**schema, "additionalProperties": False}


def _text(value: Any) -> str:
    """Return a JSON value as a query would spell it; 200.0 is a whole number."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").removesuffix(".")
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return json.dumps(value)


def zone_id(text: str) -> str:
    """Return a zone's exact id. Raises ValueError."""
    name = text.strip().upper().replace("_", "-")
    if name not in ZONES:
        raise ValueError(f"{text[:40]!r} is no zone; zones are {', '.join(ZONES)}")
    return name


def metric_name(text: str) -> str:
    """Return a metric as paths spell it, `carbon-intensity`. Raises ValueError."""
    name = text.strip().lower().replace("_", "-")
    if name not in BY_PATH:
        words = ", ".join(PUBLIC)
        raise ValueError(f"{text[:40]!r} is no metric; metrics are {words}")
    return name


def _list_of(read_word: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    return lambda text: tuple(dict.fromkeys(read_word(word) for word in text.split(",")))


def _stored_name(text: str) -> str:
    return BY_PATH[metric_name(text)].value


def _where(metric: Metric) -> str:
    return f"{metric.value}{' (yearly)' if metric in YEARLY else ''}: {', '.join(zones_with(metric))}"


_STRINGS = {"type": "array", "items": {"type": "string"}}
_MOMENT = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_SPELLINGS = list(dict.fromkeys(word for name, metric in BY_PATH.items() for word in (metric.value, name)))

# fmt: off
ZONE = Parameter(
    "zone", "Zone id, as list_zones gives it.", zone_id, {"type": "string", "enum": list(ZONES)}, required=True)
HISTORY_ZONE = replace(ZONE, required=False)
HISTORY_ZONES = Parameter(
    "zones", "Instead of zone: several zone ids, a column each; not for generation, capacity or by=border; dates are "
    "not taken then. Costs a call a zone.", _list_of(zone_id), _STRINGS)
ZONES_WANTED = replace(HISTORY_ZONES, description="Only these zone ids. Default: all.")
METRIC = Parameter(
    "metric", f"{', '.join(m for m in PUBLIC if zones_with(m) == tuple(ZONES))}: all zones. "
    f"{'. '.join(_where(m) for m in PUBLIC if zones_with(m) != tuple(ZONES))}.",
    metric_name, {"type": "string", "enum": _SPELLINGS}, required=True)
METRICS = Parameter("metric", "Only these metrics, such as price. Default: all.", _list_of(_stored_name), _STRINGS)
START = replace(
    query.START, description="First instant of the window: a date (2026-11-20: midnight of the zone's civil time), "
    "Unix seconds, or RFC 3339 with an offset such as 2026-11-20T00:00:00Z. Default: 24 hours before end.",
    schema=_MOMENT)
END = replace(query.END, description="End of the window, exclusive; as start. Default: now.", schema=_MOMENT)
AS_OF = replace(
    query.AS_OF, description="The rows as they were known at that instant; as start. At most ten seconds ago, which "
    "the answer states; never ahead. Default: the newest.", schema=_MOMENT)
LIMIT = whole("limit", "Most rows in the answer; a sample holds 50 at most.", 1, MOST_ROWS, DEFAULT_ROWS)
ORDER = replace(
    query.ORDER, description="Which rows come first, and stay where limit cuts: asc the oldest, desc the newest. "
    "Default: the newest stay.", schema={"type": "string", "enum": ["asc", "desc"]}, default=None)
INTERVAL = replace(
    query.INTERVAL, description="Time-weighted means over UTC hours or the zone's civil days instead of the stored "
    "rows; not for capacity.")
MARKET = replace(
    query.MARKET, description="Price only: the day-ahead auction instead of the headline price. In Europe the headline "
    "is the auction; GB and AU have none.")
BY = replace(query.BY, description="Interchange only: rows for each border or tie instead of the net.")
SAMPLE = replace(
    query.SAMPLE, description="false: without a key, no free sample but the offer to pay (x402).",
    schema={"type": "boolean", "default": True}, default=True)
API_KEY = Parameter(
    "api_key", "Free API key; the header Authorization: Bearer <key> is better and goes before it.", str,
    {"type": "string"}, "")
HOURS = replace(
    query.HOURS, description="Length of the block in hours, in steps of a quarter.",
    schema={"type": "number", "minimum": 0.25, "maximum": 24, "default": 3})
WITHIN = replace(
    query.WITHIN, description="How many hours ahead to look. Default: as far as prices are known.",
    schema={"type": "number", "minimum": 0.25, "maximum": 96})
KIND = replace(query.KIND, description="lowest: the cheapest block. highest: the dearest.")
WINDOW_METRIC = replace(query.WINDOW_METRIC, description="What is compared. Only prices are known ahead.")
ABOVE = replace(query.ABOVE, description="Also the time above this value, in the series' unit.")
BELOW = replace(query.BELOW, description="Also the time below this value.")
# fmt: on
