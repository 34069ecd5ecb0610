"""Serve the page at `/` from the files of `api/pages/map`, read and compressed once. Its values come from the API."""

from __future__ import annotations

import hashlib
from pathlib import Path

from api.http import responses
from api.http.document import Document
from api.http.messages import HttpRequest, Response, View
from api.http.problems import Problem
from api.pages import html
from api.service import Service
from warehouse.errors import StorageError
from warehouse.market.zones import ZONES
from warehouse.store.stored_bytes import Identity

FOLDER = Path(__file__).parent / "map"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
# Inline scripts and other hosts are not allowed. Leaflet and uPlot set styles by script, which 'self' allows.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'"
)
AS_FILES = "emds.static"
"""The WSGI key that marks a request for the static page, which works without the API. Clients cannot set it."""

_HTML_HEADERS = [("Cache-Control", "public, no-cache"), ("Vary", "Accept-Encoding"), ("Referrer-Policy", "same-origin")]


def views(service: Service) -> tuple[View, View]:
    """Return the views of `/` and `/map/{version}/{name}`. The files are read once, and their URLs change with them.

    `/?embed` shows only the map, for a frame in another page. The origins in EMDS_ALLOWED_ORIGINS may embed it. The
    static page contains its own policy and omits the parts that need the API.
    """
    bodies = {str(path.relative_to(FOLDER)): path.read_bytes() for path in sorted(FOLDER.rglob("*")) if path.is_file()}
    digest = hashlib.sha256(b"".join(name.encode() + body for name, body in bodies.items())).hexdigest()[:12]
    files = {name: Document(name, body, Identity(0, 0, 0)) for name, body in bodies.items()}
    index = files.pop("index.html")
    head = html.head(service.settings, "/")
    shared = {"files": f"map/{digest}", "head": head, "zones": ZONES.values(), "policy": _POLICY}
    framers = " ".join(("'self'", *service.settings.allowed_origins))
    page_headers = [*_HTML_HEADERS, ("Content-Security-Policy", f"{_POLICY}; frame-ancestors {framers}")]

    def page(request: HttpRequest) -> Response:
        try:
            is_simulated = service.documents.catalogue.simulated
        except StorageError:
            is_simulated = False
        is_static = AS_FILES in request.environ
        form = {"simulated": is_simulated, "embed": "embed" in request.args, "static": is_static}
        live = "v1/geo/live.geojson" if is_static else "v1/geo/live"
        content = index.render(repr(form), lambda: html.render("map/index.html", **form, live=live, **shared))
        return responses.document(request, content, _MEDIA[".html"], page_headers)

    def file(request: HttpRequest, version: str, name: str) -> Response:
        if name not in files:
            raise Problem("not-found", "The map page has no such file. Reload the page.")
        # A page loaded before a release still finds its files, but caches do not keep them under the old URL.
        caching = "public, max-age=31536000, immutable" if version == digest else "no-cache"
        headers = [("Cache-Control", caching), ("Vary", "Accept-Encoding")]
        return responses.document(request, files[name], _MEDIA[Path(name).suffix], headers)

    return page, file
