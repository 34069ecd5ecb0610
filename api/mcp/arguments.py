"""The arguments of tools and prompts: parameters of REST whose values come as JSON.

Schemas stay within what every host takes: no `$ref`, no lists of types, no combinators at the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.documents.catalogue import SERIES
from api.endpoints import query_parameters as query
from api.http.parameters import Parameter, whole
from warehouse.market import Metric
from warehouse.zones import ZONES, zones_with

DEFAULT_ROWS, MOST_ROWS = 200, 1000


class BadArguments(Exception):
    """The call does not fit the tool's input schema; the text names every fault and what is allowed."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter, and the JSON Schema that a model sees."""

    parameter: Parameter
    schema: Mapping[str, Any]
    required: bool = False

    @property
    def name(self) -> str:
        return self.parameter.name


def read(arguments: Iterable[Argument], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every argument, defaults included; null counts as left out. Raises BadArguments."""
    known = {argument.name: argument for argument in arguments}
    faults = [
        f"{name[:40]}: no such argument; there are {', '.join(known) or 'none'}" for name in sent if name not in known
    ]
    values = {name: argument.parameter.default for name, argument in known.items()}
    for name, argument in known.items():
        try:
            if sent.get(name) is not None:
                values[name] = argument.parameter.read(_text(sent[name]))
            elif argument.required:
                raise ValueError("required")
        except ValueError as fault:
            faults.append(f"{name}: {fault}")
    if faults:
        raise BadArguments("; ".join(faults[:5]))
    return values


def input_schema(arguments: Iterable[Argument]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    properties = {argument.name: dict(argument.schema) for argument in arguments}
    required = [argument.name for argument in arguments if argument.required]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {**schema, "additionalProperties": False}


def _text(value: Any) -> str:
    """Return a JSON value as a query would spell it; 200.0 is a whole number. Raises ValueError."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value).strip()
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").removesuffix(".")
    if isinstance(value, list):
        return ",".join(map(_text, value))
    raise ValueError("takes text, a number, true, false, or a list of these")


def zone_id(text: str) -> str:
    """Return a zone's exact id. Raises ValueError."""
    name = text.strip().upper().replace("_", "-")
    if name not in ZONES:
        raise ValueError(f"{text[:40]!r} is no zone; zones are {', '.join(ZONES)}")
    return name


def metric_name(text: str) -> str:
    """Return a metric as paths spell it, `carbon-intensity`. Raises ValueError."""
    name = text.strip().lower().replace("_", "-")
    if name not in SERIES:
        words = ", ".join(metric.value for metric in SERIES.values())
        raise ValueError(f"{text[:40]!r} is no metric; metrics are {words}")
    return name


def _list_of(read_word: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    return lambda text: tuple(dict.fromkeys(read_word(word) for word in text.split(",")))


def _stored_name(text: str) -> str:
    return SERIES[metric_name(text)].value


def _named(
    parameter: Parameter, words: str, schema: Mapping[str, Any] | None = None, required: bool = False
) -> Argument:
    return Argument(parameter, {**(schema or parameter.schema), "description": words}, required)


def _where(metric: Metric) -> str:
    return f"{metric.value}{' (yearly)' if metric is Metric.CAPACITY else ''}: {', '.join(zones_with(metric))}"


_STRING, _STRINGS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_MOMENT = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_SPELLINGS = list(dict.fromkeys(word for name, metric in SERIES.items() for word in (metric.value, name)))
_ZONE = Parameter("zone", "", zone_id, {"type": "string", "enum": list(ZONES)})
_ZONES = Parameter("zones", "", _list_of(zone_id), _STRINGS)
_ROWS = whole("limit", "", 1, MOST_ROWS, DEFAULT_ROWS)

# fmt: off
ZONE = _named(_ZONE, "Zone id, as list_zones gives it.", required=True)
HISTORY_ZONE = replace(ZONE, required=False)
HISTORY_ZONES = _named(
    _ZONES, "Instead of zone: several zone ids, a column each; not for generation, capacity or by=border; dates are "
    "not taken then. Costs a call a zone.")
ZONES_WANTED = _named(_ZONES, "Only these zone ids. Default: all.")
METRIC = _named(
    Parameter("metric", "", metric_name, {"type": "string", "enum": _SPELLINGS}),
    "price, demand and interchange: all zones. "
    f"{'. '.join(_where(m) for m in (Metric.GENERATION, Metric.CARBON_INTENSITY, Metric.CAPACITY))}.", required=True)
METRICS = _named(
    Parameter("metric", "", _list_of(_stored_name), _STRINGS), "Only these metrics, such as price. Default: all.")
START = _named(
    query.START, "First instant of the window: a date (2026-11-20: midnight of the zone's civil time), Unix seconds, "
    "or RFC 3339 with an offset such as 2026-11-20T00:00:00Z. Default: 24 hours before end.", _MOMENT)
END = _named(query.END, "End of the window, exclusive; as start. Default: now.", _MOMENT)
AS_OF = _named(
    query.AS_OF, "The rows as they were known at that instant; as start. At most ten seconds ago, which the answer "
    "states; never ahead. Default: the newest.", _MOMENT)
LIMIT = _named(
    _ROWS, "Most rows in the answer: the first ones of the window, in order. A sample holds 50 at most.")
ORDER = _named(query.ORDER, "asc: oldest first. desc: newest first.")
INTERVAL = _named(
    query.INTERVAL, "Time-weighted means over UTC hours or the zone's civil days instead of the stored rows; not for "
    "capacity.")
MARKET = _named(
    query.MARKET, "Price only: the day-ahead auction instead of the headline price. In Europe the headline is the "
    "auction; GB and AU have none.")
BY = _named(query.BY, "Interchange only: rows for each border or tie instead of the net.")
SAMPLE = _named(
    replace(query.SAMPLE, default=True), "false: without a key, no free sample but the offer to pay (x402).",
    {"type": "boolean", "default": True})
API_KEY = _named(
    Parameter("api_key", "", str, _STRING, ""),
    "Free API key; the header Authorization: Bearer <key> is better and goes before it.")
HOURS = _named(
    query.HOURS, "Length of the block in hours, in steps of a quarter.",
    {"type": "number", "minimum": 0.25, "maximum": 24, "default": 3})
WITHIN = _named(
    query.WITHIN, "How many hours ahead to look. Default: as far as prices are known.",
    {"type": "number", "minimum": 0.25, "maximum": 96})
KIND = _named(query.KIND, "lowest: the cheapest block. highest: the dearest.")
WINDOW_METRIC = _named(query.WINDOW_METRIC, "What is compared. Only prices are known ahead.")
ABOVE = _named(query.ABOVE, "Also the time above this value, in the series' unit.")
BELOW = _named(query.BELOW, "Also the time below this value.")
# fmt: on
