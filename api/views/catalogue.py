"""Zones, status and the catalogue: what this service holds, whose it is, and how fresh it is by the feeds' own schedules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson
from flask import Response, request

from api.access.prices import PRICES
from api.access.values import Grant
from api.documents.cache import Document, DocumentCache
from api.documents.catalogue import Catalogue
from api.endpoints import ENDPOINTS, Endpoint
from api.http import parameters, responses
from api.service import Service
from warehouse import clock, health, layout
from warehouse.health import Health, Standing

_JSON = "application/json"
_ZONE_FIELDS = ("id", "name", "source", "tz", "market_tz", "currency", "license", "attribution")


def zones(holdings: Catalogue) -> dict[str, Any]:
    """The zone list."""
    return {"zones": [{name: zone[name] for name in _ZONE_FIELDS} for zone in holdings.zones.values()]}


class _Carrier(NamedTuple):
    """A feed as the catalogue states it, and what is known of it in one zone."""

    feed: Mapping[str, Any]
    health: Health | None


def status(documents: DocumentCache, holdings: Catalogue, now: int) -> dict[str, Any]:
    """Per source and zone when it last answered, what went wrong last, and its state at `now`."""
    known: dict[tuple[str, str], Health] = {}
    for source in holdings.sources:
        found = documents.get(layout.health(source))
        if found is not None:
            known |= found.derive("health", _healths)
    carriers: dict[tuple[str, str], list[_Carrier]] = defaultdict(list)
    for feed in holdings.feeds.values():
        for zone in feed["zones"]:
            carriers[feed["source"], zone].append(_Carrier(feed, known.get((feed["id"], zone))))
    return {
        "now": now,
        "sources": [_entry(source, zone, found, now) for (source, zone), found in sorted(carriers.items())],
    }


def _healths(document: Document) -> dict[tuple[str, str], Health]:
    return {(member["feed"], member["zone"]): Health(**member) for member in document.json["feeds"]}


def _standing(metric: str, carriers: Sequence[_Carrier], now: int) -> Standing:
    known = [(health.carrier(c.feed, asked=c.health is None or not c.health.unconfigured), c.health) for c in carriers]
    return health.standing(metric, known, now)


def _entry(source: str, zone: str, carriers: Sequence[_Carrier], now: int) -> dict[str, Any]:
    """A zone is as badly off as its worst metric."""
    standing = [_standing(metric, found, now) for metric, found in _by_metric(carriers).items()]
    healths = [c.health for c in carriers if c.health is not None]
    failed = max((h for h in healths if h.last_error), key=lambda h: h.last_error_at, default=None)
    return {
        "source": source,
        "zone": zone,
        "last_ok": max((h.last_ok for h in healths), default=0),
        "last_error": f"{failed.feed}: {failed.last_error}" if failed else "",
        "state": health.worst(s.state for s in standing),
        "expected_by": min((s.expected_by for s in standing if s.expected_by is not None), default=None),
    }


def _by_metric(carriers: Iterable[_Carrier]) -> dict[str, list[_Carrier]]:
    found: dict[str, list[_Carrier]] = defaultdict(list)
    for carrier in carriers:
        for metric in carrier.feed["metrics"]:
            found[metric].append(carrier)
    return found


def catalogue(holdings: Catalogue, base_url: str) -> dict[str, Any]:
    """All that is held, and every path with its price."""
    stated: dict[str, Any] = holdings.document.json
    return {**stated, "endpoints": [_endpoint(endpoint, base_url) for endpoint in ENDPOINTS.values()]}


def _endpoint(endpoint: Endpoint, base_url: str) -> dict[str, Any]:
    described = {
        "id": endpoint.id,
        "method": endpoint.method,
        "path": endpoint.path,
        "url": base_url + endpoint.path,
        "summary": endpoint.summary,
        "access": _access(endpoint),
        "parameters": list(endpoint.parameters),
        "zones": list(endpoint.zones),
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


def _catalogue(service: Service, entry: Grant) -> tuple[Response, int]:
    holdings, base_url = service.holdings, service.settings.base_url
    return _kept(holdings, "catalogue", lambda: catalogue(holdings, base_url), entry)


def _zones(service: Service, entry: Grant) -> tuple[Response, int]:
    holdings = service.holdings
    return _kept(holdings, "zones", lambda: zones(holdings), entry)


def _kept(holdings: Catalogue, name: str, make: Callable[[], dict[str, Any]], entry: Grant) -> tuple[Response, int]:
    """A document made once a publication of the catalogue, in either form."""
    mark = _mark(entry)

    def written(held: Document) -> Document:
        return Document(name, orjson.dumps(make() | mark), held.identity)

    made = holdings.document.derive(f"{name}-sample" if mark else name, written)
    return responses.document(
        request, made, _JSON, [*responses.caching(entry.method), *responses.marks(holdings.simulated)]
    ), 1


def _mark(entry: Grant) -> dict[str, bool]:
    return {"sample": True} if entry.method == "sample" else {}


def _status(service: Service, entry: Grant) -> tuple[Response, int]:
    holdings = service.holdings
    made = orjson.dumps(status(service.documents, holdings, clock.now()) | _mark(entry))
    headers = [("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"), *responses.marks(holdings.simulated)]
    return responses.body(request, made, _JSON, headers), 1
