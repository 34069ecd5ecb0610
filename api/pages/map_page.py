"""The page at `/`: the files of `api/pages/map`, held in memory and compressed once. Its figures come from the API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from api.documents.cache import Document
from api.http import responses
from api.http.messages import Headers, Request, Response
from api.http.problems import Problem
from api.pages.html import head
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
_EMBED = (b"<body>", b'<body class="embed">')
_HIDDEN_BANNER, _BANNER = b'<p id="simulated" class="banner" hidden>', b'<p id="simulated" class="banner">'


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
        index = files["index.html"].replace(b"{files}", f"map/{digest}".encode()).replace(b"{rows}", _rows().encode())
        index = index.replace(b"</head>", f"{head(service.settings, '/')}</head>".encode(), 1)
        # The banner is there from the start: one that appears later moves the page.
        pages = {
            (simulated, embed): _document("index.html", body.replace(*_EMBED) if embed else body)
            for simulated, body in ((False, index), (True, index.replace(_HIDDEN_BANNER, _BANNER)))
            for embed in (False, True)
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


def _rows() -> str:
    """The zones as table rows without figures, for before the script runs and where it does not."""
    return "".join(
        f'<tr class="none"><th scope="row"><button type="button">{zone.id}<small>{escape(zone.name)}</small></button>'
        '</th><td class="num"><b>–</b> <small>&nbsp;</small></td><td><span class="rank unknown"></span></td></tr>'
        for zone in ZONES.values()
    )


def _document(name: str, body: bytes) -> Document:
    return Document(name, body, Identity(0, len(body), 0))
