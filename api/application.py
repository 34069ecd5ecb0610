"""The application of one worker: settings, service, routes and middleware put together. Nothing is computed here."""

from __future__ import annotations

import logging

from flask import Flask
from werkzeug.routing import Rule

from api import exact_paths, routes
from api.access.gate import Gate
from api.exact_paths import Route
from api.http import middleware
from api.http.flask_views import answer_failures, for_flask
from api.mcp import endpoint
from api.service import Service
from api.settings import Settings
from warehouse import home, layout
from warehouse.errors import StorageError
from warehouse.storage import Storage


def create_app(settings: Settings, gate: Gate | None = None, ttl_s: float = 0.0) -> Flask:
    """The application of one worker; `gate` is one over the settings' database where none is given.

    A newly published document is seen within `ttl_s` seconds.
    """
    storage = home.at(settings.home, settings.local, settings.bucket_fresh_s, settings.bucket_cache_mb << 20).open()
    mode = _mode(storage)
    service = Service.over(settings, storage, gate or Gate.open(settings, mode), ttl_s)
    app = Flask(__name__, static_folder=None, template_folder="pages")
    # A path is what it says: no redirects (in HTML) from `//` or `/v1/zones/`.
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    answer_failures(app, settings.base_url)
    views, layers = routes.views_of(service), routes.layers_of(service)
    routes.register(app, service, views, layers)
    mcp = _add_mcp(app, service)
    app.extensions["emds"] = service
    exact = {**routes.spelled_out(views, layers), endpoint.PATH: mcp}
    served = exact_paths.before(app.wsgi_app, exact, settings.base_url)
    app.wsgi_app = middleware.around(served, settings.base_url)  # type: ignore[assignment, method-assign]
    return app


def _add_mcp(app: Flask, service: Service) -> Route:
    """Gives /mcp its view, in Flask for every method: a rule without methods takes them all."""
    view = exact_paths.answering_failures(endpoint.view(service), endpoint.unforeseen)
    app.url_map.add(Rule(endpoint.PATH, endpoint="mcp.answer"))
    app.view_functions["mcp.answer"] = for_flask(view)
    return Route("mcp.answer", view, {}, "POST")


def _mode(storage: Storage) -> str:
    """The warehouse's mode; empty where it cannot be read: then nothing is sold, and everything else works."""
    try:
        return (storage.get(layout.MODE) or b"").decode("ascii", "replace").strip()
    except StorageError as fault:
        logging.getLogger("emds.api").error("warehouse: %s", fault)
        return ""
