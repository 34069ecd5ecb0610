"""Write lines as GeoParquet 1.1: properties as columns, geometry as WKB in longitude and latitude (OGC:CRS84)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

_WKB_LINE = 2
_NUMBERS = {"mw": pa.float64(), "border_mw": pa.float64(), "capacity_mw": pa.float64(), "mw_ts": pa.int64()}
"""The types of columns that may contain only nulls. Every other column is text."""


def write_lines(features: Sequence[bytes], head: dict[str, str]) -> bytes:
    """Return a GeoParquet file of GeoJSON features, all of them LineStrings. `head` becomes metadata of the file."""
    decoded = [orjson.loads(feature) for feature in features]
    names = [*decoded[0]["properties"]] if decoded else []
    columns: dict[str, Any] = {
        name: pa.array([each["properties"][name] for each in decoded], _NUMBERS.get(name, pa.string()))
        for name in names
    }
    lines = [each["geometry"]["coordinates"] for each in decoded]
    columns["geometry"] = pa.array([_wkb(line) for line in lines], pa.binary())
    points = [point for line in lines for point in line]
    geometry: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["LineString"]}
    if points:
        longitudes, latitudes = zip(*points, strict=True)
        geometry["bbox"] = [min(longitudes), min(latitudes), max(longitudes), max(latitudes)]
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}
    table = pa.table(columns).replace_schema_metadata({"geo": orjson.dumps(geo), **head})
    out = pa.BufferOutputStream()
    pq.write_table(table, out, compression="zstd")
    return bytes(out.getvalue().to_pybytes())


def _wkb(line: Sequence[Sequence[float]]) -> bytes:
    """Return a line as little-endian WKB."""
    flat = [number for point in line for number in point]
    return struct.pack(f"<BII{len(flat)}d", 1, _WKB_LINE, len(line), *flat)
