"""Which view answers which path, and what is said where none does. The paths themselves stand in `api.endpoints`."""

from __future__ import annotations

import re
from collections.abc import Callable

from flask import Flask, Response, request
from werkzeug.exceptions import NotFound

from api.documents.catalogue import SERIES
from api.endpoints import ENDPOINTS, Endpoint
from api.http import parameters, problem_responses
from api.http.problem_kinds import KINDS
from api.http.problems import Problem
from api.service import Service
from api.views import catalogue, discovery, documents, geo, health, keys, live, map_page, publishers, series, windows
from warehouse.zones import ZONES

_PREFIXES = {endpoint.path.removesuffix("{zone}"): endpoint for endpoint in ENDPOINTS.values() if endpoint.zones}
_ZONE_PATH = re.compile(r"(/v1/(?:[a-z-]+/)+)([^/]*)")


def register(app: Flask, service: Service) -> None:
    """Gives every path of the table its view."""
    views: dict[str, Callable[..., Response]] = {
        **documents.views(service),
        **catalogue.views(service),
        **live.views(service),
        **discovery.views(service),
        **health.views(service),
        **windows.views(service),
        **publishers.views(service),
        **{name: series.view(service, name) for name in SERIES},
    }
    for name, view in views.items():
        endpoint = ENDPOINTS[name]
        app.add_url_rule(_rule(endpoint), name, checked(endpoint, view), methods=[endpoint.method])
    app.register_blueprint(geo.blueprint(service.gate, service.documents))
    app.register_blueprint(keys.blueprint(service.gate))
    app.register_blueprint(map_page.blueprint(service))
    app.register_error_handler(
        NotFound, lambda _error: problem_responses.response(service.settings.base_url, not_found(request.path))
    )


def checked(endpoint: Endpoint, view: Callable[..., Response]) -> Callable[..., Response]:
    """A view of a path that reads no parameters itself: those that it does not know are refused all the same."""
    if endpoint.tag not in ("Discovery", "Service"):
        return view

    def answer(**named: str) -> Response:
        parameters.values(endpoint.parameters, request.args)
        return view(**named)

    return answer


def _rule(endpoint: Endpoint) -> str:
    """Unknown zones match no rule: their 404 comes before 405. Zones without the metric match: their 404 says more."""
    zones = ",".join(f'"{zone}"' for zone in ZONES)
    return endpoint.path.replace("{zone}", f"<any({zones}):zone>").replace("{kind}", "<kind>")


def not_found(path: str) -> Problem:
    """Why a path leads nowhere: its zone, or all of it."""
    match = _ZONE_PATH.fullmatch(path)
    endpoint = _PREFIXES.get(match[1]) if match else None
    if match is None or endpoint is None:
        return Problem("not-found", KINDS["not-found"].meaning)
    return Problem("unknown-zone", f"There is no zone {match[2][:40]!r}.", members={"zones": list(endpoint.zones)})
