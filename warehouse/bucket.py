"""Bytes by key in an object store, with the promises of `warehouse.storage.Folder`. Keys: see `warehouse.layout`.

A put is whole or not at all, by the store's own promise. The version (ns) and a token of each put travel with an object
as its metadata (`warehouse.bucket_requests`). What is read is looked at again after `fresh_s` seconds, by its ETag
(`warehouse.bucket_seen`); bodies lie in a bounded folder of this machine (`warehouse.bucket_cache`). Under a lock
(`warehouse.leases`) everything is looked at anew, and a write of what was read there holds only if nobody wrote since:
a holder that was believed dead overwrites nothing.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from warehouse.bucket_cache import BodyCache
from warehouse.bucket_requests import Requests, Tag, put_metadata
from warehouse.bucket_seen import Seen, SeenKeys
from warehouse.errors import StorageError
from warehouse.leases import Leases
from warehouse.object_store import REQUEST_S, RETRIES, RETRY_S, Conflict, StoreAddress, address
from warehouse.storage import LOCK_WAIT_S, Change, Identity, Stored, checked_key

FRESH_S = 1.0
"""So long what was looked at counts as unchanged: as long as another writer's put may go unnoticed outside a lock."""
CACHE_BYTES = 1 << 30


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
        lease_s: float = 15.0,
    ) -> None:
        self.place = address(place) if isinstance(place, str) else place
        self.local = Path(local).absolute()
        self.fresh_s = fresh_s
        self._requests = Requests(self.place, request_s, retries, retry_s)
        name = hashlib.sha256(str(self.place).encode()).hexdigest()[:16]
        self._bodies = BodyCache(self.local / "cache" / name, cache_bytes)
        self._seen = SeenKeys(fresh_s)
        self._leases = Leases(self._requests.put_if, self._read_lock, lease_s)

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
        seen = self._seen.fresh(checked_key(key))
        if seen is not None:
            body = self._bodies.get(key, seen.tag) if seen.tag else None
            if body is not None or not seen.tag:
                self._seen.note_read(key, seen.tag)
                return None if body is None or seen.identity is None else Stored(body, seen.identity)
        return self._fetch(key)

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
        seen = self._seen.last(checked_key(key))
        if seen is None or not seen.tag or seen.identity != identity:
            return None
        self._seen.note_read(key, seen.tag)
        return self._bodies.part(key, seen.tag, start, length)

    def _fetch(self, key: str) -> Stored | None:
        """Asks for the bytes, or whether those that lie here are still right."""
        from obstore.exceptions import NotModifiedError

        begun, (known, kept) = time.monotonic(), self._remembered(key)
        try:
            found = self._requests.read(key, known.tag if known else None)
        except NotModifiedError:
            if known is not None:
                self._seen.learn(key, known._replace(at=begun))
            return kept
        if found is None:
            self._absent(key, begun)
            return None
        self._bodies.put(key, found.tag, found.body)
        self._seen.learn(key, Seen(begun, found.tag, found.identity))
        return Stored(found.body, found.identity)

    def stat(self, key: str) -> Identity | None:
        """Version, size and the put's own number of what a key holds, or None. Raises StorageError."""
        seen = self._seen.fresh(checked_key(key))
        if seen is not None:
            self._seen.note_read(key, seen.tag)
            return seen.identity
        begun = time.monotonic()
        found = self._requests.head(key)
        if found is None:
            self._absent(key, begun)
            return None
        self._seen.learn(key, Seen(begun, *found))
        return found[1]

    def _absent(self, key: str, at: float) -> None:
        self._requests.require_bucket(self.fresh_s)
        self._seen.learn(key, Seen(at, None, None))

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted. Raises StorageError."""
        begun = time.monotonic()
        keys = self._seen.listing(prefix)
        if keys is None:
            keys = self._requests.keys(checked_key(prefix))
            self._seen.learn_listing(prefix, begun, keys)
        return keys

    def keys_within(self, prefix: str, names: Collection[str]) -> list[str]:
        """Every key below these folders of a prefix, sorted: one listing from the first of them on."""
        if not names:
            return []
        wanted, start = set(names), len(checked_key(prefix))
        keys = self._requests.keys(prefix, f"{prefix}{min(wanted)}")
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

        They are kept when this returns. Raises StorageError; Conflict where another writer was first.
        """
        self._write(key, body, time.time_ns() if version is None else version, secrets.token_hex(7))

    def update(self, key: str, change: Change, version: int | None = None, durable: bool = True) -> bool:
        """Puts what `change` makes of what a key holds, if it still holds that, else again; whether it differed.

        What was last seen of the key is tried first: its put says whether that is still right. Only what was asked for
        anew decides that nothing is put. Raises StorageError, also where other writers were first for long.
        """
        deadline, sure, pause = time.monotonic() + LOCK_WAIT_S, False, 0.02
        seen, stored = self._remembered(checked_key(key))
        while True:
            if seen is None:
                seen, stored = self._looked_at(key)
                sure = True
            body = change(stored)
            if body is None or (stored is not None and stored.body == body):
                if sure:
                    return False
                last, (seen, stored) = seen, self._looked_at(key)
                sure = True
                if seen.tag == last.tag:
                    return False
                continue
            token = secrets.token_hex(7)
            stamp = time.time_ns() if version is None else version
            begun = time.monotonic()
            try:
                tag = self._requests.put_if(key, body, seen.tag or "create", put_metadata(stamp, token))
            except Conflict:
                self._seen.forget(key)
                if time.monotonic() > deadline:
                    raise StorageError(
                        f"{key} was not written: other writers were first for {LOCK_WAIT_S:.0f} s"
                    ) from None
                time.sleep(random.uniform(0.5, 1) * pause)  # noqa: S311  so that losers do not come back all at once
                pause, seen = min(2 * pause, 0.5), None
                continue
            except StorageError:
                self._seen.forget(key)
                raise
            self._remember(key, begun, tag, Identity(stamp, len(body), int(token, 16)), body)
            return True

    def _remembered(self, key: str) -> tuple[Seen | None, Stored | None]:
        """What was last seen of a key, however long ago, where its bytes lie here too; else None twice."""
        seen = self._seen.last(key)
        if seen is None or seen.identity is None or not seen.tag:
            return None, None
        body = self._bodies.get(key, seen.tag)
        return (None, None) if body is None else (seen, Stored(body, seen.identity))

    def _looked_at(self, key: str) -> tuple[Seen, Stored | None]:
        """What a key holds now."""
        stored, seen = self._fetch(key), self._seen.last(key)
        if seen is None:  # forgotten meanwhile: too many keys were seen, or another thread wrote it
            return self._looked_at(key)
        return seen, stored

    def _remember(self, key: str, at: float, tag: Tag, identity: Identity, body: bytes) -> None:
        self._bodies.put(key, tag, body)
        self._seen.learn(key, Seen(at, tag, identity))
        self._seen.forget_listings()

    def _write(self, key: str, body: bytes, version: int, token: str) -> None:
        section, begun = self._seen.section, time.monotonic()
        mode: Any = "overwrite"
        if section is not None:
            for lease in section.leases:
                lease.check(key)
            if key in section.read:
                known = section.read[key]
                mode = "create" if known is None else known or mode
        try:
            tag = self._requests.put_if(checked_key(key), body, mode, put_metadata(version, token))
        except StorageError:
            self._seen.forget(key)
            raise
        self._remember(key, begun, tag, Identity(version, len(body), int(token, 16)), body)

    def refresh(self, key: str) -> None:
        """Forgets what was seen of a key: the next reading asks for it."""
        self._seen.forget(key)

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Raises StorageError.

        Under a lock Conflict where another writer has taken it over: what lies there may be that one's.
        """
        self._require_locks(key)
        begun = time.monotonic()
        self._requests.delete(checked_key(key))
        self._seen.learn(key, Seen(begun, None, None))
        self._bodies.forget(key)
        self._seen.forget_listings()

    def _require_locks(self, key: str) -> None:
        section = self._seen.section
        for lease in section.leases if section else ():
            self._leases.require(lease, key)

    def move(self, key: str, target: str) -> None:
        """Gives bytes another key without reading them; nothing happens where there are none. Raises StorageError.

        A kill in between leaves them under both.
        """
        self._require_locks(key)
        if self.stat(key) is None or not self._requests.copy(key, checked_key(target)):
            return
        self._seen.forget(target)
        self.delete(key)

    def sync(self, keys: Iterable[str]) -> None:
        """Nothing to wait for: what was put is kept."""

    def sweep(self, older_than_s: float = 3600.0) -> int:
        """Brings this machine's copies within their bound; returns how many went."""
        return self._bodies.sweep()

    # Locks

    def locked(self, keys: Iterable[str], wait_s: float = LOCK_WAIT_S) -> ExitStack:
        """Holds the locks of these keys, taken in key order so that two writers never wait for each other.

        A holder that was killed frees its locks: at once for its own machine, after `lease_s` seconds for others.
        """
        with ExitStack() as locks:
            leases = [locks.enter_context(self._leases.held(checked_key(key), wait_s)) for key in sorted(set(keys))]
            locks.enter_context(self._seen.section_under(leases))
            return locks.pop_all()

    def _read_lock(self, key: str) -> tuple[Tag, bytes] | None:
        """A lock's object and its tag, asked for anew."""
        found = self._requests.read(key)
        return None if found is None else (found.tag, found.body)
