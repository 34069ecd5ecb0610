"""Convert the row versions of a monthly file between numpy columns and Parquet bytes. `rows.resolve` selects the rows.

Zone and metric are part of the path, as in Hive partitions, and of every row, so that a file describes itself. The
footer has the `source`, `license` and `attribution` of the rows. Its entry `emds` has the schema version, the
warehouse's mode, the file's key, the month's history (`Past`) and the location of the net rows (`series.net_rows`). It
ends with a checksum of these fields and one of the whole file (`store.seal`). Net rows come first, and borders have
their own row group. A history is named by its bytes, so its footer has `BLANK_SHA8` in that position. Histories are not
served and do not state terms.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from warehouse.errors import DamagedFile
from warehouse.market.feeds import Terms, join_terms
from warehouse.market.further_zones import ID_OF_OUTSIDE
from warehouse.rows.schema import SCHEMA
from warehouse.rows.versions import LIVE, NEVER, Floats, RowLabels, Versions, empty
from warehouse.series import net_rows
from warehouse.series.net_rows import NetLayout
from warehouse.store import layout, modes, seal
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Identity

_HEAD, _END = b'{"schema":', b'"}'
"""The start of the text in the footer, and the end of the text after the digits of the checksum."""
_OWN = b',"footer":"'
"""Precedes the checksum of the preceding text, which allows reading the footer without the rest of the file."""
_TAIL_BYTES = 4096
"""The end of a file of this size contains the footer's text, unless the month has many runs."""
_PARTITIONS = ("zone", "metric")
_COLUMNS = [name for name in SCHEMA.names if name not in _PARTITIONS]
_TEXT = ("fuel", "counterparty", "link", "unit", "resolution", "source", "feed", "basis", "factors")
_BOUNDS = ("low", "high")
_OF_ESTIMATES = (*_BOUNDS, "factors")
_OF_READINGS = [name for name in _COLUMNS if name not in _OF_ESTIMATES]
"""The columns of a file without estimates that are not always null."""
_CONSTANT = pa.dictionary(pa.int32(), pa.string())
"""The type that pandas and Arrow give a Hive folder's name. With another type, they cannot read all of `series`."""
_FILE_SCHEMA = pa.schema(
    [
        field.with_type(_CONSTANT)
        if field.name in _PARTITIONS
        else pa.field(field.name, pa.dictionary(pa.int64(), pa.string()))
        if field.name in _TEXT
        else field
        for field in SCHEMA
    ]
)
_READ_AS = pa.schema([field.with_type(_CONSTANT) if field.name in _PARTITIONS else field for field in SCHEMA])
"""The types that Arrow's readers return: those of the file, with plain strings for text."""


BLANK_SHA8 = "0" * 8


class Past(NamedTuple):
    """What a served monthly file states about the past of its month."""

    history: str | None
    """The key of the rows of lower rank and the superseded values, None if there are none."""
    known_since: int | None
    """For a month that was restored from raw responses: the time (Unix seconds) before which its versions are
    incomplete. None for all other months.
    """


def encode_history(versions: Versions, metric: str, zone: str, month: str, mode: str) -> tuple[str, bytes]:
    """Return the key and the bytes of a month's history."""
    body = encode(versions, layout.history(metric, zone, month, BLANK_SHA8), mode)
    return layout.history(metric, zone, month, hashlib.sha256(body).hexdigest()[:8]), body


def encode(
    versions: Versions, key: str, mode: str, past: Past | None = None, terms: Mapping[str, Terms] | None = None
) -> bytes:
    """Return Parquet bytes in SCHEMA's columns and in canonical order; equal arguments give equal bytes.

    `terms` are those of each source, by its code; the file states those of its rows. None for a file that is not
    served.
    """
    rows = stated_bounds(versions.take(versions.order()).compact())
    border, fuel = rows.where(lambda labels: labels.border), rows.where(lambda labels: labels.fuel is not None)
    apart = not fuel.any()
    parts = [rows.take(~border), rows.take(border)] if apart else [rows]
    metric, zone, _, is_history = layout.of_series(key)
    plain = apart and not is_history and rows.bounds is None
    out = io.BytesIO()
    writer = pq.ParquetWriter(
        out,
        _FILE_SCHEMA,
        compression={name: "none" if plain and name == "value" else "zstd" for name in SCHEMA.names},
        compression_level={name: 3 for name in SCHEMA.names if not (plain and name == "value")},
        store_schema=False,
        write_statistics=True,
        use_dictionary=[*_PARTITIONS, *_TEXT],
        column_encoding={"ts": "DELTA_BINARY_PACKED", "known_at": "DELTA_BINARY_PACKED", "value": "PLAIN"},
    )
    with writer:
        for part in filter(len, parts):
            writer.write_table(pa.table(_table(part, zone, metric).columns, schema=_FILE_SCHEMA))
        members = net_rows.described(parts[0].compact(), out.getvalue()) if plain else None
        words, footer = _terms(rows, terms or {}), _footer(key, mode, past or Past(None, None), members)
        # Arrow shows the metadata of this schema, other readers the file's own.
        schema = base64.b64encode(_READ_AS.with_metadata(words).serialize()).decode()
        writer.add_key_value_metadata({**words, "ARROW:schema": schema, "emds": footer})
    return seal.stamped(out.getvalue())


def stated_bounds(versions: Versions) -> Versions:
    """Return versions without the column of bounds if none of them has any: equal versions have equal files."""
    if versions.bounds is None or not np.isnan(versions.bounds).all():
        return versions
    return replace(versions, bounds=None)


def _terms(rows: Versions, terms: Mapping[str, Terms]) -> dict[str, str]:
    """Return the footer's texts about the sources of the rows, empty without rows or known sources."""
    codes = {label.source for label in rows.labels}
    carriers = [of for code, of in terms.items() if code in codes]
    return join_terms(carriers)._asdict() if carriers else {}


def _footer(key: str, mode: str, past: Past, net: dict[str, Any] | None) -> str:
    """Return the footer's text. The checksums come last: their positions locate the text without a Parquet reader."""
    members = orjson.dumps({**seal.members(key), "mode": mode, **past._asdict(), "net": net})[:-1]
    own = b"".join((_OWN, seal.short(members).encode(), b'",', seal.MARK, seal.BLANK.encode(), _END))
    return (members + own).decode()


def to_table(versions: Versions, zone: str, metric: str) -> pa.Table:
    """Return an Arrow table of SCHEMA's columns, in canonical order, with dictionary-encoded text columns."""
    return _table(versions.take(versions.order()).compact(), zone, metric)


def _table(rows: Versions, zone: str, metric: str) -> pa.Table:
    """Return rows as `to_table` does, in their own order."""
    constant = np.zeros(len(rows), np.int32)
    columns = {
        "zone": pa.DictionaryArray.from_arrays(constant, pa.array([zone])),
        "metric": pa.DictionaryArray.from_arrays(constant, pa.array([metric])),
        "ts": pa.array(rows.ts),
        "value": pa.array(rows.value),
        "known_at": pa.array(rows.known_at),
        "superseded_at": pa.array(rows.superseded_at, mask=rows.superseded_at == LIVE),
        "published_at": pa.array(rows.published_at, mask=rows.published_at == NEVER),
    }
    for place, name in enumerate(_BOUNDS):
        bounds = rows.bounds
        columns[name] = (
            pa.nulls(len(rows), pa.float64()) if bounds is None else pa.array(bounds[:, place], from_pandas=True)
        )
    for name in _TEXT:
        per_label = pa.array([getattr(s, name) for s in rows.labels], pa.string()).dictionary_encode()
        columns[name] = per_label.take(pa.array(rows.label))
    return pa.table({name: columns[name] for name in SCHEMA.names})


def month(storage: Storage, key: str) -> tuple[Versions, Past]:
    """Return the versions of a monthly file and its past, both empty if there is no file.

    Raises DamagedFile if the file is unreadable or altered, WrongMode for rows of another mode, and StorageError for a
    file of another release.
    """
    body = storage.get(key)
    return (empty(), Past(None, None)) if body is None else decoded(storage, key, body)


def history(storage: Storage, key: str) -> Versions:
    """Return the versions of a month's history. Raises as `month` does, and DamagedFile if the history is gone."""
    body = storage.get(key)
    if body is None:
        raise DamagedFile(key, "is missing, but the month file refers to it")
    return decoded(storage, key, body)[0]


def decoded(storage: Storage, key: str, body: bytes) -> tuple[Versions, Past]:
    """Decode a file's bytes as `month` does."""
    footer = _checked(body, key)
    modes.check_file(modes.require(storage), footer.get("mode"), key)
    try:
        # `pq.read_table` would load pyarrow.dataset, 45 MB that a process serving months does not need.
        file = pq.ParquetFile(pa.BufferReader(body), read_dictionary=[*_TEXT])
        columns = _COLUMNS if _has_estimates(file.metadata) else _OF_READINGS
        table = file.read(columns=columns, use_threads=False).combine_chunks()
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(key, f"cannot be decoded: {str(error)[:120]}") from None
    if file.num_row_groups > 1:
        # Net and border rows each ascend: a stable sort by time gives the canonical order.
        table = table.take(np.argsort(table.column("ts").to_numpy(), kind="stable"))
    return _rename_areas(_of_table(table)), Past(footer["history"], footer["known_since"])


def past(storage: Storage, key: str, mode: str | None = None) -> Past | None:
    """Return the past that a served monthly file states, None if there is no file. Raises DamagedFile and StorageError.

    If `mode`, the mode of the warehouse, is given, raises WrongMode for a file of another mode.
    """
    body = storage.get(key)
    if body is None:
        return None
    footer = _checked(body, key)
    if mode is not None:
        modes.check_file(mode, footer.get("mode"), key)
    return Past(footer["history"], footer["known_since"])


def labels_in_short(storage: Storage, key: str, body: bytes, border: bool) -> frozenset[RowLabels]:
    """Return the labels of the border and interconnector rows, or of the others, with source and feed only.

    `body` is the content of the file. This is a twentieth of the work of reading all columns. Raises as `month` does.
    """
    modes.check_file(modes.require(storage), _checked(body, key).get("mode"), key)
    names = ["source", "feed", "counterparty", "link"]
    table = pq.ParquetFile(pa.BufferReader(body), read_dictionary=names).read(columns=names, use_threads=False)
    is_border = pc.or_(*(pc.is_valid(table.column(name)) for name in ("counterparty", "link")))
    rows = table.filter(is_border if border else pc.invert(is_border)).group_by(["source", "feed"]).aggregate([])
    return frozenset(RowLabels(None, None, None, "", "", row["source"], row["feed"]) for row in rows.to_pylist())


def net_layout(storage: Storage, key: str, identity: Identity, mode: str) -> NetLayout | None:
    """Return the checked location of the net rows of a monthly file, read from the end of the file.

    Returns None if the file does not state it, or is damaged, gone or replaced; reading the whole file tells these
    cases apart. Raises WrongMode, and StorageError as `month` does.
    """
    tail = storage.part(key, identity, max(0, identity.size - _TAIL_BYTES), _TAIL_BYTES) or b""
    own = tail.rfind(_OWN)
    begin = tail.rfind(_HEAD, 0, max(own, 0))
    digits = own + len(_OWN)
    text = tail[begin:own]
    if begin < 0 or tail[digits : digits + seal.SHORT_DIGITS] != seal.short(text).encode():
        return None
    members: dict[str, Any] = orjson.loads(text + b"}")
    seal.check_members(members, key)
    modes.check_file(mode, members.get("mode"), key)
    return net_rows.layout(members["net"]) if members.get("net") else None


def _checked(body: bytes, key: str) -> dict[str, Any]:
    """Check a file's bytes and return its footer. Raises DamagedFile, and StorageError for another release."""
    at = seal.check(body, key)
    members: dict[str, Any] = orjson.loads(body[body.rfind(_HEAD, 0, at) : at + seal.DIGITS + len(_END)])
    metric, zone, month, is_history = layout.of_series(key)
    if is_history and key != layout.history(metric, zone, month, hashlib.sha256(body).hexdigest()[:8]):
        raise DamagedFile(key, "does not match the hash in its name")
    seal.check_members(members, key, layout.history(metric, zone, month, BLANK_SHA8) if is_history else key)
    return members


def whole(storage: Storage, key: str) -> bytes | None:
    """Return the checked bytes of a monthly file, None if there is no file. Raises as `month` does."""
    body = storage.get(key)
    if body is not None:
        modes.check_file(modes.require(storage), _checked(body, key).get("mode"), key)
    return body


def digest(body: bytes) -> str:
    """Return a short SHA-256 of everything before the footer, which identifies the rows of a monthly file.

    The footer names the month's history, which can change without the served rows.
    """
    footer_bytes = int.from_bytes(body[-8:-4], "little")
    return seal.short(body[: -8 - footer_bytes])


def _has_estimates(metadata: pq.FileMetaData) -> bool:
    """Return whether any row of a monthly file is an estimate, by the statistics of its row groups."""
    places = product(range(metadata.num_row_groups), map(SCHEMA.names.index, _OF_ESTIMATES))
    chunks = (metadata.row_group(group).column(column) for group, column in places)
    return any(chunk.statistics.null_count < chunk.num_values for chunk in chunks)


def _of_table(table: pa.Table) -> Versions:
    """Return the versions in the columns of a monthly file."""
    if table.num_rows == 0:
        return empty()
    code = np.zeros(table.num_rows, np.int64)
    levels: list[tuple[NDArray[np.int64], list[str | None]]] = []
    for name in _TEXT:
        if name not in table.column_names:
            continue  # `factors`, the last
        column = table.column(name).combine_chunks()
        words = [*column.dictionary.to_pylist(), None]
        index = column.indices.fill_null(len(words) - 1).to_numpy().astype(np.int64)
        levels.append((index, words))
        code = code * len(words) + index
    _, first, label = np.unique(code, return_index=True, return_inverse=True)
    labels = tuple(RowLabels(*(words[index[row]] for index, words in levels)) for row in first)
    superseded = pc.fill_null(table.column("superseded_at"), int(LIVE)).to_numpy()
    published = pc.fill_null(table.column("published_at"), int(NEVER)).to_numpy()
    return Versions(
        labels,
        label.astype(np.int64),
        table.column("ts").to_numpy(),
        table.column("value").to_numpy(),
        table.column("known_at").to_numpy(),
        superseded,
        published,
        _bounds(table),
    )


def _rename_areas(versions: Versions) -> Versions:
    """Return versions whose border rows name a zone by its ID if it was an outside area when they were stored."""
    areas = [label.counterparty for label in versions.labels]
    if ID_OF_OUTSIDE.keys().isdisjoint(areas):
        return versions
    ids = [ID_OF_OUTSIDE.get(area, area) if area else area for area in areas]
    labels = (label._replace(counterparty=area) for label, area in zip(versions.labels, ids, strict=True))
    renamed = replace(versions, labels=tuple(labels))
    return renamed.take(renamed.order())


def _bounds(table: pa.Table) -> Floats | None:
    """Return the bounds in the columns of a monthly file, None if it has none."""
    if not {*_BOUNDS} <= {*table.column_names}:
        return None
    low, high = (table.column(name) for name in _BOUNDS)
    if low.null_count == high.null_count == len(table):
        return None
    return np.column_stack([low.to_numpy(), high.to_numpy()])
