"""`/v1/geo/live/hours` and `/v1/geo/live/{zone}`: the free, rounded history that the map page draws, as published."""

from __future__ import annotations

from functools import partial

from api.documents import published
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.http.messages import Request, Response, View
from api.service import Service
from warehouse import clock, layout


def views(service: Service) -> dict[str, View]:
    """The views of this file's paths, by operationId."""

    def hours(request: Request) -> Response:
        parameters.values(ENDPOINTS["live-hours"].parameters, request.args)
        return _view(service, request, layout.LIVE_HOURS)

    def zone_history(request: Request, zone: str) -> Response:
        parameters.values(ENDPOINTS["live-zone"].parameters, request.args)
        return _view(service, request, layout.live_history(zone))

    return {"live-hours": hours, "live-zone": zone_history}


def _view(service: Service, request: Request, name: str) -> Response:
    return service.guarded(request, "", partial(_answer, service, request, name))


def _answer(service: Service, request: Request, name: str, _grant: object) -> tuple[Response, int]:
    document = published.document(service.documents, name)
    stale = clock.now() > document.derive("valid_until", lambda snapshot: snapshot.json["valid_until"])
    headers = [*responses.caching("free"), *responses.marks(service.catalogue.simulated, stale)]
    response = responses.document(request, document, "application/json", headers)
    return response, 0 if response.status == 304 else 1
