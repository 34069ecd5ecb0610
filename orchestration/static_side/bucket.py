"""A bucket as target: objects by hash, a pointer swapped by ETag, and under `site/` each path by its own name.

A reader that needs one publication whole starts at the pointer. `site/v1/zones.json` and the like are for a CDN whose
origin is the bucket: each is whole, as new as the pointer or one publication older, and says by `Cache-Control` how
long it holds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import obstore

from orchestration.static_side.publication import (
    KEPT_S,
    MANIFESTS,
    OBJECTS,
    POINTER,
    Publication,
    StaticObject,
    digest,
    place,
    stated_in,
)
from warehouse.errors import StorageError
from warehouse.object_store import Conflict, StoreAddress, ask, open_store

SITE = "site/"
_SITE_VERSION = f"{SITE}version"
_TRIES = 8


class Bucket:
    """Publications below one prefix of an object store."""

    def __init__(self, address: StoreAddress) -> None:
        self.address = address
        self._store = open_store(address)
        self._ages = self._listed(OBJECTS) | self._listed(MANIFESTS)

    def get(self, key: str) -> bytes | None:
        """An object's bytes; None where there is none. Raises StorageError."""
        found = ask(key, "read", lambda: obstore.get(self._store, key))
        return None if found is None else bytes(found.bytes())

    def put(self, item: StaticObject) -> bool:
        """Puts an object that is not there, or so old that another publisher's sweep may be about to take it."""
        if self._ages.get(item.key, KEPT_S) < KEPT_S / 2:
            return False
        self._put(item.key, item.body, item.media, item.cache_control, item.coding)
        self._ages[item.key] = 0.0
        return True

    def swap(self, publication: Publication) -> bool:
        """The pointer by its ETag; then the names. Raises StorageError where others keep being first."""
        for _ in range(_TRIES):
            meta = ask(POINTER, "read", lambda: obstore.head(self._store, POINTER))
            before = {} if meta is None else stated_in(self.get(POINTER))
            if int(str(before.get("version", 0))) > publication.version:
                return False
            mode: Any = "create" if meta is None else {"e_tag": meta["e_tag"]}
            try:
                self._put(POINTER, publication.pointer, "application/json", "public, max-age=15", mode=mode)
            except Conflict:
                continue
            self._name(publication, str(before.get("manifest", "")))
            return True
        raise StorageError(f"{POINTER} cannot be written: other publishers were first {_TRIES} times")

    def manifests(self) -> dict[str, float]:
        """Every manifest that lies there, with its age in seconds."""
        return self._listed(MANIFESTS)

    def sweep(self, keep: Collection[str], older_than_s: float) -> int:
        """Removes what is not kept and old enough."""
        lying = self._listed(OBJECTS) | self._listed(MANIFESTS)
        gone = [key for key, age in lying.items() if key not in keep and age >= older_than_s]
        if gone:
            ask(OBJECTS, "removed", lambda: obstore.delete(self._store, gone))
        return len(gone)

    def _name(self, publication: Publication, before: str) -> None:
        """Puts each path under its own name where its bytes changed since the manifest that was named before."""
        named = (self.get(_SITE_VERSION) or b"").decode("utf-8", "replace")
        known = self._stated(before) if before and named == before else {}
        for file in publication.files:
            if known.get(file.path) != digest(file.plain.body):
                self._put(SITE + place(file.path, file.media), file.plain.body, file.media, file.cache_control)
        # Both: a publisher that was killed at its names had not removed those of the one before.
        gone = sorted(SITE + known_place for known_place in self._gone({before, named}, publication))
        if gone:
            ask(SITE, "removed", lambda: obstore.delete(self._store, gone))
        self._put(_SITE_VERSION, publication.manifest.key.encode(), "text/plain", "no-store")

    def _stated(self, manifest: str) -> dict[str, str]:
        """Path -> SHA-256 of a manifest's files."""
        return {file["path"]: file["sha256"] for file in self._manifest(manifest).get("files", [])}

    def _gone(self, manifests: Iterable[str], publication: Publication) -> set[str]:
        """The names of paths of earlier manifests that a publication no longer has."""
        files = [file for key in manifests if key for file in self._manifest(key).get("files", [])]
        now = {place(file.path, file.media) for file in publication.files}
        return {place(file["path"], file["content_type"]) for file in files} - now

    def _manifest(self, key: str) -> Mapping[str, Any]:
        return stated_in(self.get(key))

    def _listed(self, prefix: str) -> dict[str, float]:
        """Keys below a prefix, each with its age in seconds."""
        now = time.time()
        batches = ask(prefix, "listed", lambda: obstore.list(self._store, prefix.rstrip("/")).collect(), absent=[])
        return {str(meta["path"]): now - meta["last_modified"].timestamp() for meta in batches}

    def _put(self, key: str, body: bytes, media: str, cache: str, coding: str = "", mode: Any = "overwrite") -> None:
        attributes = {"Content-Type": media, "Cache-Control": cache} | ({"Content-Encoding": coding} if coding else {})
        ask(key, "written", lambda: obstore.put(self._store, key, body, mode=mode, attributes=attributes))
