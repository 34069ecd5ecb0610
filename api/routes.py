"""Which view answers which path, and what is said where none does. The paths themselves stand in `api.endpoints`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from flask import Flask
from werkzeug.exceptions import NotFound

from api.documents.bulk import METRICS
from api.documents.catalogue import SERIES
from api.endpoints import ENDPOINTS, Endpoint
from api.exact_paths import Route
from api.http import parameters, problem_responses
from api.http.flask_views import for_flask, request_at_hand
from api.http.messages import Request, Response, View
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

_ZONE_PATH = re.compile(r"(/v1/(?:[a-z-]+/)+?)([^/]*)(/[0-9-]+\.parquet)?")


def _prefixes() -> dict[str, Endpoint]:
    """What stands before the zone in every path that has one."""
    starts = ((endpoint.path.partition("{zone}")[0], endpoint) for endpoint in ENDPOINTS.values() if endpoint.zones)
    return {start.replace("{metric}", name): endpoint for start, endpoint in starts for name in METRICS}


_PREFIXES = _prefixes()


def register(app: Flask, service: Service, views: Mapping[str, View], layers: Mapping[str, View]) -> None:
    """Gives every path its view: those of `views` and of `layers`, and those that draw on Flask."""
    for name, view in {**views, **discovery.views(service)}.items():
        endpoint = ENDPOINTS[name]
        app.add_url_rule(_rule(endpoint), name, for_flask(checked(endpoint, view)), methods=[endpoint.method])
    app.register_blueprint(geo.blueprint(layers))
    app.register_blueprint(ogc.blueprint(service))
    app.register_blueprint(keys.blueprint(service.gate))
    app.register_blueprint(webhooks.blueprint(service))
    app.register_blueprint(map_page.blueprint(service))
    app.register_error_handler(NotFound, lambda _error: _unrouted(service.settings.base_url, request_at_hand()))


def views_of(service: Service) -> dict[str, View]:
    """The views of market data and of the service's own state, by operationId."""
    return {
        **documents.views(service),
        **catalogue.views(service),
        **live.views(service),
        **health.views(service),
        **windows.views(service),
        **publishers.views(service),
        **bulk.views(service),
        **changes.views(service),
        **{name: series.view(service, name) for name in SERIES},
        **{f"{name}-zones": several.view(service, name) for name in SERIES},
    }


def layers_of(service: Service) -> dict[str, View]:
    """The views of the geo layers, by path."""
    return geo.views(service.gate, service.documents)


def spelled_out(views: Mapping[str, View], layers: Mapping[str, View]) -> dict[str, Route]:
    """The views by path, where each path can be spelled out."""
    spelled = {path: route for name, view in views.items() for path, route in _spelled(ENDPOINTS[name], view)}
    return spelled | {path: Route(f"geo.{geo.endpoint_of(path)}", view, {}) for path, view in layers.items()}


def _spelled(endpoint: Endpoint, view: View) -> Iterator[tuple[str, Route]]:
    before, is_of_zones, behind = endpoint.path.partition("{zone}")
    if "{" in before + behind or endpoint.method != "GET":
        return
    for named in [{"zone": zone} for zone in ZONES] if is_of_zones else [{}]:
        yield f"{before}{named.get('zone', '')}{behind}", Route(endpoint.id, checked(endpoint, view), named)


def checked(endpoint: Endpoint, view: View) -> View:
    """A view of a path that reads no parameters itself: those that it does not know are refused all the same."""
    if endpoint.tag not in ("Discovery", "Service"):
        return view

    def answer(request: Request, **named: str) -> Response:
        parameters.values(endpoint.parameters, request.args)
        return view(request, **named)

    return answer


def _rule(endpoint: Endpoint) -> str:
    """Unknown zones match no rule: their 404 comes before 405. Zones without the metric match: their 404 says more."""
    rule = endpoint.path.replace("{kind}", "<kind>").replace("{month}", "<month>")
    for name, words in (("zone", ZONES), ("metric", METRICS)):
        known = ",".join(f'"{word}"' for word in words)
        rule = rule.replace(f"{{{name}}}", f"<any({known}):{name}>")
    return rule


def _unrouted(base_url: str, request: Request) -> Response:
    """The answer where no path fits: the way to the zone's exact id, or why there is nothing."""
    exact = exact_path(request.path) if request.method in ("GET", "HEAD") else None
    if exact is None:
        return problem_responses.response(base_url, not_found(request.path), request)
    location = f"{exact}?{request.query}" if request.query else exact  # relative: whatever host the caller came by
    return Response(308, [("Location", location), ("Cache-Control", "public, max-age=86400")])


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
