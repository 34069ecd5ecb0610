"""Define the arguments of tools: parameters of REST whose values arrive as JSON.

Schemas use only what every host accepts: no `$ref`, no lists of types, no combinators at the root.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from werkzeug.datastructures import MultiDict

from api.endpoints import query_parameters as query
from api.http import parameters
from api.http.messages import QueryValues
from api.http.parameters import Parameter, find_word, read_zone, whole, words
from warehouse.figures.resample import LONGEST
from warehouse.market.metrics import BY_PATH, PUBLIC, SCALAR, YEARLY
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import DEFAULT_SET, ZONES, zones_with

DEFAULT_ROWS, MOST_ROWS = 200, 1000


def read_arguments(arguments: Iterable[Parameter], sent: Mapping[str, Any]) -> QueryValues:
    """Return the value of every argument, including defaults. Null counts as missing. Raises Problem 400."""
    parameters.check_count(len(sent))
    texts = MultiDict((name[:60], _text(value)) for name, value in sent.items() if value is not None)
    return parameters.values(
        {argument.name: argument for argument in arguments}, texts, "is not an argument of this tool"
    )


def _text(value: Any) -> str:
    """Return a JSON value as text in a query. 200.0 becomes a whole number.

    No argument takes an object or a nested list. They become `{}` and `[]`, however deep they are, and are rejected.
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").removesuffix(".")
    if isinstance(value, list):
        return ",".join("[]" if isinstance(each, list) else _text(each) for each in value)
    return "{}" if isinstance(value, dict) else json.dumps(value)


def input_schema(arguments: Iterable[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    properties = {argument.name: {**argument.schema, "description": argument.description} for argument in arguments}
    required = [argument.name for argument in arguments if argument.required]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {**schema, "additionalProperties": False}


FURTHER = (
    f", and {len(ZONES) - len(DEFAULT_SET)} more in the response of list_zones" if len(ZONES) > len(DEFAULT_SET) else ""
)
"""The hint at zones that EMDS_ZONES adds. Their ids would fill a model's context."""


def _where(metric: Metric) -> str:
    zones = zones_with(metric)
    named = [zone for zone in zones if zone in DEFAULT_SET]
    more = ", and others in the response of list_zones" if len(zones) > len(named) else ""
    return f"{metric.value}{' (yearly)' if metric in YEARLY else ''}: {', '.join(named)}{more}"


def _own(parameter: Parameter, words: str, schema: Mapping[str, Any] | None = None, **changes: Any) -> Parameter:
    """Return a parameter of REST with a tool's description and JSON schema."""
    return replace(parameter, description=words, schema=schema or parameter.schema, **changes)


def _enum(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


_STRING, _MOMENT = {"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}
_METRIC, _NUMBER = _enum(*PUBLIC), {"type": "number"}

# fmt: off
ZONE = Parameter("zone", "Zone ID, for example FR.", read_zone, _STRING, required=True)
ONE_ZONE = replace(ZONE, required=False)
ALL_ZONES = _own(ONE_ZONE, "Only this zone. Default: all.")
ZONES_WANTED = _own(
    query.SNAPSHOT_ZONES, "Only these zones. Default: all.", {"type": "array", "items": _STRING}, also="")
HISTORY_ZONES = _own(ZONES_WANTED, "Several zones, one column each. The price is per zone.")
METRIC = Parameter(
    "metric", f"{', '.join(m for m in PUBLIC if zones_with(m) == tuple(ZONES))}: all zones. "
    f"{'. '.join(_where(m) for m in PUBLIC if zones_with(m) != tuple(ZONES))}.",
    lambda text: find_word(text, BY_PATH), _METRIC, required=True)
MEASURED = _own(METRIC, "As in get_history, except capacity.", _enum(*(m for m in PUBLIC if m not in YEARLY)))
CHANGED_METRIC = _own(query.CHANGED_METRIC, "Only this metric. Default: all.")
METRICS = _own(
    words("metric", "", SCALAR, "price"), "Only these metrics. Default: all.",
    {"type": "array", "items": _enum(*SCALAR)})
START = _own(
    query.START, "Date, month, year, ISO 8601 (local to the zone without an offset), Unix seconds, today, yesterday, "
    "or a time back from now: -24h, -7d. Default: 24 hours before end.", _MOMENT)
END = _own(query.END, "Not included. Same formats as start. Default: now.", _MOMENT)
AS_OF = _own(query.AS_OF, "The rows as known at this time. Same formats as start.", _MOMENT)
SINCE = _own(
    query.SINCE, "A time, as start in get_history, or next from a previous result. Default: 30 days ago.", _MOMENT)
LIMIT = whole("limit", "Maximum number of rows. Samples: at most 50.", 1, MOST_ROWS, DEFAULT_ROWS)
ORDER = _own(
    query.ORDER, "Rows that come first and are kept if limit cuts: asc the oldest, desc the newest (default).",
    _enum("asc", "desc"), default=None)
INTERVAL = _own(
    query.INTERVAL, "Time-weighted means of UTC hours or local days, weeks, months or years. Not for capacity.",
    _enum(*LONGEST))
MARKET = _own(
    query.MARKET, "Price only: the day-ahead auction, in Europe the headline price; none for GB and AU.",
    _enum("day_ahead"))
BY = _own(query.BY, "Interchange only: each border or interconnector instead of the net.", _enum("border"))
BASIS = _own(query.BASIS, "Carbon only: the estimate, to compare zones.", _enum("estimate"))
MEASURED_START, MEASURED_END, MEASURED_MARKET, MEASURED_BASIS, MEASURED_AS_OF = (
    _own(argument, "As in get_history.") for argument in (START, END, MARKET, BASIS, AS_OF))
FORECAST = _own(query.FORECAST, "forecast: the publisher's own forecast, by default for the next 24 hours.")
LEAD = _own(
    query.LEAD, "Forecasts only: the newest published at least this long ahead, such as 24h.", _STRING)
SAMPLE = _own(
    query.SAMPLE, "false: a payment offer (x402), not a sample.",
    {"type": "boolean", "default": True}, default=True)
API_KEY = Parameter("api_key", "Prefer the header Authorization: Bearer.", str, _STRING, "")
HOURS = _own(query.HOURS, "Length of the block in hours, in steps of 0.25, up to 24. Default: 3.", _NUMBER)
SLOTS = _own(query.SLOTS, "Number of single intervals, instead of hours.", {"type": "integer"})
KWH = _own(query.KWH, "Energy in kWh, with kw, instead of hours.", _NUMBER)
KW = _own(query.KW, "Power in kW.", _NUMBER)
FROM = _own(query.FROM, "Earliest time. Same formats as get_history's start.", _STRING)
TO = _own(query.TO, "Latest time, not included. Not with within.", _STRING)
WITHIN = _own(query.WITHIN, "Hours ahead to search, up to 96.", _NUMBER)
BETWEEN = _own(query.BETWEEN, "Daily range in local time: 22:00-07:00.", _STRING)
FIND = _own(query.FIND, "Cheapest or most expensive.")
WINDOW_METRIC = _own(query.WINDOW_METRIC, "Metric to compare.")
ABOVE = _own(query.ABOVE, "Also the time above this value, in its unit.")
BELOW = _own(query.BELOW, "Also the time below this value.")
# fmt: on
