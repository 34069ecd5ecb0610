"""The resource `duckdb`, and a connection of it with views over the month files of some months.

DuckDB reads a warehouse in a folder where it lies. The files of a bucket are brought by the storage layer: DuckDB needs
no extension for it.
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
"""Above it DuckDB spills into a temporary folder of the connection."""


def resource(home: Path) -> DuckDBResource:
    """Return the resource over a warehouse whose folder on this machine is `home`. It holds no rows of its own."""
    return DuckDBResource(
        database=":memory:",
        connection_config={
            "file_search_path": str(home),
            "memory_limit": MEMORY_LIMIT,
            "threads": 2,
            "autoinstall_known_extensions": False,
        },
    )


def month_keys(storage: Storage, months: Collection[str]) -> list[str]:
    """Return the keys of the files of these UTC months, history too."""
    keys = [key for root in (layout.series_prefix(), layout.history_prefix()) for key in storage.keys(root)]
    return [key for key in keys if layout.is_month_file(key) and layout.of_series(key)[2] in months]


@contextmanager
def open_views(
    duckdb: DuckDBResource, storage: Storage, months: Collection[str], left_out: Collection[str] = ()
) -> Iterator[DuckDBPyConnection]:
    """Yield a connection with the views of `assets.sql.views` over the files of these UTC months (`2026-11`).

    `left_out`: keys of files that are no part of them.

    A view without files has no row. Raises StorageError where the files cannot be listed or brought, duckdb.Error where
    one cannot be read or was replaced meanwhile.
    """
    keys = [key for key in month_keys(storage, months) if key not in left_out]
    with tempfile.TemporaryDirectory(prefix="emds-sql-") as scratch, duckdb.get_connection() as connection:
        connection.execute(f"SET temp_directory = {quoted(scratch)}")
        connection.execute(f"SET file_search_path = {quoted(str(_folder_of(storage, keys, Path(scratch))))}")
        for statement in statements(by_prefix(keys)):
            connection.execute(statement)
        yield connection


def _folder_of(storage: Storage, keys: Sequence[str], scratch: Path) -> Path:
    """Return the folder below which these keys are files: of a bucket `scratch`, into which they are copied."""
    if isinstance(storage, Folder):
        return storage.root
    for key in keys:
        body = storage.get(key)
        if body is not None:
            path = scratch / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
    return scratch
