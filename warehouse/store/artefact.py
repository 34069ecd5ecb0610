"""Precomputed documents: put whole, get, version. What stands in them is computed elsewhere.

A document's version is the instant (ns) at which its maker began to read the series: it is put only over an older one,
so that of two concurrent publishers the one that saw less never wins. One that was withdrawn leaves a note of that
version, so that no older publisher puts it back; to readers it is not there.

A JSON object is kept with a last member `emds`: its seal, with its key and a checksum (`store.seal`). Other
formats of a geo layer have theirs in the layer's document of hashes. Readers get the body as it was put.
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
    """To be taken before the first series is read. Wall-clock time: EMDS_NOW does not move it."""
    return time.time_ns()


_SEAL = b',"emds":'


def encode(document: Any) -> bytes:
    """Return a document, or a `msgspec.Struct`, as JSON. NaN and Infinity cannot occur: `None` is a missing value."""
    return orjson.dumps(document, default=msgspec.to_builtins, option=orjson.OPT_NON_STR_KEYS)


def decode(body: bytes, key: str, kind: type[T]) -> T:
    """Return the document under a key as a value of its type. Raises DamagedFile with the path of a wrong field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(key, f"does not decode: {error}") from None


def sealed(body: bytes, key: str) -> bytes:
    """A JSON object with its seal as the last member."""
    stored = body[:-1] + _SEAL + orjson.dumps({**seal.members(key), "sha256": seal.BLANK}) + b"}"
    return seal.stamped(stored)


def unsealed(stored: bytes, key: str) -> bytes:
    """The JSON object that was sealed under a key. Raises DamagedFile, and StorageError for one of another release."""
    begin = stored.rfind(_SEAL)
    try:
        seal.check_members(orjson.loads(stored[begin + len(_SEAL) : -1]), key)
    except (orjson.JSONDecodeError, AttributeError):
        raise DamagedFile(key, "has no checksum") from None
    seal.check(stored, key)
    return stored[:begin] + b"}"


WITHDRAWN = {"withdrawn": True}
"""The document of a name under which nothing is published any more."""


@lru_cache(maxsize=4096)
def _withdrawn(key: str) -> bytes:
    """Return the note that a withdrawn document leaves under its key."""
    return sealed(encode(WITHDRAWN), key)


def put(storage: Storage, name: str, body: bytes, version: int) -> bool:
    """Publishes `body` under `name` unless the stored one is as new; whether it stands there. Raises StorageError.

    Under a name that ends in `json` it is a JSON object with members. Bytes that stand there already are not put
    again, and keep their version.
    """
    key, beaten = layout.published(name), False
    stored = sealed(body, key) if name.endswith("json") else body

    def over_an_older(there: Stored | None) -> bytes | None:
        nonlocal beaten
        beaten = there is not None and _is_as_new(there.identity, version)
        return None if beaten else stored

    # Nobody waits for the disk: one that a loss of power tore is noticed by its checksum, and published again.
    storage.update(key, over_an_older, version, durable=False)
    return not beaten


def update(storage: Storage, name: str, kind: type[T], change: Callable[[T | None], Any]) -> None:
    """Publish what `change` makes of the document with this name, which is of a `kind`: another one, or its bytes.

    `change` gets None if there is none, or a damaged one, and may be called again. Raises StorageError.
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
    """Removes a document unless the stored one is as new. From then on no older one can be put."""
    put(storage, name, encode(WITHDRAWN), version)


def stands(storage: Storage, name: str, version: int) -> bool:
    """Whether what lies under `name`, or that nothing does any more, is as new as `version`."""
    there = storage.stat(layout.published(name))
    return there is not None and _is_as_new(there, version)


def _is_as_new(there: Identity, version: int) -> bool:
    """A version from the future was given by a clock that has been set back since: it must not stand until then."""
    return version <= there.version <= time.time_ns()


def get(storage: Storage, name: str) -> Stored | None:
    """The document as it was put, or None. Body and identity belong together even while it is being replaced.

    Raises DamagedFile for one that cannot be read or is not what was put, StorageError for one of another release.
    """
    key = layout.published(name)
    stored = storage.read(key)
    if stored is None or stored.body == _withdrawn(key):
        return None
    return stored._replace(body=checked(storage, key, stored.body))


def checked(storage: Storage, key: str, stored: bytes) -> bytes:
    """The body that was put, of the bytes that lie under a key. Raises as `get` does."""
    if key.endswith("json"):
        return unsealed(stored, key)
    name = key.removeprefix(layout.published())
    layer = load(storage, layout.geo_hashes(name))
    if layer is not None and hashlib.sha256(stored).hexdigest() != layer["documents"].get(name):
        raise DamagedFile(key, "its bytes are not those that were written")
    return stored


def identity(storage: Storage, name: str) -> Identity | None:
    """What a cache compares before it reads again; None where there is no document. Raises DamagedFile."""
    key = layout.published(name)
    there, note = storage.stat(key), _withdrawn(key)
    withdrawn = there is not None and there.size == len(note) and storage.get(key) == note
    return None if withdrawn else there


def load_as(storage: Storage, name: str, kind: type[T]) -> T | None:
    """Return the decoded document as a value of its type, or None. Raises as `get` and `decode` do."""
    document = get(storage, name)
    return None if document is None else decode(document.body, layout.published(name), kind)


def load(storage: Storage, name: str) -> Any:
    """The decoded JSON document, or None. Raises as `get` does."""
    document = get(storage, name)
    return None if document is None else orjson.loads(document.body)
