"""Where publications go: what a folder and a bucket have in common, and which of them an address names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from orchestration.static_side.publication import Publication, StaticObject
from warehouse import object_store
from warehouse.object_store import StoreAddress


class Target(Protocol):
    """Holds objects by key, and one pointer that is swapped by condition."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, item: StaticObject) -> bool:
        """Puts an object unless it lies there; returns whether it did."""

    def swap(self, publication: Publication) -> bool:
        """Makes a publication the current one unless a newer one is; returns whether it did. Its objects are there."""

    def sweep(self, keep: Collection[str], older_than_s: float) -> int:
        """Removes objects and manifests that are old enough and not among `keep`; returns how many."""

    def manifests(self) -> dict[str, float]:
        """Keys of the manifests that lie there, each with its age in seconds."""


def parse(address: str) -> Path | StoreAddress:
    """Return the folder (a path, or `file:///path`) or bucket that an address names. Raises StorageError."""
    if object_store.is_address(address):
        return object_store.address(address)
    return Path(unquote(urlsplit(address).path) if address.startswith("file://") else address)


def open_target(address: str) -> Target:
    """Open a folder or a bucket. Raises StorageError."""
    place = parse(address)
    if isinstance(place, Path):
        from orchestration.static_side.folder import FolderTarget

        return FolderTarget(place)
    from orchestration.static_side.bucket import Bucket

    return Bucket(place)
