"""Precomputed documents: put whole, get, version. What stands in them is computed elsewhere.

A document's version is the instant (ns) at which its maker began to read the series: it is put only over an older one,
so that of two concurrent publishers the one that saw less never wins (DESIGN.md section 7). One that was withdrawn leaves
an empty file of that version, so that no older publisher puts it back; to readers it is not there.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import orjson

from warehouse import layout
from warehouse.errors import DamagedFile
from warehouse.storage import Identity, Storage


class Artefact(NamedTuple):
    """A published document as it lies there."""

    name: str
    body: bytes
    identity: Identity


def new_version() -> int:
    """To be taken before the first series is read. Wall-clock time: EMDS_NOW does not move it."""
    return time.time_ns()


_WITHDRAWN = b""


def encode(document: Any) -> bytes:
    """JSON bytes of a document. NaN and Infinity cannot occur: `None` says what is missing."""
    return orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)


def put(storage: Storage, name: str, body: bytes, version: int) -> bool:
    """Publishes `body` under `name` unless what lies there is as new; whether it did."""
    key = layout.published(name)
    with storage.locked([key]):
        if stands(storage, name, version):
            return False
        there = storage.stat(key)
        if there is not None and there.size == len(body) and storage.get(key) == body:
            storage.touch(key, version)
        else:
            storage.put(key, body, version)
    return True


def withdraw(storage: Storage, name: str, version: int) -> bool:
    """Takes a document away unless what lies there is as new; whether one lay there. None older can be put any more."""
    key = layout.published(name)
    with storage.locked([key]):
        if stands(storage, name, version):
            return False
        there = storage.stat(key)
        if there is not None and not there.size:
            storage.touch(key, version)
            return False
        storage.put(key, _WITHDRAWN, version)
        return there is not None


def stands(storage: Storage, name: str, version: int) -> bool:
    """Whether what lies under `name`, or that nothing does any more, is as new as `version`.

    A version from the future was given by a clock that has been set back since: it must not stand until then.
    """
    there = storage.stat(layout.published(name))
    return there is not None and version <= there.version <= time.time_ns()


def get(storage: Storage, name: str) -> Artefact | None:
    """The document, or None. Body and identity belong together even while it is being replaced."""
    key = layout.published(name)
    while True:
        before = storage.stat(key)
        if before is None or not before.size:
            return None
        body = storage.get(key)
        if body is not None and storage.stat(key) == before:
            return Artefact(name, body, before)


def identity(storage: Storage, name: str) -> Identity | None:
    """What a cache compares before it reads again; None where there is no document."""
    found = storage.stat(layout.published(name))
    return found if found is not None and found.size else None


def load(storage: Storage, name: str) -> Any:
    """The decoded JSON document, or None. Raises DamagedFile for one that does not decode."""
    document = get(storage, name)
    try:
        return None if document is None else orjson.loads(document.body)
    except orjson.JSONDecodeError as error:
        raise DamagedFile(layout.published(name), f"is not JSON: {error}") from None
