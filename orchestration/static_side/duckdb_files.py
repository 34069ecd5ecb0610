"""`emds.duckdb` at the public address: the table `files` of the month files that lie there, and a view for each metric.

It needs DuckDB's `httpfs` alone. Views find files by zone and month; `files` says which have rows of a span of `ts`.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from orchestration.static_side.publication import StaticObject
from warehouse.rows.schema import SCHEMA
from warehouse.store import layout

NAME = "emds.duckdb"
_STORAGE = "(STORAGE_VERSION 'v1.0.0')"
"""Every DuckDB since 1.0 reads it."""


def build(entries: Iterable[Mapping[str, Any]], public_url: str) -> StaticObject:
    """Return the file. `entries` are those of the manifest's months."""
    months = [{**entry, "url": f"{public_url}/{entry['object']}"} for entry in entries]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"ATTACH '{folder}/{NAME}' AS made {_STORAGE}")
        connection.execute("USE made")
        connection.register("listed", pa.table({name: [month[name] for month in months] for name in _FILES.split()}))
        connection.execute("CREATE TABLE files AS FROM listed")
        connection.unregister("listed")
        connection.register_filesystem(_SchemaOnly())
        for metric in sorted({month["metric"] for month in months}):
            root = f"{public_url}/{layout.series_prefix(metric)}zone="
            urls = [month["url"] for month in months if month["metric"] == metric]
            names = " ".join(url.removeprefix(root).removesuffix(".parquet") for url in urls)
            connection.execute(_VIEW.format(metric=metric, names=names, root=root.replace("'", "''")))
        connection.execute("USE memory")
        connection.execute("DETACH made")
        body = (Path(folder) / NAME).read_bytes()
    return StaticObject(NAME, body, "application/octet-stream", cache_control="public, max-age=60")


_FILES = "zone metric month url rows first last bytes sha256 license attribution final"
"""The columns of `files`, members of the entries."""
# The addresses as one text in place of a list of them: a third of the bytes that every reader fetches first.
_VIEW = """CREATE VIEW {metric} AS SELECT left(parse_filename(filename, true), 7) AS month, * EXCLUDE (filename)
FROM read_parquet(
    list_transform(string_split('{names}', ' '), lambda name: '{root}' || name || '.parquet'),
    filename = true, hive_partitioning = true, hive_types = {{'zone': VARCHAR, 'metric': VARCHAR}}
)"""


class _SchemaOnly(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Every address holds a month file without rows: DuckDB looks at one to make a view, and asks no network here."""

    protocol = ("http", "https")
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        out = io.BytesIO()
        pq.write_table(SCHEMA.empty_table(), out)
        self._body = out.getvalue()

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return {"name": path, "size": len(self._body), "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path]

    def exists(self, path: str, **_: Any) -> bool:
        return True

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp(0, UTC)

    def open(self, path: str, mode: str = "rb", **_: Any) -> io.BytesIO:
        return io.BytesIO(self._body)
