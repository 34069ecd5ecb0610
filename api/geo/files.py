"""Published geo layers in CSV, GeoParquet and FlatGeobuf, cut down to chosen features without decoding them.

All documents of a layer hold its features in one order: positions from `api.geo.layers` are valid in each.
"""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow.parquet as pq
from numpy import intp
from numpy.typing import NDArray

from api.geo.layers import GeoLayer

Positions = NDArray[intp]
Extent = Sequence[float] | None

_ENVELOPE, _COUNT = 1, 8
"""Numbers of the two fields of FlatGeobuf's header that a cut changes (header.fbs, version 3)."""
_NO_EXTENT = (float("inf"), float("inf"), float("-inf"), float("-inf"))
"""The extent of a file without features."""


@dataclass(frozen=True, slots=True)
class Csv:
    """A heading and rows of CRLF lines; no field of ours holds a line break."""

    heading: bytes
    rows: tuple[bytes, ...]

    @classmethod
    def parse(cls, body: bytes) -> Csv:
        heading, *rows = body.splitlines(keepends=True)
        return cls(heading, tuple(rows))

    def cut(self, positions: Positions, _extent: Extent) -> bytes:
        return self.heading + b"".join(self.rows[place] for place in positions)


@dataclass(frozen=True, slots=True)
class FlatGeobuf:
    """Magic bytes, header, and features that each state their own length: a file without packed index."""

    header: bytes
    """With magic bytes and its own length before it."""
    features: tuple[bytes, ...]
    envelope_at: int
    count_at: int

    @classmethod
    def parse(cls, body: bytes) -> FlatGeobuf:
        """Raises ValueError where the header does not state envelope and count."""
        end = 12 + struct.unpack_from("<I", body, 8)[0]
        header, features, at = body[:end], [], end
        while at < len(body):
            following = at + 4 + struct.unpack_from("<I", body, at)[0]
            features.append(body[at:following])
            at = following
        reference = _field(header, _ENVELOPE)
        vector = reference + struct.unpack_from("<I", header, reference)[0]
        return cls(header, tuple(features), vector + 4, _field(header, _COUNT))

    def cut(self, positions: Positions, extent: Extent) -> bytes:
        header = bytearray(self.header)
        struct.pack_into("<4d", header, self.envelope_at, *(extent or _NO_EXTENT))
        struct.pack_into("<Q", header, self.count_at, len(positions))
        return bytes(header) + b"".join(self.features[place] for place in positions)


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


@dataclass(frozen=True, slots=True)
class GeoParquet:
    """The table of a GeoParquet document."""

    table: Any

    @classmethod
    def parse(cls, body: bytes) -> GeoParquet:
        return cls(pq.ParquetFile(io.BytesIO(body)).read())  # `read_table` would load pyarrow.dataset, 25 MB

    def cut(self, positions: Positions, extent: Extent) -> bytes:
        metadata = dict(self.table.schema.metadata)
        geo = orjson.loads(metadata[b"geo"])
        column = geo["columns"][geo["primary_column"]]
        column.pop("bbox", None)
        if extent is not None:
            column["bbox"] = list(extent)
        out = io.BytesIO()
        chosen = self.table.take(positions).replace_schema_metadata({**metadata, b"geo": orjson.dumps(geo)})
        pq.write_table(chosen, out, compression="zstd")
        return out.getvalue()


CUTS: dict[str, type[Csv] | type[FlatGeobuf] | type[GeoParquet]] = {
    "csv": Csv,
    "fgb": FlatGeobuf,
    "parquet": GeoParquet,
}
"""By `format`; GeoJSON is cut by `api.geo.layers`."""


def properties_csv(layer: GeoLayer) -> Csv:
    """The properties of all features as CSV (RFC 4180), without their geometry."""
    rows = [orjson.loads(feature)["properties"] for feature in layer.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return Csv.parse(text.getvalue().encode())
