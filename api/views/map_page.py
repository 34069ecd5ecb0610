"""The page at `/`: the files of `api/pages/map`, held in memory and compressed once. Its figures come from the API."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flask import Blueprint, Response, request

from api.documents.cache import Document
from api.http import responses
from api.http.problems import Problem
from warehouse.storage import Identity

FOLDER = Path(__file__).parents[1] / "pages" / "map"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
# Nothing inline and no other host; Leaflet sets styles by script, which 'self' allows.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'"
)
_HTML_HEADERS = [
    ("Cache-Control", "public, no-cache"),
    ("Vary", "Accept-Encoding"),
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "same-origin"),
]


def blueprint() -> Blueprint:
    """`/` and its files, under an address that changes with their content."""
    files = {str(path.relative_to(FOLDER)): path.read_bytes() for path in sorted(FOLDER.rglob("*")) if path.is_file()}
    digest = hashlib.sha256(b"".join(name.encode() + body for name, body in files.items())).hexdigest()[:12]
    held = {name: _document(name, body) for name, body in files.items() if name != "index.html"}
    index = _document("index.html", files["index.html"].replace(b"{files}", f"map/{digest}".encode()))
    routes = Blueprint("map", __name__)

    @routes.get("/")
    def page() -> Response:
        return responses.document(request, index, _MEDIA[".html"], _HTML_HEADERS)

    @routes.get("/map/<version>/<path:name>")
    def file(version: str, name: str) -> Response:
        document = held.get(name)
        if document is None:
            raise Problem("not-found", "The page has no such file.")
        # A page loaded before a release still finds its files, but caches do not keep them under the old address.
        caching = "public, max-age=31536000, immutable" if version == digest else "no-cache"
        headers = [("Cache-Control", caching), ("Vary", "Accept-Encoding")]
        return responses.document(request, document, _MEDIA[Path(name).suffix], headers)

    return routes


def _document(name: str, body: bytes) -> Document:
    return Document(name, body, Identity(0, len(body), 0))
