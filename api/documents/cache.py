"""Published documents as this worker holds them: read, decoded and compressed once a publication."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import orjson

from api.http.responses import pack_well, tag_of
from warehouse.errors import DamagedFile
from warehouse.store import artefact, layout
from warehouse.store.storage import Identity, Storage


@dataclass(slots=True)
class Document:
    """One document of one publication."""

    name: str
    body: bytes
    identity: Identity
    trusted_until: float = 0.0
    """The instant (monotonic) until which nobody looks whether there is a newer one."""
    derived: dict[str, Any] = field(default_factory=dict)
    """What was computed from this publication: its decoded JSON, its body in a content coding, its sample form."""
    lock: RLock = field(default_factory=RLock, compare=False, repr=False)
    """Held while something is computed, so that threads that need the same compute it once; reentrant."""

    @property
    def tag(self) -> str:
        """A name for the bytes: equal on every worker and host."""
        tag: str = self.derive("tag", lambda document: tag_of(document.body))
        return tag

    def coded(self, coding: str) -> bytes:
        """The body in a content coding, `identity` included."""
        if coding == "identity":
            return self.body
        packed: bytes = self.derive(coding, lambda document: pack_well(document.body, coding))
        return packed

    def derive(self, key: str, compute: Callable[[Document], Any]) -> Any:
        """What `compute` gives from this document, once a publication."""
        if key not in self.derived:
            with self.lock:
                if key not in self.derived:
                    self.derived[key] = compute(self)
        return self.derived[key]

    @property
    def json(self) -> Any:
        """The decoded document, a JSON object; not to be changed. Raises DamagedFile."""
        return self.derive("json", _decoded)


def _decoded(document: Document) -> dict[str, Any]:
    try:
        members = orjson.loads(document.body)
    except orjson.JSONDecodeError as error:
        raise DamagedFile(layout.published(document.name), f"is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise DamagedFile(layout.published(document.name), "is no JSON object")
    return members


class DocumentCache:
    """The newest publication of each document in use, looked for again when `ttl_s` seconds have passed.

    Looking is a system call, for which a thread gives up Python's global lock and queues for it again.
    """

    def __init__(self, storage: Storage, ttl_s: float = 0.0) -> None:
        self.storage = storage
        self._ttl_s = ttl_s
        self._documents: dict[str, Document] = {}

    def get(self, name: str) -> Document | None:
        """The document as it is stored now; None where it was never published."""
        cached, now = self._documents.get(name), time.monotonic()
        if cached is not None and now < cached.trusted_until:
            return cached
        identity = artefact.identity(self.storage, name)
        if cached is not None and cached.identity == identity:
            cached.trusted_until = now + self._ttl_s
            return cached
        published = artefact.get(self.storage, name)
        if published is None:
            return None
        # A touched file (same bytes, newer version) keeps what was computed from it.
        if cached is not None and cached.body == published.body:
            cached.identity = published.identity
            return cached
        fresh = self._documents[name] = Document(name, published.body, published.identity)
        return fresh
