"""Check the warehouse's mode: simulated, live or recorded. Rows of another mode are neither merged nor served.

The file `mode`, every monthly file and every raw response state it, so that a file of another warehouse is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from warehouse.errors import DamagedFile, WrongMode
from warehouse.settings import MODES
from warehouse.store import layout, seal
from warehouse.store.storage import Storage


def require(storage: Storage) -> str:
    """Return the warehouse's mode. Raises WrongMode if its file is missing or contains another word."""
    stored = storage.get(layout.MODE)
    word = "" if stored is None else stored.decode("utf-8", "replace").strip()
    if word in MODES:
        return word
    state = "is missing" if stored is None else f"contains {word[:20]!r}"
    raise WrongMode(
        f"the file `{layout.MODE}` {state}, so emds cannot tell whether this data is simulated. If a copy was "
        "interrupted, run `emds copy` again; otherwise write the mode of the warehouse into the file "
        f"({', '.join(MODES)})"
    )


def get(storage: Storage) -> str | None:
    """Return the warehouse's mode, None if there are neither a mode nor rows. Raises as `require` does."""
    prefixes = layout.series_prefix(), layout.history_prefix(), layout.RAW
    if storage.stat(layout.MODE) is None and not any(storage.keys(prefix) for prefix in prefixes):
        return None
    return require(storage)


def ensure(storage: Storage, wanted: str | None) -> str:
    """Return the warehouse's mode. A warehouse without rows takes `wanted`, or simulated by default.

    Raises WrongMode if the mode is another one, or missing although there are rows.
    """
    mode = check(storage, wanted)
    if storage.stat(layout.MODE) is None:
        storage.update(layout.MODE, lambda stored: mode.encode() if stored is None else None)
        return check(storage, wanted)
    return mode


def check(storage: Storage, wanted: str | None) -> str:
    """Return the mode that `ensure` would return, without writing it. Raises as `ensure` does."""
    if wanted and wanted not in MODES:
        raise WrongMode(f"EMDS_FEEDS={wanted[:20]} is not valid; use one of {', '.join(MODES)}")
    mode = get(storage) or wanted or "simulated"
    if wanted and wanted != mode:
        raise WrongMode(f"this warehouse contains {mode} data, not {wanted}; set EMDS_HOME to another folder")
    return mode


def check_file(mode: str, found_mode: object, key: str) -> None:
    """Raise WrongMode for a file whose mode is not the warehouse's."""
    if found_mode != mode:
        raise WrongMode(
            f"{key} contains {found_mode} rows, but this warehouse is {mode}; they are neither merged nor served"
        )


def check_release(storage: Storage) -> None:
    """Raise StorageError for a warehouse of another release.

    The catalogue decides, which every start publishes first. Without a readable one, the first file with a version in
    its seal decides.
    """
    for key in _sealed_keys(storage):
        with suppress(DamagedFile):
            if seal.check_release(storage.get(key) or b"", key):
                return


def _sealed_keys(storage: Storage) -> Iterator[str]:
    """Yield the catalogue, then monthly files, raw responses and documents; each is listed only if it is reached."""
    yield layout.published(layout.CATALOGUE)
    for prefix in (layout.series_prefix(), layout.RAW, layout.published()):
        yield from storage.keys(prefix)
