"""Publish monthly files under names whose bytes never change, and `emds.duckdb`, a catalogue of them.

A file that the current list names stays. A file that it no longer names stays for 60 days, so that a pinned list still
works. If it was replaced within a day of being written, as files of the current month are, its age decides; any other
file is named in the manifest until then.
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem

from api.documents import bulk
from api.documents.catalogue_reader import Catalogue
from api.documents.document_cache import DocumentCache
from api.settings import Settings
from orchestration.static_side.publication import StaticObject
from orchestration.static_side.target import Target
from warehouse.caches import LruCache
from warehouse.errors import DamagedFile
from warehouse.market import clock
from warehouse.market.clock import DAY
from warehouse.rows.schema import SCHEMA
from warehouse.store import layout
from warehouse.store.storage import Storage

MONTH_KEPT_S = 60 * DAY
SERIES = layout.series_prefix()
_LOG = logging.getLogger("emds.publish")
_PARQUET = "application/vnd.apache.parquet"
DUCKDB_FILE = "emds.duckdb"
Entries = tuple[Mapping[str, Any], ...]


def put_months(
    target: Target, storage: Storage, catalogue: Catalogue, settings: Settings, before: Mapping[str, Any], now: int
) -> tuple[Entries, int]:
    """Write every monthly file that may be redistributed and is absent; return their entries and the number written.

    An entry is that of `/v1/bulk` with its key as `object`, and `put_at`. `before` is the previous manifest, whose
    files count as present. Once a day the target itself is listed.
    """
    documents = DocumentCache(storage)
    if documents.get(layout.MANIFEST) is None:
        return (), 0
    known = {month["object"]: month for month in before.get("months", ())}
    lying = {key: month["bytes"] for key, month in known.items()}
    if is_new_day(before, now):
        lying = {key: size for key, (size, _) in target.listing(SERIES).items()}
    entries, put = [], 0
    for entry in bulk.list_files(documents, catalogue, settings.base_url, clock.now(), {})["files"]:
        key = bulk.public_key(entry)
        if lying.get(key) != entry["bytes"]:
            whole = _whole(storage, entry)
            if whole is None or whole.sha256 != entry["sha256"]:
                continue  # replaced since it was listed, or damaged: the next publication has it
            put += target.put(StaticObject(key, whole.body, _PARQUET))
        entries.append({**entry, "object": key, "put_at": known[key]["put_at"] if key in known else now})
    return tuple(entries), put


def _whole(storage: Storage, entry: Mapping[str, Any]) -> bulk.MonthBytes | None:
    """Return the monthly file of an entry; None if it is gone. A damaged file is logged; the others are published."""
    try:
        metric, zone = entry["metric"], entry["zone"]
        return bulk.read_month_file(storage, LruCache(0), metric, zone, bulk.stored_month(metric, zone, entry["month"]))
    except DamagedFile as error:
        _LOG.error("not published: %s", error)
        return None


def is_new_day(before: Mapping[str, Any], now: int) -> bool:
    """Return whether the previous manifest is from an earlier UTC day, or there is none."""
    return int(before.get("version", 0)) // (DAY * 10**9) < now // DAY


def replaced(before: Mapping[str, Any], months: Iterable[Mapping[str, Any]], now: int) -> Entries:
    """Return {object, until} of files that the manifest must name because their age would remove them too early."""
    listed = {month["object"] for month in months}
    old = [m["object"] for m in before.get("months", ()) if now - m["put_at"] > DAY]
    left = [*before.get("replaced", ()), *({"object": key, "until": now + MONTH_KEPT_S} for key in old)]
    return tuple(each for each in left if each["object"] not in listed and each["until"] > now)


def build_duckdb(entries: Iterable[Mapping[str, Any]], public_url: str) -> StaticObject:
    """Return `emds.duckdb`: the table `files` of the published monthly files, and a view for each metric.

    It needs only DuckDB's `httpfs`. Views find files by zone and month; `files` lists which have rows of a range of
    `ts`. `entries` are those of the manifest's months.
    """
    months = [{**entry, "url": f"{public_url}/{entry['object']}"} for entry in entries]
    empty, addresses = io.BytesIO(), _Addresses()
    pq.write_table(SCHEMA.empty_table(), empty)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        # Every DuckDB since 1.0 reads this version.
        connection.execute(f"ATTACH '{folder}/{DUCKDB_FILE}' AS catalogue (STORAGE_VERSION 'v1.0.0')")
        connection.execute("USE catalogue")
        connection.register("listed", pa.table({name: [month[name] for month in months] for name in _FILES.split()}))
        connection.execute("CREATE TABLE files AS FROM listed")
        connection.unregister("listed")
        connection.register_filesystem(addresses)
        for metric in sorted({month["metric"] for month in months}):
            root = f"{public_url}/{layout.series_prefix(metric)}zone="
            urls = [month["url"] for month in months if month["metric"] == metric]
            addresses.pipe_file(urls[0], empty.getvalue())
            names = " ".join(url.removeprefix(root).removesuffix(".parquet") for url in urls)
            connection.execute(_VIEW.format(metric=metric, names=names, root=root.replace("'", "''")))
        connection.execute("USE memory")
        connection.execute("DETACH catalogue")
        body = (Path(folder) / DUCKDB_FILE).read_bytes()
    return StaticObject(DUCKDB_FILE, body, "application/octet-stream", cache_control="public, max-age=60")


_FILES = "zone metric month url rows first last bytes sha256 license attribution final"
"""The columns of `files`, which are fields of the entries."""
# The URLs are one text instead of a list: a third of the bytes that every reader fetches first.
_VIEW = """CREATE VIEW {metric} AS SELECT left(parse_filename(filename, true), 7) AS month, * EXCLUDE (filename)
FROM read_parquet(
    list_transform(string_split('{names}', ' '), lambda name: '{root}' || name || '.parquet'),
    filename = true, hive_partitioning = true, hive_types = {{'zone': VARCHAR, 'metric': VARCHAR}}
)"""


class _Addresses(MemoryFileSystem):  # type: ignore[misc]
    """A file system in which every URL is a file. DuckDB opens the first file of a view when it creates the view.

    Without this class, it would use the network.
    """

    protocol = ("http", "https")
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path]
