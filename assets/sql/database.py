"""The resource `duckdb`, and a connection of it with views over the month files of some months.

DuckDB reads a warehouse in a folder where it lies. The files of a bucket are brought by the storage layer, through its
local cache: DuckDB needs no extension for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dagster_duckdb import DuckDBResource
from duckdb import DuckDBPyConnection

from assets.sql.views import by_prefix, quoted, statements
from warehouse.store import layout
from warehouse.store.storage import Folder, Storage

MEMORY_LIMIT = "1GB"
"""Above it DuckDB spills to the disk."""


def resource(home: Path) -> DuckDBResource:
    """Return the resource over a warehouse whose folder on this machine is `home`. It holds no rows of its own."""
    return DuckDBResource(
        database=":memory:",
        connection_config={
            "file_search_path": str(home),
            "temp_directory": str(home / "scratch" / "duckdb"),
            "memory_limit": MEMORY_LIMIT,
            "threads": 2,
            "autoinstall_known_extensions": False,
        },
    )


@contextmanager
def open_views(duckdb: DuckDBResource, storage: Storage, months: Collection[str]) -> Iterator[DuckDBPyConnection]:
    """Yield a connection with the views of `assets.sql.views` over the files of these UTC months (`2026-11`).

    Without a file there are the tables `zones`, `feeds` and `resolutions` alone. Raises StorageError where the files
    cannot be listed or brought, duckdb.Error where one cannot be read or was replaced meanwhile.
    """
    roots = (layout.series_prefix(), layout.history_prefix())
    keys = [key for root in roots for key in storage.keys(root) if _is_of(key, months)]
    with _folder_of(storage, keys) as folder, duckdb.get_connection() as connection:
        connection.execute(f"SET file_search_path = {quoted(str(folder))}")
        for statement in statements(by_prefix(keys)):
            connection.execute(statement)
        yield connection


def _is_of(key: str, months: Collection[str]) -> bool:
    return layout.is_month_file(key) and layout.of_series(key)[2] in months


@contextmanager
def _folder_of(storage: Storage, keys: Sequence[str]) -> Iterator[Path]:
    """Yield the folder below which these keys are files; those of a bucket are copied into one that ends with it."""
    if isinstance(storage, Folder):
        yield storage.root
        return
    scratch = storage.local / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sql-", dir=scratch) as name:
        for key in keys:
            body = storage.get(key)
            if body is not None:
                path = Path(name, key)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
        yield Path(name)
