"""Build the application of one worker, in which every view is registered once under its operationId.

Paths without a part that only Flask can match (`/v1/price/GB`) are also in a dictionary. Flask's matching and its
contexts took a third of the time of a short response.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Flask
from flask.globals import request_ctx
from werkzeug.exceptions import NotFound

from api.access import key_life, sign_up, webhook_views
from api.access.gate import Gate
from api.documents import bulk, changes, published, status
from api.documents.zone_figure import TITLES
from api.endpoints.endpoint import Endpoint
from api.endpoints.other_paths import explain_path
from api.endpoints.query_parameters import METRICS
from api.endpoints.table import ENDPOINTS
from api.geo import ogc
from api.geo import views as geo
from api.http import failures, middleware, parameters
from api.http.messages import HttpRequest, Responded, Response, View
from api.http.parameters import nearest_word
from api.http.problems import Problem
from api.mcp import endpoint as mcp
from api.pages import discovery, html, map_page, zone_images
from api.series import records, windows
from api.series import views as series
from api.service import Service
from api.settings import Settings
from warehouse.bookkeeping import logged
from warehouse.errors import StorageError, UnknownZone
from warehouse.market.metrics import BY_PATH
from warehouse.market.zones import ZONES, find_zone
from warehouse.store import home, layout, zone_ids
from warehouse.store.storage import Storage

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_DATA = (published, status, changes, bulk, series, windows, records, geo, ogc, discovery, zone_images)
_ACCESS = (sign_up, key_life, webhook_views)
VIEWS: Mapping[str, View] = {name: view for room in _DATA + _ACCESS for name, view in room.VIEWS.items()}
"""The views by operationId, which take the service, the request, its checked parameters, and the parts of the path."""
NOT_FOUND_FIRST: Mapping[str, Callable[..., object]] = {**series.NOT_FOUND_FIRST, **bulk.NOT_FOUND_FIRST}
"""The checks, by operationId, that raise a 404 before a 400 for parameters is raised."""
_FILE = "bulk-file"
"""The endpoint for which a key has a higher rate limit."""
_ZONE_PATH = re.compile(r"(/v1/(?:[A-Za-z_-]+/)+?)([^/]*)(/[0-9-]+\.parquet)?")
_IMAGE_ENDINGS = {".svg", *(f".{metric}.svg" for metric in TITLES)}
_IMAGE_PATH = re.compile(r"(/(?:embed|badge)/)([^/.]*)([a-z._-]*)", re.IGNORECASE | re.ASCII)
_CONVERTERS = {"zone": f"any({','.join(map(repr, ZONES))})", "metric": f"any({','.join(map(repr, METRICS))})"}
"""An unknown zone matches no rule, so that its 404 precedes a 405. A zone without the metric matches, because the 404
of the view explains more."""


class Route(NamedTuple):
    """A path with `{}` for each variable part, its methods, and its view. The access log and `/metrics` use `id`."""

    id: str
    path: str
    methods: tuple[str, ...]
    view: View


def create_app(settings: Settings, gate: Gate | None = None, ttl_s: float = 0.0) -> Flask:
    """Return the application of one worker; without `gate`, create a gate over the settings' database.

    The application serves a newly published document after at most `ttl_s` seconds.
    """
    storage = home.parse(settings.home, settings.local, settings.bucket_cache_s).open()
    with logged("zones"):  # only logs zones that this process lacks, because a replaced worker must start again
        zone_ids.check(zone_ids.stored_ids(storage), ZONES)
    service = Service(settings, storage, gate or Gate(settings, _mode(storage)), ttl_s)
    app = Flask(__name__, static_folder=None, template_folder="pages")
    # Paths are exact: `//` and `/v1/zones/` must not cause redirects, which Flask sends as HTML.
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.extensions["emds"] = service
    failed = _counting(service.gate, html.for_browsers(partial(failures.failed, settings.base_url)))
    listed = routes(service)
    for route in listed:
        answer: Any = lambda route=route, **named: _call(route, request_ctx.request.environ, named)  # noqa: E731
        app.add_url_rule(_rule(route.path), route.id, answer, methods=route.methods)
    app.register_error_handler(Exception, lambda error: failed(error, HttpRequest(request_ctx.request.environ)))
    not_routed = partial(_not_routed, service.gate, failed)
    app.register_error_handler(NotFound, lambda _: not_routed(HttpRequest(request_ctx.request.environ)))
    wsgi_app = middleware.wrap(exact_first(app.wsgi_app, listed, failed), settings.base_url)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app


def _mode(storage: Storage) -> str:
    """Return the warehouse's mode; empty if it cannot be read, in which case the API sells nothing."""
    try:
        return (storage.get(layout.MODE) or b"").decode("ascii", "replace").strip()
    except StorageError as fault:
        logging.getLogger("emds.api").error("warehouse: %s", fault)
        return ""


def routes(service: Service) -> list[Route]:
    """List every route of a service."""
    page, map_file = map_page.views(service)
    return [
        *(Route(e.id, e.path, (e.method,), partial(_answer, service, e, VIEWS[e.id])) for e in ENDPOINTS.values()),
        Route("map", "/", ("GET",), page),
        Route("map-file", "/map/{version}/{name}", ("GET",), map_file),
        Route("mcp.answer", mcp.PATH, mcp.METHODS, mcp.view(service)),
    ]


def _answer(
    service: Service, endpoint: Endpoint, view: Callable[..., Response], request: HttpRequest, **named: str
) -> Response:
    if request.query or endpoint.price:
        _check_early(service.gate, request, endpoint)
    try:
        parameters.check_count(request.query.count("&") + 1)
        sent = parameters.query_without_blank_probes(request, endpoint.parameters) if endpoint.price else request.args
        query = parameters.values(endpoint.parameters, sent)
    except Problem:
        if endpoint.id in NOT_FOUND_FIRST:
            NOT_FOUND_FIRST[endpoint.id](service, **named)
        raise
    return view(service, request, query, **named)


def _check_early(gate: Gate, request: HttpRequest, endpoint: Endpoint | None) -> None:
    """Raise Responded with a 429 if the request is over the limit, before any of the request is read."""
    is_file = endpoint is not None and endpoint.id == _FILE
    if is_file and "signature=" in request.query:
        return
    call = gate.call_of(request, endpoint.price if endpoint else "")
    if too_many := gate.check_early(call, is_file):
        raise Responded(too_many)


def _counting(gate: Gate, failed: html.Answer) -> html.Answer:
    """Return a function that calls `failed` and counts each refusal (4xx) that the gate has not counted."""

    def answer(error: Exception, request: HttpRequest) -> Response:
        response, environ = failed(error, request), request.environ
        if 400 <= response.status < 500 and response.status != 429 and "emds.counted" not in environ:
            endpoint = ENDPOINTS.get(environ.get("emds.endpoint", ""))
            call = gate.call_of(request, endpoint.price if endpoint else "")
            too_many = gate.count_refusal(call, endpoint is not None and endpoint.id == _FILE)
            is_operators = endpoint is not None and endpoint.token  # a scraper must learn that its token is wrong
            return response if too_many is None or is_operators else failed(too_many, request)
        return response

    return answer


def exact_first(app: WSGIApplication, listed: Iterable[Route], failed: html.Answer) -> WSGIApplication:
    """Return a WSGI application that serves routes with fixed paths and zones, and leaves other paths to `app`."""
    exact: dict[tuple[str, str], tuple[Route, dict[str, str]]] = {}
    for route in listed:
        before, is_of_zones, behind = route.path.partition("{zone}")
        if "{" not in before + behind:
            for zone in ZONES if is_of_zones else ("",):
                exact[route.methods[0], f"{before}{zone}{behind}"] = route, {"zone": zone} if zone else {}

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        route, named = exact.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]), (None, {}))
        if route is None:
            return app(environ, start_response)
        try:
            response = _call(route, environ, named)
        except Exception as error:
            response = failed(error, HttpRequest(environ))
        return response(environ, start_response)

    return served


def _call(route: Route, environ: WSGIEnvironment, named: Mapping[str, str]) -> Response:
    """Return the response of a route, and record the route in `environ` for the access log and `/metrics`."""
    environ["emds.endpoint"], environ["emds.zone"] = route.id, named.get("zone")
    return route.view(HttpRequest(environ), **named)


def _rule(path: str) -> str:
    """Return a path in Flask's syntax."""
    converters = {**_CONVERTERS, "name": "path"}
    return re.sub(r"\{(\w+)\}", lambda part: f"<{converters.get(part[1], 'string')}:{part[1]}>", path)


def _not_routed(gate: Gate, failed: html.Answer, request: HttpRequest) -> Response:
    """Return the response for an unknown path: a redirect to the exact path, or a 404 that gives the reason."""
    try:
        _check_early(gate, request, None)
    except Responded as too_many:
        return failed(too_many, request)
    exact = exact_path(request.path)
    if isinstance(exact, Problem):
        return failed(exact, request)
    if request.method not in ("GET", "HEAD"):
        return failed(_nothing_at(request.path, exact), request)
    location = (
        f"{exact}{'&' if '?' in exact else '?'}{request.query}" if request.query else exact
    )  # relative, because it must keep the host that the client used
    return Response(308, [("Location", location), ("Cache-Control", "public, max-age=86400")])


def exact_path(path: str) -> str | Problem:
    """Return the exact path that `path` is a variant of, or a problem: the zone is unknown, or the whole path is.

    For `/v1/carbon_intensity/uk` this is `/v1/carbon-intensity/GB`.
    """
    if path == "/favicon.ico":  # browsers request it unprompted
        return "/map/latest/icon.svg"
    if image := _IMAGE_PATH.fullmatch(path):
        exact, ending = _of_zone(_plain(image[1]), image[2], _plain(image[3]), ZONES), _plain(image[3])
        is_other = exact != path or not ending.endswith(".svg")
        if isinstance(exact, str) and is_other and ending not in _IMAGE_ENDINGS:
            return _nothing_at(path, f"{exact.partition('.')[0]}.svg")
        return exact if exact != path else _nothing_at(path, None)
    match = _ZONE_PATH.fullmatch(path)
    endpoint = _PREFIXES.get(_plain(match[1])) if match else None
    if not match or not endpoint or bool(match[3]) != endpoint.path.endswith(".parquet"):
        exact = _plain(path)
        is_meant = exact in _WHOLE and path.startswith("/v1/") and exact != path
        return exact if is_meant else _nothing_at(path, _nearest(path[:100]))
    if "," in match[2] and not match[3]:
        return _of_several(_plain(match[1]), match[2])
    exact = _of_zone(_plain(match[1]), match[2], match[3] or "", endpoint.zones)
    return exact if exact != path else Problem("not-found")


def _of_zone(before: str, name: str, behind: str, zones: Iterable[str]) -> str | Problem:
    """Return a path with the zone's exact ID, or a problem if the zone is unknown."""
    try:
        return f"{before}{find_zone(name)}{behind}"
    except UnknownZone as unknown:
        return Problem("unknown-zone", str(unknown), members={"zones": list(zones)})


def _of_several(before: str, names: str) -> str | Problem:
    """Return the path that takes the zones of `NL,BE` as its parameter, or a problem that names such a path."""
    try:
        zones = ",".join(dict.fromkeys(map(find_zone, names[:300].split(","))))
    except UnknownZone as unknown:
        return Problem("unknown-zone", str(unknown), members={"zones": list(ZONES)})
    path = before.rstrip("/")
    if path in _OF_ZONES:
        return f"{path}?zones={zones}"
    more = (
        f"/v1/map/snapshot?zones={zones} returns the latest values of several zones, and /v1/price?zones={zones} a "
        "series."
    )
    return Problem("not-found", f"{path}/ accepts a single zone. {more}")


def _nothing_at(path: str, nearest: str | None) -> Problem:
    hint = explain_path(path) or (f" Did you mean {nearest}?" if nearest else "")
    return Problem("not-found", f"No resource at {path[:100]!r}.{hint} For all paths, see /openapi.json.")


def _nearest(path: str) -> str | None:
    """Return the likely path for `path`, which may misspell a metric or lack `/v1`; None if no path is close enough."""
    if (of_a_zone := f"{path}/{{zone}}") in _WHOLE:
        return of_a_zone
    parts = [nearest_word(part, BY_PATH) or part for part in path.removeprefix("/v1").strip("/").split("/")]
    known = set[str]()
    for template in _TEMPLATES:
        same = [*zip(template, parts, strict=True)] if len(template) == len(parts) else []
        if all(_is_zone(part) for own, part in same if own == "{zone}"):
            known.add("/".join(["/v1", *([part if "{" in own else own for own, part in same] or template)]))
    paths = sorted(one for one in known if "{" not in one and one != path)
    nearest = get_close_matches(path, paths, 1, 0.95) or get_close_matches(f"/v1/{'/'.join(parts)}", paths, 1, 0.8)
    return nearest[0] if nearest else None


def _is_zone(name: str) -> bool:
    try:
        return bool(find_zone(name))
    except UnknownZone:
        return False


def _plain(path: str) -> str:
    return path.lower().replace("_", "-")


_PREFIXES = {
    endpoint.path.partition("{zone}")[0].replace("{metric}", name): endpoint
    for endpoint in ENDPOINTS.values()
    if endpoint.zones
    for name in METRICS
}
"""The endpoint for each part before `{zone}` of a path."""
_WHOLE = frozenset(endpoint.path for endpoint in ENDPOINTS.values() if endpoint.path.startswith("/v1/"))
_OF_ZONES = frozenset(endpoint.path for endpoint in ENDPOINTS.values() if "zones" in endpoint.parameters)
_TEMPLATES = [path.removeprefix("/v1/").split("/") for path in _WHOLE]
