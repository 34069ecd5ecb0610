"""The page at `/`: the files of `api/pages/map`, held in memory and compressed once. Its figures come from the API."""

from __future__ import annotations

import hashlib
from html import escape
from pathlib import Path

from flask import Blueprint

from api.documents.cache import Document
from api.http import responses
from api.http.flask_views import request_at_hand
from api.http.messages import Response
from api.http.problems import Problem
from api.service import Service
from warehouse.errors import StorageError
from warehouse.storage import Identity
from warehouse.zones import ZONES

FOLDER = Path(__file__).parents[1] / "pages" / "map"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
# Nothing inline and no other host; Leaflet and uPlot set styles by script, which 'self' allows.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors {framers}"
)


_HTML_HEADERS = [
    ("Cache-Control", "public, no-cache"),
    ("Vary", "Accept-Encoding"),
    ("Referrer-Policy", "same-origin"),
]
_EMBED = (b"<body>", b'<body class="embed">')
_HIDDEN_BANNER, _BANNER = b'<p id="simulated" class="banner" hidden>', b'<p id="simulated" class="banner">'


def blueprint(service: Service) -> Blueprint:
    """`/` and its files, under an address that changes with their content.

    `/?embed` is the map alone, for a frame in another page: the origins of EMDS_ALLOWED_ORIGINS may show it.
    """
    files = {str(path.relative_to(FOLDER)): path.read_bytes() for path in sorted(FOLDER.rglob("*")) if path.is_file()}
    digest = hashlib.sha256(b"".join(name.encode() + body for name, body in files.items())).hexdigest()[:12]
    documents = {name: _document(name, body) for name, body in files.items() if name != "index.html"}
    index = files["index.html"].replace(b"{files}", f"map/{digest}".encode()).replace(b"{rows}", _rows().encode())
    # The banner stands there from the start: one that appears later moves the page.
    pages = {
        (simulated, embed): _document("index.html", body.replace(*_EMBED) if embed else body)
        for simulated, body in ((False, index), (True, index.replace(_HIDDEN_BANNER, _BANNER)))
        for embed in (False, True)
    }
    framers = " ".join(("'self'", *service.settings.allowed_origins))
    routes = Blueprint("map", __name__)

    @routes.get("/")
    def page() -> Response:
        request = request_at_hand()
        headers = [*_HTML_HEADERS, ("Content-Security-Policy", _POLICY.format(framers=framers))]
        shown = pages[_is_simulated(service), "embed" in request.args]
        return responses.document(request, shown, _MEDIA[".html"], headers)

    @routes.get("/map/<version>/<path:name>")
    def file(version: str, name: str) -> Response:
        document = documents.get(name)
        if document is None:
            raise Problem("not-found", "The page has no such file.")
        # A page loaded before a release still finds its files, but caches do not keep them under the old address.
        caching = "public, max-age=31536000, immutable" if version == digest else "no-cache"
        headers = [("Cache-Control", caching), ("Vary", "Accept-Encoding")]
        return responses.document(request_at_hand(), document, _MEDIA[Path(name).suffix], headers)

    return routes


def _is_simulated(service: Service) -> bool:
    try:
        return service.catalogue.simulated
    except StorageError:
        return False


def _rows() -> str:
    """The zones as table rows without figures: what stands there before the script, and without it."""
    return "".join(
        f'<tr class="none"><th scope="row"><button type="button">{zone.id}<small>{escape(zone.name)}</small></button>'
        '</th><td class="num"><b>–</b> <small>&nbsp;</small></td><td><span class="rank unknown"></span></td></tr>'
        for zone in ZONES.values()
    )


def _document(name: str, body: bytes) -> Document:
    return Document(name, body, Identity(0, len(body), 0))
