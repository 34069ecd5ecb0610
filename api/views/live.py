"""`/v1/geo/live/hours` and `/v1/geo/live/{zone}`: the free, rounded history that the map page draws, as published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import Response, request

from api.documents import published
from api.endpoints import ENDPOINTS
from api.http import parameters, responses
from api.service import Service
from warehouse import clock, layout


def views(service: Service) -> dict[str, Callable[..., Response]]:
    """The views of this file's paths, by operationId."""

    def hours() -> Response:
        parameters.values(ENDPOINTS["live-hours"].parameters, request.args)
        return _view(service, layout.LIVE_HOURS)

    def zone_history(zone: str) -> Response:
        parameters.values(ENDPOINTS["live-zone"].parameters, request.args)
        return _view(service, layout.live_history(zone))

    return {"live-hours": hours, "live-zone": zone_history}


def _view(service: Service, name: str) -> Response:
    return service.guarded("", partial(_answer, service, name))


def _answer(service: Service, name: str, _grant: object) -> tuple[Response, int]:
    document = published.document(service.documents, name)
    stale = clock.now() > document.derive("valid_until", lambda snapshot: snapshot.json["valid_until"])
    headers = [*responses.caching("free"), *responses.marks(service.catalogue.simulated, stale)]
    response = responses.document(request, document, "application/json", headers)
    return response, 0 if response.status_code == 304 else 1
