"""Paths that are known to the letter, answered by their views before Flask looks at them.

Flask's matching of paths and its contexts were a third of a short answer's work. Any other method or path goes on to
Flask, which would answer these the same: the views are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from api.http import problem_responses
from api.http.messages import Request, Response, View

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Route(NamedTuple):
    """A view, what its path holds, and the one method that it is asked by here."""

    endpoint: str
    view: View
    named: Mapping[str, str]
    method: str = "GET"


def before(app: WSGIApplication, routes: Mapping[str, Route], base_url: str) -> WSGIApplication:
    """A WSGI application that answers `routes`, by path, before another that answers all else."""
    failed = partial(problem_responses.failed, base_url)
    exact = {path: route._replace(view=answering_failures(route.view, failed)) for path, route in routes.items()}

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        route = exact.get(environ["PATH_INFO"])
        if route is None or route.method != environ["REQUEST_METHOD"]:
            return app(environ, start_response)
        environ["emds.endpoint"], environ["emds.zone"] = route.endpoint, route.named.get("zone")
        return route.view(Request(environ), **route.named)(environ, start_response)

    return served


def answering_failures(view: View, failed: Callable[[Exception, Request], Response]) -> View:
    """A view that raises nothing: `failed` answers in its place, as Flask does with whatever an endpoint raises."""

    def answer(request: Request, **named: str) -> Response:
        try:
            return view(request, **named)
        except Exception as failure:
            return failed(failure, request)

    return answer
