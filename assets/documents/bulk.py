"""The document of all month files that are served: bytes, SHA-256, rows, span and sources of each.

It says what lies there; which of them may leave is decided by whoever hands them out, by the rights of that moment.
"""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse import artefact, layout, monthfile
from warehouse.clock import DAY, month_window
from warehouse.errors import StorageError
from warehouse.market import Feed, Source
from warehouse.storage import Identity, Storage

_LOG = logging.getLogger("emds.bulk")
_ASKED_AGAIN_DAYS = 10
"""Holes of so many days are asked for again by schedule."""
_YEARLY_DAYS = 2 * 366
"""Yearly figures are asked for until the end of the year after."""
Entry = dict[str, Any]


def publish(storage: Storage, sources: Mapping[str, Source], now: int) -> Entry:
    """Publishes the document as of `now` (Unix seconds); returns it. Files that did not change are not read again."""
    version = artefact.new_version()
    document = describe(storage, sources, now, _before(storage))
    artefact.put(storage, layout.BULK, artefact.encode(document), version)
    return document


def describe(storage: Storage, sources: Mapping[str, Source], now: int, before: Mapping[str, Entry]) -> Entry:
    """{as_of, files}: an entry a month file, in the order of metric, zone and month; `before` are entries by key.

    A file that cannot be read is left out: whoever reads its series raises for it.
    """
    feeds = [feed for source in sources.values() for feed in source.feeds]
    files: list[Entry] = []
    for key in storage.keys(layout.series_prefix()):
        if not layout.is_month_file(key):
            continue
        try:
            entry = _entry(storage, key, before.get(key))
        except StorageError as error:
            _LOG.error("not in the bulk document: %s", error)
            continue
        if entry is not None:
            files.append({**entry, "final_at": _final_at(entry, feeds)})
    return {"as_of": now, "files": files}


def _before(storage: Storage) -> dict[str, Entry]:
    """The entries of the newest document by key; none where it cannot be read, since they only save time."""
    try:
        document = artefact.load(storage, layout.BULK) or {"files": []}
        return {layout.series(e["metric"], e["zone"], e["month"]): e for e in document["files"]}
    except (StorageError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        _LOG.warning("every month file is read again: %s", error)
        return {}


def _entry(storage: Storage, key: str, before: Entry | None) -> Entry | None:
    """What is said of one file; None for one that went, or was replaced while it was read (the next run counts it)."""
    identity = storage.stat(key)
    if identity is None:
        return None
    if before is not None and before["identity"] == list(identity):
        return before
    body = monthfile.whole(storage, key)
    if body is None or storage.stat(key) != identity:
        return None
    return _counted(key, body, identity)


def _counted(key: str, body: bytes, identity: Identity) -> Entry | None:
    """Rows, span and sources of a file's bytes; None for one without rows."""
    table = pq.ParquetFile(io.BytesIO(body)).read(columns=["ts", "source"], use_threads=False)
    if not table.num_rows:
        return None
    metric, zone, month, _ = layout.of_series(key)
    ends = pc.min_max(table.column("ts")).as_py()
    return {
        "zone": zone,
        "metric": metric,
        "month": month,
        "rows": table.num_rows,
        "first": ends["min"],
        "last": ends["max"],
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        # A row that is a sum names each of its sources.
        "sources": sorted(
            {code for text in pc.unique(table.column("source")).to_pylist() for code in text.split(", ")}
        ),
        "identity": list(identity),
    }


def _final_at(entry: Entry, feeds: Iterable[Feed]) -> int:
    """The instant after which no schedule asks a publisher about the file's month any more."""
    asked = [
        _YEARLY_DAYS if feed.yearly else max(feed.revised_days, _ASKED_AGAIN_DAYS)
        for feed in feeds
        if entry["zone"] in feed.zones and feed.carries(entry["metric"])
    ]
    return month_window(entry["month"]).end + (max(asked, default=_ASKED_AGAIN_DAYS) + 1) * DAY
