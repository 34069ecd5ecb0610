"""Index a geo layer as columns and encoded features, so that filters are array operations and responses joined bytes.

The index is built once per publication from the layer's GeoJSON. `bbox` selects geometries that have a point in common
with the box, including its edges, as `intersects` in PostGIS, shapely and OGC API Features. It needs no geometry
library. `warehouse.documents.feature_files` cuts the other formats, in which the positions are the same.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from warehouse.documents.feature_files import Positions
from warehouse.market.metrics import AWAITED

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees. If west > east, the box crosses the antimeridian."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GeoLayer:
    """A publication of a layer."""

    head: Mapping[str, Any]
    """The fields of the collection except `features` and `bbox`."""
    features: tuple[bytes, ...]
    """The JSON of each feature."""
    boxes: Floats
    """An n x 4 array of west, south, east, north."""
    segments: tuple[Floats | None, ...]
    """For each feature, a 4 x n array of x and y of the start and end of its segments. None for points."""
    words: Mapping[str, Sequence[frozenset[str]]]
    """The words that select each feature, by filter."""
    capacity_mw: Floats
    ends: tuple[int | None, ...]
    """For each feature, the first time at which a value is due to be replaced. None without values."""

    @classmethod
    def parse(cls, body: bytes) -> GeoLayer:
        """Return the layer in a published GeoJSON document."""
        document = orjson.loads(body)
        features = document["features"]
        properties = [feature["properties"] for feature in features]
        due = [[own.get(f"{metric}_expected_by") for metric in AWAITED] for own in properties]
        return cls(
            {name: value for name, value in document.items() if name not in ("features", "bbox")},
            tuple(orjson.dumps(feature) for feature in features),
            np.array([feature["bbox"] for feature in features], dtype=np.float64),
            tuple(_segments(feature["geometry"]) for feature in features),
            {
                # A footprint matches its own zone, a line both its zones; `wind` matches onshore and offshore.
                "zone": [frozenset(map(own.get, ("id", "zone", "from", "to"))) for own in properties],
                "fuel": [frozenset((fuel := own.get("fuel") or "", fuel.partition("_")[0])) for own in properties],
            },
            np.array([own.get("capacity_mw") or np.nan for own in properties], dtype=np.float64),
            tuple(min(filter(None, own), default=None) for own in due),
        )

    def select(self, filters: Mapping[str, Any], most: int | None = None) -> Positions:
        """Return the positions of the features that match every filter, ascending, at most the first `most`.

        `zone` and `fuel` take words, `min_mw` a number, `bbox` a box. None, and filters of other names, select every
        feature.
        """
        matching = np.ones(len(self.features), dtype=np.bool_)
        for name, own in self.words.items():
            if filters.get(name) is not None:
                matching &= [not words.isdisjoint(filters[name]) for words in own]
        if filters.get("min_mw") is not None:
            matching &= self.capacity_mw >= filters["min_mw"]
        if filters.get("bbox") is not None:
            matching &= self._meet(filters["bbox"])
        return np.flatnonzero(matching)[:most]

    def _meet(self, box: Box) -> Mask:
        west, south, east, north = box
        if west > east:
            return self._meet((west, south, 180.0, north)) | self._meet((-180.0, south, east, north))
        own_west, own_south, own_east, own_north = self.boxes.T
        mask: Mask = (own_west <= east) & (own_east >= west) & (own_south <= north) & (own_north >= south)
        for place in np.flatnonzero(mask):
            segments = self.segments[place]
            mask[place] = segments is None or _meets(segments, box)
        return mask

    def extent(self, places: Positions | slice = slice(None)) -> list[float] | None:
        """Return the box around the features, None for no features."""
        chosen = self.boxes[places]
        return [*chosen[:, :2].min(axis=0).tolist(), *chosen[:, 2:].max(axis=0).tolist()] if len(chosen) else None

    def collection(self, places: Positions, extra: Mapping[str, Any]) -> bytes:
        """Return the features as a FeatureCollection with the further fields `extra`."""
        extent = self.extent(places)
        members = orjson.dumps({**self.head, **extra, **({"bbox": extent} if extent else {})})
        return b"".join((members[:-1], b',"features":[', b",".join(self.features[place] for place in places), b"]}"))


def _segments(geometry: Mapping[str, Any]) -> Floats | None:
    if geometry["type"] == "Point":
        return None
    paths = [np.array(path, dtype=np.float64) for path in _paths(geometry["coordinates"])]
    if geometry["type"] == "LineString":
        paths.append(paths[0][::-1])  # there and back, so that the ring of a line has no interior
    return np.concatenate([np.vstack((path[:-1].T, path[1:].T)) for path in paths], axis=1)


def _paths(coordinates: list[Any]) -> list[list[list[float]]]:
    """Return the line, or all rings of the polygons, in coordinates of any depth."""
    if isinstance(coordinates[0][0], list):
        return [path for part in coordinates for path in _paths(part)]
    return [coordinates]


def _meets(segments: Floats, box: Box) -> bool:
    """Return whether a line, or the area within rings, has a point in common with the box."""
    west, south, east, north = box
    x1, y1, x2, y2 = segments
    near = (np.minimum(x1, x2) <= east) & (np.maximum(x1, x2) >= west)
    near &= (np.minimum(y1, y2) <= north) & (np.maximum(y1, y2) >= south)
    # A segment passes through the box if their extents overlap and the corners are on both sides of its line.
    x, y, dx, dy = x1[near], y1[near], (x2 - x1)[near], (y2 - y1)[near]
    sides = np.stack([dx * (at_y - y) - dy * (at_x - x) for at_x in (west, east) for at_y in (south, north)])
    if (~((sides > 0).all(axis=0) | (sides < 0).all(axis=0))).any():
        return True
    # Otherwise the whole box is inside or outside. A ray from it crosses the rings an odd number of times if inside.
    upward = (y1 > south) != (y2 > south)
    x1, y1, x2, y2 = segments[:, upward]
    return bool(np.count_nonzero(x1 + (south - y1) * (x2 - x1) / (y2 - y1) > west) % 2)


def properties_csv(layer: GeoLayer) -> bytes:
    """Return the properties of all features as CSV (RFC 4180), without their geometry."""
    rows = [orjson.loads(feature)["properties"] for feature in layer.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue().encode()
