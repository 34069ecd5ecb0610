"""Serve `/v1/changes`: the entries of the change log after a cursor, in order."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import urlencode

from api.endpoints.query_parameters import CHANGE_CURSOR
from api.http import parameters, responses
from api.http.messages import Headers, HttpRequest, QueryValues, Response, View
from api.http.problems import ParameterFault, Problem
from api.http.times import Moment, first_instant
from api.service import Service
from warehouse.market.clock import DAY
from warehouse.market.metrics import CURRENT
from warehouse.market.vocabulary import Metric
from warehouse.market.zones import ZONES
from warehouse.series import change_log
from warehouse.series.change_log import Change, ChangePage, Entry, UnknownCursor
from warehouse.store.storage import Storage

NOW = "now"
"""The `since` of a client that has read all rows and needs only later changes."""
_SAMPLE_ENTRIES = 50
_BRIEF_S = 31 * DAY
"""A brief, and the documents that are published with it, cover the last 30 days."""
_LIVE_S = 3 * DAY
"""Older rows are in no document of the map, which shows 48 hours."""


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """A filter of changes. None selects everything."""

    zones: Collection[str] | None = None
    metric: str | None = None
    feed: str | None = None

    def fits(self, change: Change) -> bool:
        return (
            (self.zones is None or change.zone in self.zones)
            and (self.metric is None or public_metric(change.metric) == self.metric)
            and (self.feed is None or change.feed == self.feed)
        )


def _changes(service: Service, request: HttpRequest, query: QueryValues) -> Response:
    known = service.documents.catalogue.feeds
    if query["feed"] is not None and query["feed"] not in known:
        raise parameters.invalid([ParameterFault("feed", "invalid", f"must be one of {', '.join(sorted(known))}")])
    with service.gate.enter(request) as entry:
        limit = min(query["limit"], _SAMPLE_ENTRIES) if entry.method == "sample" else query["limit"]
        wanted = ChangeFilter(query["zone"], query["metric"], query["feed"])
        body = read_changes(service, query["since"], limit, wanted)
        # The response is not cached, because the same URL soon has more entries.
        headers = [*responses.uncached(), *(_link(service, request, body["next"]) if body["more"] else ())]
        return entry.json(body, service.documents.catalogue.simulated, caching=headers)


def read_changes(service: Service, since: Moment | None, limit: int, wanted: ChangeFilter) -> dict[str, Any]:
    """Return the entries after a cursor or a time. Raises StorageError, and Problem 410 for a cursor that expired."""
    try:
        return page(service.storage, since, limit, wanted, service.lag_s)
    except UnknownCursor as gone:
        detail = (
            "This cursor is unknown, or older than the entries that are kept. Start again: request `since=now`, read "
            f"the rows that you store again, and follow the new cursor. {gone.oldest} is the oldest cursor that works."
        )
        oldest = f"entries are kept for 30 days; the oldest cursor is {gone.oldest}"
        fault = ParameterFault("since", "out-of-range", oldest)
        raise Problem("cursor-gone", detail, [fault], {"oldest": gone.oldest}) from None


def _link(service: Service, request: HttpRequest, cursor: str) -> Headers:
    """Return the `Link` header to the next entries."""
    query = urlencode({**request.args.to_dict(flat=False), "since": [cursor]}, doseq=True, safe=",")
    return [("Link", f'<{service.own_address}{request.path}?{query}>; rel="next"')]


def page(storage: Storage, since: Moment | None, limit: int, wanted: ChangeFilter, lag_s: float) -> dict[str, Any]:
    """Return a page of entries after `since`, a cursor or a time.

    A time without an offset is that of the zone that reaches it first. `lag_s` is the time during which a worker may
    still serve an older file. Raises UnknownCursor, StorageError and Problem 400.
    """
    until = settled(lag_s)
    if since == NOW:
        cursor = change_log.newest(storage, until)
        found = change_log.read(storage, cursor, 1, wanted.fits, until)
        return body(found._replace(entries=[], next=cursor, more=False))
    if since is not None and not (isinstance(since, str) and CHANGE_CURSOR.fullmatch(since)):
        at = first_instant("since", since, wanted.zones or ZONES, int(time.time()))
        since = change_log.cursor_before(storage, at or 0)
    return body(change_log.read(storage, since, limit, wanted.fits, until))


def settled(lag_s: float) -> int | None:
    """Return the last second whose entries may be listed, since every worker serves their rows. None without a lag."""
    return int(time.time()) - 1 - ceil(lag_s) if lag_s else None


def body(found: ChangePage) -> dict[str, Any]:
    """Return a page as JSON fields."""
    log = found.next.partition("-")[0]
    return {
        "count": len(found.entries),
        "entries": [describe_change(log, each) for each in found.entries],
        "next": found.next,
        "more": found.more,
        "oldest": found.oldest,
        "docs": "/docs/changes",
    }


def describe_change(log: str, stored: Entry) -> dict[str, Any]:
    """Return an entry as JSON fields. Its id is the cursor after it."""
    change = stored.change
    members = {name: getattr(change, name) for name in Change.__slots__} | {"metric": public_metric(change.metric)}
    market = {"market": "day_ahead"} if change.metric == Metric.PRICE_DAY_AHEAD else {}
    paths = _documents(change, stored.at)
    return {"id": f"{log}-{stored.number}", "at": stored.at, **members, **market, "published": paths}


def public_metric(metric: str) -> str:
    """Return the public name of a metric. Day-ahead rows are prices of another market."""
    return Metric.PRICE.value if metric == Metric.PRICE_DAY_AHEAD else metric


def _documents(change: Change, at: int) -> list[str]:
    """Return the paths of the documents that depend on these rows; none for a zone that this process does not cover."""
    zone = change.zone
    if zone not in ZONES:
        return []
    paths: list[str] = []
    if change.metric in CURRENT or change.metric == ZONES[zone].carbon_metric:
        if change.last >= at - _BRIEF_S:
            paths += [f"/v1/latest/{zone}", f"/v1/brief/{zone}", "/v1/map/snapshot"]
        if change.last >= at - _LIVE_S:
            paths += ["/v1/geo/live", "/v1/geo/live/hours", f"/v1/geo/live/{zone}"]
    if change.metric == ZONES[zone].day_ahead_metric and change.last >= at:
        paths.append(f"/v1/windows/{zone}")
    return paths


VIEWS: dict[str, View] = {"changes": _changes}
