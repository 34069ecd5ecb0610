"""Which view answers which path, and what is said where none does. The paths themselves stand in `api.endpoints`."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches

from flask import Flask, Response, request
from werkzeug.exceptions import NotFound

from api.documents.bulk import METRICS
from api.documents.catalogue import SERIES
from api.endpoints import ENDPOINTS, Endpoint
from api.http import parameters, problem_responses
from api.http.problem_kinds import KINDS
from api.http.problems import Problem
from api.service import Service
from api.views import (
    bulk,
    catalogue,
    changes,
    discovery,
    documents,
    geo,
    health,
    keys,
    live,
    map_page,
    ogc,
    publishers,
    series,
    several,
    webhooks,
    windows,
)
from warehouse.zones import ZONES

_ZONE_PATH = re.compile(r"(/v1/(?:[a-z-]+/)+)([^/]*)(/[0-9-]+\.parquet)?")


def _prefixes() -> dict[str, Endpoint]:
    """What stands before the zone in every path that has one."""
    starts = ((endpoint.path.partition("{zone}")[0], endpoint) for endpoint in ENDPOINTS.values() if endpoint.zones)
    return {start.replace("{metric}", name): endpoint for start, endpoint in starts for name in METRICS}


_PREFIXES = _prefixes()


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
        **bulk.views(service),
        **changes.views(service),
        **{name: series.view(service, name) for name in SERIES},
        **{f"{name}-zones": several.view(service, name) for name in SERIES},
    }
    for name, view in views.items():
        endpoint = ENDPOINTS[name]
        app.add_url_rule(_rule(endpoint), name, checked(endpoint, view), methods=[endpoint.method])
    app.register_blueprint(geo.blueprint(service.gate, service.documents))
    app.register_blueprint(ogc.blueprint(service))
    app.register_blueprint(keys.blueprint(service.gate))
    app.register_blueprint(webhooks.blueprint(service))
    app.register_blueprint(map_page.blueprint(service))
    app.register_error_handler(NotFound, lambda _error: _unrouted(service.settings.base_url))


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
    rule = endpoint.path.replace("{kind}", "<kind>").replace("{month}", "<month>")
    for name, words in (("zone", ZONES), ("metric", METRICS)):
        known = ",".join(f'"{word}"' for word in words)
        rule = rule.replace(f"{{{name}}}", f"<any({known}):{name}>")
    return rule


def _unrouted(base_url: str) -> Response:
    """The answer where no path fits: the way to the zone's exact id, or why there is nothing."""
    exact = exact_path(request.path) if request.method in ("GET", "HEAD") else None
    if exact is None:
        return problem_responses.response(base_url, not_found(request.path))
    query = request.query_string.decode("latin-1")
    location = f"{exact}?{query}" if query else exact  # relative: whatever host and prefix the caller came by
    return Response(status=308, headers=[("Location", location), ("Cache-Control", "public, max-age=86400")])


def exact_path(path: str) -> str | None:
    """A path with its zone's exact id, where that is there in another case or with `_` for `-`; None for any other."""
    match, endpoint = _zone_path(path)
    if match is None or endpoint is None:
        return None
    zone = _normal(match[2])
    return f"{match[1]}{zone}{match[3] or ''}" if zone in ZONES and zone != match[2] else None


def _zone_path(path: str) -> tuple[re.Match[str] | None, Endpoint | None]:
    """The parts of a path that holds a zone, and its endpoint; None where there is no such path."""
    match = _ZONE_PATH.fullmatch(path)
    endpoint = _PREFIXES.get(match[1]) if match else None
    fits = match is not None and endpoint is not None and bool(match[3]) == endpoint.path.endswith(".parquet")
    return (match, endpoint) if fits else (None, None)


def _normal(zone: str) -> str:
    return zone.upper().replace("_", "-")


def not_found(path: str) -> Problem:
    """Why a path leads nowhere: its zone, with the nearest id, or all of it."""
    match, endpoint = _zone_path(path)
    if match is None or endpoint is None:
        return Problem("not-found", KINDS["not-found"].meaning)
    zone = match[2][:40]
    nearest = get_close_matches(_normal(zone), endpoint.zones, 1, 0.5)
    meant = f" Did you mean {nearest[0]}?" if nearest else ""
    return Problem("unknown-zone", f"There is no zone {zone!r}.{meant}", members={"zones": list(endpoint.zones)})
