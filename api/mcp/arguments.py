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
from api.endpoints.table import ENDPOINTS
from api.http import parameters
from api.http.parameters import Parameter, find_word, read_zone, whole
from api.http.problems import ParameterFault
from warehouse.market.metrics import BY_PATH, PUBLIC, SCALAR, YEARLY, Metric
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


def require_taken(name: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that the path of a metric does not take. Raises Problem 400."""
    for argument in ("interval", "market", "by", "kind"):
        if arguments.get(argument) not in (None, "actual") and argument not in ENDPOINTS[name].parameters:
            raise parameters.conflict(argument, f"not for {name}")


def input_schema(arguments: Iterable[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    properties = {
        argument.name: {**_without_unset(argument), "description": argument.description} for argument in arguments
    }
    required = [argument.name for argument in arguments if argument.required]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {**schema, "additionalProperties": False}


def _without_unset(argument: Parameter) -> Mapping[str, Any]:
    """Return the schema of an argument without the word for leaving it out: tools leave it out."""
    schema = argument.schema
    if argument.default is not None or "default" not in schema:
        return schema
    if "anyOf" in schema:
        return dict(schema["anyOf"][0])
    if "enum" in schema:
        return {"type": schema["type"], "enum": [word for word in schema["enum"] if word != schema["default"]]}
    return schema


def _text(value: Any) -> str:
    """Return a JSON value as a query would spell it; 200.0 is a whole number."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").removesuffix(".")
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return json.dumps(value)


def _list_of(read_word: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    return lambda text: tuple(dict.fromkeys(read_word(word) for word in text.split(",")))


def _scalar_name(text: str) -> str:
    name = BY_PATH[find_word(text, BY_PATH)].value
    if name not in SCALAR:
        raise ValueError(f"{name} is in no snapshot; metrics are {', '.join(SCALAR)}")
    return name


def _where(metric: Metric) -> str:
    return f"{metric.value}{' (yearly)' if metric in YEARLY else ''}: {', '.join(zones_with(metric))}"


def _own(parameter: Parameter, words: str, schema: Mapping[str, Any] | None = None) -> Parameter:
    """Return a parameter of REST in the words of a tool, and with the JSON that it takes."""
    return replace(parameter, description=words, schema=schema or parameter.schema)


_STRING, _MOMENT = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_METRIC = {"type": "string", "enum": [*map(str, PUBLIC)]}

# fmt: off
ZONE = Parameter("zone", "Zone id, such as FR.", read_zone, _STRING, required=True)
ONE_ZONE = replace(ZONE, required=False)
ALL_ZONES = _own(ONE_ZONE, "Only this zone. Default: all.")
HISTORY_ZONES = Parameter(
    "zones", "Instead of zone: several, a column each; not for generation, capacity or by. A call's price each.",
    _list_of(read_zone), {"type": "array", "items": _STRING})
ZONES_WANTED = _own(HISTORY_ZONES, "Only these zones. Default: all.")
METRIC = Parameter(
    "metric", f"{', '.join(m for m in PUBLIC if zones_with(m) == tuple(ZONES))}: all zones. "
    f"{'. '.join(_where(m) for m in PUBLIC if zones_with(m) != tuple(ZONES))}.",
    lambda text: find_word(text, BY_PATH), _METRIC, required=True)
MEASURED = _own(
    METRIC, "As in get_history; not capacity.", {**_METRIC, "enum": [m.value for m in PUBLIC if m not in YEARLY]})
CHANGED_METRIC = Parameter(
    "metric", "Only this metric. Default: all.", lambda text: BY_PATH[find_word(text, BY_PATH)].value,
    _METRIC)
METRICS = Parameter(
    "metric", "Only these metrics. Default: all.", _list_of(_scalar_name),
    {"type": "array", "items": {"type": "string", "enum": [*map(str, SCALAR)]}})
START = _own(
    query.START, "A date, month or year, ISO 8601 (without offset: the zone's civil time), Unix seconds, "
    "today, yesterday, or -24h, -7d back from now. Default: 24 hours before end.", _MOMENT)
MEASURED_START, MEASURED_MARKET = (_own(argument, "As in get_history.") for argument in (START, query.MARKET))
END = _own(query.END, "Exclusive; as start. Default: now.", _MOMENT)
AS_OF = _own(query.AS_OF, "The rows as known at that time; as start.", _MOMENT)
SINCE = _own(
    query.SINCE, "A time, as start of get_history; or next of an answer before. Default: 30 days ago.", _MOMENT)
LIMIT = whole("limit", "Most rows in the answer; a sample holds 50 at most.", 1, MOST_ROWS, DEFAULT_ROWS)
ORDER = replace(
    query.ORDER, description="The rows that come first, and stay where limit cuts: asc the oldest, desc the newest. "
    "Default: the newest stay.", schema={"type": "string", "enum": ["asc", "desc"]}, default=None)
INTERVAL = _own(
    query.INTERVAL, "Time-weighted means of UTC hours, civil days, weeks, months, years; not for capacity.")
MARKET = _own(
    query.MARKET, "Price only: the day-ahead auction, which in Europe is the headline price; GB, AU: none.")
BY = _own(query.BY, "Interchange only: each border or tie, not the net.")
FORECAST = _own(query.FORECAST, "forecast: what the publisher expects, by default of the next 24 hours.")
LEAD = _own(query.LEAD, "Of forecasts, the newest published so long ahead: 24h.", _STRING)
SAMPLE = replace(
    query.SAMPLE, description="false: no free sample but the offer to pay (x402).",
    schema={"type": "boolean", "default": True}, default=True)
API_KEY = Parameter("api_key", "Better as header Authorization: Bearer.", str, _STRING, "")
HOURS = _own(
    query.HOURS, "Length of the block, in quarters of an hour.",
    {"type": "number", "minimum": 0.25, "maximum": 24, "default": 3})
SLOTS = _own(query.SLOTS, "In place of hours.", {"type": "integer"})
KWH = _own(query.KWH, "In place of hours, with kw.", {"type": "number"})
KW = _own(query.KW, "Power.", {"type": "number"})
FROM = _own(query.FROM, "As start of get_history.", _STRING)
TO = _own(query.TO, "Exclusive; not with within.", _STRING)
WITHIN = _own(query.WITHIN, "Hours to look ahead.", {"type": "number", "minimum": 0.25, "maximum": 96})
BETWEEN = _own(query.BETWEEN, "Civil times: 22:00-07:00.", _STRING)
KIND = _own(query.KIND, "Cheapest or dearest.")
WINDOW_METRIC = _own(query.WINDOW_METRIC, "What is compared.")
ABOVE = _own(query.ABOVE, "Also the time above this value, in the series' unit.")
BELOW = _own(query.BELOW, "Also the time below this value.")
# fmt: on
