"""`/v1/geo/zones`, `/interconnectors`, `/plants`: the published layers, whole or cut to the features of a request.

app.register_blueprint(geo.blueprint(gate, DocumentCache(storage)))
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Blueprint, Request, Response, request
from numpy import intp
from numpy.typing import NDArray

from api.access.gate import Gate
from api.documents.cache import Document, DocumentCache
from api.geo.filters import Box, GeoLayer
from api.geo.parameters import FORMATS, MEDIA, PARAMETERS
from api.geo.slices import CUTS
from api.http import parameters, problem_responses, responses
from api.http.guard import guard
from api.http.problems import Problem
from api.series.formats import accepted
from warehouse import layout

SAMPLE_FEATURES = 50
_CONTENT_TYPE = {**MEDIA, "csv": "text/csv; charset=utf-8; header=present"}
# Layers change about once a year; a corrected one reaches every map within an hour.
_CACHING = [
    ("Cache-Control", "public, max-age=3600, stale-while-revalidate=86400"),
    ("Vary", "Accept, Accept-Encoding"),
]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which features of a layer, in which format."""

    layer: str
    format: str
    detail: str | None
    words: tuple[tuple[str, tuple[str, ...]], ...]
    """Filters and their values: (("zone", ("GB", "FR")),)."""
    min_mw: float | None
    box: Box | None
    sample: bool

    @property
    def whole(self) -> bool:
        """Whether the answer is the document as published."""
        return not (self.words or self.min_mw is not None or self.box is not None or self.sample)

    def document(self, format_: str) -> str:
        """The name of the published document that holds the layer in a format."""
        return layout.geo(self.layer, format_, self.detail or "")


def blueprint(gate: Gate, documents: DocumentCache) -> Blueprint:
    """The three paths, each also with a `.geojson` suffix, by which QGIS and GDAL know what they get."""
    routes = Blueprint("geo", __name__)
    for layer in PARAMETERS:
        for suffix in ("", ".geojson"):
            view = partial(_view, gate, documents, layer, bool(suffix))
            routes.add_url_rule(f"/v1/geo/{layer}{suffix}", f"{layer}{suffix[1:]}", view)
    return routes


def _view(gate: Gate, documents: DocumentCache, layer: str, suffixed: bool) -> Response:
    selection = read(layer, suffixed, request)
    return guard(
        gate,
        request,
        "",
        lambda _entry: answer(request, documents, selection),
        partial(problem_responses.refused, gate.settings.base_url),
    )


def read(layer: str, suffixed: bool, request: Request) -> Selection:
    """The selection of a request. Raises Problem 400 naming every error, 406 for a format that the layer lacks."""
    known = PARAMETERS[layer]
    values = parameters.values({k: v for k, v in known.items() if k != "format"} if suffixed else known, request.args)
    format_ = "geojson" if suffixed else _format(layer, values["format"], request)
    words = tuple((name, values[name]) for name in ("zone", "fuel") if values.get(name) is not None)
    return Selection(
        layer, format_, values.get("detail"), words, values.get("min_mw"), values["bbox"], values["sample"]
    )


def _format(layer: str, name: str | None, request: Request) -> str:
    """`?format=` first, then Accept, then GeoJSON, which clients that accept plain JSON get too."""
    types = {MEDIA[known]: known for known in FORMATS[layer]} | {"application/json": "geojson"}
    if name in FORMATS[layer]:
        return name
    accept = request.headers.get("Accept", "")
    media = accepted(accept, tuple(types)) if accept else MEDIA["geojson"]
    if name is not None or media is None:
        detail = f"This path gives {', '.join(FORMATS[layer])} ({', '.join(types)})."
        raise Problem("not-acceptable", detail, members={"acceptable": [*types]})
    return types[media]


def answer(request: Request, documents: DocumentCache, selection: Selection) -> tuple[Response, int]:
    """The response, and how many features it holds. Raises Problem 503 where the layer was never published."""
    source = _held(documents, selection.document("geojson"))
    index: GeoLayer = source.derive("geo", lambda document: GeoLayer.of(document.body))
    kept = _held(documents, selection.document(selection.format))
    headers, media = [*_CACHING, *_disposition(selection)], _CONTENT_TYPE[selection.format]
    compressible = selection.format != "parquet"
    if selection.whole and compressible:
        return responses.document(request, kept, media, headers), len(index.features)
    tag = kept.derive("tag", lambda document: responses.tag_of(document.body))
    validator = responses.Validator(request, (tag, selection), compressible)
    if responses.matches(request, validator.tag):
        return validator.unchanged(headers), 0
    if selection.whole:
        return validator.response(validator.coded(kept.body), media, headers), len(index.features)
    places = index.select(
        dict(selection.words), selection.min_mw, selection.box, SAMPLE_FEATURES if selection.sample else None
    )
    return validator.response(
        validator.coded(_cut(documents, selection, kept, source, index, places)), media, headers
    ), len(places)


def _cut(
    documents: DocumentCache,
    selection: Selection,
    kept: Document,
    source: Document,
    index: GeoLayer,
    places: NDArray[intp],
) -> bytes:
    if selection.format == "geojson":
        return index.collection(places, _extra(selection))
    if not _belong_together(documents, selection.layer, kept, source):
        detail = (
            "The layer's formats are of different publications: it is being published, or `emds publish` renews it."
        )
        raise Problem("not-yet-available", detail, headers=[("Retry-After", "1")])
    pieces = kept.derive("pieces", lambda document: CUTS[selection.format].of(document.body))
    made: bytes = pieces.cut(places, index.extent(places))
    return made


def _belong_together(documents: DocumentCache, layer: str, *parts: Document) -> bool:
    """Whether documents are of one publication, by their content: a copy or a restore gives files other times."""
    hashes = documents.get(layout.geo_hashes(layer))
    known = {} if hashes is None else hashes.json["documents"]
    return all(known.get(part.name) == part.derive("sha256", _sha256) for part in parts)


def _sha256(document: Document) -> str:
    return hashlib.sha256(document.body).hexdigest()


def _extra(selection: Selection) -> Mapping[str, Any]:
    return {"sample": True} if selection.sample else {}


def _held(documents: DocumentCache, name: str) -> Document:
    document = documents.get(name)
    if document is None:
        raise Problem(
            "not-yet-available", f"{name} was not published yet: `emds publish` does.", headers=[("Retry-After", "60")]
        )
    return document


def _disposition(selection: Selection) -> list[tuple[str, str]]:
    if selection.format == "geojson":
        return []
    return [("Content-Disposition", f'attachment; filename="{selection.document(selection.format).replace("/", "-")}"')]
