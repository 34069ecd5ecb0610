"""Store bytes by key in an object store, with the guarantees of `storage.Folder`. For the keys, see `layout`.

The object store guarantees that a write is atomic. An object's version (ns) is stored in its metadata, and its ETag
identifies it. obstore repeats idempotent requests. `update` writes on condition that the object is still the one that
was read, without locks. If the response to a conditional write is lost, the object is read to learn the outcome.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.caches import LruCache, TtlCache
from warehouse.errors import Conflict, StorageError
from warehouse.store.object_store import ObjectStoreError, StoreAddress, address, ask, open_store
from warehouse.store.stored_bytes import WAIT_S, Change, Identity, Stored, checked_key

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_SMALL = 1000
"""The size limit of bodies in the short cache, such as the mode, which is read with every file. In bytes."""
_WHOLE, _WHOLES_BYTES = 64 << 10, 2_000_000
"""The size limit of objects that are read completely for any part, and of their cache. In bytes."""
_MULTIPART = 32 << 20
_ATTEMPTS = 4
"""The number of attempts for a write whose outcome is unknown."""
_VERSION = "emdsversion"
"""The metadata name of an object's version (ns). Azure accepts only identifiers."""


class Bucket:
    """The objects below an address (EMDS_HOME) as storage. Safe for many processes and threads on many machines.

    `local` is a folder of this machine. Identities and listings are cached for `cache_s` seconds. `bounds` are
    arguments of `open_store`. An instance belongs to a single process, not to its forked children.
    """

    def __init__(self, place: StoreAddress | str, local: Path | str, cache_s: float = 2.0, **bounds: Any) -> None:
        self.place = address(place) if isinstance(place, str) else place
        self.local = Path(local).absolute()
        self.cache_s = cache_s
        self._bounds = bounds
        self._identities = TtlCache(cache_s)
        self._small = TtlCache(cache_s)
        self._listings = TtlCache(cache_s)
        self._wholes = LruCache(_WHOLES_BYTES)
        self._bucket_exists = False

    def __str__(self) -> str:
        return str(self.place)

    @cached_property
    def _store(self) -> ObjectStore:
        return open_store(self.place, **self._bounds)

    def require_conditions(self) -> None:
        """Raise StorageError for a store that ignores conditions: writers would lose each other's rows.

        Some servers report success for a stale update or a second creation.
        """
        key = f"probes/{secrets.token_hex(8)}"
        try:
            self._put(key, b"first", "create", 1)
            first = _condition(self._read(key))
            self._put(key, b"second", first, 2)
            for stale in ("create", first):
                try:
                    self._put(key, b"third", stale, 3)
                except Conflict:
                    continue
                raise StorageError(
                    f"{self.place} does not enforce conditional writes (If-Match, If-None-Match); use an object store "
                    "that does"
                )
        finally:
            self.delete(key)

    # Reading

    def get(self, key: str) -> bytes | None:
        """Return the bytes, None if there are none. Raises StorageError."""
        stored = self.read(key)
        return None if stored is None else stored.body

    def read(self, key: str) -> Stored | None:
        """Return the bytes and their matching identity. Raises StorageError."""
        cached: Stored | None = self._small.get_cached(key)
        return self._read(key) if cached is None else cached

    def _read(self, key: str) -> Stored | None:
        """Return the current bytes and their identity, without a cache."""
        import obstore

        def whole() -> Stored:
            answer = obstore.get(self._store, checked_key(key))
            return Stored(bytes(answer.bytes()), _identity(answer))

        begun = time.monotonic()
        stored: Stored | None = ask(key, "read", whole)
        self._bucket_exists = True  # the body of a 404 shows whether the object or the bucket is missing
        self.refresh(key)
        self._identities.keep(key, None if stored is None else stored.identity, begun)
        if stored is not None and len(stored.body) <= _SMALL:
            self._small.keep(key, stored, begun)
        return stored

    def part(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        """Return at most `length` bytes from `start`, None if they are unavailable or the key has other bytes."""
        if identity.size <= _WHOLE:
            return self._wholes.get((key, identity), lambda: self._body(key, identity))[start : start + length] or None
        import obstore

        def some() -> bytes | None:
            answer = obstore.get(self._store, checked_key(key), options={"range": (start, start + length)})
            return bytes(answer.bytes()) if _identity(answer) == identity else None

        try:
            part: bytes | None = ask(key, "read", some)
        except ObjectStoreError as error:
            if error.kind != "range":  # the range is invalid because the key has fewer bytes now
                raise
            return None
        return part

    def _body(self, key: str, identity: Identity) -> tuple[bytes, int]:
        """Return the bytes of an identity and their number, empty if the key has other bytes."""
        stored = self._read(key)
        body = stored.body if stored is not None and stored.identity == identity else b""
        return body, len(body)

    def stat(self, key: str) -> Identity | None:
        """Return the identity of a key's bytes, or None. Raises StorageError."""
        identity: Identity | None = self._identities.get(checked_key(key), lambda: self._head(key))
        return identity

    def _head(self, key: str) -> Identity | None:
        import obstore

        answer = ask(key, "read", lambda: obstore.get(self._store, key, options={"head": True}))
        if answer is None and not self._bucket_exists:
            self._list("nothing/")  # a 404 to a HEAD request does not show whether the bucket is missing
        return None if answer is None else _identity(answer)

    def listing(self, prefix: str) -> dict[str, str]:
        """Return every key below a prefix that ends in `/`, sorted, with a stamp that changes with each write.

        Raises StorageError.
        """
        return self._listings.get(checked_key(prefix), lambda: self._list(prefix))

    def _list(self, prefix: str, after: str | None = None) -> dict[str, str]:
        import obstore

        def listed() -> dict[str, str]:
            stream = obstore.list(self._store, prefix.rstrip("/") or None, offset=after)
            return dict(sorted((entry["path"], str(entry["e_tag"])) for chunk in stream for entry in chunk))

        found: dict[str, str] = ask(prefix or str(self.place), "listed", listed)
        self._bucket_exists = True
        return found

    def keys(self, prefix: str) -> list[str]:
        """Return every key below a prefix that ends in `/`, sorted. Raises StorageError."""
        return [*self.listing(prefix)]

    def keys_within(self, prefix: str, names: Collection[str]) -> list[str]:
        """Return every key below these folders of a prefix, sorted, from one listing that begins at the first."""
        if not names:
            return []
        wanted, start = set(names), len(checked_key(prefix))
        keys = self._list(prefix, f"{prefix}{min(wanted)}")
        return [key for key in keys if key[start:].partition("/")[0] in wanted]

    def unreadable(self, prefix: str = "") -> list[str]:
        """Return an empty list: an object store does not have unreadable folders."""
        return []

    # Writing

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        """Write bytes atomically. `version` (ns) becomes the version of their identity, by default the time.

        The bytes are durable when this method returns. Raises StorageError.
        """
        self._put(key, body, "overwrite", version)

    def update(self, key: str, change: Change, version: int | None = None, durable: bool = True) -> bool:
        """Write what `change` returns for the stored bytes; return whether they changed. Retries after a conflict.

        Raises StorageError, also if other writers are first for WAIT_S seconds.
        """
        deadline, pause = time.monotonic() + WAIT_S, 0.02
        while True:
            stored = self._read(key)
            try:
                body = change(stored)
                if body is None or (stored is not None and stored.body == body):
                    return False
                self._put(key, body, _condition(stored), version)
                return True
            except Conflict:
                if time.monotonic() > deadline:
                    raise StorageError(
                        f"{key} was not written: other writers held it for {WAIT_S:.0f} s; try again"
                    ) from None
            time.sleep(random.uniform(0.5, 1) * pause)  # noqa: S311  so that losers do not come back all at once
            pause = min(2 * pause, 0.5)

    def _put(self, key: str, body: bytes, mode: Any, version: int | None) -> None:
        """Write bytes with `mode`, which is `overwrite` or a condition. Raises Conflict."""
        import obstore

        stamp = time.time_ns() if version is None else version
        how: Any = {
            "mode": mode,
            "attributes": {_VERSION: str(stamp)},
            "use_multipart": mode == "overwrite" and len(body) > _MULTIPART,
        }
        try:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    ask(key, "written", lambda: obstore.put(self._store, checked_key(key), body, **how))
                    return
                except StorageError as error:
                    if self._holds(key, body, stamp, error):
                        return  # the write succeeded, and its response was lost
                    if isinstance(error, Conflict) or attempt == _ATTEMPTS or _hopeless(error):
                        raise
                time.sleep(random.uniform(0.05, 0.2) * 2**attempt)  # noqa: S311
        finally:
            self.refresh(key)
            self._listings.clear()

    def _holds(self, key: str, body: bytes, version: int, error: StorageError) -> bool:
        """Return whether an object is what a failed write sent. Raises `error` if the store is unavailable."""
        try:
            found = self._read(key)
        except StorageError:
            raise error from None
        return found is not None and found.body == body and found.identity.version == version

    def refresh(self, key: str) -> None:
        """Forget the cached state of a key: the next read requests it."""
        self._identities.forget(key)
        self._small.forget(key)

    def delete(self, key: str) -> None:
        """Delete a key if it exists. Raises StorageError."""
        import obstore

        ask(key, "removed", lambda: obstore.delete(self._store, checked_key(key)))
        self.refresh(key)
        self._listings.clear()

    def copy(self, key: str, target: str) -> None:
        """Copy the bytes of a key, if it exists, to another key. Raises StorageError."""
        stored = self.read(key)
        if stored is not None:
            self.put(target, stored.body, stored.identity.version)

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Return 0: a killed writer does not leave fragments."""
        return 0


def _hopeless(error: StorageError) -> bool:
    """Return whether a retry is useless: wrong bucket, wrong credentials, or a store that kept failing."""
    hopeless = ("no_bucket", "denied", "no_credentials", "outage")
    return isinstance(error, ObjectStoreError) and error.kind in hopeless


def _condition(stored: Stored | None) -> Any:
    """Return the condition that an object is unchanged, by the ETag and generation that its store returns."""
    if stored is None:
        return "create"
    tags: Any = stored.identity.tag
    return {name: tag for name, tag in zip(("e_tag", "version"), tags, strict=True) if tag is not None}


def _identity(answer: Any) -> Identity:
    """Return the identity of an object. If another program wrote it, its modification time is the version."""
    meta, version = answer.meta, answer.attributes.get(_VERSION, "")
    written = int(version) if version.isdigit() else int(meta["last_modified"].timestamp() * 1_000_000) * 1000
    return Identity(written, int(meta["size"]), (meta.get("e_tag"), meta.get("version")))
