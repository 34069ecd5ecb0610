"""A geo layer as columns and encoded features: a filter is a few array operations, an answer a join of bytes.

Made once a publication from the layer's GeoJSON. `bbox` means that the geometry has a point in common with the box,
edges included, as `intersects` in PostGIS, shapely and OGC API Features; it needs no geometry library.

In CSV, GeoParquet and FlatGeobuf a layer is cut down to chosen features without decoding them: all documents of a layer
hold its features in one order, so that a position is valid in each.
"""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees; west > east crosses the antimeridian."""
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]
Extent = Sequence[float] | None
Cut = Callable[[Positions, Extent], bytes]
"""Gives the features at some positions as a file, whose extent is the second argument."""

_ENVELOPE, _COUNT = 1, 8
"""Numbers of the two fields of FlatGeobuf's header that a cut changes (header.fbs, version 3)."""
_NO_EXTENT = (float("inf"), float("inf"), float("-inf"), float("-inf"))
"""The extent of a file without features."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The segments of a line or of all rings of a polygon, as columns."""

    x1: Floats
    y1: Floats
    x2: Floats
    y2: Floats
    area: bool
    """Whether the segments enclose something."""

    def meets(self, box: Box) -> bool:
        """Whether it has a point in common with the box."""
        west, south, east, north = box
        inside = (self.x1 >= west) & (self.x1 <= east) & (self.y1 >= south) & (self.y1 <= north)
        last = west <= self.x2[-1] <= east and south <= self.y2[-1] <= north
        return bool(inside.any()) or last or self._crosses(box) or (self.area and self._holds(west, south))

    def _crosses(self, box: Box) -> bool:
        """Whether a segment passes through the box: extents overlap, and corners lie on both sides of its line."""
        west, south, east, north = box
        near = (np.minimum(self.x1, self.x2) <= east) & (np.maximum(self.x1, self.x2) >= west)
        near &= (np.minimum(self.y1, self.y2) <= north) & (np.maximum(self.y1, self.y2) >= south)
        if not near.any():
            return False
        x1, y1, dx, dy = self.x1[near], self.y1[near], (self.x2 - self.x1)[near], (self.y2 - self.y1)[near]
        sides = np.stack([dx * (y - y1) - dy * (x - x1) for x in (west, east) for y in (south, north)])
        return bool((~((sides > 0).all(axis=0) | (sides < 0).all(axis=0))).any())

    def _holds(self, x: float, y: float) -> bool:
        """Whether a point off the border lies within: a ray from it crosses the rings an odd number of times."""
        upward = (self.y1 > y) != (self.y2 > y)
        x1, y1 = self.x1[upward], self.y1[upward]
        return bool(np.count_nonzero(x1 + (y - y1) * (self.x2[upward] - x1) / (self.y2[upward] - y1) > x) % 2)


@dataclass(frozen=True, slots=True)
class GeoLayer:
    """One publication of a layer."""

    head: Mapping[str, Any]
    """The members of the collection without `features` and `bbox`."""
    features: tuple[bytes, ...]
    """Each feature's JSON."""
    boxes: Floats
    """n x 4: west, south, east, north."""
    outlines: tuple[Outline | None, ...]
    """None for points, whose box is all there is."""
    members: Mapping[str, Mapping[str, Mask]]
    """Masks by filter and value: `zone` -> `GB` -> mask. A line belongs to both its zones."""
    capacity_mw: Floats

    @classmethod
    def parse(cls, body: bytes) -> GeoLayer:
        """The layer in a published GeoJSON document."""
        document = orjson.loads(body)
        features = document["features"]
        properties = [feature["properties"] for feature in features]
        return cls(
            {name: value for name, value in document.items() if name not in ("features", "bbox")},
            tuple(orjson.dumps(feature) for feature in features),
            np.array([feature["bbox"] for feature in features], dtype=np.float64),
            tuple(_outline(feature["geometry"]) for feature in features),
            {
                "zone": _members([_zones(own) for own in properties]),
                "fuel": _members([[own.get("fuel")] for own in properties]),
            },
            np.array([own.get("capacity_mw") or np.nan for own in properties], dtype=np.float64),
        )

    def select(
        self, words: Mapping[str, Sequence[str]], min_mw: float | None, box: Box | None, most: int | None
    ) -> Positions:
        """Positions of the features that match every filter, ascending; at most the first `most`."""
        matching = np.ones(len(self.features), dtype=np.bool_)
        for name, wanted in words.items():
            masks = [self.members[name][word] for word in wanted if word in self.members[name]]
            matching &= np.any(masks, axis=0) if masks else False
        if min_mw is not None:
            matching &= self.capacity_mw >= min_mw
        if box is not None:
            matching &= self._meet(box)
        return np.flatnonzero(matching)[:most]

    def _meet(self, box: Box) -> Mask:
        west, south, east, north = box
        if west > east:
            return self._meet((west, south, 180.0, north)) | self._meet((-180.0, south, east, north))
        mask = (
            (self.boxes[:, 0] <= east)
            & (self.boxes[:, 2] >= west)
            & (self.boxes[:, 1] <= north)
            & (self.boxes[:, 3] >= south)
        )
        for place in np.flatnonzero(mask):
            outline = self.outlines[place]
            if outline is not None:
                mask[place] = outline.meets(box)
        return mask

    def id(self, place: int) -> str:
        """The id of the feature at a position."""
        return str(orjson.loads(self.features[place])["id"])

    def extent(self, places: Positions) -> list[float] | None:
        """The box round these features; None round nothing."""
        if not len(places):
            return None
        chosen = self.boxes[places]
        return [*chosen[:, :2].min(axis=0).tolist(), *chosen[:, 2:].max(axis=0).tolist()]

    def collection(self, places: Positions, extra: Mapping[str, Any]) -> bytes:
        """These features as a FeatureCollection; `extra` are further members of it."""
        extent = self.extent(places)
        members = orjson.dumps({**self.head, **extra, **({"bbox": extent} if extent else {})})
        return b"".join((members[:-1], b',"features":[', b",".join(self.features[place] for place in places), b"]}"))


def _zones(properties: Mapping[str, Any]) -> list[str | None]:
    """The zones that a feature belongs to; a footprint is its own."""
    if "from" in properties:
        return [properties["from"], properties["to"]]
    return [properties.get("zone", properties["id"])]


def _members(words: list[list[str | None]]) -> dict[str, Mask]:
    known = {word for own in words for word in own if word is not None}
    return {word: np.array([word in own for own in words], dtype=np.bool_) for word in known}


def _outline(geometry: Mapping[str, Any]) -> Outline | None:
    match geometry["type"]:
        case "Point":
            return None
        case "LineString":
            paths, area = [geometry["coordinates"]], False
        case "Polygon":
            paths, area = geometry["coordinates"], True
        case _:
            paths, area = [ring for polygon in geometry["coordinates"] for ring in polygon], True
    starts = np.concatenate([np.array(path[:-1], dtype=np.float64) for path in paths])
    ends = np.concatenate([np.array(path[1:], dtype=np.float64) for path in paths])
    return Outline(starts[:, 0].copy(), starts[:, 1].copy(), ends[:, 0].copy(), ends[:, 1].copy(), area)


def cut_csv(body: bytes) -> Cut:
    """A heading and rows of CRLF lines; no field of ours holds a line break."""
    heading, *rows = body.splitlines(keepends=True)
    return lambda positions, _extent: heading + b"".join(rows[place] for place in positions)


def cut_flatgeobuf(body: bytes) -> Cut:
    """Magic bytes, header, and features that each state their own length: a file without packed index.

    Raises ValueError where the header does not state envelope and count.
    """
    end = 12 + struct.unpack_from("<I", body, 8)[0]
    whole, features, at = body[:end], [], end
    while at < len(body):
        following = at + 4 + struct.unpack_from("<I", body, at)[0]
        features.append(body[at:following])
        at = following
    reference, count_at = _field(whole, _ENVELOPE), _field(whole, _COUNT)
    envelope_at = reference + struct.unpack_from("<I", whole, reference)[0] + 4

    def cut(positions: Positions, extent: Extent) -> bytes:
        header = bytearray(whole)
        struct.pack_into("<4d", header, envelope_at, *(extent or _NO_EXTENT))
        struct.pack_into("<Q", header, count_at, len(positions))
        return bytes(header) + b"".join(features[place] for place in positions)

    return cut


def _field(header: bytes, number: int) -> int:
    """Offset of a field's bytes, read from the table's vtable (FlatBuffers internals)."""
    table = 12 + int(struct.unpack_from("<I", header, 12)[0])
    vtable = table - int(struct.unpack_from("<i", header, table)[0])
    entry = vtable + 4 + 2 * number
    known = vtable + struct.unpack_from("<H", header, vtable)[0]
    offset = int(struct.unpack_from("<H", header, entry)[0]) if entry < known else 0
    if not offset:
        raise ValueError("a FlatGeobuf header without envelope or count")
    return table + offset


def cut_geoparquet(body: bytes) -> Cut:
    """The table of a GeoParquet document."""
    table = pq.ParquetFile(io.BytesIO(body)).read()  # `read_table` would load pyarrow.dataset, 25 MB

    def cut(positions: Positions, extent: Extent) -> bytes:
        metadata = dict(table.schema.metadata)
        geo = orjson.loads(metadata[b"geo"])
        column = geo["columns"][geo["primary_column"]]
        column.pop("bbox", None)
        if extent is not None:
            column["bbox"] = list(extent)
        out = io.BytesIO()
        chosen = table.take(positions).replace_schema_metadata({**metadata, b"geo": orjson.dumps(geo)})
        pq.write_table(chosen, out, compression="zstd")
        return out.getvalue()

    return cut


CUTS: dict[str, Callable[[bytes], Cut]] = {"csv": cut_csv, "fgb": cut_flatgeobuf, "parquet": cut_geoparquet}
"""By `format`, from a document of the layer; GeoJSON is cut by `GeoLayer.collection`."""


def properties_csv(layer: GeoLayer) -> bytes:
    """The properties of all features as CSV (RFC 4180), without their geometry."""
    rows = [orjson.loads(feature)["properties"] for feature in layer.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue().encode()
