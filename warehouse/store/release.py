"""Which release's layout a warehouse has, by its file `schema`.

A warehouse of another release is refused, and left as it is.
"""

from __future__ import annotations

from warehouse.errors import StorageError
from warehouse.store import layout
from warehouse.store.seal import SCHEMA_VERSION, check_version
from warehouse.store.storage import Storage


def version_of(storage: Storage) -> int | None:
    """The schema's version that a warehouse has; None where its file is missing: each file says its own version.

    Raises StorageError for a file that holds no version.
    """
    body = storage.get(layout.SCHEMA)
    if body is None:
        return None
    text = body.decode("utf-8", "replace").strip()
    if not (text.isascii() and text.isdigit()):
        raise StorageError(
            f"the file `{layout.SCHEMA}` holds {text[:20]!r} and no version: write {SCHEMA_VERSION} into it, "
            "or restore it"
        )
    return int(text)


def check(storage: Storage) -> None:
    """Raises StorageError for a warehouse of another release, with the way out. Writes nothing."""
    version = version_of(storage)
    if version is not None:
        check_version(version, "this warehouse")


def mark(storage: Storage) -> None:
    """Checks, and writes this release's version into a warehouse that has none. Raises StorageError."""
    check(storage)
    if storage.stat(layout.SCHEMA) is None:
        storage.put(layout.SCHEMA, f"{SCHEMA_VERSION}\n".encode())
