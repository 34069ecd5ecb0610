"""OGC API Features, Part 1: Core, over the geo layers, so that QGIS, GDAL and ArcGIS add the service itself.

Landing page, conformance, collections, items with `limit`, `offset`, `bbox` and `datetime`, and single features.
Standard: https://docs.ogc.org/is/17-069r4/17-069r4.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
import orjson
from flask import Blueprint, request
from numpy import intp
from numpy.typing import NDArray

from api.documents.cache import Document
from api.geo.collections import COLLECTIONS, ROOT
from api.geo.filters import GeoLayer
from api.geo.parameters import SAMPLE
from api.geo.reals import with_reals
from api.http import parameters, responses
from api.http.flask_views import request_at_hand
from api.http.messages import Headers, Response
from api.http.problems import Problem
from api.service import Service
from api.views.geo import SAMPLE_FEATURES, caching, layer_of, published, valid_until

CONFORMS_TO = (
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
    "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/geojson",
)
_CRS = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_GEOJSON, _JSON = "application/geo+json", "application/json"
_CACHING = [("Cache-Control", "public, max-age=300"), ("Vary", "Accept-Encoding")]


class _Feature(NamedTuple):
    """Where a feature stands in its layer, and the terms of the layer that it does not state itself."""

    place: int
    terms: Mapping[str, str]


class _Made(NamedTuple):
    """What a path answers."""

    body: bytes
    media: str = _JSON
    headers: Headers = _CACHING


def blueprint(service: Service) -> Blueprint:
    """The paths below `/v1/geo`, those of each collection by name."""
    routes = Blueprint("ogc", __name__)

    def add(path: str, name: str, make: Callable[..., _Made]) -> None:
        def view(**named: str) -> Response:
            return service.guarded(request_at_hand(), "", lambda _grant: _answer(make(service, **named)))

        routes.add_url_rule(f"{ROOT}{path}", name, view)

    add("", "landing", _landing)
    add("/conformance", "conformance", _conformance)
    add("/collections", "collections", _collections)
    for name in COLLECTIONS:
        add(f"/collections/{name}", name, partial(_collection, name=name))
        add(f"/collections/{name}/items", f"{name}-items", partial(_items, name=name))
        add(f"/collections/{name}/items/<feature>", f"{name}-item", partial(_item, name=name))
    return routes


def _answer(made: _Made) -> tuple[Response, int]:
    return responses.body(request_at_hand(), made.body, made.media, made.headers), 1


def _link(service: Service, path: str, relation: str, media: str, title: str) -> dict[str, str]:
    base = service.settings.own_address or request.host_url  # not set: the address by which the client came
    return {"href": f"{base.rstrip('/')}{path}", "rel": relation, "type": media, "title": title}


def _unfiltered() -> None:
    parameters.values({"sample": SAMPLE}, request.args)


def _landing(service: Service) -> _Made:
    _unfiltered()
    link = partial(_link, service)
    links = [
        link(ROOT, "self", _JSON, "This document"),
        link("/openapi.json", "service-desc", _JSON, "The API"),
        link("/docs", "service-doc", "text/html", "The API for people"),
        link(f"{ROOT}/conformance", "conformance", _JSON, "Conformance classes"),
        link(f"{ROOT}/collections", "data", _JSON, "The layers"),
    ]
    title = "Electricity Market Data: zones, interconnectors, plants"
    description = "Layers whose ids join to prices, flows and generation."
    return _Made(orjson.dumps({"title": title, "description": description, "links": links}))


def _conformance(_service: Service) -> _Made:
    _unfiltered()
    return _Made(orjson.dumps({"conformsTo": CONFORMS_TO}))


def _collections(service: Service) -> _Made:
    _unfiltered()
    links = [_link(service, f"{ROOT}/collections", "self", _JSON, "The layers")]
    # `live` appears with the first figures.
    there = [name for name, own in COLLECTIONS.items() if service.documents.get(own.document) is not None]
    described = [_described(service, name) for name in there]
    return _Made(orjson.dumps({"links": links, "collections": described}))


def _collection(service: Service, name: str) -> _Made:
    _unfiltered()
    return _Made(orjson.dumps(_described(service, name)))


def _described(service: Service, name: str) -> dict[str, Any]:
    title = COLLECTIONS[name].title
    layer = layer_of(published(service.documents, COLLECTIONS[name].document))
    path = f"{ROOT}/collections/{name}"
    return {
        "id": name,
        "title": title,
        "description": layer.head["attribution"],
        "itemType": "feature",
        "crs": [_CRS],
        "extent": {"spatial": {"bbox": [layer.extent(layer.select({}, None, None, None))], "crs": _CRS}},
        "links": [
            _link(service, path, "self", _JSON, title),
            _link(service, f"{path}/items", "items", _GEOJSON, f"{title} as GeoJSON"),
            _link(service, "/docs", "license", "text/html", layer.head["license"]),
        ],
    }


def _items(service: Service, name: str) -> _Made:
    values = parameters.values(COLLECTIONS[name].parameters, request.args)
    document = published(service.documents, COLLECTIONS[name].document)
    layer = _layer_of(document)
    words = {word: values[word] for word in ("zone", "fuel") if values.get(word) is not None}
    matched = layer.select(words, values.get("min_mw"), values["bbox"], None)
    given = matched[:SAMPLE_FEATURES] if values["sample"] else matched
    first, last = values["offset"], values["offset"] + values["limit"]
    shown = given[first:last]
    path = f"{ROOT}/collections/{name}/items"
    links = [_link(service, f"{path}{_query({})}", "self", _GEOJSON, "This document")]
    if last < len(given):
        links.append(_link(service, f"{path}{_query({'offset': last})}", "next", _GEOJSON, "The next features"))
    extra: dict[str, Any] = {
        "numberMatched": len(matched),
        "numberReturned": len(shown),
        "timeStamp": _stamp(document),
        "links": links,
    }
    extra |= {"sample": True} if values["sample"] else {}
    extra |= {"valid_until": valid_until(document, shown)} if name == "live" else {}
    return _Made(layer.collection(shown, extra), _GEOJSON, _caching(name, document, layer, shown))


def _caching(name: str, document: Document, layer: GeoLayer, shown: NDArray[intp]) -> Headers:
    return caching(layer, valid_until(document, shown)) if name == "live" else _CACHING


def _layer_of(document: Document) -> GeoLayer:
    layer = layer_of(document)
    real: GeoLayer = document.derive("reals", lambda _: with_reals(layer))
    return real


def _query(changes: Mapping[str, int]) -> str:
    merged = {**request.args.to_dict(), **{name: str(value) for name, value in changes.items()}}
    return f"?{urlencode(merged)}" if merged else ""


def _stamp(document: Document) -> str:
    """When the layer was published (RFC 3339)."""

    return datetime.fromtimestamp(document.identity.version // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _item(service: Service, name: str, feature: str) -> _Made:
    _unfiltered()
    document = published(service.documents, COLLECTIONS[name].document)
    layer = _layer_of(document)
    named: dict[str, _Feature] = document.derive("ids", lambda _: _by_id(layer))
    if feature not in named:
        raise Problem("not-found", f"The collection {name} has no feature {feature[:60]!r}.")
    path = f"{ROOT}/collections/{name}"
    links = [
        _link(service, f"{path}/items/{feature}", "self", _GEOJSON, "This feature"),
        _link(service, path, "collection", _JSON, COLLECTIONS[name].title),
    ]
    found = named[feature]
    members = orjson.dumps({**found.terms, "links": links})
    headers = _caching(name, document, layer, np.array([found.place]))
    return _Made(b"%b,%b" % (layer.features[found.place][:-1], members[1:]), _GEOJSON, headers)


def _by_id(layer: GeoLayer) -> dict[str, _Feature]:
    found = {}
    for place, feature in enumerate(map(orjson.loads, layer.features)):
        left = {word: layer.head[word] for word in ("license", "attribution") if word not in feature["properties"]}
        found[feature["id"]] = _Feature(place, left)
    return found
