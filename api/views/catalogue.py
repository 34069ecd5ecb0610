"""The views of the zone list, the status and the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from api.access.values import Grant
from api.documents.cache import Document
from api.documents.catalogue import Catalogue, zone_list
from api.documents.status import status
from api.endpoints import ENDPOINTS
from api.endpoints.listing import listing
from api.http import parameters, responses
from api.http.messages import Request, Response, View
from api.service import Service
from warehouse import clock

_JSON = "application/json"


def views(service: Service) -> dict[str, View]:
    """The views of this file's paths, by operationId."""

    def zones(request: Request) -> Response:
        parameters.values(ENDPOINTS["zones"].parameters, request.args)
        return service.guarded(request, "", partial(_zones, service, request))

    def freshness(request: Request) -> Response:
        parameters.values(ENDPOINTS["status"].parameters, request.args)
        return service.guarded(request, "", partial(_status, service, request))

    def whole(request: Request) -> Response:
        return service.guarded(request, "", partial(_catalogue, service, request))

    return {"zones": zones, "status": freshness, "catalogue": whole}


def _catalogue(service: Service, request: Request, entry: Grant) -> tuple[Response, int]:
    catalogue, base_url = service.catalogue, service.settings.base_url
    return _kept(request, catalogue, "catalogue", lambda: listing(catalogue, base_url), entry)


def _zones(service: Service, request: Request, entry: Grant) -> tuple[Response, int]:
    catalogue = service.catalogue
    return _kept(request, catalogue, "zones", lambda: zone_list(catalogue), entry)


def _kept(
    request: Request, catalogue: Catalogue, name: str, make: Callable[[], dict[str, Any]], entry: Grant
) -> tuple[Response, int]:
    """A document made once a publication of the catalogue, in either form."""
    mark = _mark(entry)

    def written(document: Document) -> Document:
        return Document(name, orjson.dumps(make() | mark), document.identity)

    made = catalogue.document.derive(f"{name}-sample" if mark else name, written)
    return responses.document(
        request, made, _JSON, [*responses.caching(entry.method), *responses.marks(catalogue.simulated)]
    ), 1


def _mark(entry: Grant) -> dict[str, bool]:
    return {"sample": True} if entry.method == "sample" else {}


def _status(service: Service, request: Request, entry: Grant) -> tuple[Response, int]:
    catalogue = service.catalogue
    made = orjson.dumps(status(service.documents, catalogue, clock.now()) | _mark(entry))
    headers = [("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"), *responses.marks(catalogue.simulated)]
    return responses.body(request, made, _JSON, headers), 1
