"""Rate limits and outages that come as a JSON object with status 200, out of a gateway or a cache: ask again later."""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from warehouse.errors import FeedUnavailable

LONGEST = 4_000
"""Characters of an object that says no more than what went wrong."""
_CODES = frozenset({"code", "error_code", "status", "statuscode"})
_MEMBERS = _CODES | {
    *("apiversion", "description", "detail", "details", "error", "errors", "fault", "help", "id", "instance"),
    *("message", "reason", "request", "requestid", "success", "timestamp", "title", "traceid", "type"),
}
_LIMIT = re.compile(r"too many requests|rate.?limit|quota|over.?limit|max allowed requests", re.IGNORECASE)
_LATER = re.compile(
    r"internal (server )?error|bad gateway|unavailable|temporarily|time-?d? ?out|overload|try again", re.IGNORECASE
)
_WAIT = re.compile(r"in (\d{1,5}) seconds", re.ASCII)


def refuse_errors(text: str) -> None:
    """Raises FeedUnavailable for an object that holds no data and says that asking later may help.

    The publisher's words are left out of the reason: they may repeat the key.
    """
    if len(text) > LONGEST or not text.lstrip().startswith("{"):
        return
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    if not answer or not {name.lower() for name in answer} <= _MEMBERS:
        return
    codes: list[str] = []
    words: list[str] = []
    for name, value in _leaves("", answer):
        (codes if name in _CODES else words).append(str(value))
    message = " ".join([*codes, *words])
    limited = _LIMIT.search(message) or any(code.startswith("429") for code in codes)
    if limited or _LATER.search(message) or any(re.match(r"5\d\d\b", code) for code in codes):
        wait = _WAIT.search(message)
        kind = "limit" if limited else "server"
        reason = "too many requests" if limited else "an outage"
        raise FeedUnavailable(f"{reason}, said with status 200", float(wait[1]) if wait else None, kind)


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """What an object says, by the names of its members in lower case."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key.lower() != "request":
                yield from _leaves(key.lower(), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    else:
        yield name, value
