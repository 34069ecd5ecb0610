"""The paths of OGC API Features over the geo layers."""

from __future__ import annotations

from api.endpoints.endpoint import Endpoint
from api.geo.collections import COLLECTIONS, ROOT
from api.geo.parameters import MEDIA

_GEOJSON = (MEDIA["geojson"],)


def _of(name: str) -> tuple[Endpoint, Endpoint, Endpoint]:
    collection, path = COLLECTIONS[name], f"{ROOT}/collections/{name}"
    title = collection.title
    return (
        Endpoint(
            f"ogc-{name}", path, f"{title}, described", "Extent and links (OGC API Features).", "Free", "OgcDocument",
            statuses=(400, 503),
        ),
        Endpoint(
            f"ogc-{name}-items", f"{path}/items", f"{title} by page",
            "Features by `limit` and `offset`, with `numberMatched` and a link to the next page (OGC API Features).",
            "Free", "Features", collection.parameters, media=_GEOJSON, statuses=(400, 503),
        ),
        Endpoint(
            f"ogc-{name}-item", f"{path}/items/{{feature}}", f"{title}: one feature", "A feature by its id.", "Free",
            "Feature", media=_GEOJSON, statuses=(400, 404, 503),
        ),
    )  # fmt: skip


OGC_FEATURES = (
    Endpoint(
        "ogc-landing", ROOT, "OGC API Features", "Landing page, which QGIS and ArcGIS add as a service.", "Free",
        "OgcDocument", statuses=(400,),
    ),
    Endpoint(
        "ogc-conformance", f"{ROOT}/conformance", "Conformance classes", "Part 1: Core, and GeoJSON.", "Free",
        "OgcConformance", statuses=(400,),
    ),
    Endpoint(
        "ogc-collections", f"{ROOT}/collections", "The geo layers as collections", "Each with extent and links.",
        "Free", "OgcDocument", statuses=(400, 503),
    ),
    *(endpoint for name in COLLECTIONS for endpoint in _of(name)),
)  # fmt: skip
