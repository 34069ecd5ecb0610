"""Recognise rate limits and outages that arrive as a JSON object with status 200 from a gateway or a cache."""

from __future__ import annotations

import re

import orjson

from warehouse.errors import FeedUnavailable

LONGEST = 4_000
"""The number of characters of an object that only reports an error, at most."""
_MEMBERS = {
    *("apiversion", "code", "description", "detail", "details", "error", "error_code", "errors", "fault", "help", "id"),
    *("instance", "message", "reason", "request", "requestid", "status", "statuscode", "success", "timestamp"),
    *("title", "traceid", "type"),
}
_CODE = re.compile(r'"(?:code|error_code|status|statuscode)":"?(429|5\d\d)\b', re.IGNORECASE)
_LIMIT = re.compile(r"too many requests|rate.?limit|quota|over.?limit|max allowed requests", re.IGNORECASE)
_LATER = re.compile(
    r"internal (server )?error|bad gateway|unavailable|temporarily|time-?d? ?out|overload|try again", re.IGNORECASE
)
_WAIT = re.compile(r"in (\d{1,5}) seconds", re.ASCII)


def refuse_errors(text: str) -> None:
    """Raise FeedUnavailable for an object that contains no data and suggests a later retry.

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
    message = orjson.dumps({name: value for name, value in answer.items() if name.lower() != "request"}).decode()
    codes = {code[0] for code in _CODE.findall(message)}
    limited = "4" in codes or _LIMIT.search(message)
    if limited or "5" in codes or _LATER.search(message):
        wait = _WAIT.search(message)
        kind = "rate_limited" if limited else "server"
        reason = "too many requests" if limited else "an outage"
        raise FeedUnavailable(f"{reason}, reported with status 200", float(wait[1]) if wait else None, kind)
