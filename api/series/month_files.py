"""Month files as they lie: their bytes with their SHA-256, whose rows are in them, and a sample of one."""

from __future__ import annotations

import hashlib
import io
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from api.series.query import SAMPLE_ROWS
from warehouse import layout, monthfile
from warehouse.caches import LruCache
from warehouse.reader import MonthFile
from warehouse.storage import Storage


class Whole(NamedTuple):
    """A month file's bytes, all of one moment."""

    body: bytes
    sha256: str
    sources: frozenset[str]
    """Codes of the sources of its rows."""


def find(storage: Storage, metric: str, zone: str, month: str) -> MonthFile | None:
    """The month file as it lies now; None where there is none."""
    key = layout.series(metric, zone, month)
    identity = storage.stat(key)
    return None if identity is None else MonthFile(month, key, identity)


def read(storage: Storage, kept: LruCache, file: MonthFile) -> Whole | None:
    """A month file, kept in memory; None where it went meanwhile. Raises DamagedFile and StorageError."""

    def made() -> tuple[Whole | None, int]:
        body = monthfile.whole(storage, file.key)
        return (None, 100) if body is None else (_whole(body, file.key), len(body) + 500)

    return kept.get(("month file", file), made)


def _whole(body: bytes, key: str) -> Whole:
    codes = {code for text in _sources(body, key) for code in text.split(", ")}
    return Whole(body, hashlib.sha256(body).hexdigest(), frozenset(codes))


def _sources(body: bytes, key: str) -> set[str]:
    """What the rows of a file say in `source`; its end tells it where there are no rows but the net's."""
    parquet, net = pq.ParquetFile(io.BytesIO(body)), monthfile.layout_of_net(body, key)
    if net is not None and sum(run.length for run in net.runs) == parquet.metadata.num_rows:
        return {label.source for label in net.labels}
    return {*parquet.read(columns=["source"], use_threads=False).column("source").unique().to_pylist()}


def sample(body: bytes) -> bytes:
    """The newest rows of a month file as a Parquet file, marked in its metadata."""
    table = pq.ParquetFile(io.BytesIO(body)).read(use_threads=False)
    newest = np.sort(np.argsort(table.column("ts").to_numpy(), kind="stable")[-SAMPLE_ROWS:])
    out = io.BytesIO()
    pq.write_table(table.take(pa.array(newest)).replace_schema_metadata({"sample": "true"}), out, compression="zstd")
    return out.getvalue()
