"""The views of brief, latest and snapshot: published documents, byte for byte, or their sample forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from api.access.values import Grant
from api.documents import published
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.guard import stated
from api.http.messages import Request, Response, View
from api.http.problems import ParameterFault
from api.service import Service
from warehouse import clock, layout

_JSON = "application/json"


def views(service: Service) -> dict[str, View]:
    """The views of this file's paths, by operationId."""

    def latest(request: Request, zone: str) -> Response:
        return _zone_view(service, request, "latest", layout.latest(zone), published.sample_latest)

    def brief(request: Request, zone: str) -> Response:
        return _zone_view(service, request, "brief", layout.brief(zone), published.sample_brief)

    def snapshot(request: Request) -> Response:
        query = parameters.values(ENDPOINTS["snapshot"].parameters, stated(request))
        metrics, zones = query["metric"], query["zones"]
        if query["sample"] and metrics is not None and "price" not in metrics:
            raise parameters.invalid([ParameterFault("metric", "conflict", "a sample keeps the price alone")])
        if metrics is None and zones is None:
            answer = partial(_answer, service, request, layout.SNAPSHOT, published.sample_snapshot)
        else:
            answer = partial(_filtered, service, request, metrics, zones)
        return service.guarded(request, "snapshot", answer)

    return {"latest": latest, "brief": brief, "snapshot": snapshot}


def _zone_view(
    service: Service,
    request: Request,
    price: str,
    name: str,
    sample: Callable[[dict[str, Any]], dict[str, Any]],
) -> Response:
    parameters.values(ENDPOINTS[price].parameters, stated(request))
    return service.guarded(request, price, partial(_answer, service, request, name, sample))


def _answer(
    service: Service,
    request: Request,
    name: str,
    sample: Callable[[dict[str, Any]], dict[str, Any]],
    entry: Grant,
) -> tuple[Response, int]:
    document = published.document(service.documents, name)
    stale = clock.now() > document.derive("stale_after", published.stale_after)
    headers = [*responses.caching(entry.method), *responses.marks(service.catalogue.simulated, stale)]
    response = responses.document(
        request, published.sampled(document, "sample", sample) if entry.method == "sample" else document, _JSON, headers
    )
    return response, 0 if stale or response.status == 304 else 1  # nobody pays for overdue figures


def _filtered(
    service: Service, request: Request, metrics: tuple[str, ...] | None, zones: tuple[str, ...] | None, entry: Grant
) -> tuple[Response, int]:
    """The snapshot of some metrics and zones, and how many values it holds."""
    document = published.document(service.documents, layout.SNAPSHOT)
    whole = published.sample_snapshot(document.json) if entry.method == "sample" else document.json
    body = published.filtered_snapshot(whole, metrics, zones)
    stale = clock.now() > published.overdue_after(body)
    headers = [*responses.caching(entry.method), *responses.marks(service.catalogue.simulated, stale)]
    response = responses.body(request, orjson.dumps(body), _JSON, headers)
    values = sum(len(member["metrics"]) + ("generation_mix" in member) for member in body["zones"].values())
    return response, 0 if stale or response.status == 304 else values
