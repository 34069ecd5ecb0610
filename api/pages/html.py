"""Render HTML: templates, pages of the folder `docs`, problem types, and the service as a Dataset."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from api.endpoints import guides
from api.http.messages import HttpRequest, Response
from api.http.problems import KINDS, MEDIA, ProblemKind
from api.series.formats import MEDIA as MEDIA_OF_ROWS
from api.settings import Settings
from warehouse.market.metrics import METRICS, PUBLIC
from warehouse.market.zones import ZONES

Answer = Callable[[Exception, HttpRequest], Response]
"""A function that returns the response to an error."""

TITLE = "Electricity Market Data Service"
ABOUT = (
    f"Real-time and historical electricity market data for {len(ZONES)} grid zones in the US, Great Britain, Australia "
    "and continental Europe: price, demand, cross-border flow, generation mix, carbon intensity, installed capacity, "
    "and a brief that ranks the present against each zone's last 30 days."
)
FOLDER = Path(__file__).parent
_PICTURE = re.compile(r"(!\[[^\]]*\])\(([\w-]+\.webp)\)")
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|data:|#|/|examples/)(?:([\w-]+)\.md(#[^)]*)?|[^)]*)\)")
"""A link to a file of the repository."""
_ICON = (FOLDER / "map" / "icon.svg").read_bytes()
SCRIPT = (FOLDER / "docs.js").read_text()
_HASH = b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
_PAGE = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
PAGE_HEADERS = [("Content-Security-Policy", _PAGE)]
_REFERENCE = (
    f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REFERENCE_HEADERS = [("Content-Security-Policy", _REFERENCE)]
"""Only the page's own script, which is named by hash, and calls of this service are allowed."""


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=select_autoescape(("html", "svg")), keep_trailing_newline=True
    )
    icon = f"data:image/svg+xml;base64,{b64encode(_ICON).decode()}"
    environment.globals |= {"icon": icon, "service": TITLE, "about": ABOUT}
    return environment


def dataset(settings: Settings) -> dict[str, Any]:
    """Return the JSON-LD of the service as a Dataset. Licences differ by zone and are in the catalogue."""
    base = settings.base_url
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "@id": f"{base}/#dataset",
        "name": TITLE,
        "description": ABOUT,
        "url": f"{base}/",
        "license": f"{base}/catalog",
        "creator": {"@type": "Organization", "name": TITLE, "url": f"{base}/"},
        "isAccessibleForFree": True,
        "keywords": ["electricity", "power market", *(METRICS[metric].title for metric in PUBLIC)],
        "variableMeasured": [
            {"@type": "PropertyValue", "name": METRICS[metric].title, "unitText": METRICS[metric].units}
            for metric in PUBLIC
        ],
        "spatialCoverage": [zone.name for zone in ZONES.values()],
        "includedInDataCatalog": {"@type": "DataCatalog", "name": "Catalogue", "url": f"{base}/catalog"},
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": MEDIA_OF_ROWS[name],
                "contentUrl": f"{base}/v1/price/GB?sample=true&format={name}",
            }
            for name in ("json", "csv", "parquet")
        ],
    }


def head(settings: Settings, path: str) -> Markup:
    """Return the metadata in the head of a page: its URL, its description and the JSON-LD Dataset."""
    address = escape(f"{settings.base_url}{path}")
    described = json.dumps(dataset(settings), ensure_ascii=False).replace("<", "\\u003c")
    return Markup(  # noqa: S704  escaped above
        f'<link rel="canonical" href="{address}"><meta property="og:url" content="{address}">'
        f'<meta property="og:image" content="{escape(settings.base_url)}/og.png">'
        f'<meta property="og:title" content="{TITLE}"><meta property="og:description" content="{escape(ABOUT)}">'
        f'<script type="application/ld+json">{described}</script>'
    )


def for_browsers(failed: Answer) -> Answer:
    """Return a function that calls `failed` and, if a browser sent the request, wraps the problem in a page."""

    def answer(error: Exception, request: HttpRequest) -> Response:
        response = failed(error, request)
        if response.header("Content-Type") != MEDIA or not request.header("HTTP_ACCEPT").startswith("text/html"):
            return response
        members = json.loads(response.body)
        page = problem(KINDS[members["type"].rpartition("/")[2]], members).encode()
        others = [(name, value) for name, value in response.headers if name != "Content-Type"]
        return Response(
            response.status,
            [*others, ("Content-Type", "text/html; charset=utf-8"), ("Vary", "Accept"), *PAGE_HEADERS],
            page,
        )

    return answer


def render(template: str, **values: Any) -> str:
    """Render a template of this folder with the given values."""
    return _templates().get_template(template).render(**values)


def problem(kind: ProblemKind, members: Mapping[str, Any] | None = None) -> str:
    """Return the page of a problem type, or of the problem with these JSON fields."""
    text = json.dumps(members, indent=2, ensure_ascii=False) if members else ""
    return render("problem.html", kind=kind, kinds=KINDS.values(), members=members, text=text)


def doc_page(page: str, base_url: str) -> str:
    """Return a page of the folder `docs`. Its texts are trusted, so HTML in them is kept."""
    markdown = MarkdownIt("commonmark").enable("table")
    text = _PICTURE.sub(_embedded, (guides.FOLDER / f"{page}.md").read_text())
    tokens = markdown.parse(_LINK.sub(_linked, text))
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            # Links between the pages use the same anchors.
            token.attrSet("id", re.sub(r"[^\w\- ]", "", following.content.lower()).strip().replace(" ", "-"))
    body = markdown.renderer.render(tokens, markdown.options, {})
    address = f"{base_url}/docs/{page}"
    return render("document.html", title=guides.DOC_PAGES[page], body=Markup(body), address=address)  # noqa: S704


def _embedded(picture: re.Match[str]) -> str:
    """Return an image of the folder as a data URL in Markdown."""
    words, name = picture.groups()
    return f"{words}(data:image/webp;base64,{b64encode((guides.FOLDER / name).read_bytes()).decode()})"


def _linked(link: re.Match[str]) -> str:
    """Turn a link to a neighbouring file into a link to its page. If it has no page, return the link's text."""
    words, page, place = link.groups()
    return f"[{words}](/docs/{page}{place or ''})" if page in guides.DOC_PAGES else words
