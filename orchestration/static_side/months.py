"""Month files at the public address, under names whose bytes never change, and `emds.duckdb`, a catalogue of them.

A file that the list names stays. One that it does not name any more stays 60 days, so that a pinned list still answers:
by its age where it was replaced within a day of being put, as files of the running month are; any other is named in the
manifest until then.
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
    """Put every month file that may be passed on and is not there; return their entries, and how many were put.

    An entry is that of `/v1/bulk` with `object`, its key, and `put_at`. `before` is the manifest before this one: what
    it names is there. Once a day the target itself is asked.
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
    """Return the month file of an entry; None where it is gone. A damaged one is logged; the others are published."""
    try:
        metric, zone = entry["metric"], entry["zone"]
        return bulk.read_month_file(storage, LruCache(0), metric, zone, bulk.stored_month(metric, zone, entry["month"]))
    except DamagedFile as error:
        _LOG.error("not published: %s", error)
        return None


def is_new_day(before: Mapping[str, Any], now: int) -> bool:
    """Return whether the manifest before is of an earlier UTC day, or there is none."""
    return int(before.get("version", 0)) // (DAY * 10**9) < now // DAY


def replaced(before: Mapping[str, Any], months: Iterable[Mapping[str, Any]], now: int) -> Entries:
    """Return {object, until} of files that the manifest must name, since by their age alone they would go sooner."""
    listed = {month["object"] for month in months}
    old = [m["object"] for m in before.get("months", ()) if now - m["put_at"] > DAY]
    left = [*before.get("replaced", ()), *({"object": key, "until": now + MONTH_KEPT_S} for key in old)]
    return tuple(each for each in left if each["object"] not in listed and each["until"] > now)


def build_duckdb(entries: Iterable[Mapping[str, Any]], public_url: str) -> StaticObject:
    """Return `emds.duckdb`: the table `files` of the month files that lie at the address, and a view for each metric.

    It needs DuckDB's `httpfs` alone. Views find files by zone and month; `files` says which have rows of a span of
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
"""The columns of `files`, members of the entries."""
# The addresses as one text in place of a list of them: a third of the bytes that every reader fetches first.
_VIEW = """CREATE VIEW {metric} AS SELECT left(parse_filename(filename, true), 7) AS month, * EXCLUDE (filename)
FROM read_parquet(
    list_transform(string_split('{names}', ' '), lambda name: '{root}' || name || '.parquet'),
    filename = true, hive_partitioning = true, hive_types = {{'zone': VARCHAR, 'metric': VARCHAR}}
)"""


class _Addresses(MemoryFileSystem):  # type: ignore[misc]
    """Every address is a file. DuckDB looks into the first one of a view when it makes it, and asks no network here."""

    protocol = ("http", "https")
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[str, Any] = {}

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path]
