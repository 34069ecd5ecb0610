"""How arguments of the MCP tools are read and checked, and a tool's input schema made. The list: `argument_list`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.documents.catalogue import SERIES
from api.http.parameters import TIMES, Moment, parse_time
from warehouse.errors import BadWindow
from warehouse.zones import ZONES

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


def zone_id(sent: Any) -> str:
    """A zone id, in any case and with `_` for `-`."""
    if isinstance(sent, str) and (name := sent.strip().upper().replace("_", "-")) in ZONES:
        return name
    raise ValueError(f"{_shown(sent)} is no zone; zones are {', '.join(ZONES)}")


def metric_name(sent: Any) -> str:
    """A metric as paths spell it, `carbon-intensity`."""
    if isinstance(sent, str) and (name := sent.strip().lower().replace("_", "-")) in SERIES:
        return name
    raise ValueError(
        f"{_shown(sent)} is no metric; metrics are {', '.join(metric.value for metric in SERIES.values())}"
    )


def moment(sent: Any) -> Moment:
    stamp = sent.strip() if isinstance(sent, str) else str(_whole(sent))
    try:
        return parse_time(stamp)
    except (BadWindow, OverflowError):
        raise ValueError(f"{_shown(sent)}: takes {TIMES}") from None


def row_limit(sent: Any) -> int:
    limit = int(sent) if isinstance(sent, str) and re.fullmatch(r"\s*[0-9]{1,6}\s*", sent) else _whole(sent)
    if limit is None or not 1 <= limit <= MOST_ROWS:
        raise ValueError(f"takes a whole number from 1 to {MOST_ROWS}")
    return limit


def _whole(sent: Any) -> int | None:
    """A whole number as JSON Schema means it: 200.0 is one, true is none."""
    if isinstance(sent, float) and sent.is_integer():
        return int(sent)
    return sent if isinstance(sent, int) and not isinstance(sent, bool) else None


def key_text(sent: Any) -> str:
    if not isinstance(sent, str):
        raise ValueError("takes a key as text")
    return sent


def one_of(*words: str) -> Callable[[Any], str]:
    def read(sent: Any) -> str:
        if sent not in words:
            raise ValueError(f"takes {' or '.join(words)}")
        return str(sent)

    return read


def words(allowed: Callable[[Any], str]) -> Callable[[Any], tuple[str, ...]]:
    """A list of words, or a text with commas, each as `allowed` reads it."""

    def read(sent: Any) -> tuple[str, ...]:
        parts = sent.split(",") if isinstance(sent, str) else sent
        if not isinstance(parts, list) or not 1 <= len(parts) <= len(ZONES):
            raise ValueError("takes a list of words")
        return tuple(dict.fromkeys(allowed(part) for part in parts))

    return read


def yes_no(sent: Any) -> bool:
    if isinstance(sent, str) and sent.strip().lower() in ("true", "false"):
        return sent.strip().lower() == "true"
    if not isinstance(sent, bool):
        raise ValueError("takes true or false")
    return sent


def seconds_of_hours(most: int) -> Callable[[Any], int]:
    """A length in hours as a number or as text, `3`, `1.5`, `"24h"`, in steps of a quarter; gives seconds."""

    def read(sent: Any) -> int:
        text = sent.strip().removesuffix("h") if isinstance(sent, str) else ""
        length = float(text) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,2})?", text, re.ASCII) else sent
        if isinstance(length, bool) or not isinstance(length, int | float):
            raise ValueError("takes a number of hours")
        if not 0 < length <= most or length * 4 % 1:
            raise ValueError(f"takes hours in steps of a quarter, above 0 and up to {most}")
        return int(length * 4) * 900

    return read


def number(sent: Any) -> float:
    """A finite number, also as text."""
    text = sent.strip() if isinstance(sent, str) else ""
    value = float(text) if re.fullmatch(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", text, re.ASCII) else sent
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
        raise ValueError("takes a number")
    return float(value)
