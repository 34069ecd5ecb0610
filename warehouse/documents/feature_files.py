"""Cut files of map features down to chosen features without decoding them: CSV, FlatGeobuf and GeoParquet.

All files of a layer have its features in the same order, so that a position is valid in each. Files of a layer that
differ only in their features can be joined first.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Positions = NDArray[np.intp]
Extent = Sequence[float] | None
Cut = Callable[[Positions, Extent], bytes]
"""Returns a file of the features at some positions. The second argument is its extent."""

_ENVELOPE, _COUNT = 1, 8
"""The numbers of the two fields of FlatGeobuf's header that a cut changes (header.fbs, version 3)."""
_NO_EXTENT = (float("inf"), float("inf"), float("-inf"), float("-inf"))
"""The extent of a file without features."""


def cut_csv(*bodies: bytes) -> Cut:
    """Return a cut of CSV files: a heading and CRLF lines, whose fields do not contain line breaks."""
    heading, *_ = bodies[0].splitlines(keepends=True)
    rows = [row for body in bodies for row in body.splitlines(keepends=True)[1:]]
    return lambda positions, _extent: heading + b"".join(rows[place] for place in positions)


def cut_flatgeobuf(*bodies: bytes) -> Cut:
    """Return a cut of FlatGeobuf files without index: magic bytes, a header, and features that state their length.

    Raises ValueError if the header does not state envelope and count.
    """
    whole = bodies[0][: _end_of_header(bodies[0])]
    features = []
    for body in bodies:
        at = _end_of_header(body)
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


def _end_of_header(body: bytes) -> int:
    return 12 + int(struct.unpack_from("<I", body, 8)[0])


def _field(header: bytes, number: int) -> int:
    """Return the offset of a field's bytes, read from the table's vtable (FlatBuffers internals)."""
    table = 12 + int(struct.unpack_from("<I", header, 12)[0])
    vtable = table - int(struct.unpack_from("<i", header, table)[0])
    entry = vtable + 4 + 2 * number
    known = vtable + struct.unpack_from("<H", header, vtable)[0]
    offset = int(struct.unpack_from("<H", header, entry)[0]) if entry < known else 0
    if not offset:
        raise ValueError("FlatGeobuf header has no envelope or feature count")
    return table + offset


def cut_geoparquet(*bodies: bytes) -> Cut:
    """Return a cut of GeoParquet files, by their table."""
    tables = [pq.ParquetFile(io.BytesIO(body)).read(use_threads=False) for body in bodies]
    table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")

    def cut(positions: Positions, extent: Extent) -> bytes:
        metadata = dict(tables[0].schema.metadata)
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


CUTS: dict[str, Callable[..., Cut]] = {"csv": cut_csv, "fgb": cut_flatgeobuf, "parquet": cut_geoparquet}
"""The cuts of a layer's files by format. GeoJSON does not need such a cut."""
