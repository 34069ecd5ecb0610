"""Which view answers which path: each is registered once, under the operationId of its endpoint in `api.endpoints`.

Paths without a part that only Flask can match (`/v1/price/GB`) are also found in a dictionary: Flask's matching and its
contexts were a third of a short answer's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask
from flask.globals import request_ctx
from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule

from api.access import key_views, webhook_views
from api.documents import bulk, catalogue, changes, published, publishers, status
from api.endpoints import ENDPOINTS, Endpoint
from api.geo import ogc
from api.geo import views as geo
from api.http import problem_responses
from api.http.messages import Request, Response, View
from api.http.problems import KINDS, Problem
from api.mcp import endpoint as mcp
from api.pages import discovery, health
from api.pages.map_page import MapPage
from api.series import views as series
from api.series import windows
from api.service import Service
from warehouse.zones import ZONES

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

VIEWS: Mapping[str, View] = {
    **published.VIEWS,
    **catalogue.VIEWS,
    **status.VIEWS,
    **publishers.VIEWS,
    **changes.VIEWS,
    **bulk.VIEWS,
    **series.VIEWS,
    **windows.VIEWS,
    **geo.VIEWS,
    **ogc.VIEWS,
    **key_views.VIEWS,
    **webhook_views.VIEWS,
    **discovery.VIEWS,
    **health.VIEWS,
}
"""By operationId; each takes the service, the request, its checked parameters, and by name what its path holds."""
NOT_FOUND_FIRST: Mapping[str, Callable[..., object]] = {**series.NOT_FOUND_FIRST, **bulk.NOT_FOUND_FIRST}
"""By operationId, the check that raises a 404, which goes before a 400 for parameters."""
_ZONE_PATH = re.compile(r"(/v1/(?:[a-z-]+/)+?)([^/]*)(/[0-9-]+\.parquet)?")
_CONVERTERS = {"zone": f"any({','.join(map(repr, ZONES))})", "metric": f"any({','.join(map(repr, bulk.METRICS))})"}
"""Unknown zones match no rule: their 404 comes before 405. Zones without the metric match: their 404 says more."""


class Route(NamedTuple):
    """One method of one path with `{}` for what varies, and its view."""

    id: str
    """What the access log and `/metrics` call it."""
    path: str
    method: str | None
    """None for all of them."""
    view: View


class _Exact(NamedTuple):
    """A route with a path that nothing varies."""

    route: Route
    named: Mapping[str, str]


def routes(service: Service) -> list[Route]:
    """Every route of a service."""
    failed = partial(problem_responses.failed, service.settings.base_url)
    pages = MapPage.of(service)
    return [
        *(
            Route(e.id, e.path, e.method, answering_failures(partial(_answer, service, e, VIEWS[e.id]), failed))
            for e in ENDPOINTS.values()
        ),
        Route("map", "/", "GET", answering_failures(pages.page, failed)),
        Route("map-file", "/map/{version}/{name}", "GET", answering_failures(pages.file, failed)),
        Route("mcp.answer", mcp.PATH, None, answering_failures(mcp.view(service), mcp.unforeseen)),
    ]


def _answer(
    service: Service, endpoint: Endpoint, view: Callable[..., Response], request: Request, **named: str
) -> Response:
    try:
        query = endpoint.read(request)
    except Problem:
        if endpoint.id in NOT_FOUND_FIRST:
            NOT_FOUND_FIRST[endpoint.id](service, **named)
        raise
    return view(service, request, query, **named)


def serve(app: Flask, service: Service) -> WSGIApplication:
    """Give Flask every route; return the application that answers exact paths first and asks Flask for all others."""
    failed, listed = partial(problem_responses.failed, service.settings.base_url), routes(service)
    for route in listed:
        if route.method is None:  # a rule without methods takes them all
            app.url_map.add(Rule(_rule(route.path), endpoint=route.id))
            app.view_functions[route.id] = partial(_of_flask, route)
        else:
            app.add_url_rule(_rule(route.path), route.id, partial(_of_flask, route), methods=[route.method])
    app.register_error_handler(Exception, lambda error: failed(error, _request_of_flask()))
    app.register_error_handler(NotFound, lambda _: _not_routed(service.settings.base_url, _request_of_flask()))
    return exact_first(app.wsgi_app, listed)


def exact_first(app: WSGIApplication, listed: Iterable[Route]) -> WSGIApplication:
    """Return a WSGI application that answers the routes whose paths can be spelled out, and asks `app` for the rest."""
    exact = {path: found for route in listed for path, found in _spelled_out(route)}

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        found = exact.get(environ["PATH_INFO"])
        if found is None or found.route.method != environ["REQUEST_METHOD"]:
            return app(environ, start_response)
        return _call(found.route, environ, found.named)(environ, start_response)

    return served


def _spelled_out(route: Route) -> Iterator[tuple[str, _Exact]]:
    method = "POST" if route.path == mcp.PATH else "GET"
    before, is_of_zones, behind = route.path.partition("{zone}")
    if "{" in before + behind or route.method not in ("GET", None):
        return
    for named in [{"zone": zone} for zone in ZONES] if is_of_zones else [{}]:
        yield f"{before}{named.get('zone', '')}{behind}", _Exact(route._replace(method=method), named)


def answering_failures(view: View, failed: Callable[[Exception, Request], Response]) -> View:
    """A view that raises nothing: `failed` answers in its place."""

    def answer(request: Request, **named: str) -> Response:
        try:
            return view(request, **named)
        except Exception as failure:
            return failed(failure, request)

    return answer


def _request_of_flask() -> Request:
    """The request that Flask is answering in this thread."""
    return Request(request_ctx.request.environ)


def _of_flask(route: Route, **named: str) -> Any:
    return _call(route, request_ctx.request.environ, named)


def _call(route: Route, environ: WSGIEnvironment, named: Mapping[str, str]) -> Response:
    """The answer of a route, which the access log and `/metrics` find in the environ."""
    environ["emds.endpoint"], environ["emds.zone"] = route.id, named.get("zone")
    return route.view(Request(environ), **named)


def _rule(path: str) -> str:
    """A path as Flask writes it."""
    converters = {**_CONVERTERS, "name": "path"}
    return re.sub(r"\{(\w+)\}", lambda part: f"<{converters.get(part[1], 'string')}:{part[1]}>", path)


def _not_routed(base_url: str, request: Request) -> Response:
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


def not_found(path: str) -> Problem:
    """Why a path leads nowhere: its zone, with the nearest id, or all of it."""
    match, endpoint = _zone_path(path)
    if match is None or endpoint is None:
        return Problem("not-found", KINDS["not-found"].meaning)
    zone = match[2][:40]
    nearest = get_close_matches(_normal(zone), endpoint.zones, 1, 0.5)
    suggestion = f" Did you mean {nearest[0]}?" if nearest else ""
    return Problem("unknown-zone", f"There is no zone {zone!r}.{suggestion}", members={"zones": list(endpoint.zones)})


def _zone_path(path: str) -> tuple[re.Match[str] | None, Endpoint | None]:
    """The parts of a path that holds a zone, and its endpoint; None where there is no such path."""
    match = _ZONE_PATH.fullmatch(path)
    endpoint = _PREFIXES.get(match[1]) if match else None
    fits = match is not None and endpoint is not None and bool(match[3]) == endpoint.path.endswith(".parquet")
    return (match, endpoint) if fits else (None, None)


def _normal(zone: str) -> str:
    return zone.upper().replace("_", "-")


def _prefixes() -> dict[str, Endpoint]:
    """The part before the zone of every path that has one, with its endpoint."""
    starts = ((endpoint.path.partition("{zone}")[0], endpoint) for endpoint in ENDPOINTS.values() if endpoint.zones)
    return {start.replace("{metric}", name): endpoint for start, endpoint in starts for name in bulk.METRICS}


_PREFIXES = _prefixes()
