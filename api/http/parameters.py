"""Declare query parameters, from which both the check of a request and the entry in OpenAPI follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from werkzeug.datastructures import MultiDict

from api.http.messages import HttpRequest, QueryValues
from api.http.other_names import explain_name
from api.http.problems import ParameterFault, Problem
from api.http.times import FIRST_SECONDS, TIME_PATTERN, YEARS_PATTERN, parse_time
from warehouse.errors import UnknownZone
from warehouse.market.clock import LAST_INSTANT
from warehouse.market.metrics import METRICS
from warehouse.market.zones import ZONES, find_zone

_MEANT = {word: metric.value for metric, of in METRICS.items() if of.path for word in of.path.other_words}
"""The metrics that other words mean, by word."""
_CREDENTIALS = ("HTTP_AUTHORIZATION", "HTTP_X_API_KEY", "HTTP_PAYMENT_SIGNATURE", "HTTP_X_PAYMENT")


MOST_PARAMETERS = 100
MOST_FAULTS = 20
"""The number of faults after which checking stops."""
_HINTS = 3
"""The number of faults in which an unknown name gets the nearest known name, whose search doubles the cost."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter. `read` turns its text into a value, or raises ValueError with what is allowed."""

    name: str
    description: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    """The JSON Schema of allowed values, for OpenAPI."""
    default: Any = None
    example: Any = field(default=None, compare=False)
    comma: bool = False
    """Whether it is a comma-separated list (OpenAPI: style form, not exploded)."""
    required: bool = False
    also: str = ""
    """Another accepted name of the parameter."""


def values(
    parameters: Mapping[str, Parameter],
    query: MultiDict[str, str],
    unknown: str = "is not a parameter of this path",
) -> QueryValues:
    """Return the value of every parameter, defaults included. Raises Problem that names every fault."""
    values_by_name = {name: parameter.default for name, parameter in parameters.items()}
    others = {parameter.also: name for name, parameter in parameters.items() if parameter.also}
    faults, sent = list[ParameterFault](), dict[str, list[str]]()
    check_count(len(query))
    for name, texts in query.lists():
        sent.setdefault(others.get(name, name), []).extend(texts)
    for name, texts in sent.items():
        if len(faults) == MOST_FAULTS:
            break
        parameter = parameters.get(name)
        if parameter is None:
            known = ", ".join(parameters) or "none"
            hint = _name_hint(name, parameters) if len(faults) < _HINTS else ""
            faults.append(ParameterFault(name[:60], "unknown", f"{unknown}{hint}; use {known}"))
        elif len(texts) > 1 and not parameter.comma:
            faults.append(ParameterFault(name, "repeated", "must not be repeated"))
        else:
            try:
                values_by_name[name] = parameter.read(",".join(texts))
            except ValueError as fault:
                faults.append(ParameterFault(name, "invalid", str(fault)))
    for name, parameter in parameters.items():
        if parameter.required and name not in sent:
            faults.append(ParameterFault(name, "missing", f"is required. {parameter.description.rstrip('.')}"))
    if faults:
        raise invalid(faults)
    return values_by_name


def check_count(count: int) -> None:
    """Raise Problem 400 for more than MOST_PARAMETERS parameters, before any of them is read."""
    if count > MOST_PARAMETERS:
        raise Problem("invalid-parameters", f"A request can have at most {MOST_PARAMETERS} parameters. Send fewer.")


def query_without_blank_probes(request: HttpRequest, parameters: Mapping[str, Parameter]) -> MultiDict[str, str]:
    """Return the query of a request to a paid path, without the empty parameters of a probe.

    Catalogues of x402 probe a path by GET without credentials and with empty parameters, and expect its offer.
    Required parameters then take their example values. In any other request an empty parameter is an error.
    """
    query = request.query
    is_blank = query.endswith("=") or "=&" in query
    if not is_blank or request.method != "GET" or request.sample or any(map(request.header, _CREDENTIALS)):
        return request.args
    needed = {name: ",".join(own.example) for name, own in parameters.items() if own.required}
    filled = ((name, value or needed.get(name, "")) for name, value in request.args.items(multi=True))
    return MultiDict((name, value) for name, value in filled if value)


def invalid(faults: Iterable[ParameterFault]) -> Problem:
    """Return a 400 with every fault, the first three also as text."""
    first = list(faults)[:MOST_FAULTS]
    return Problem("invalid-parameters", "; ".join(f"{f.parameter}: {f.detail}" for f in first[:3]) + ".", first)


def conflict(name: str, detail: str) -> Problem:
    """Return a 400 for a parameter that contradicts the others."""
    return invalid([ParameterFault(name, "conflict", detail)])


def moment(name: str, description: str, example: str = "now") -> Parameter:
    """Return a parameter for a time; its value is a `Moment`."""
    schema = {
        "anyOf": [
            {"type": "integer", "format": "int64", "minimum": FIRST_SECONDS, "maximum": LAST_INSTANT},
            {"type": "string", "format": "date-time", "pattern": YEARS_PATTERN},
            {"type": "string", "format": "date", "pattern": YEARS_PATTERN},
            {"type": "string", "pattern": TIME_PATTERN},
        ]
    }
    return Parameter(name, description, parse_time, schema, None, example)


def reader(pattern: str, takes: str, value: Callable[[str], Any] = str) -> Callable[[str], Any]:
    """Return a function that reads text of a pattern. `value` returns None for a text that is still not allowed."""
    form = re.compile(pattern)

    def read(text: str) -> Any:
        result = value(text) if form.fullmatch(text) else None
        if result is None:
            raise ValueError(f"must be {takes}")
        return result

    return read


def whole(name: str, description: str, least: int, most: int, default: int | None = None) -> Parameter:
    """Return a parameter for a whole number between two bounds."""
    takes = f"a whole number from {least} to {most}"
    read = reader("[0-9]{1,12}", takes, lambda text: int(text) if least <= int(text) <= most else None)
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(
        name, description, read, schema if default is None else schema | {"default": default}, default, default or least
    )


def yes_no(name: str, description: str) -> Parameter:
    """Return a parameter for true or false."""
    read = reader("(?ai:true|1|false|0)", "true or false", lambda text: text.lower() in ("true", "1"))
    return Parameter(name, description, read, {"type": "boolean", "default": False}, False, True)


def choice(
    name: str, description: str, words: Iterable[str], default: str | None = None, unset: str | None = None
) -> Parameter:
    """Return a parameter for one of a few words. `unset` is the word for the absent parameter, with the value None."""
    allowed = (*words, *((unset,) if unset else ()))

    def read(text: str) -> str | None:
        word = find_word(text, allowed)
        return None if word == unset else word

    schema: dict[str, Any] = {"type": "string", "enum": list(allowed)}
    if default or unset:
        schema["default"] = default or unset
    return Parameter(name, description, read, schema, default, default or unset or allowed[0])


def text(name: str, description: str, pattern: str, read: Callable[[str], Any], example: str) -> Parameter:
    """Return a parameter for text of a pattern, which `read` converts."""
    return Parameter(name, description, read, {"type": "string", "pattern": pattern}, None, example)


def or_unset(parameter: Parameter, word: str) -> Parameter:
    """Return the parameter with a word for leaving it out, which is its explicit default and its example."""

    def read(text: str) -> Any:
        return None if text.strip().lower() == word else parameter.read(text)

    schema = {"anyOf": [parameter.schema, {"const": word}], "default": word}
    return replace(parameter, read=read, schema=schema, example=word)


def hours(name: str, description: str, most: int, default: int | None = None, zero: bool = False) -> Parameter:
    """Return a parameter for hours in quarter steps, with or without `h`, as seconds; `zero` allows 0."""
    pattern = r"[0-9]{1,3}(\.[0-9]{1,2})?h?"

    def seconds(text: str) -> int | None:
        quarters = float(text.removesuffix("h")) * 4
        return None if quarters % 1 or not (0 if zero else 1) <= quarters <= most * 4 else int(quarters) * 900

    takes = f"a number of hours in steps of 0.25, {'from' if zero else 'above'} 0 and at most {most}"
    schema = {"type": "string", "pattern": f"^{pattern}$", **({"default": f"{default / 3600:g}"} if default else {})}
    return Parameter(name, description, reader(pattern, takes, seconds), schema, default, "3")


def number(name: str, description: str, positive: bool = False, least: int | None = None) -> Parameter:
    """Return a parameter for a finite number, `-12.5`."""

    def bounded(text: str) -> float | None:
        number = float(text)
        return None if (positive and number <= 0) or (least is not None and number < least) else number

    bound = " above 0" if positive else f" from {least}" if least is not None else ""
    read = reader(r"-?[0-9]{1,12}(\.[0-9]{1,6})?", f"a number{bound} with at most 12 digits and 6 decimals", bounded)
    schema: dict[str, Any] = {"type": "number", **({"exclusiveMinimum": 0} if positive else {})}
    return Parameter(name, description, read, schema | ({"minimum": least} if least else {}), None, least or 100)


def civil_times(name: str, description: str) -> Parameter:
    """Return a parameter for two civil times in quarter hours, `22:00-07:00`, as minutes of the day."""
    pattern = "([01][0-9]|2[0-3]):(00|15|30|45)-([01][0-9]|2[0-3]):(00|15|30|45)"

    def minutes(text: str) -> tuple[int, int] | None:
        first, second = (int(part[:2]) * 60 + int(part[3:]) for part in text.split("-"))
        return None if first == second else (first, second)

    read = reader(pattern, "two different times on quarter hours, for example 22:00-07:00", minutes)
    return Parameter(name, description, read, {"type": "string", "pattern": f"^{pattern}$"}, None, "22:00-07:00")


def find_word(text: str, known: Iterable[str]) -> str:
    """Return the known word that `text` spells, in any case, with `-` or `_`. Raises ValueError."""
    plain = _plain(text)
    for word in known:
        if _plain(word) == plain:
            return word
    raise ValueError(f"{text[:40]!r} is not a known value{_hint(text, known)}; use {', '.join(known)}")


def _name_hint(name: str, known: Collection[str]) -> str:
    use = explain_name(name, known)
    return f" ({use})" if use else _hint(name, known)


def _hint(text: str, known: Iterable[str]) -> str:
    nearest = nearest_word(text, known)
    return f" (did you mean {nearest}?)" if nearest else ""


def nearest_word(text: str, known: Iterable[str]) -> str | None:
    """Return the known word that a text probably means: `demand` means `load`, `price` means `prices`."""
    plain = {_plain(word): word for word in known}
    meant = _MEANT.get(_plain(text))
    nearest = [meant] if meant in plain else get_close_matches(_plain(text[:40]), plain, 1, 0.75)
    return plain[nearest[0]] if nearest else None


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_")


def words(name: str, description: str, allowed: Iterable[str], example: str) -> Parameter:
    """Return a parameter for a comma-separated list of known words, each once."""
    known = tuple(allowed)

    def read(text: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(find_word(word, known) for word in text.split(",")))

    return _list(name, description, read, known, example)


def zones(name: str, description: str, known: Collection[str] = ZONES, example: str = "GB") -> Parameter:
    """Return a parameter for a comma-separated list of zones, each once. `zone` and `zones` are both accepted."""

    def read(text: str) -> tuple[str, ...]:
        ids = tuple(dict.fromkeys(map(read_zone, text.split(","))))
        if others := [zone for zone in ids if zone not in known]:
            raise ValueError(f"{', '.join(others)} does not publish this; use {', '.join(known)}")
        return ids

    listed = _list(name, description, read, tuple(known), example)
    return replace(listed, also={"zone": "zones", "zones": "zone"}[name])


def read_zone(text: str) -> str:
    """Return the ID of a zone by any of its names. Raises ValueError."""
    try:
        return find_zone(text)
    except UnknownZone as unknown:
        if "," in text:
            raise ValueError("zone accepts a single zone. For several, send zones if this request accepts it") from None
        raise ValueError(f"{unknown} Use one of {', '.join(ZONES)}") from None


def _list(name: str, description: str, read: Callable[[str], Any], known: tuple[str, ...], example: str) -> Parameter:
    schema = {"type": "array", "items": {"type": "string", "enum": list(known)}, "minItems": 1}
    return Parameter(name, description, read, schema, None, [example], comma=True)
