"""Serve the descriptions of this service: OpenAPI, llms.txt, agents.txt, .well-known, robots.txt and the pages.

Every text is generated from the tables of endpoints, prices and problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from api.access.x402 import offers
from api.documents import published
from api.endpoints import guides
from api.endpoints.endpoint import Endpoint
from api.endpoints.guides import DOC_PAGES, EXAMPLES
from api.endpoints.table import ENDPOINTS, listing
from api.http import responses
from api.http.document import Document
from api.http.messages import HttpRequest, QueryValues, Response, View
from api.http.problems import KINDS, Problem
from api.mcp.tools import TOOLS
from api.openapi import document as openapi
from api.openapi import examples
from api.openapi.document import example_call, example_path
from api.pages import html, reference
from api.service import Service
from api.settings import Settings
from warehouse.errors import StorageError
from warehouse.market import clock
from warehouse.market.clock import DAY
from warehouse.market.zones import ZONES
from warehouse.store import layout
from warehouse.store.stored_bytes import Identity

# Crawlers that llms.txt and agents.txt invite are allowed.
_ROBOTS = """\
User-agent: *
Disallow: /metrics
Allow: /v1/
Allow: /mcp
Allow: /
Sitemap: {base}/sitemap.xml
# API: {base}/openapi.json
"""
_SITEMAP = """\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>
"""
_TEXT, _JSON, _HTML = "text/plain; charset=utf-8", "application/json", "text/html; charset=utf-8"


def _text(
    service: Service,
    request: HttpRequest,
    _query: QueryValues,
    text: Callable[..., str | dict[str, Any]],
    media: str = _TEXT,
    headers: Iterable[tuple[str, str]] = (),
    **named: str,
) -> Response:
    """Return a text, computed once per publication of the catalogue because its examples are of that time.

    If the catalogue cannot be read, the text has no examples: a description does not depend on data.
    """
    with service.gate.enter(request) as entry:
        try:
            catalogue = service.documents.catalogue.document
        except StorageError:
            catalogue = Document("", b"", Identity(0, 0, 0))
        document = catalogue.render(request.path, partial(text, service, **named))
        return entry.settle(responses.document(request, document, media, [*responses.caching(entry.method), *headers]))


def _catalogue(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    with service.gate.enter(request) as entry:
        catalogue = service.documents.catalogue
        build = partial(listing, catalogue, service.settings.base_url)
        return published.once_a_publication(entry, catalogue, "catalogue", build)


def _picture(service: Service, request: HttpRequest, _query: QueryValues) -> Response:
    with service.gate.enter(request) as entry:
        picture = service.documents.require(layout.PICTURE)
        return entry.settle(
            responses.file(request, picture.body, picture.tag, "image/png", responses.caching(entry.method))
        )


def _known(name: str, names: Iterable[str]) -> str:
    """Return the last part of a path. Raises Problem 404 if it is not in `names`."""
    if name not in names:
        raise Problem("not-found", f"No such page. Use one of {', '.join(names)}.")
    return name


def description(service: Service) -> dict[str, Any]:
    """Return the OpenAPI document, with examples from this service's own responses."""
    own_examples = {f"{name} {_JSON}": payable(service) for name in ("x402", "x402-json")}
    own_examples["api-catalog application/linkset+json"] = linkset(service)
    return openapi.document(service.settings, {**examples.collect(service), **own_examples})


def llms(service: Service) -> str:
    """Return llms.txt, which tells a language model how to use this service."""
    # A path with a file extension, or a page of a collection, returns another form of an earlier path.
    variants = {e.id for e in ENDPOINTS.values() if "." in e.path or e.path.startswith("/v1/geo/collections/")}
    listed = [e for e in ENDPOINTS.values() if e.paid or e.id not in variants]
    return html.render(
        "llms.txt",
        base=service.settings.base_url,
        zones=", ".join(ZONES),
        listed=[e for tag in openapi.TAGS for e in listed if e.tag == tag not in ("Discovery", "Service")],
        tools=TOOLS.values(),
        takes_payments=bool(service.settings.pay_to),
        optional=[ENDPOINTS[name] for name in ("catalogue", "openapi", "docs")],
        example_path=example_path,
        first_sentence=lambda text: f"{text.partition('. ')[0].removesuffix('.')}.",
    )


def agents(service: Service) -> str:
    """Return agents.txt, the rules for programs that act for people."""
    settings, paid = service.settings, [e for e in ENDPOINTS.values() if e.paid]
    return html.render("agents.txt", base=settings.base_url, paid=paid, takes_payments=bool(settings.pay_to))


def sitemap(service: Service) -> str:
    """Return sitemap.xml with the map, the pages and the descriptions."""
    pages = ("/", "/docs", *(f"/docs/{page}" for page in DOC_PAGES), "/llms.txt", "/openapi.json", "/catalog")
    return _SITEMAP.format(urls="".join(f"<url><loc>{service.settings.base_url}{page}</loc></url>" for page in pages))


def security(service: Service) -> str:
    """Return security.txt with the contact for vulnerabilities. It expires within half a year (RFC 9116, 2.5.5)."""
    contact = openapi.contact(service.settings)
    expires = clock.iso((clock.now() // DAY + 180) * DAY)
    canonical = f"{service.settings.base_url}/.well-known/security.txt"
    return f"Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\nCanonical: {canonical}\n"


def payable(service: Service) -> dict[str, Any]:
    """Return the body of both well-known x402 documents: URLs for older crawlers, requirements for newer ones.

    If the operator takes no payments, the lists are empty. Prices are in the catalogue and in OpenAPI.
    """
    settings = service.settings
    paid = [endpoint for endpoint in ENDPOINTS.values() if endpoint.paid and settings.pay_to]
    return {
        "version": 1,
        "x402Version": 2,
        "resources": [settings.base_url + example_call(endpoint) for endpoint in paid],
        "items": [_item(settings, endpoint) for endpoint in paid],
    }


def _item(settings: Settings, endpoint: Endpoint) -> dict[str, Any]:
    base, path, pay_to = settings.base_url, example_path(endpoint), settings.pay_to
    parameters = {name: parameter.description for name, parameter in endpoint.parameters.items()}
    return {
        "resource": {"url": base + example_call(endpoint), "description": endpoint.offer, "mimeType": _JSON},
        "type": "http",
        "accepts": [offers.requirement(2, base, pay_to, endpoint.id, path)],
        "price": {"currency": "USD", "amount": endpoint.price},
        "input": {"method": endpoint.method, "routeTemplate": endpoint.path, "queryParams": parameters},
    }


def linkset(service: Service) -> dict[str, Any]:
    """Return the API catalogue (RFC 9727, RFC 9264)."""
    base = service.settings.base_url
    targets = {
        "service-desc": ("/openapi.json", _JSON),
        "service-doc": ("/docs", "text/html"),
        "status": ("/v1/status", _JSON),
        "service-meta": ("/catalog", _JSON),
    }
    links = {relation: [{"href": base + path, "type": media}] for relation, (path, media) in targets.items()}
    return {"linkset": [{"anchor": f"{base}/", **links}]}


_LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
VIEWS: dict[str, View] = {
    "catalogue": _catalogue,
    "openapi": partial(_text, text=description, media=_JSON),
    "docs": partial(
        _text,
        text=lambda service: reference.render(service.settings, description(service)),
        media=_HTML,
        headers=html.REFERENCE_HEADERS,
    ),
    "llms": partial(_text, text=llms),
    "llms-well-known": partial(_text, text=llms),
    "agents": partial(_text, text=agents),
    "agents-well-known": partial(_text, text=agents),
    "security-txt": partial(_text, text=security),
    "robots": partial(_text, text=lambda service: _ROBOTS.format(base=service.settings.base_url)),
    "picture": _picture,
    "sitemap": partial(_text, text=sitemap, media="application/xml"),
    "x402": partial(_text, text=payable, media=_JSON),
    "x402-json": partial(_text, text=payable, media=_JSON),
    "api-catalog": partial(_text, text=linkset, media=_LINKSET),
    "guide": partial(
        _text,
        text=lambda service, page: html.doc_page(_known(page, DOC_PAGES), service.settings.base_url),
        media=_HTML,
        headers=html.PAGE_HEADERS,
    ),
    "example": partial(
        _text,
        text=lambda _, file: (guides.FOLDER / "examples" / _known(file, EXAMPLES)).read_text(),
        headers=[("Content-Disposition", "attachment")],
    ),
    "problem": partial(
        _text,
        text=lambda _, kind: html.problem(KINDS[_known(kind, KINDS)]),
        media=_HTML,
        headers=html.PAGE_HEADERS,
    ),
}
