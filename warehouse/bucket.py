"""Bytes by key in an object store, with the promises of `warehouse.storage.Folder`. Keys: see `warehouse.layout`.

A put is whole or not at all, by the store's own promise. The version (ns) and a token of each put travel with an object
as its metadata. What is read is looked at again after `fresh_s` seconds, by its ETag; bodies lie in a bounded folder of
this machine (`warehouse.bucket_cache`). Under a lock (`warehouse.leases`) everything is looked at anew, and a write of
what was read there holds only if nobody wrote since: a holder that was believed dead overwrites nothing.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from warehouse.bucket_cache import BodyCache
from warehouse.errors import StorageError
from warehouse.leases import Lease, Leases
from warehouse.object_store import REQUEST_S, RETRIES, RETRY_S, Conflict, StoreAddress, address, ask, open_store
from warehouse.storage import LOCK_WAIT_S, Identity, checked_key

if TYPE_CHECKING:
    from obstore.store import ObjectStore

FRESH_S = 1.0
"""So long what was looked at counts as unchanged: as long as another writer's put may go unnoticed outside a lock."""
CACHE_BYTES = 1 << 30
_PART = 8 << 20
"""A larger object is read in ranges of so many bytes: a lost connection costs one of them."""
_MULTIPART = 32 << 20
_ATTEMPTS = 4
"""So often a write is sent whose outcome is open; before each time it is asked whether it is there."""
_MOST_SEEN, _MOST_LISTED = 100_000, 100
_VERSION, _TOKEN = "emdsversion", "emdsput"
"""Names of metadata; Azure takes only those that are identifiers."""

Tag = dict[str, str]
"""What names one write of an object to its store: ETag, and generation where there are such."""


class _Seen(NamedTuple):
    """What was last known of a key. `at`: monotonic seconds at which it was asked for; `tag` None: nothing there."""

    at: float
    tag: Tag | None
    identity: Identity | None


class _Section(NamedTuple):
    """What one thread has read since it took its locks."""

    since: float
    leases: list[Lease]
    read: dict[str, Tag | None]


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
        self._open: Callable[[], ObjectStore] = partial(open_store, self.place, request_s, retries, retry_s)
        name = hashlib.sha256(str(self.place).encode()).hexdigest()[:16]
        self._bodies = BodyCache(self.local / "cache" / name, cache_bytes)
        self._seen: dict[str, _Seen] = {}
        self._listed: dict[str, tuple[float, list[str]]] = {}
        self._leases = Leases(self._put_if, self._read_lock, lease_s)
        self._thread = threading.local()
        self._known = False

    def __str__(self) -> str:
        return str(self.place)

    @cached_property
    def _store(self) -> ObjectStore:
        return self._open()

    def _require_bucket(self) -> None:
        """Raises StorageError where there is no such bucket: its absence must not look like an empty warehouse."""
        import obstore

        if not self._known:
            self._repeated(str(self.place), lambda: list(obstore.list(self._store, "nothing")), "listed")
            self._known = True

    def require_conditions(self) -> None:
        """Raises StorageError for a store that ignores conditions: writers would lose each other's rows.

        Some servers answer a stale update or a second creation with success.
        """
        key, no = f"probes/{secrets.token_hex(8)}", StorageError(f"{self} takes writes whose condition does not hold")
        try:
            first = self._put_if(key, b"first", "create", {})
            self._put_if(key, b"second", first, {})
            for stale in ("create", first):
                try:
                    self._put_if(key, b"third", stale, {})
                except Conflict:
                    continue
                raise no
        finally:
            self.delete(key)

    # Reading

    def get(self, key: str) -> bytes | None:
        """The bytes, or None where there are none. Raises StorageError."""
        seen = self._seen.get(checked_key(key))
        if seen is not None and self._is_fresh(seen):
            body = self._bodies.get(key, seen.tag) if seen.tag else None
            if body is not None or not seen.tag:
                self._note_read(key, seen.tag)
                return body
        return self._fetch(key, seen.tag if seen else None)

    def _fetch(self, key: str, known: Tag | None) -> bytes | None:
        """Asks for the bytes, or whether those that lie here are still right."""
        import obstore
        from obstore.exceptions import NotModifiedError

        begun = time.monotonic()
        body = self._bodies.get(key, known) if known else None
        options: Any = {"if_none_match": known["e_tag"]} if body is not None and known and "e_tag" in known else {}

        def whole() -> tuple[Any, bytes]:
            answer = obstore.get(self._store, key, options=options)
            if answer.meta["size"] <= _PART:
                return answer, bytes(answer.bytes())
            return answer, self._in_ranges(key, answer.meta["size"], answer.meta["e_tag"])

        try:
            found = self._repeated(key, whole)
        except NotModifiedError:
            seen = self._seen.get(key)
            if seen is not None:
                self._learn(key, seen._replace(at=begun))
            return body
        if found is None:
            self._absent(key, begun)
            return None
        answer, read = found
        tag: Tag = _tag(answer.meta)
        self._bodies.put(key, tag, read)
        self._learn(key, _Seen(begun, tag, _identity(answer)))
        return bytes(read)

    def _repeated(self, key: str, call: Callable[[], Any], doing: str = "read") -> Any:
        """What may be asked twice, once more where an answer broke off, or an object was replaced between ranges."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return ask(key, doing, call)
            except Conflict:
                continue
            except StorageError as error:
                if "no connection" not in str(error):
                    raise
        return ask(key, doing, call)

    def _in_ranges(self, key: str, size: int, etag: str | None) -> bytes:
        import obstore

        parts = []
        for start in range(0, size, _PART):
            options: Any = {"range": (start, min(start + _PART, size)), **({"if_match": etag} if etag else {})}
            parts.append(bytes(obstore.get(self._store, key, options=options).bytes()))
        return b"".join(parts)

    def stat(self, key: str) -> Identity | None:
        """Version, size and the put's own number of what a key holds, or None. Raises StorageError."""
        import obstore

        seen = self._seen.get(checked_key(key))
        if seen is None or not self._is_fresh(seen):
            begun = time.monotonic()
            answer = self._repeated(key, lambda: obstore.get(self._store, key, options={"head": True}))
            if answer is None:
                self._absent(key, begun)
                return None
            seen = _Seen(begun, _tag(answer.meta), _identity(answer))
            self._learn(key, seen)
        self._note_read(key, seen.tag)
        return seen.identity

    def keys(self, prefix: str) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted. Raises StorageError."""
        begun = time.monotonic()
        known = self._listed.get(prefix)
        if known and self._section is None and begun - known[0] < self.fresh_s:
            return list(known[1])
        keys = self._list(prefix)
        if len(self._listed) >= _MOST_LISTED:
            self._listed.clear()
        self._listed[prefix] = (begun, keys)
        return list(keys)

    def keys_within(self, prefix: str, names: Collection[str]) -> list[str]:
        """Every key below these folders of a prefix, sorted: one listing from the first of them on."""
        if not names:
            return []
        wanted, start = set(names), len(checked_key(prefix))
        keys = self._list(prefix, f"{prefix}{min(wanted)}")
        return [key for key in keys if key[start:].partition("/")[0] in wanted]

    def _list(self, prefix: str, after: str | None = None) -> list[str]:
        import obstore

        def listed() -> list[str]:
            stream = obstore.list(self._store, checked_key(prefix).rstrip("/") or None, offset=after)
            return sorted(entry["path"] for chunk in stream for entry in chunk)

        found: list[str] = self._repeated(prefix or str(self.place), listed, "listed")
        return found

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

    def touch(self, key: str, version: int) -> None:
        """Gives unchanged bytes a newer version: they are put again. Raises StorageError."""
        identity, body = self.stat(key), self.get(key)
        if identity is None or body is None:
            raise StorageError(f"{key} cannot be written: there is no such object")
        self._write(key, body, version, f"{identity.inode:014x}")

    def _write(self, key: str, body: bytes, version: int, token: str) -> None:
        section, begun = self._section, time.monotonic()
        mode: Any = "overwrite"
        if section is not None:
            for lease in section.leases:
                lease.check(key)
            if key in section.read:
                known = section.read[key]
                mode = "create" if known is None else known or mode
        try:
            tag = self._put_if(checked_key(key), body, mode, {_VERSION: str(version), _TOKEN: token})
        except StorageError:
            self._seen.pop(key, None)
            raise
        self._bodies.put(key, tag, body)
        self._learn(key, _Seen(begun, tag, Identity(version, len(body), int(token, 16))))
        self._listed = {}

    def _put_if(self, key: str, body: bytes, mode: Any, metadata: dict[str, str]) -> Tag:
        """One conditional put, sent again while its outcome is open. Raises Conflict and StorageError."""
        import obstore

        multipart = mode == "overwrite" and len(body) > _MULTIPART
        # Of its own: a touched object keeps its put's number, and an equal one may be another writer's.
        sent = {**metadata, "emdstry": secrets.token_hex(8)}

        def put() -> Any:
            return obstore.put(self._store, key, body, attributes=sent, mode=mode, use_multipart=multipart)

        attempt = 0
        while True:
            attempt += 1
            try:
                return _tag(ask(key, "written", put))
            except StorageError as error:
                mine = self._mine(key, sent["emdstry"])
                if mine is not None:
                    return mine
                if isinstance(error, Conflict) or attempt == _ATTEMPTS or _hopeless(error):
                    raise
                time.sleep(random.uniform(0.05, 0.2) * 2**attempt)  # noqa: S311

    def _mine(self, key: str, sent: str) -> Tag | None:
        """The tag of the object that lies there if it is the one that was sent: its answer was lost."""
        import obstore

        try:
            there = self._repeated(key, lambda: obstore.get(self._store, key, options={"head": True}))
        except StorageError:
            return None
        return _tag(there.meta) if there is not None and there.attributes.get("emdstry") == sent else None

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Raises StorageError."""
        import obstore

        begun = time.monotonic()
        self._repeated(checked_key(key), lambda: obstore.delete(self._store, key), "removed")
        self._learn(key, _Seen(begun, None, None))
        self._bodies.forget(key)
        self._listed = {}

    def move(self, key: str, target: str) -> None:
        """Gives bytes another key without reading them; nothing happens where there are none. Raises StorageError.

        A kill in between leaves them under both.
        """
        import obstore

        if self.stat(key) is None:
            return
        self._repeated(checked_key(target), lambda: obstore.copy(self._store, key, target), "written")
        self._seen.pop(target, None)
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
            locks.enter_context(self._within(_Section(time.monotonic(), leases, {})))
            return locks.pop_all()

    @contextmanager
    def _within(self, section: _Section) -> Iterator[None]:
        sections = self._sections
        sections.append(section)
        try:
            yield
        finally:
            sections.remove(section)

    @property
    def _sections(self) -> list[_Section]:
        """The sections that this thread is in, the innermost last."""
        if not hasattr(self._thread, "sections"):
            self._thread.sections = []
        sections: list[_Section] = self._thread.sections
        return sections

    @property
    def _section(self) -> _Section | None:
        sections = self._sections
        return sections[-1] if sections else None

    def _read_lock(self, key: str) -> tuple[Tag, bytes] | None:
        """A lock's object and its tag, asked for anew."""
        import obstore

        def whole() -> tuple[Any, bytes]:
            answer = obstore.get(self._store, key)
            return answer.meta, bytes(answer.bytes())

        found = self._repeated(key, whole)
        return None if found is None else (_tag(found[0]), found[1])

    # What is known of keys

    def _is_fresh(self, seen: _Seen) -> bool:
        section = self._section
        return seen.at > (section.since if section else time.monotonic() - self.fresh_s)

    def _learn(self, key: str, seen: _Seen) -> None:
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[key] = seen
        self._note_read(key, seen.tag)

    def _note_read(self, key: str, tag: Tag | None) -> None:
        for section in self._sections:
            section.read[key] = tag

    def _absent(self, key: str, at: float) -> None:
        self._require_bucket()
        self._learn(key, _Seen(at, None, None))


def _hopeless(error: StorageError) -> bool:
    """Whether to ask again is of no use: a wrong bucket, wrong credentials, or a store that has failed for long."""
    return any(words in str(error) for words in ("no such bucket", "refuses", "not set", "again and again"))


def _tag(meta: Any) -> Tag:
    """Without what a store does not give: obstore takes no None."""
    return {name: str(meta[name]) for name in ("e_tag", "version") if meta.get(name) is not None}


def _identity(answer: Any) -> Identity:
    """Of an object that something else put there: by its own time and ETag."""
    meta, stated = answer.meta, answer.attributes
    version, token = stated.get(_VERSION, ""), stated.get(_TOKEN, "")
    try:
        return Identity(int(version), int(meta["size"]), int(token, 16))
    except ValueError:
        written = meta["last_modified"]
        etag = hashlib.sha256(str(meta.get("e_tag")).encode()).digest()[:7]
        return Identity(int(written.timestamp() * 1_000_000) * 1000, int(meta["size"]), int.from_bytes(etag, "big"))
