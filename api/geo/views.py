"""Serve the published layers under `/v1/geo`, whole or filtered."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from api.documents.document_cache import DocumentCache
from api.geo.geoparquet import write_lines
from api.geo.layers import GeoLayer, properties_csv
from api.geo.parameters import FORMATS, MEDIA, PARAMETERS, UNCUT
from api.http import responses
from api.http.codings import pack, tag_of
from api.http.document import Document
from api.http.messages import Headers, HttpRequest, QueryValues, Response, View
from api.http.parameters import conflict
from api.http.problems import Problem
from api.service import Service
from warehouse.documents.feature_files import CUTS, Cut, Positions, cut_csv
from warehouse.market import clock
from warehouse.store import layout

SAMPLE_FEATURES = 50
_CONTENT_TYPE = {**MEDIA, "csv": "text/csv; charset=utf-8; header=present"}
LIVE_LAYERS = ("live", "flows")
"""The layers that change with each publication."""
_COMPRESSED = ("parquet", "pmtiles")
"""Formats with internal compression. Readers request ranges of their exact bytes."""
# Layers change about once a year. A corrected layer reaches every map within an hour.
_YEARLY = [("Cache-Control", "public, max-age=3600, stale-while-revalidate=86400"), ("Vary", "Accept, Accept-Encoding")]


class Selection(NamedTuple):
    """The selected features of a layer, and their format."""

    layer: str
    format: str
    detail: str
    filters: dict[str, Any]
    """The set parameters by name, including `sample`. If empty, the response is the document as published."""

    def document(self, format_: str) -> str:
        """Return the name of the published document that contains the layer in a format."""
        return layout.geo(self.layer, format_, self.detail)


def _layer(service: Service, request: HttpRequest, query: QueryValues, layer: str, suffix: str | None) -> Response:
    """Return the layer, or its selected features. Raises Problem 400 for a conflict and 406 for an unknown format."""
    # Clients that accept plain JSON also receive GeoJSON.
    types = {MEDIA[known]: known for known in FORMATS[layer]} | {"application/json": "geojson"}
    format_ = suffix or responses.negotiate(query["format"], request.header("HTTP_ACCEPT"), types)
    filters = {name: value for name, value in query.items() if value and name not in ("format", "detail")}
    if format_ in UNCUT and filters:
        raise conflict(
            "format", f"cannot be combined with bbox, at or sample, because {format_} always contains the whole layer"
        )
    selection = Selection(layer, format_, query.get("detail", ""), filters)
    with service.gate.enter(request) as entry:
        return entry.settle(responses.ranged(request, _respond_layer(request, service.documents, selection)))


def _respond_layer(request: HttpRequest, documents: DocumentCache, selection: Selection) -> Response:
    """Return the whole response. Raises Problem 404 for a point outside the zones, and 503 before publication."""
    source = documents.require(selection.document("geojson"))
    layer, is_live = layer_of(source), selection.layer in LIVE_LAYERS
    positions = _positions(documents, selection, layer)
    caching_ = _YEARLY
    if is_live:
        caching_ = caching(layer, valid_until(layer, positions) if selection.filters else layer.head["valid_until"])
    headers = [*caching_, *_disposition(selection)]
    media, is_coded = _CONTENT_TYPE[selection.format], selection.format not in _COMPRESSED
    if not selection.filters and not (is_live and selection.format != "geojson"):
        source = documents.require(selection.document(selection.format))
        if is_coded:
            return responses.document(request, source, media, headers)
        return responses.file(request, source.body, source.tag, media, headers)
    etag = responses.ETag(request, tag_of(repr((source.tag, selection)).encode()), is_coded)
    return etag.answer(media, headers, lambda coding: pack(_cut(documents, selection, source, positions), coding))


def layer_of(document: Document) -> GeoLayer:
    """Return the index of a GeoJSON document, computed once per publication."""
    index: GeoLayer = document.derive("geo", lambda geojson: GeoLayer.parse(geojson.body))
    return index


def _positions(documents: DocumentCache, selection: Selection, layer: GeoLayer) -> Positions:
    filters = selection.filters
    positions = layer.select(filters, SAMPLE_FEATURES if "sample" in filters else None)
    if "at" not in filters:
        return positions
    lon, lat = filters["at"]
    fine = layer_of(documents.require(layout.geo("zones", "geojson", "high")))
    zones = fine.select({"bbox": (lon, lat, lon, lat)}, 1)
    if not len(zones):
        raise Problem("not-found", f"No zone contains the point {lat:g},{lon:g}. Send latitude first, then longitude.")
    return np.intersect1d(positions, zones)


def _cut(documents: DocumentCache, selection: Selection, source: Document, positions: Positions) -> bytes:
    """Return the bytes of the selected features. Raises Problem 503 while documents are of two publications."""
    layer, is_live = layer_of(source), selection.layer in LIVE_LAYERS
    if selection.format == "geojson":
        until = {"valid_until": valid_until(layer, positions)} if is_live else {}
        return layer.collection(positions, until | ({"sample": True} if "sample" in selection.filters else {}))
    if is_live and selection.format == "parquet":
        head = {name: str(layer.head[name]) for name in ("license", "attribution")}
        return write_lines([layer.features[place] for place in positions], head)
    if is_live:
        cut: Cut = source.derive("properties", lambda _: cut_csv(properties_csv(layer)))
        return cut(positions, None)
    # FlatGeobuf with an index reorders its features, so they are cut from a file without an index.
    pieces = documents.require(selection.document("rows.fgb" if selection.format == "fgb" else selection.format))
    # The content shows whether both are of the same publication: a copy or a restore changes file times.
    hashes = documents.get(layout.geo_hashes(selection.layer))
    known = hashes.json["documents"] if hashes else {}
    for part in (source, pieces):
        if known.get(part.name) != part.derive("sha256", lambda document: sha256(document.body).hexdigest()):
            detail = (
                "The layer is being published. Try again in a second; if this lasts, the operator can run `emds "
                "publish`."
            )
            raise Problem("not-yet-available", detail, headers=[("Retry-After", "1")])
    cut = pieces.derive("pieces", lambda document: CUTS[selection.format](document.body))
    return cut(positions, layer.extent(positions))


def valid_until(layer: GeoLayer, positions: Positions) -> int | None:
    """Return when the first of these features' values is due to be replaced, that of the layer if none has a time."""
    chosen = [end for end in (layer.ends[place] for place in positions) if end is not None]
    until: int | None = layer.head.get("valid_until")
    return min(chosen, default=until)


def caching(layer: GeoLayer, until: int | None) -> Headers:
    """Return the caching headers and marks of live features, which are overdue after `until` (Unix seconds)."""
    return [*responses.caching("free"), *responses.marks(layer.head["simulated"], until is None or clock.now() > until)]


def _disposition(selection: Selection) -> Headers:
    if selection.format == "geojson":
        return []
    name = selection.document(selection.format).replace("/", "-")
    headers = [("Content-Disposition", f'attachment; filename="{name}"')]
    if selection.format == "csv":
        headers.append(("Link", f'</v1/geo/collections/{selection.layer}>; rel="describedby"'))
    return headers


VIEWS: dict[str, View] = {
    f"geo-{layer}{f'-{suffix}'.replace('-geojson', '-file') if suffix else ''}": partial(
        _layer, layer=layer, suffix=suffix
    )
    for layer in PARAMETERS
    for suffix in (None, *FORMATS[layer])
}
