"""Requests for the objects below an address.

obstore sends again what may be asked twice. A conditional put is sent again only after a look at what lies there: it
may have arrived, and its answer been lost.
"""

from __future__ import annotations

import hashlib
import math
import random
import secrets
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from warehouse.errors import Conflict, StorageError
from warehouse.store.object_store import StoreAddress, ask, open_store
from warehouse.store.storage import Identity

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_MULTIPART = 32 << 20
_ATTEMPTS = 4
"""So often a conditional put is sent whose outcome is open, and an answer asked for that broke off."""
_BUCKET_S = 1.0
"""A bucket that answered so many seconds ago counts as there."""
_VERSION, _TOKEN = "emdsversion", "emdsput"
"""Names of metadata: an object's version (ns), and a number of its put. Azure takes only identifiers."""

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
        self._bounds = request_s, retries, retry_s
        self._answered_at = -math.inf

    @cached_property
    def _store(self) -> ObjectStore:
        return open_store(self.place, *self._bounds)

    def require_conditions(self) -> None:
        """Raises StorageError for a store that ignores conditions: writers would lose each other's rows.

        Some servers answer a stale update or a second creation with success.
        """
        key = f"probes/{secrets.token_hex(8)}"
        try:
            first = self.put_if(key, b"first", "create", 0, secrets.token_hex(7))
            self.put_if(key, b"second", first, 0, secrets.token_hex(7))
            for stale in ("create", first):
                try:
                    self.put_if(key, b"third", stale, 0, secrets.token_hex(7))
                except Conflict:
                    continue
                raise StorageError(f"{self.place} takes writes whose condition does not hold")
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
            return Found(_tag(answer.meta), _identity(answer), bytes(answer.bytes()))

        found: Found | None = self._repeated(key, whole)
        self._answered_at = time.monotonic()  # the answer that there is none tells a bucket that is missing too
        return found

    def head(self, key: str) -> tuple[Tag, Identity] | None:
        """What is known of an object without its bytes, or None where there is none. Raises StorageError."""
        answer = self._head(key)
        if answer is None:
            self._require_bucket()
            return None
        return _tag(answer.meta), _identity(answer)

    def _head(self, key: str) -> Any:
        import obstore

        return self._repeated(key, lambda: obstore.get(self._store, key, options={"head": True}))

    def _require_bucket(self) -> None:
        """Raises StorageError where there is no such bucket: the answer to a HEAD does not tell."""
        if time.monotonic() - self._answered_at > _BUCKET_S:
            self.listing("nothing/")

    def listing(self, prefix: str, after: str | None = None) -> dict[str, str]:
        """Every key below a prefix that ends in `/`, sorted, from behind `after` on, with its ETag.

        Raises StorageError.
        """
        import obstore

        def listed() -> dict[str, str]:
            stream = obstore.list(self._store, prefix.rstrip("/") or None, offset=after)
            found = {entry["path"]: str(entry["e_tag"]) for chunk in stream for entry in chunk}
            return dict(sorted(found.items()))

        found: dict[str, str] = self._repeated(prefix or str(self.place), listed, "listed")
        self._answered_at = time.monotonic()
        return found

    def put_if(self, key: str, body: bytes, mode: Tag | str, version: int, token: str) -> Tag:
        """One put; `mode`: `overwrite`, or the condition `create` or the tag of what it replaces.

        `token`: 14 hexadecimal digits that no other put has. Raises Conflict and StorageError.
        """
        import obstore

        sent: Any = {_VERSION: str(version), _TOKEN: token}
        how: Any = {"mode": mode, "attributes": sent, "use_multipart": mode == "overwrite" and len(body) > _MULTIPART}
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _tag(ask(key, "written", lambda: obstore.put(self._store, key, body, **how)))
            except StorageError as error:
                try:
                    there = self._head(key)
                except StorageError:  # the store is away: it was asked again and again by now
                    raise error from None
                if there is not None and there.attributes.get(_TOKEN) == token:
                    return _tag(there.meta)  # it was written, and the answer lost
                if isinstance(error, Conflict) or attempt == _ATTEMPTS or _hopeless(error):
                    raise
                time.sleep(random.uniform(0.05, 0.2) * 2**attempt)  # noqa: S311
        raise AssertionError("the last attempt returns or raises")

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
        """What may be asked twice, once more where an answer broke off."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return ask(key, doing, call)
            except StorageError as error:
                if "no connection" not in str(error):
                    raise
        return ask(key, doing, call)


def _hopeless(error: StorageError) -> bool:
    """Whether to ask again is of no use: a wrong bucket, wrong credentials, or a store that has failed for long."""
    return any(words in str(error) for words in ("no such bucket", "refuses", "not set", "again and again"))


def _tag(meta: Any) -> Tag:
    """Without what a store does not give: obstore takes no None."""
    return {name: str(meta[name]) for name in ("e_tag", "version") if meta.get(name) is not None}


def _identity(answer: Any) -> Identity:
    """Of an object that something else put there: by its own time and ETag."""
    meta, metadata = answer.meta, answer.attributes
    try:
        return Identity(int(metadata.get(_VERSION, "")), int(meta["size"]), int(metadata.get(_TOKEN, ""), 16))
    except ValueError:
        etag = hashlib.sha256(str(meta.get("e_tag")).encode()).digest()[:7]
        written = int(meta["last_modified"].timestamp() * 1_000_000) * 1000
        return Identity(written, int(meta["size"]), int.from_bytes(etag, "big"))
