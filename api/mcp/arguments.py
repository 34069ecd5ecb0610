"""Arguments of the MCP tools: what each takes, from which a tool's input schema and the check of a call both follow.

Schemas stay within what every host takes: no `$ref`, no lists of types, no combinators at the root.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.documents.catalogue import SERIES
from api.series.moments import Moment, moment_of
from warehouse.errors import BadWindow
from warehouse.market import Metric
from warehouse.zones import ZONES, zones_with

DEFAULT_ROWS, MOST_ROWS = 200, 1000


class BadArguments(Exception):
    """The call does not fit the tool's input schema; the text names every fault and what is allowed."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `read` turns what was sent into a value, or raises ValueError with what is allowed."""

    name: str
    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    required: bool = False
    default: Any = None


def values(arguments: Iterable[Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every argument, defaults included; null counts as left out. Raises BadArguments."""
    known = {argument.name: argument for argument in arguments}
    faults = [
        f"{name[:40]}: no such argument; there are {', '.join(known) or 'none'}" for name in given if name not in known
    ]
    values_by_name = {}
    for name, argument in known.items():
        sent = given.get(name)
        if sent is None and argument.required:
            faults.append(f"{name}: required")
            continue
        try:
            values_by_name[name] = argument.default if sent is None else argument.read(sent)
        except ValueError as fault:
            faults.append(f"{name}: {fault}")
    if faults:
        raise BadArguments("; ".join(faults[:5]))
    return values_by_name


def input_schema(arguments: Iterable[Argument]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    listed = list(arguments)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: dict(argument.schema) for argument in listed},
    }
    required = [argument.name for argument in listed if argument.required]
    return {**schema, **({"required": required} if required else {}), "additionalProperties": False}


def _shown(sent: Any) -> str:
    return repr(sent)[:40]


def _zone(sent: Any) -> str:
    """A zone id, in any case and with `_` for `-`."""
    if isinstance(sent, str) and (name := sent.strip().upper().replace("_", "-")) in ZONES:
        return name
    raise ValueError(f"{_shown(sent)} is no zone; zones are {', '.join(ZONES)}")


def _metric(sent: Any) -> str:
    """A metric as paths spell it, `carbon-intensity`."""
    if isinstance(sent, str) and (name := sent.strip().lower().replace("_", "-")) in SERIES:
        return name
    raise ValueError(
        f"{_shown(sent)} is no metric; metrics are {', '.join(metric.value for metric in SERIES.values())}"
    )


def _moment(sent: Any) -> Moment:
    stamp = sent.strip() if isinstance(sent, str) else str(_whole(sent))
    try:
        return moment_of(stamp)
    except (BadWindow, OverflowError):
        raise ValueError(
            f"{_shown(sent)} is not a date, Unix seconds or RFC 3339 with an offset, from 1970 to 9999"
        ) from None


def _limit(sent: Any) -> int:
    limit = int(sent) if isinstance(sent, str) and re.fullmatch(r"\s*[0-9]{1,6}\s*", sent) else _whole(sent)
    if limit is None or not 1 <= limit <= MOST_ROWS:
        raise ValueError(f"takes a whole number from 1 to {MOST_ROWS}")
    return limit


def _whole(sent: Any) -> int | None:
    """A whole number as JSON Schema means it: 200.0 is one, true is none."""
    if isinstance(sent, float) and sent.is_integer():
        return int(sent)
    return sent if isinstance(sent, int) and not isinstance(sent, bool) else None


def _key(sent: Any) -> str:
    if not isinstance(sent, str):
        raise ValueError("takes a key as text")
    return sent


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(sent: Any) -> str:
        if sent not in words:
            raise ValueError(f"takes {' or '.join(words)}")
        return str(sent)

    return read


def _words(allowed: Callable[[Any], str]) -> Callable[[Any], tuple[str, ...]]:
    """A list of words, or a text with commas, each as `allowed` reads it."""

    def read(sent: Any) -> tuple[str, ...]:
        parts = sent.split(",") if isinstance(sent, str) else sent
        if not isinstance(parts, list) or not 1 <= len(parts) <= len(ZONES):
            raise ValueError("takes a list of words")
        return tuple(dict.fromkeys(allowed(part) for part in parts))

    return read


def _yes_no(sent: Any) -> bool:
    if isinstance(sent, str) and sent.strip().lower() in ("true", "false"):
        return sent.strip().lower() == "true"
    if not isinstance(sent, bool):
        raise ValueError("takes true or false")
    return sent


def _few(metric: Metric) -> str:
    return ", ".join(zones_with(metric))


_SPELLINGS = list(dict.fromkeys(word for name, metric in SERIES.items() for word in (metric.value, name)))
_INSTANT: Mapping[str, Any] = {"anyOf": [{"type": "string"}, {"type": "integer"}]}

ZONE = Argument(
    "zone",
    _zone,
    {
        "type": "string",
        "enum": list(ZONES),
        "description": "Zone id, as list_zones gives it.",
    },
    required=True,
)
METRIC = Argument(
    "metric",
    _metric,
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
    _moment,
    {
        **_INSTANT,
        "description": "First instant of the window: a date (2026-11-20: midnight of the zone's civil time), Unix "
        "seconds, or RFC 3339 with an offset such as "
        "2026-11-20T00:00:00Z. "
        "Default: 24 hours before end.",
    },
)
END = Argument("end", _moment, {**_INSTANT, "description": "End of the window, exclusive; as start. Default: now."})
LIMIT = Argument(
    "limit",
    _limit,
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
    _one_of("asc", "desc"),
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
    _one_of("1h", "1d"),
    {
        "type": "string",
        "enum": ["1h", "1d"],
        "description": "Time-weighted means over UTC hours or the zone's civil days instead of the stored rows; not "
        "for capacity.",
    },
)
MARKET = Argument(
    "market",
    _one_of("day_ahead"),
    {
        "type": "string",
        "enum": ["day_ahead"],
        "description": "Price only: the day-ahead auction instead of the headline price. In Europe the headline is "
        "the auction; GB and AU have none.",
    },
)
BY = Argument(
    "by",
    _one_of("border"),
    {
        "type": "string",
        "enum": ["border"],
        "description": "Interchange only: rows for each border or tie instead of the net.",
    },
)
AS_OF = Argument(
    "as_of",
    _moment,
    {**_INSTANT, "description": "The rows as they were known at that instant; as start. Default: the newest."},
)
METRICS = Argument(
    "metric",
    _words(lambda sent: SERIES[_metric(sent)].value),
    {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only these metrics, such as price. Default: all.",
    },
)
ZONES_WANTED = Argument(
    "zones",
    _words(_zone),
    {"type": "array", "items": {"type": "string"}, "description": "Only these zone ids. Default: all."},
)
SAMPLE = Argument(
    "sample",
    _yes_no,
    {
        "type": "boolean",
        "default": True,
        "description": "false: without a key, no free sample but the offer to pay (x402).",
    },
    default=True,
)
API_KEY = Argument(
    "api_key",
    _key,
    {
        "type": "string",
        "description": "Free API key; the header Authorization: Bearer <key> is better and goes before it.",
    },
    default="",
)
