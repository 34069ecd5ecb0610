"""Define what both clients share without I/O: URLs of calls, the meaning of responses, retries and a response cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx

from .errors import EmdsError, error_of

Moment = int | str | date
"""A time that the service accepts (Unix seconds, ISO 8601, `2026-11-20`, `-24h`), or a `datetime` with an offset."""
_AGAIN = frozenset({429, 502, 503, 504})
_MOST_CACHED = 64


class Call(NamedTuple):
    """A GET request."""

    path: str
    query: tuple[tuple[str, str], ...] = ()


def call(path: str, **query: Any) -> Call:
    """Return a call without the parameters that are None. Raises ValueError for a `datetime` without an offset."""
    members = (
        (name.rstrip("_"), _text(value)) for name, value in query.items() if value is not None and value is not False
    )
    return Call(path, tuple(members))


def series(metric: str, zone: str | Iterable[str], **query: Any) -> Call:
    """Return a call for rows of a zone, or of several zones: a list, or `all`."""
    name = metric.replace("_", "-")
    if isinstance(zone, str) and zone != "all":
        return call(f"/v1/{name}/{zone}", **query)
    return call(f"/v1/{name}", zones=zone if isinstance(zone, str) else ",".join(zone), **query)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no UTC offset. Use a timezone-aware datetime.")
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


def body_of(response: httpx.Response) -> dict[str, Any]:
    """Return the body of a response with status 200. Raises EmdsError for other responses."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    members: dict[str, Any] = body if isinstance(body, dict) else {}
    if response.status_code != 200:
        raise error_of(response.status_code, members)
    return members


def merged(envelope: dict[str, Any], page: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope of all pages so far: their range, rows and gaps, and the first page's other fields."""
    if not envelope:
        return page
    gaps = {"gaps": [*envelope["gaps"], *page["gaps"]]} if "gaps" in envelope else {}  # a forecast has no gaps
    return {
        **envelope,
        **gaps,
        "start": min(envelope["start"], page["start"]),
        "end": max(envelope["end"], page["end"]),
        "count": envelope["count"] + page["count"],
        "truncated": page["truncated"],
    }


def following(response_headers: Mapping[str, str]) -> Call | None:
    """Return the next page from `Link`, None on the last page.

    Only path and query are followed, not the host, so that the key is never sent to another host.
    """
    link = response_headers.get("Link", "")
    if 'rel="next"' not in link:
        return None
    url = httpx.URL(link[link.index("<") + 1 : link.index(">")])
    return Call(url.path, tuple(url.params.multi_items()))


def signed(address: str) -> Call:
    """Return the call of a listed file.

    A signed URL belongs to the service, whatever its host name is. Other URLs belong to public storage.
    """
    url = httpx.URL(address)
    own = "signature" in url.params
    return Call(url.path if own else str(url.copy_with(query=None)), tuple(url.params.multi_items()))


def without_foreign_key(request: httpx.Request, own: httpx.URL) -> httpx.Request:
    """Return the request, without the key if its host is not the service's."""
    if (request.url.scheme, request.url.netloc) != (own.scheme, own.netloc):
        request.headers.pop("Authorization", None)
    return request


def wait(response: httpx.Response | None, attempt: int, longest: float, now: float) -> float | None:
    """Return the seconds to wait before the next try, None if a retry cannot succeed. `now` is Unix seconds."""
    if response is None:
        return min(_pause(attempt), longest)
    if response.status_code not in _AGAIN:
        return None
    wait = response.headers.get("Retry-After", "")
    if wait.isdigit():
        seconds = float(wait)
    elif wait:
        seconds = max(0.0, parsedate_to_datetime(wait).timestamp() - now)
    else:
        seconds = _pause(attempt)
    return seconds if seconds <= longest else None


def _pause(attempt: int) -> float:
    return 0.5 * float(1 << attempt)


def unreachable(error: httpx.TransportError) -> EmdsError:
    """Return the error for a request without a response."""
    return error_of(503, {"detail": f"no answer: {type(error).__name__}"})


class AnswerCache:
    """The last responses by call, with their validators."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Call, httpx.Response] = OrderedDict()

    def validator(self, request: Call) -> dict[str, str]:
        """Return the header with which the service checks whether the cached response is still current."""
        cached = self._answers.get(request)
        return {"If-None-Match": cached.headers["ETag"]} if cached is not None else {}

    def settled(self, request: Call, response: httpx.Response) -> httpx.Response:
        """Return the response to a call, which is the cached response if the service returns 304."""
        if response.status_code == 304:
            self._answers.move_to_end(request)
            return self._answers[request]
        is_json = response.headers.get("Content-Type", "").startswith("application/json")  # monthly files are large
        if response.status_code == 200 and "ETag" in response.headers and is_json:
            self._answers[request] = response
            self._answers.move_to_end(request)
            while len(self._answers) > _MOST_CACHED:
                self._answers.popitem(last=False)
        return response
