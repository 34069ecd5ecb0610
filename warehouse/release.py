"""Which release's layout a warehouse has, by its file `schema`.

Older ones need `emds upgrade`, newer ones are refused.
"""

from __future__ import annotations

from warehouse import layout
from warehouse.errors import StorageError
from warehouse.seal import SCHEMA_VERSION
from warehouse.storage import Storage


def version_of(storage: Storage) -> int | None:
    """The schema's version that a warehouse has; None for an empty one. Raises StorageError where nobody can tell."""
    kept = storage.get(layout.SCHEMA)
    if kept is None:
        # The first release wrote no such file; of this one it may have been lost.
        months = storage.keys(layout.series_prefix()) + storage.keys(layout.history_prefix())
        if any(layout.is_month_file(key) for key in months):
            return SCHEMA_VERSION
        return 1 if months or storage.keys(layout.RAW) or storage.keys(layout.published()) else None
    text = kept.decode("utf-8", "replace").strip()
    if not (text.isascii() and text.isdigit()):
        raise StorageError(
            f"the file `{layout.SCHEMA}` holds {text[:20]!r} and no version: write {SCHEMA_VERSION} into it, "
            "or restore it"
        )
    return int(text)


def check(storage: Storage) -> None:
    """Raises StorageError for a warehouse of another release, with the way out. Writes nothing."""
    version = version_of(storage)
    if version is not None and version < SCHEMA_VERSION:
        raise StorageError(
            f"this warehouse was written by an older release (schema {version}, this one writes {SCHEMA_VERSION}): "
            "stop its other processes and run `emds upgrade`"
        )
    if version is not None and version > SCHEMA_VERSION:
        raise StorageError(
            f"this warehouse was written by a newer release (schema {version}, this one knows {SCHEMA_VERSION}): "
            "use that release, or another EMDS_HOME"
        )


def mark(storage: Storage) -> None:
    """Checks, and writes this release's version into a warehouse that has none. Raises StorageError."""
    check(storage)
    if storage.stat(layout.SCHEMA) is None:
        stamp(storage)


def stamp(storage: Storage) -> None:
    """Writes this release's version."""
    storage.put(layout.SCHEMA, f"{SCHEMA_VERSION}\n".encode())
