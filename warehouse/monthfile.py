"""One month file: versions of rows as numpy columns, to and from Parquet bytes. Which are served: see `warehouse.resolve`."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from warehouse.errors import DamagedFile
from warehouse.schema import SCHEMA
from warehouse.storage import Storage

LIVE = np.int64(-1)
"""`superseded_at` of a version that nothing has replaced; null in the file."""

_TEXT = ("fuel", "counterparty", "link", "unit", "resolution", "source", "feed")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class RowLabels(NamedTuple):
    """What many versions share: the text columns of a row, zone and metric aside."""

    fuel: str | None
    counterparty: str | None
    link: str | None
    unit: str
    resolution: str
    source: str
    feed: str


@dataclass(frozen=True, slots=True)
class Versions:
    """Parallel columns of the versions of one (zone, metric, month); `label` indexes `labels`."""

    labels: tuple[RowLabels, ...]
    label: Ints
    ts: Ints
    value: Floats
    known_at: Ints
    superseded_at: Ints

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: Flags | Ints) -> Versions:
        """The chosen versions, with the same slots."""
        return Versions(
            self.labels,
            self.label[chosen],
            self.ts[chosen],
            self.value[chosen],
            self.known_at[chosen],
            self.superseded_at[chosen],
        )

    def column(self, name: str) -> NDArray[np.object_]:
        """A text column of `RowLabels` per slot (not per row)."""
        return np.array([getattr(s, name) for s in self.labels] or [None], dtype=object)

    def order(self) -> Ints:
        """The canonical order: ts, fuel, counterparty, link, then known_at."""
        ranked = sorted(range(len(self.labels)), key=lambda i: tuple(part or "" for part in self.labels[i]))
        place = np.empty(max(len(self.labels), 1), np.int64)
        place[ranked] = np.arange(len(ranked))
        return np.lexsort((self.known_at, place[self.label], self.ts))


def empty() -> Versions:
    """No versions."""
    none = np.empty(0, np.int64)
    return Versions((), none, none, np.empty(0, np.float64), none, none)


def concat(parts: list[Versions]) -> Versions:
    """All versions of several tables under one list of slots."""
    labels: dict[RowLabels, int] = {}
    codes = []
    for part in parts:
        own = np.array([labels.setdefault(s, len(labels)) for s in part.labels], np.int64)
        codes.append(own[part.label] if len(own) else part.label)
    return Versions(
        tuple(labels),
        np.concatenate(codes),
        np.concatenate([p.ts for p in parts]),
        np.concatenate([p.value for p in parts]),
        np.concatenate([p.known_at for p in parts]),
        np.concatenate([p.superseded_at for p in parts]),
    )


def encode(versions: Versions, zone: str, metric: str) -> bytes:
    """Parquet bytes in SCHEMA's columns, in canonical order; equal versions give equal bytes."""
    rows = _compact(versions.take(versions.order()))
    count = len(rows)
    columns = {
        "zone": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([zone])),
        "metric": pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([metric])),
        "ts": pa.array(rows.ts),
        "value": pa.array(rows.value),
        "known_at": pa.array(rows.known_at),
        "superseded_at": pa.array(rows.superseded_at, mask=rows.superseded_at == LIVE),
    }
    for name in _TEXT:
        per_slot = pa.array([getattr(s, name) for s in rows.labels], pa.string()).dictionary_encode()
        columns[name] = per_slot.take(pa.array(rows.label))
    table = pa.table({name: columns[name] for name in SCHEMA.names})
    out = io.BytesIO()
    pq.write_table(
        table,
        out,
        compression="zstd",
        compression_level=3,
        store_schema=False,
        write_statistics=True,
        use_dictionary=["zone", "metric", *_TEXT],
        column_encoding={"ts": "DELTA_BINARY_PACKED", "known_at": "DELTA_BINARY_PACKED"},
    )
    return out.getvalue()


def _compact(versions: Versions) -> Versions:
    """The same versions with only their own slots, in order: words of rows that lie elsewhere must not change a file's bytes."""
    used, code = np.unique(versions.label, return_inverse=True)
    labels = [versions.labels[number] for number in used]
    ranked = sorted(range(len(labels)), key=lambda i: tuple(part or "" for part in labels[i]))
    place = np.empty(len(labels), np.int64)
    place[ranked] = np.arange(len(labels))
    return replace(versions, labels=tuple(labels[i] for i in ranked), label=place[code])


def read(storage: Storage, key: str, columns: list[str] | None = None) -> pa.Table | None:
    """The Arrow table of a kept month file, text columns dictionary-encoded; None where there is no file.

    Raises DamagedFile for one that cannot be read or does not decode.
    """
    body = storage.get(key)
    return None if body is None else decode(body, key, columns)


def versions(storage: Storage, key: str) -> Versions:
    """The versions of a kept month file; none where there is no file. Raises DamagedFile."""
    table = read(storage, key)
    return empty() if table is None else of_table(table)


def decode(body: bytes, key: str, columns: list[str] | None = None) -> pa.Table:
    """The Arrow table of a month file's bytes. Raises DamagedFile, which names the key, for bytes that do not decode."""
    try:
        # Not `pq.read_table`, which loads pyarrow.dataset: 45 MB that a process serving months has no use for.
        file = pq.ParquetFile(pa.BufferReader(body), read_dictionary=["zone", "metric", *_TEXT])
        if not set(SCHEMA.names) <= set(file.schema_arrow.names):
            raise DamagedFile(
                key, f"lacks columns: {', '.join(sorted(set(SCHEMA.names) - set(file.schema_arrow.names)))}"
            )
        table = file.read(columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(key, f"does not decode: {str(error)[:120]}") from None
    return table.combine_chunks()


def of_table(table: pa.Table) -> Versions:
    """The versions that an Arrow table of SCHEMA's columns states."""
    if table.num_rows == 0:
        return empty()
    code = np.zeros(table.num_rows, np.int64)
    levels: list[tuple[NDArray[np.int64], list[str | None]]] = []
    for name in _TEXT:
        index, words = _codes(table.column(name))
        levels.append((index, words))
        code = code * len(words) + index
    _, first, label = np.unique(code, return_index=True, return_inverse=True)
    labels = tuple(RowLabels(*(words[index[row]] for index, words in levels)) for row in first)
    superseded = pc.fill_null(table.column("superseded_at"), int(LIVE)).to_numpy()
    return Versions(
        labels,
        label.astype(np.int64),
        table.column("ts").to_numpy(),
        table.column("value").to_numpy(),
        table.column("known_at").to_numpy(),
        superseded,
    )


def _codes(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str | None]]:
    """Index per row, and the words indexed; null is a word of its own at the end."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    words: list[str | None] = array.dictionary.to_pylist()
    index = array.indices.fill_null(len(words)).to_numpy(zero_copy_only=False).astype(np.int64)
    return index, [*words, None]
