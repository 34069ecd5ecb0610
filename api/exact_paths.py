"""GETs of paths that are known to the letter, answered by their views before Flask looks at them.

Flask's matching of paths and its contexts were a third of a short answer's work. Any other method or path goes on to
Flask, which would answer these the same: the views are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from api.http import problem_responses
from api.http.messages import Request, View

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Route(NamedTuple):
    """A view, and what its path holds."""

    endpoint: str
    view: View
    named: Mapping[str, str]


def before(app: WSGIApplication, routes: Mapping[str, Route], base_url: str) -> WSGIApplication:
    """A WSGI application that answers GETs of `routes`' paths, before another that answers all else."""

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        route = routes.get(environ["PATH_INFO"]) if environ["REQUEST_METHOD"] == "GET" else None
        if route is None:
            return app(environ, start_response)
        environ["emds.endpoint"], environ["emds.zone"] = route.endpoint, route.named.get("zone")
        request = Request(environ)
        try:
            response = route.view(request, **route.named)
        except Exception as error:  # as Flask does with whatever an endpoint raises
            response = problem_responses.failed(base_url, error, request)
        return response(environ, start_response)

    return served
