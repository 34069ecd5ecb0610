"""Bytes by key in an object store, with the promises of `storage.Folder`. Keys: see `layout`.

A put is whole or not at all, by the store's own promise. Its version (ns) and a token of its own travel with an object
as its metadata (`bucket_requests`). What was read counts as unchanged for `fresh_s` seconds, then its ETag is
looked at; bodies lie in a bounded folder of this machine (`bucket_cache`). `update` puts under the condition
that the object is still the one that it read: there are no locks.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from warehouse.caches import TtlCache
from warehouse.errors import Conflict, StorageError
from warehouse.store.bucket_cache import BodyCache
from warehouse.store.bucket_requests import Requests, Tag
from warehouse.store.object_store import REQUEST_S, RETRIES, RETRY_S, StoreAddress, address
from warehouse.store.storage import WAIT_S, Change, Identity, Stored, checked_key

FRESH_S = 1.0
"""So long what was looked at counts as unchanged: as long as a reader may miss another writer's put."""
CACHE_BYTES = 1 << 30
_MOST_VIEWS = 100_000


class _View(NamedTuple):
    """What was last known of a key. `at`: monotonic seconds at which it was asked for; `tag` None: nothing there."""

    at: float
    tag: Tag | None
    identity: Identity | None


class Bucket:
    """The objects below an address (EMDS_HOME) as storage. Safe for many processes and threads on many machines.

    `local`: a folder of this machine. One object of this class belongs to one process, not to its forked children.
    """

    def __init__(
        self,
        place: StoreAddress | str,
        local: Path | str,
        fresh_s: float = FRESH_S,
        cache_bytes: int = CACHE_BYTES,
        request_s: float = REQUEST_S,
        retries: int = RETRIES,
        retry_s: float = RETRY_S,
    ) -> None:
        self.place = address(place) if isinstance(place, str) else place
        self.local = Path(local).absolute()
        self.fresh_s = fresh_s
        self._requests = Requests(self.place, request_s, retries, retry_s)
        name = hashlib.sha256(str(self.place).encode()).hexdigest()[:16]
        self._bodies = BodyCache(self.local / "cache" / name, cache_bytes)
        self._views: dict[str, _View] = {}
        self._listings = TtlCache(fresh_s)

    def __str__(self) -> str:
        return str(self.place)

    def require_conditions(self) -> None:
        """Raises StorageError for a store that ignores conditions: writers would lose each other's rows."""
        self._requests.require_conditions()

    # Reading

    def get(self, key: str) -> bytes | None:
        """The bytes, or None where there are none. Raises StorageError."""
        stored = self.read(key)
        return None if stored is None else stored.body

    def read(self, key: str) -> Stored | None:
        """The bytes and their identity, which belong together. Raises StorageError."""
        view = self._fresh(checked_key(key))
        if view is not None:
            stored = self._copy(key, view)
            if stored is not None or not view.tag:
                return stored
        return self._fetch(key)[1]

    def part(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        """At most `length` bytes from an offset on, out of the copy that lies here; None where there is none of it.

        Where none lies here yet, the whole is fetched for one, if it may be kept. A copy is not checked as a whole:
        what is read is its reader's to check. It need not be fresh either: the identity says which bytes are wanted.
        """
        part = self._copied(key, identity, start, length)
        if part is None and self._bodies.keeps and self.get(key) is not None:
            part = self._copied(key, identity, start, length)
        return part

    def _copied(self, key: str, identity: Identity, start: int, length: int) -> bytes | None:
        view = self._views.get(checked_key(key))
        if view is None or not view.tag or view.identity != identity:
            return None
        return self._bodies.part(key, view.tag, start, length)

    def _fresh(self, key: str) -> _View | None:
        view = self._views.get(key)
        return view if view is not None and time.monotonic() - view.at < self.fresh_s else None

    def _copy(self, key: str, view: _View | None) -> Stored | None:
        """What was seen, where its bytes lie here."""
        if view is None or not view.tag or view.identity is None:
            return None
        body = self._bodies.get(key, view.tag)
        return None if body is None else Stored(body, view.identity)

    def _fetch(self, key: str) -> tuple[_View, Stored | None]:
        """Asks for the bytes, or whether those that lie here are still right."""
        from obstore.exceptions import NotModifiedError

        begun, known = time.monotonic(), self._views.get(key)
        content = self._copy(key, known)
        try:
            found = self._requests.read(key, known.tag if known and content else None)
        except NotModifiedError:
            return self._learn(key, _View(begun, *known[1:]) if known else _View(begun, None, None)), content
        if found is None:
            return self._learn(key, _View(begun, None, None)), None
        self._bodies.put(key, found.tag, found.body)
        return self._learn(key, _View(begun, found.tag, found.identity)), Stored(found.body, found.identity)

    def _learn(self, key: str, view: _View) -> _View:
        if len(self._views) >= _MOST_VIEWS:
            self._views.clear()
        self._views[key] = view
        return view

    def stat(self, key: str) -> Identity | None:
        """Version, size and the put's own number of what a key holds, or None. Raises StorageError."""
        view = self._fresh(checked_key(key))
        if view is None:
            begun = time.monotonic()
            view = self._learn(key, _View(begun, *(self._requests.head(key) or (None, None))))
        return view.identity

    def listing(self, prefix: str) -> dict[str, str]:
        """Every key below a prefix that ends in `/`, sorted, with a stamp that another put changes.

        Raises StorageError.
        """
        return self._listings.get(prefix, lambda: self._requests.listing(checked_key(prefix)))

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted. Raises StorageError."""
        return [*self.listing(prefix)]

    def keys_within(self, prefix: str, names: Collection[str]) -> list[str]:
        """Every key below these folders of a prefix, sorted: one listing from the first of them on."""
        if not names:
            return []
        wanted, start = set(names), len(checked_key(prefix))
        keys = self._requests.listing(prefix, f"{prefix}{min(wanted)}")
        return [key for key in keys if key[start:].partition("/")[0] in wanted]

    def folders(self, prefix: str) -> list[str]:
        """Every folder below a prefix that ends in `/`, as keys without a last `/`, sorted: here only by their keys."""
        start = prefix.count("/")
        parts = (key.split("/") for key in self.keys(prefix))
        return sorted({"/".join(part[:depth]) for part in parts for depth in range(start + 1, len(part))})

    def unreadable(self, prefix: str = "") -> list[str]:
        """No folder of an object store is unreadable by itself."""
        return []

    # Writing

    def put(self, key: str, body: bytes, version: int | None = None, durable: bool = True) -> None:
        """Puts bytes in place whole; `version` (ns) becomes their identity's version, else the time of writing.

        They are kept when this returns. Raises StorageError.
        """
        self._write(checked_key(key), body, "overwrite", version)

    def update(self, key: str, change: Change, version: int | None = None, durable: bool = True) -> bool:
        """Puts what `change` makes of what a key holds, if it still holds that, else again; whether it differed.

        What was last seen of the key is tried first: its put says whether that is still right. Only what was asked for
        anew decides that nothing is put. Raises StorageError, also where other writers were first for long.
        """
        deadline, pause = time.monotonic() + WAIT_S, 0.02
        view = self._views.get(checked_key(key))
        stored = self._copy(key, view)
        asked = stored is None
        if view is None or stored is None:
            view, stored = self._fetch(key)
        while True:
            try:
                body = change(stored)
                if body is not None and (stored is None or stored.body != body):
                    self._write(key, body, view.tag or "create", version)
                    return True
                if asked:
                    return False
                asked, before = True, view.tag
                view, stored = self._fetch(key)
                if view.tag == before:
                    return False
                continue
            except Conflict:
                if time.monotonic() > deadline:
                    raise StorageError(f"{key} was not written: other writers were first for {WAIT_S:.0f} s") from None
            time.sleep(random.uniform(0.5, 1) * pause)  # noqa: S311  so that losers do not come back all at once
            pause, asked = min(2 * pause, 0.5), True
            view, stored = self._fetch(key)

    def _write(self, key: str, body: bytes, mode: Tag | str, version: int | None) -> None:
        begun, token = time.monotonic(), secrets.token_hex(7)
        stamp = time.time_ns() if version is None else version
        try:
            tag = self._requests.put_if(key, body, mode, stamp, token)
        except StorageError:
            self.refresh(key)
            raise
        self._bodies.put(key, tag, body)
        self._learn(key, _View(begun, tag, Identity(stamp, len(body), int(token, 16))))
        self._listings.clear()

    def refresh(self, key: str) -> None:
        """Forgets what was seen of a key: the next reading asks for it."""
        self._views.pop(key, None)

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Raises StorageError."""
        begun = time.monotonic()
        self._requests.delete(checked_key(key))
        self._learn(key, _View(begun, None, None))
        self._bodies.forget(key)
        self._listings.clear()

    def copy(self, key: str, target: str) -> bool:
        """Puts what a key holds under another key too, without reading it; whether there was any.

        Raises StorageError.
        """
        self.refresh(target)
        self._listings.clear()
        return self._requests.copy(checked_key(key), checked_key(target))

    def move(self, key: str, target: str) -> None:
        """Gives bytes another key without reading them; nothing happens where there are none. Raises StorageError.

        A kill in between leaves them under both.
        """
        if self.copy(key, target):
            self.delete(key)

    def sync(self, keys: Iterable[str]) -> None:
        """Nothing to wait for: what was put is kept."""

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Brings this machine's copies within their bound; returns how many went."""
        return self._bodies.sweep()
