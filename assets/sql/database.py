"""Provide the resource `duckdb`, and a connection to it with views over the files of some months.

DuckDB reads a warehouse in a folder in place. The storage layer copies the files of a bucket, so DuckDB does not need
an extension.
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
"""The limit above which DuckDB spills to a temporary folder of the connection."""


def resource(home: Path) -> DuckDBResource:
    """Return the resource for a warehouse with the local folder `home`. The resource itself does not store rows."""
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
    """Return the keys of the files of these UTC months, including history."""
    keys = [key for root in (layout.series_prefix(), layout.history_prefix()) for key in storage.keys(root)]
    return [key for key in keys if layout.is_month_file(key) and layout.of_series(key)[2] in months]


@contextmanager
def open_views(
    duckdb: DuckDBResource, storage: Storage, months: Collection[str], left_out: Collection[str] = ()
) -> Iterator[DuckDBPyConnection]:
    """Yield a connection with the views of `assets.sql.views` over the files of these UTC months (`2026-11`).

    `left_out` are keys of files to leave out.

    A view without files has no rows. Raises StorageError if the files cannot be listed or copied, and duckdb.Error if a
    file cannot be read or was replaced meanwhile.
    """
    keys = [key for key in month_keys(storage, months) if key not in left_out]
    with tempfile.TemporaryDirectory(prefix="emds-sql-") as scratch, duckdb.get_connection() as connection:
        connection.execute(f"SET temp_directory = {quoted(scratch)}")
        connection.execute(f"SET file_search_path = {quoted(str(_folder_of(storage, keys, Path(scratch))))}")
        for statement in statements(by_prefix(keys)):
            connection.execute(statement)
        yield connection


def _folder_of(storage: Storage, keys: Sequence[str], scratch: Path) -> Path:
    """Return the folder that contains the files of these keys. For a bucket, they are copied into `scratch`."""
    if isinstance(storage, Folder):
        return storage.root
    for key in keys:
        body = storage.get(key)
        if body is not None:
            path = scratch / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
    return scratch
