"""Serve OGC API Features, Part 1: Core, over the geo layers, so that QGIS, GDAL and ArcGIS can add the service.

It has the landing page, conformance, collections, items with `limit`, `offset`, `bbox` and `datetime`, and single
features. Standard: https://docs.ogc.org/is/17-069r4/17-069r4.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
import orjson

from api.geo.layers import GeoLayer
from api.geo.parameters import PARAMETERS, ROOT, TITLES
from api.geo.views import SAMPLE_FEATURES, caching, layer_of, valid_until
from api.http import responses
from api.http.document import Document
from api.http.messages import Headers, HttpRequest, QueryValues, Response, View
from api.http.problems import Problem
from api.service import Service
from api.settings import is_loopback
from warehouse.documents.feature_files import Positions
from warehouse.market import clock
from warehouse.store import layout

_DOCUMENTS = {name: layout.geo(name, "geojson", "high" if name == "zones" else "") for name in PARAMETERS}
CONFORMS_TO = (
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
)
_Body = tuple[bytes, Headers]
_CRS = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_GEOJSON, _JSON = "application/geo+json", "application/json"
_CACHING = [("Cache-Control", "public, max-age=300"), ("Vary", "Accept-Encoding")]


def _respond_ogc(
    service: Service,
    request: HttpRequest,
    query: QueryValues,
    build: Callable[..., _Body],
    media: str = _JSON,
    **named: str,
) -> Response:
    with service.gate.enter(request) as entry:
        body, headers = build(service, request, query, **named)
        return entry.settle(responses.body(request, body, media, headers))


def _link(service: Service, request: HttpRequest, path: str, relation: str, media: str, title: str) -> dict[str, str]:
    base = service.own_address
    if not base and is_loopback(request.host_url):  # a forged Host gets relative links
        base = request.host_url
    return {"href": f"{base.rstrip('/')}{path}", "rel": relation, "type": media, "title": title}


def _landing(service: Service, request: HttpRequest, _query: Any) -> _Body:
    link = partial(_link, service, request)
    links = [
        link(ROOT, "self", _JSON, "This document"),
        link("/openapi.json", "service-desc", _JSON, "The API"),
        link("/docs", "service-doc", "text/html", "The API for people"),
        link(f"{ROOT}/conformance", "conformance", _JSON, "Conformance classes"),
        link(f"{ROOT}/collections", "data", _JSON, "The layers"),
    ]
    title = "Electricity Market Data: zones, interconnectors, plants"
    description = "Layers whose ids join to prices, flows and generation."
    return orjson.dumps({"title": title, "description": description, "links": links}), _CACHING


def _collections(service: Service, request: HttpRequest, _query: Any) -> _Body:
    links = [_link(service, request, f"{ROOT}/collections", "self", _JSON, "The layers")]
    # `live` is listed after its first publication.
    names = [name for name, document in _DOCUMENTS.items() if service.documents.get(document) is not None]
    described = [_described(service, request, name) for name in names]
    return orjson.dumps({"links": links, "collections": described}), _CACHING


def _collection(service: Service, request: HttpRequest, _query: Any, name: str) -> _Body:
    return orjson.dumps(_described(service, request, name)), _CACHING


def _described(service: Service, request: HttpRequest, name: str) -> dict[str, Any]:
    title = TITLES[name]
    layer = layer_of(service.documents.require(_DOCUMENTS[name]))
    path = f"{ROOT}/collections/{name}"
    return {
        "id": name,
        "title": title,
        "description": layer.head["attribution"],
        "itemType": "feature",
        "crs": [_CRS],
        "extent": {"spatial": {"bbox": [layer.extent()], "crs": _CRS}},
        "links": [
            _link(service, request, path, "self", _JSON, title),
            _link(service, request, f"{path}/items", "items", _GEOJSON, f"{title} as GeoJSON"),
            _link(service, request, "/docs", "license", "text/html", layer.head["license"]),
        ],
    }


def _items(service: Service, request: HttpRequest, values: dict[str, Any], name: str) -> _Body:
    document = service.documents.require(_DOCUMENTS[name])
    layer = _with_reals(document)
    matched = layer.select(values)
    offered = matched[:SAMPLE_FEATURES] if values["sample"] else matched
    first, last = values["offset"], values["offset"] + values["limit"]
    page = offered[first:last]

    def link(relation: str, title: str, **changed: int) -> dict[str, str]:
        query = urlencode({**request.args.to_dict(flat=False), **changed}, doseq=True)
        address = f"{ROOT}/collections/{name}/items{'?' * bool(query)}{query}"
        return _link(service, request, address, relation, _GEOJSON, title)

    following = [link("next", "The next features", offset=last)] if last < len(offered) else []
    extra = {
        "numberMatched": len(matched),
        "numberReturned": len(page),
        "timeStamp": clock.iso(document.identity.version // 1_000_000_000),
        "links": [link("self", "This document"), *following],
        **({"sample": True} if values["sample"] else {}),
        **({"valid_until": valid_until(layer, page)} if name == "live" else {}),
    }
    return layer.collection(page, extra), _caching(name, layer, page)


def _caching(name: str, layer: GeoLayer, positions: Positions) -> Headers:
    return caching(layer, valid_until(layer, positions)) if name == "live" else _CACHING


def _with_reals(document: Document) -> GeoLayer:
    """Return the layer with `1985.0` for `1985` in every feature's properties.

    QGIS takes a column's type from the first features and stores features in its own table, in which a missing whole
    number becomes 0. QGIS would show a price of 0 that was never published. A missing real number stays missing.
    """

    def written(feature: bytes) -> bytes:
        members = orjson.loads(feature)
        properties = members["properties"].items()
        members["properties"] = {name: float(value) if type(value) is int else value for name, value in properties}
        return orjson.dumps(members)

    layer = layer_of(document)
    real: GeoLayer = document.derive("reals", lambda _: replace(layer, features=tuple(map(written, layer.features))))
    return real


def _item(service: Service, request: HttpRequest, _query: Any, name: str, feature: str) -> _Body:
    document = service.documents.require(_DOCUMENTS[name])
    layer = _with_reals(document)
    ids: list[str] = document.derive("ids", lambda _: [orjson.loads(own)["id"] for own in layer.features])
    if feature not in ids:
        raise Problem(
            "not-found",
            f"The collection {name} has no feature {feature[:60]!r}. List its features at "
            f"/v1/geo/collections/{name}/items.",
        )
    path = f"{ROOT}/collections/{name}"
    links = [
        _link(service, request, f"{path}/items/{feature}", "self", _GEOJSON, "This feature"),
        _link(service, request, path, "collection", _JSON, TITLES[name]),
    ]
    place = ids.index(feature)
    stored = orjson.loads(layer.features[place])
    # The layer's terms apply if the feature has no terms.
    terms = {word: layer.head[word] for word in ("license", "attribution") if word not in stored["properties"]}
    return orjson.dumps({**stored, **terms, "links": links}), _caching(name, layer, np.array([place]))


VIEWS: dict[str, View] = {
    "ogc-landing": partial(_respond_ogc, build=_landing),
    "ogc-conformance": partial(_respond_ogc, build=lambda *_: (orjson.dumps({"conformsTo": CONFORMS_TO}), _CACHING)),
    "ogc-collections": partial(_respond_ogc, build=_collections),
    **{f"ogc-{name}": partial(_respond_ogc, build=_collection, name=name) for name in TITLES},
    **{f"ogc-{name}-items": partial(_respond_ogc, build=_items, media=_GEOJSON, name=name) for name in TITLES},
    **{f"ogc-{name}-item": partial(_respond_ogc, build=_item, media=_GEOJSON, name=name) for name in TITLES},
}
