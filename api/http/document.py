"""Keep a published document in a worker, with what was computed from it once: its decoded, coded and rendered forms."""

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
    """A document of one publication."""

    name: str
    body: bytes
    identity: Identity
    trusted_until: float = 0.0
    """The time (monotonic) before which the worker does not check for a newer document."""
    derived: dict[Hashable, Any] = field(default_factory=dict)
    """Results from this publication: its decoded JSON, its body in a content coding, its sample form."""
    lock: RLock = field(default_factory=RLock, compare=False, repr=False)
    """A reentrant lock, so that threads that need the same result compute it once."""

    @property
    def tag(self) -> str:
        """The name of the bytes, equal on every worker and host."""
        tag: str = self.derive("tag", lambda document: tag_of(document.body))
        return tag

    def coded(self, coding: str) -> bytes:
        """Return the body in a content coding, which may be `identity`."""
        if coding == "identity":
            return self.body
        packed: bytes = self.derive(coding, lambda document: pack_well(document.body, coding))
        return packed

    def derive(self, key: Hashable, compute: Callable[[Document], Any]) -> Any:
        """Return the result of `compute` for this document, which is computed once per publication."""
        if key not in self.derived:
            with self.lock:
                if key not in self.derived:
                    self.derived[key] = compute(self)
        return self.derived[key]

    def render(self, name: str, build: Callable[[], str | dict[str, Any]]) -> Document:
        """Return the document that `build` gives as text or JSON, which is built once per publication."""

        def rendered(_: Document) -> Document:
            content = build()
            body = content.encode() if isinstance(content, str) else orjson.dumps(content)
            return Document(name, body, self.identity)

        document: Document = self.derive(name, rendered)
        return document

    def decode(self, kind: type[T]) -> T:
        """Return the document as a value of type `kind`, decoded once per publication. Raises DamagedFile."""
        value: T = self.derive(
            ("decoded", kind), lambda _: artefact.decode(self.body, layout.published(self.name), kind)
        )
        return value

    @property
    def json(self) -> Any:
        """The decoded document, a JSON object that must not be changed. Raises DamagedFile."""
        return self.derive("json", Document._decoded)

    def _decoded(self) -> dict[str, Any]:
        with suppress(orjson.JSONDecodeError):
            if isinstance(members := orjson.loads(self.body), dict):
                return members
        raise DamagedFile(layout.published(self.name), "is not a JSON object")
