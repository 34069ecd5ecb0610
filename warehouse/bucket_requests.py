"""Requests for the objects below an address, each sent again while its outcome is open.

What may be asked twice is asked again where an answer broke off. A write is sent again only after a look at what lies
there: it may have arrived, and its answer been lost.
"""

from __future__ import annotations

import hashlib
import math
import random
import secrets
import time
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from warehouse.errors import StorageError
from warehouse.object_store import Conflict, StoreAddress, ask, open_store
from warehouse.storage import Identity

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_PART = 8 << 20
"""A larger object is read in ranges of so many bytes: a lost connection costs one of them."""
_MULTIPART = 32 << 20
_ATTEMPTS = 4
"""So often a write is sent whose outcome is open; before each time it is asked whether it is there."""
_VERSION, _TOKEN, _TRY = "emdsversion", "emdsput", "emdstry"
"""Names of metadata; Azure takes only those that are identifiers."""

Tag = dict[str, str]
"""What names one write of an object to its store: ETag, and generation where there are such."""


class Found(NamedTuple):
    """An object as it was read."""

    tag: Tag
    identity: Identity
    body: bytes


class Requests:
    """Requests to one store, by keys below its address. The store is opened by the first of them."""

    def __init__(self, place: StoreAddress, request_s: float, retries: int, retry_s: float) -> None:
        self.place = place
        self._open: Callable[[], ObjectStore] = partial(open_store, place, request_s, retries, retry_s)
        self._bucket_seen_at = -math.inf

    @cached_property
    def _store(self) -> ObjectStore:
        return self._open()

    def require_bucket(self, fresh_s: float) -> None:
        """Raises StorageError where there is no such bucket: its absence must not look like an empty warehouse.

        One that was there `fresh_s` seconds ago counts as there. The answer to a HEAD does not tell the two apart.
        """
        import obstore

        begun = time.monotonic()
        if begun - self._bucket_seen_at > fresh_s:
            self._repeated(str(self.place), lambda: list(obstore.list(self._store, "nothing")), "listed")
            self._bucket_seen_at = begun

    def require_conditions(self) -> None:
        """Raises StorageError for a store that ignores conditions: writers would lose each other's rows.

        Some servers answer a stale update or a second creation with success.
        """
        key = f"probes/{secrets.token_hex(8)}"
        no = StorageError(f"{self.place} takes writes whose condition does not hold")
        try:
            first = self.put_if(key, b"first", "create", {})
            self.put_if(key, b"second", first, {})
            for stale in ("create", first):
                try:
                    self.put_if(key, b"third", stale, {})
                except Conflict:
                    continue
                raise no
        finally:
            self.delete(key)

    def read(self, key: str, unless: Tag | None = None) -> Found | None:
        """An object whole, or None where there is none.

        Raises obstore's NotModifiedError where its ETag is still that of `unless`, and StorageError.
        """
        import obstore

        options: Any = {"if_none_match": unless["e_tag"]} if unless and "e_tag" in unless else {}

        def whole() -> Found:
            answer = obstore.get(self._store, key, options=options)
            size = answer.meta["size"]
            body = bytes(answer.bytes()) if size <= _PART else self._in_ranges(key, size, answer.meta["e_tag"])
            return Found(_tag(answer.meta), _identity(answer), body)

        found: Found | None = self._repeated(key, whole)
        return found

    def _in_ranges(self, key: str, size: int, etag: str | None) -> bytes:
        import obstore

        parts = []
        for start in range(0, size, _PART):
            options: Any = {"range": (start, min(start + _PART, size)), **({"if_match": etag} if etag else {})}
            parts.append(bytes(obstore.get(self._store, key, options=options).bytes()))
        return b"".join(parts)

    def head(self, key: str) -> tuple[Tag, Identity] | None:
        """What is known of an object without its bytes, or None where there is none. Raises StorageError."""
        answer = self._head(key)
        return None if answer is None else (_tag(answer.meta), _identity(answer))

    def _head(self, key: str) -> Any:
        import obstore

        return self._repeated(key, lambda: obstore.get(self._store, key, options={"head": True}))

    def keys(self, prefix: str, after: str | None = None) -> list[str]:
        """Every key below a prefix that ends in `/`, sorted, from behind `after` on. Raises StorageError."""
        import obstore

        def listed() -> list[str]:
            stream = obstore.list(self._store, prefix.rstrip("/") or None, offset=after)
            return sorted(entry["path"] for chunk in stream for entry in chunk)

        found: list[str] = self._repeated(prefix or str(self.place), listed, "listed")
        return found

    def put_if(self, key: str, body: bytes, mode: Any, metadata: dict[str, str]) -> Tag:
        """One put, sent again while its outcome is open. Raises Conflict and StorageError.

        `mode`: `overwrite`, or the condition `create` or the tag of what it replaces.
        """
        import obstore

        multipart = mode == "overwrite" and len(body) > _MULTIPART
        # Of its own: a touched object keeps its put's number, and an equal one may be another writer's.
        sent = {**metadata, _TRY: secrets.token_hex(8)}

        def put() -> Any:
            return obstore.put(self._store, key, body, attributes=sent, mode=mode, use_multipart=multipart)

        attempt = 0
        while True:
            attempt += 1
            try:
                return _tag(ask(key, "written", put))
            except StorageError as error:
                try:
                    mine = self._mine(key, sent[_TRY])
                except StorageError:  # the store is away: it was asked again and again by now
                    raise error from None
                if mine is not None:
                    return mine
                if isinstance(error, Conflict) or attempt == _ATTEMPTS or _hopeless(error):
                    raise
                time.sleep(random.uniform(0.05, 0.2) * 2**attempt)  # noqa: S311

    def _mine(self, key: str, sent: str) -> Tag | None:
        """The tag of the object that lies there if it is the one that was sent: its answer was lost."""
        there = self._head(key)
        return _tag(there.meta) if there is not None and there.attributes.get(_TRY) == sent else None

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens where there is none. Raises StorageError."""
        import obstore

        self._repeated(key, lambda: obstore.delete(self._store, key), "removed")

    def copy(self, key: str, target: str) -> bool:
        """Puts an object's bytes and metadata under another key too; whether there was one. Raises StorageError."""
        import obstore

        def copied() -> bool:
            obstore.copy(self._store, key, target)
            return True

        return bool(self._repeated(target, copied, "copied"))

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


def put_metadata(version: int, token: str) -> dict[str, str]:
    """What travels with an object: its version (ns) and its put's own number in hexadecimal digits."""
    return {_VERSION: str(version), _TOKEN: token}


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
