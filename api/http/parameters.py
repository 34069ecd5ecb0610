"""Query parameters: what each takes, from which both the check of a request and its entry in OpenAPI follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from werkzeug.datastructures import MultiDict

from api.http.messages import Request
from api.http.problems import ParameterFault, Problem
from warehouse.errors import BadWindow
from warehouse.market import clock
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.zones import ZONES
from warehouse.series.change_log import CURSOR_PATTERN

Moment = int | date
"""An instant as callers give it: Unix seconds, or a date that stands for its first instant in a zone's civil time."""
TIMES = "a date from 1971 to 9998, or Unix seconds or RFC 3339 with an offset from 1970 to 9999"
"""What `parse_time` takes, in words."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

_TRUE, _FALSE = ("true", "1"), ("false", "0")
_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?")
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_CHANGE_CURSOR = re.compile(f"{CURSOR_PATTERN}|now")
_HOURS = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?")

_CREDENTIALS = ("HTTP_AUTHORIZATION", "HTTP_X_API_KEY", "HTTP_PAYMENT_SIGNATURE", "HTTP_X_PAYMENT")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter. `read` turns its text into a value, or raises ValueError with what is allowed."""

    name: str
    description: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    """JSON Schema of what is allowed, as OpenAPI shows it."""
    default: Any = None
    example: Any = field(default=None, compare=False)
    comma: bool = False
    """A list with commas (OpenAPI: style form, not exploded)."""
    required: bool = False


def values(
    parameters: Mapping[str, Parameter],
    query: MultiDict[str, str],
    unknown: str = "unknown parameter; this path knows",
) -> dict[str, Any]:
    """Return the value of every parameter, defaults included. Raises Problem that names every fault."""
    values_by_name = {name: parameter.default for name, parameter in parameters.items()}
    faults = []
    for name, texts in query.lists():
        parameter = parameters.get(name)
        if parameter is None:
            faults.append(ParameterFault(name[:60], "unknown", f"{unknown} {', '.join(parameters) or 'none'}"))
        elif len(texts) > 1:
            faults.append(ParameterFault(name, "repeated", "given more than once"))
        else:
            try:
                values_by_name[name] = parameter.read(texts[0])
            except ValueError as fault:
                faults.append(ParameterFault(name, "invalid", str(fault)))
    for name, parameter in parameters.items():
        if parameter.required and name not in query:
            faults.append(ParameterFault(name, "missing", "required"))
    if faults:
        raise invalid(faults)
    return values_by_name


def query_without_blank_probes(request: Request) -> MultiDict[str, str]:
    """Return the query of a request to a paid path, without the empty parameters of a probe.

    Catalogues of x402 probe a path by GET without credentials and with empty parameters, and expect its offer. From
    everybody else an empty parameter is a mistake.
    """
    query = request.query
    is_blank = query.endswith("=") or "=&" in query
    if not is_blank or request.method != "GET" or request.sample or any(map(request.header, _CREDENTIALS)):
        return request.args
    return MultiDict((name, value) for name, value in request.args.items(multi=True) if value)


def invalid(faults: Iterable[ParameterFault]) -> Problem:
    """400 with every fault, the first ones in words too."""
    first = list(faults)[:20]
    return Problem("invalid-parameters", "; ".join(f"{f.parameter}: {f.detail}" for f in first[:3]) + ".", first)


def conflict(name: str, detail: str) -> Problem:
    """400 for a parameter that does not fit the others."""
    return invalid([ParameterFault(name, "conflict", detail)])


def parse_time(text: str) -> Moment:
    """A date (`2026-11-21`), Unix seconds, or RFC 3339 with an offset. Raises BadWindow."""
    if text.isdigit() and text.isascii():  # most are: without a look at the pattern
        return clock.instant(text)
    if not _DATE.fullmatch(text):
        return clock.requested_instant(text)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise BadWindow(f"no date: {text}") from None
    if not 1970 < day.year < 9999:
        raise BadWindow(f"{text} lies outside 1971 to 9998")
    return day


def to_unix(moment: Moment | None, zone: str) -> int | None:
    """Unix seconds of a moment; a date is midnight of the zone's civil time."""
    return clock.local_midnight(moment, ZONES[zone].tz) if isinstance(moment, date) else moment


def moment(name: str, description: str, example: int | None = None) -> Parameter:
    """An instant: a date, Unix seconds, or RFC 3339 with an offset; its value is a `Moment`."""

    def read(text: str) -> Moment:
        # In a query `+` means a blank: 2026-01-01T00:00:00+01:00 typed by hand arrives as ...00 01:00.
        try:
            return parse_time(text[:11] + text[11:].replace(" ", "+") if " " in text else text)
        except (BadWindow, OverflowError):
            raise ValueError(f"takes {TIMES}") from None

    schema = {
        "anyOf": [
            {"type": "integer", "format": "int64", "minimum": 0, "maximum": LAST_INSTANT},
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date"},
        ]
    }
    return Parameter(name, description, read, schema, None, example)


def whole(name: str, description: str, least: int, most: int, default: int) -> Parameter:
    """A whole number between two bounds."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 12 or not least <= int(text) <= most:
            raise ValueError(f"takes a whole number from {least} to {most}")
        return int(text)

    return Parameter(
        name,
        description,
        read,
        {"type": "integer", "minimum": least, "maximum": most, "default": default},
        default,
        default,
    )


def utc_month(written: str) -> str:
    """A UTC month as `2026-11`. Raises ValueError."""
    if not _MONTH.fullmatch(written):
        raise ValueError("takes a month such as 2026-11")
    return written


def change_cursor(written: str) -> str:
    """A cursor of the log of changes, or `now`. Raises ValueError."""
    if not _CHANGE_CURSOR.fullmatch(written):
        raise ValueError("takes the `next` of an answer before, or now")
    return written


def yes_no(name: str, description: str) -> Parameter:
    """true or false."""

    def read(text: str) -> bool:
        word = text.lower()
        if word not in _TRUE + _FALSE:
            raise ValueError("takes true or false")
        return word in _TRUE

    return Parameter(name, description, read, {"type": "boolean", "default": False}, False, True)


def choice(name: str, description: str, words: Iterable[str], default: str | None = None) -> Parameter:
    """One of a few words."""
    allowed = tuple(words)

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"takes {', '.join(allowed)}")
        return text

    schema: dict[str, Any] = {"type": "string", "enum": list(allowed)}
    if default is not None:
        schema["default"] = default
    return Parameter(name, description, read, schema, default, allowed[0])


def text(name: str, description: str, pattern: str, read: Callable[[str], Any]) -> Parameter:
    """Text of a form of its own, as `read` takes it."""
    return Parameter(name, description, read, {"type": "string", "pattern": pattern})


def hours(name: str, description: str, most: int, default: int | None = None) -> Parameter:
    """A length in hours, in steps of a quarter, `h` behind it or not; its value is seconds."""

    def read(text: str) -> int:
        number = text.removesuffix("h")
        if not _HOURS.fullmatch(number) or not 0 < (quarters := float(number) * 4) <= most * 4 or quarters % 1:
            raise ValueError(f"takes hours in steps of a quarter, above 0 and up to {most}")
        return int(quarters) * 900

    schema: dict[str, Any] = {"type": "string", "pattern": r"^[0-9]{1,2}(\.[0-9]{1,2})?h?$"}
    if default is not None:
        schema["default"] = f"{default / 3600:g}"
    return Parameter(name, description, read, schema, default, "3")


def number(name: str, description: str) -> Parameter:
    """A finite number, `-12.5`."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise ValueError("takes a number of at most 12 digits and 6 decimals")
        return float(text)

    return Parameter(name, description, read, {"type": "number"}, None, 100)


def words(name: str, description: str, allowed: Iterable[str], example: str) -> Parameter:
    """A list with commas of known words, each once."""
    known = tuple(allowed)

    def read(text: str) -> tuple[str, ...]:
        values = text.split(",")
        unknown = [word for word in values if word not in known]
        if unknown:
            raise ValueError(
                f"does not know {', '.join(repr(word[:40]) for word in unknown[:5])}; takes {', '.join(known)}"
            )
        return tuple(dict.fromkeys(values))

    schema = {"type": "array", "items": {"type": "string", "enum": list(known)}, "minItems": 1}
    return Parameter(name, description, read, schema, None, [example], comma=True)
