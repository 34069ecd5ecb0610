"""Features whose numbers are all written with a point, as the items of OGC API Features are.

QGIS types a column by the first features of a service and keeps features in a table of its own, where a missing whole
number becomes 0: a price that nobody published would be shown as 0. A missing real number stays missing.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from api.geo.filters import GeoLayer


def with_reals(layer: GeoLayer) -> GeoLayer:
    """The layer with `1985.0` for `1985` in every feature's properties; geometries are left alone."""
    return replace(layer, features=tuple(map(_with_reals, layer.features)))


def _with_reals(feature: bytes) -> bytes:
    decoded = orjson.loads(feature)
    decoded["properties"] = {
        name: float(value) if type(value) is int else value for name, value in decoded["properties"].items()
    }
    return orjson.dumps(decoded)
