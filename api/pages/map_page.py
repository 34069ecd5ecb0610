"""The page at `/`: the files of `api/pages/map`, held in memory and compressed once. Its figures come from the API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from api.documents.catalogue import Document
from api.http import responses
from api.http.messages import Headers, Request, Response
from api.http.problems import Problem
from api.pages import html
from api.service import Service
from warehouse.errors import StorageError
from warehouse.market.zones import ZONES
from warehouse.store.storage import Identity

FOLDER = Path(__file__).parent / "map"
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

_HTML_HEADERS = [("Cache-Control", "public, no-cache"), ("Vary", "Accept-Encoding"), ("Referrer-Policy", "same-origin")]


@dataclass(frozen=True, slots=True)
class MapPage:
    """`/` and its files, under an address that changes with their content.

    `/?embed` is the map alone, for a frame in another page: the origins of EMDS_ALLOWED_ORIGINS may show it.
    """

    service: Service
    digest: str
    files: Mapping[str, Document]
    pages: Mapping[tuple[bool, bool], Document]
    """By whether figures are simulated, and whether the page is embedded."""
    headers: Headers

    @classmethod
    def load(cls, service: Service) -> MapPage:
        """The page of a service, its files read once."""
        files = {
            str(path.relative_to(FOLDER)): path.read_bytes() for path in sorted(FOLDER.rglob("*")) if path.is_file()
        }
        digest = hashlib.sha256(b"".join(name.encode() + body for name, body in files.items())).hexdigest()[:12]
        documents = {name: _document(name, body) for name, body in files.items() if name != "index.html"}
        shared = {"files": f"map/{digest}", "head": html.head(service.settings, "/"), "zones": ZONES.values()}
        pages = {
            form: _document(
                "index.html", html.render("map/index.html", simulated=form[0], embed=form[1], **shared).encode()
            )
            for form in product((False, True), (False, True))
        }
        framers = " ".join(("'self'", *service.settings.allowed_origins))
        policy = ("Content-Security-Policy", _POLICY.format(framers=framers))
        return cls(service, digest, documents, pages, [*_HTML_HEADERS, policy])

    def page(self, request: Request) -> Response:
        """The answer of `/`."""
        try:
            is_simulated = self.service.catalogue.simulated
        except StorageError:
            is_simulated = False
        page = self.pages[is_simulated, "embed" in request.args]
        return responses.document(request, page, _MEDIA[".html"], self.headers)

    def file(self, request: Request, version: str, name: str) -> Response:
        """The answer of `/map/{version}/{name}`."""
        document = self.files.get(name)
        if document is None:
            raise Problem("not-found", "The page has no such file.")
        # A page loaded before a release still finds its files, but caches do not keep them under the old address.
        caching = "public, max-age=31536000, immutable" if version == self.digest else "no-cache"
        headers = [("Cache-Control", caching), ("Vary", "Accept-Encoding")]
        return responses.document(request, document, _MEDIA[Path(name).suffix], headers)


def _document(name: str, body: bytes) -> Document:
    return Document(name, body, Identity(0, len(body), 0))
