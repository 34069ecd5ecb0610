"""Zones, status and the catalogue: what this service holds, whose it is, and how fresh it is by the feeds' own schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import orjson
from flask import Response, request

from api import parameters, respond
from api.doors import Pass
from api.endpoints import ENDPOINTS, Endpoint
from api.holdings import Holdings
from api.prices import PRICES
from api.published import Document, Shelf
from api.service import Service
from warehouse import clock, health, layout
from warehouse.health import Health, State

_JSON = "application/json"
_ZONE_FIELDS = ("id", "name", "source", "tz", "market_tz", "currency", "license", "attribution")


def zones(holdings: Holdings) -> dict[str, Any]:
    """The zone list."""
    return {"zones": [{name: zone[name] for name in _ZONE_FIELDS} for zone in holdings.zones.values()]}


class _Standing(NamedTuple):
    """How one feed stands in one zone."""

    metrics: tuple[str, ...]
    health: Health | None
    state: State
    expected_by: int | None


_BEST: tuple[State, ...] = ("ok", "late", "down", "unknown")


def status(shelf: Shelf, holdings: Holdings, now: int) -> dict[str, Any]:
    """Per source and zone when it last answered, what went wrong last, and its state at `now`."""
    known: dict[tuple[str, str], Health] = {}
    for source in holdings.sources:
        found = shelf.get(layout.health(source))
        if found is not None:
            known |= found.derive("health", _healths)
    standing: dict[tuple[str, str], list[_Standing]] = defaultdict(list)
    for feed in holdings.feeds.values():
        for zone in feed["zones"]:
            standing[feed["source"], zone].append(_standing(feed, known.get((feed["id"], zone)), now))
    return {"now": now, "sources": [_entry(source, zone, feeds) for (source, zone), feeds in sorted(standing.items())]}


def _healths(document: Document) -> dict[tuple[str, str], Health]:
    return {(member["feed"], member["zone"]): Health(**member) for member in document.json["feeds"]}


def _standing(feed: Mapping[str, Any], found: Health | None, now: int) -> _Standing:
    publication = health.publication_of(feed["publication"])
    state = health.state(found, publication, feed["tz"], feed["resolution"], now)
    due = health.expected_by(publication, feed["tz"], feed["resolution"], found.data_until) if found and found.data_until else None
    return _Standing(tuple(feed["metrics"]), found, state, due)


def _entry(source: str, zone: str, feeds: list[_Standing]) -> dict[str, Any]:
    """A metric is as well off as the best of the source's feeds that carry it, the zone as badly as its worst metric."""
    best = [min(carriers, key=lambda s: _BEST.index(s.state)) for carriers in _by_metric(feeds).values()]
    healths = [s.health for s in feeds if s.health is not None]
    failed = max((h for h in healths if h.last_error), key=lambda h: h.last_error_at, default=None)
    return {
        "source": source, "zone": zone, "last_ok": max((h.last_ok for h in healths), default=0),
        "last_error": f"{failed.feed}: {failed.last_error}" if failed else "",
        "state": health.worst(s.state for s in best),
        "expected_by": min((s.expected_by for s in best if s.expected_by is not None), default=None),
    }


def _by_metric(feeds: Iterable[_Standing]) -> dict[str, list[_Standing]]:
    found: dict[str, list[_Standing]] = defaultdict(list)
    for standing in feeds:
        for metric in standing.metrics:
            found[metric].append(standing)
    return found


def catalogue(holdings: Holdings, base_url: str) -> dict[str, Any]:
    """All that is held, and every path with its price."""
    stated: dict[str, Any] = holdings.document.json
    return {**stated, "endpoints": [_endpoint(endpoint, base_url) for endpoint in ENDPOINTS.values()]}


def _endpoint(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    described = {
        "id": endpoint.id, "method": endpoint.method, "path": endpoint.path, "url": base_url + endpoint.path, "summary": endpoint.summary,
        "access": _access(endpoint), "parameters": list(endpoint.parameters), "zones": list(endpoint.zones),
    }
    return {**described, "price_usd": PRICES[endpoint.id].usd} if endpoint.paid else described


def _access(endpoint: Endpoint) -> str:
    if endpoint.token:
        return "token"
    return "paid" if endpoint.paid else "key" if endpoint.keyed else "free"


def views(service: Service) -> dict[str, Callable[..., Response]]:
    """The views of this file's paths, by operationId."""

    def zone_list() -> Response:
        parameters.values(ENDPOINTS["zones"].parameters, request.args)
        return service.guarded("", partial(_zones, service))

    def freshness() -> Response:
        parameters.values(ENDPOINTS["status"].parameters, request.args)
        return service.guarded("", partial(_status, service))

    def whole() -> Response:
        return service.guarded("", partial(_catalogue, service))

    return {"zones": zone_list, "status": freshness, "catalogue": whole}


def _catalogue(service: Service, entry: Pass) -> tuple[Response, int]:
    holdings, base_url = service.holdings, service.settings.base_url
    return _kept(holdings, "catalogue", lambda: catalogue(holdings, base_url), entry)


def _zones(service: Service, entry: Pass) -> tuple[Response, int]:
    holdings = service.holdings
    return _kept(holdings, "zones", lambda: zones(holdings), entry)


def _kept(holdings: Holdings, name: str, make: Callable[[], dict[str, Any]], entry: Pass) -> tuple[Response, int]:
    """A document made once a publication of the catalogue, in either form."""
    mark = _mark(entry)

    def written(held: Document) -> Document:
        return Document(name, orjson.dumps(make() | mark), held.identity)

    made = holdings.document.derive(f"{name}-sample" if mark else name, written)
    return respond.document(request, made, _JSON, [*respond.caching(entry.door), *respond.marks(holdings.simulated)]), 1


def _mark(entry: Pass) -> dict[str, bool]:
    return {"sample": True} if entry.door == "sample" else {}


def _status(service: Service, entry: Pass) -> tuple[Response, int]:
    holdings = service.holdings
    made = orjson.dumps(status(service.shelf, holdings, clock.now()) | _mark(entry))
    headers = [("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"), *respond.marks(holdings.simulated)]
    return respond.body(request, made, _JSON, headers), 1
