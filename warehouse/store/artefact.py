"""Write, read and version precomputed documents. Other modules compute their contents.

The version of a document is the time (ns) at which its publisher began to read the series. A document replaces only
older ones, so that of two concurrent publishers the one with newer data wins. A withdrawn document leaves a note with
that version, so that an older publisher does not write it again. For readers, it does not exist.

A JSON object is stored with a last field `emds`: its seal, with its key and a checksum (`store.seal`). For other
formats of a geo layer, the layer's document of hashes has the checksums. Readers get the original body.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import orjson

from warehouse.errors import DamagedFile
from warehouse.store import layout, seal
from warehouse.store.storage import Storage
from warehouse.store.stored_bytes import Identity, Stored

_LOG = logging.getLogger("emds.warehouse")

T = TypeVar("T")


def new_version() -> int:
    """Return a version. Call this before reading the first series. It is wall-clock time, independent of EMDS_NOW."""
    return time.time_ns()


_SEAL = b',"emds":'


def encode(document: Any) -> bytes:
    """Return a document, or a `msgspec.Struct`, as JSON. Missing values are None; NaN and Infinity do not occur."""
    return orjson.dumps(document, default=msgspec.to_builtins, option=orjson.OPT_NON_STR_KEYS)


def decode(body: bytes, key: str, kind: type[T]) -> T:
    """Return the document under a key as a value of its type. Raises DamagedFile with the path of a wrong field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(key, f"cannot be decoded: {error}") from None


def sealed(body: bytes, key: str) -> bytes:
    """Return a JSON object with its seal as the last field."""
    stored = body[:-1] + _SEAL + orjson.dumps({**seal.members(key), "sha256": seal.BLANK}) + b"}"
    return seal.stamped(stored)


def unsealed(stored: bytes, key: str) -> bytes:
    """Return the JSON object that was sealed under a key. Raises DamagedFile, and StorageError for another release."""
    begin = stored.rfind(_SEAL)
    try:
        seal.check_members(orjson.loads(stored[begin + len(_SEAL) : -1]), key)
    except (orjson.JSONDecodeError, AttributeError):
        raise DamagedFile(key, "has no checksum") from None
    seal.check(stored, key)
    return stored[:begin] + b"}"


WITHDRAWN = {"withdrawn": True}
"""The document under a name that is no longer published."""


@lru_cache(maxsize=4096)
def _withdrawn(key: str) -> bytes:
    """Return the note that a withdrawn document leaves under its key."""
    return sealed(encode(WITHDRAWN), key)


def put(storage: Storage, name: str, body: bytes, version: int) -> bool:
    """Publish `body` under `name` unless the stored document is as new; return whether `body` is stored.

    If the name ends in `json`, the body is a JSON object with fields. Equal bytes are not written again and keep their
    version. Raises StorageError.
    """
    key, beaten = layout.published(name), False
    stored = sealed(body, key) if name.endswith("json") else body

    def over_an_older(there: Stored | None) -> bytes | None:
        nonlocal beaten
        beaten = there is not None and _is_as_new(there.identity, version)
        return None if beaten else stored

    # Not durable: a document damaged by a power loss is noticed by its checksum and published again.
    storage.update(key, over_an_older, version, durable=False)
    return not beaten


def update(storage: Storage, name: str, kind: type[T], change: Callable[[T | None], Any]) -> None:
    """Publish what `change` makes of the document with this name and `kind`: a document or its bytes.

    `change` gets None for a missing or damaged document, and may be called again. Raises StorageError.
    """
    key = layout.published(name)

    def changed(there: Stored | None) -> bytes:
        document = change(None if there is None else _decoded_or_none(there.body, key, kind))
        return sealed(document if isinstance(document, bytes) else encode(document), key)

    storage.update(key, changed, durable=False)


def _decoded_or_none(stored: bytes, key: str, kind: type[T]) -> T | None:
    try:
        return None if stored == _withdrawn(key) else decode(unsealed(stored, key), key, kind)
    except DamagedFile as error:
        _LOG.error("begun anew: %s", error)
        return None


def withdraw(storage: Storage, name: str, version: int) -> None:
    """Withdraw a document unless the stored one is as new. Older documents cannot be published after that."""
    put(storage, name, encode(WITHDRAWN), version)


def stands(storage: Storage, name: str, version: int) -> bool:
    """Return whether the stored document, or the note of its withdrawal, is as new as `version`."""
    there = storage.stat(layout.published(name))
    return there is not None and _is_as_new(there, version)


def _is_as_new(there: Identity, version: int) -> bool:
    """Return whether a stored document is as new as `version`. Future versions come from a wrong clock."""
    return version <= there.version <= time.time_ns()


def get(storage: Storage, name: str) -> Stored | None:
    """Return the document as it was written, or None. Body and identity match even if it is replaced meanwhile.

    Raises DamagedFile if the document is unreadable or altered, StorageError for a document of another release.
    """
    key = layout.published(name)
    stored = storage.read(key)
    if stored is None or stored.body == _withdrawn(key):
        return None
    return stored._replace(body=checked(storage, key, stored.body))


def checked(storage: Storage, key: str, stored: bytes) -> bytes:
    """Return the original body of the bytes that are stored under a key. Raises as `get` does."""
    if key.endswith("json"):
        return unsealed(stored, key)
    name = key.removeprefix(layout.published())
    layer = load(storage, layout.geo_hashes(name))
    if layer is not None and hashlib.sha256(stored).hexdigest() != layer["documents"].get(name):
        raise DamagedFile(key, "does not match its checksum")
    return stored


def identity(storage: Storage, name: str) -> Identity | None:
    """Return the identity that a cache compares, None if there is no document. Raises DamagedFile."""
    key = layout.published(name)
    there, note = storage.stat(key), _withdrawn(key)
    withdrawn = there is not None and there.size == len(note) and storage.get(key) == note
    return None if withdrawn else there


def load_as(storage: Storage, name: str, kind: type[T]) -> T | None:
    """Return the decoded document as a value of its type, or None. Raises as `get` and `decode` do."""
    document = get(storage, name)
    return None if document is None else decode(document.body, layout.published(name), kind)


def load(storage: Storage, name: str) -> Any:
    """Return the decoded JSON document, or None. Raises as `get` does."""
    document = get(storage, name)
    return None if document is None else orjson.loads(document.body)
