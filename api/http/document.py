"""A published document as this worker holds it, and what was computed from it: decoded, compressed, rendered once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

import orjson

from api.http.codings import pack_well, tag_of
from warehouse.errors import DamagedFile
from warehouse.store import artefact, layout
from warehouse.store.stored_bytes import Identity

T = TypeVar("T")


@dataclass(slots=True)
class Document:
    """One document of one publication."""

    name: str
    body: bytes
    identity: Identity
    trusted_until: float = 0.0
    """The instant (monotonic) until which nobody looks whether there is a newer one."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
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

    def derive(self, key: Hashable, compute: Callable[[Document], Any]) -> Any:
        """What `compute` gives from this document, once a publication."""
        if key not in self.derived:
            with self.lock:
                if key not in self.derived:
                    self.derived[key] = compute(self)
        return self.derived[key]

    def render(self, name: str, build: Callable[[], str | dict[str, Any]]) -> Document:
        """The document, a text or JSON, that `build` gives from this one, made once a publication."""

        def rendered(_: Document) -> Document:
            content = build()
            body = content.encode() if isinstance(content, str) else orjson.dumps(content)
            return Document(name, body, self.identity)

        document: Document = self.derive(name, rendered)
        return document

    def decode(self, kind: type[T]) -> T:
        """Return the document as a value of its type, decoded once per publication. Raises DamagedFile."""
        value: T = self.derive(
            ("decoded", kind), lambda _: artefact.decode(self.body, layout.published(self.name), kind)
        )
        return value

    @property
    def json(self) -> Any:
        """The decoded document, a JSON object; not to be changed. Raises DamagedFile."""
        return self.derive("json", Document._decoded)

    def _decoded(self) -> dict[str, Any]:
        with suppress(orjson.JSONDecodeError):
            if isinstance(members := orjson.loads(self.body), dict):
                return members
        raise DamagedFile(layout.published(self.name), "is no JSON object")
