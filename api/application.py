"""The application of one worker: settings, service, routes and middleware put together. Nothing is computed here."""

from __future__ import annotations

import logging

from flask import Flask

from api import routes
from api.access.gate import Gate
from api.http import middleware
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
    service = Service.over(settings, storage, gate or Gate.open(settings, _mode(storage)), ttl_s)
    app = Flask(__name__, static_folder=None, template_folder="pages")
    # A path is what it says: no redirects (in HTML) from `//` or `/v1/zones/`.
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.extensions["emds"] = service
    app.wsgi_app = middleware.around(  # type: ignore[assignment, method-assign]
        routes.serve(app, service), settings.base_url
    )
    return app


def _mode(storage: Storage) -> str:
    """The warehouse's mode; empty where it cannot be read: then nothing is sold, and everything else works."""
    try:
        return (storage.get(layout.MODE) or b"").decode("ascii", "replace").strip()
    except StorageError as fault:
        logging.getLogger("emds.api").error("warehouse: %s", fault)
        return ""
