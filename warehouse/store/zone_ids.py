"""Store the IDs of the zones that a warehouse covers in the file `zones`, beside the mode.

Only the settings decide which zones a process covers. The file keeps a process with fewer zones from serving a part of
a warehouse as the whole, and an API from listing zones that nothing has been fetched for.
"""

from __future__ import annotations

from collections.abc import Collection

from warehouse.errors import StorageError
from warehouse.store import layout
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Stored


def ensure(storage: Storage, covered: Collection[str], adds: bool) -> None:
    """Store the IDs that a process covers. A warehouse without the file takes all of them.

    `adds` lets the process add zones to the stored ones. Raises StorageError if it covers more without `adds`, or
    fewer.
    """

    def united(stored: Stored | None) -> bytes | None:
        ids = _decoded(stored)
        check(ids, covered)
        if missing := {*covered} - ids:
            if ids and not adds:
                raise StorageError(
                    f"EMDS_ZONES names zones that this warehouse does not cover yet: {_listed(missing)}. "
                    "Add them with `emds up`, `emds ingest` or `emds backfill`"
                )
            return "".join(f"{zone}\n" for zone in sorted({*covered})).encode()
        return None

    storage.update(layout.ZONES, united)


def stored_ids(storage: Storage) -> frozenset[str]:
    """Return the IDs that a warehouse stores; none before its first process wrote them."""
    return _decoded(storage.read(layout.ZONES))


def check(ids: Collection[str], covered: Collection[str]) -> None:
    """Check that a process covers every zone of a warehouse. Raises StorageError if it does not."""
    if lacking := {*ids} - {*covered}:
        raise StorageError(
            f"this warehouse covers zones that EMDS_ZONES does not name: {_listed(lacking)}. "
            "Set EMDS_ZONES to the value that the warehouse was filled with, or name another EMDS_HOME"
        )


def _decoded(stored: Stored | None) -> frozenset[str]:
    return frozenset() if stored is None else frozenset(stored.body.decode("utf-8", "replace").split())


def _listed(ids: Collection[str]) -> str:
    return ", ".join(sorted(ids)[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
