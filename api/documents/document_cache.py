"""Cache the newest publication of each document and check it again after a set time."""

from __future__ import annotations

import time
from collections.abc import Mapping

from msgspec.structs import asdict

from api.documents.catalogue_reader import Catalogue, NoCatalogue
from api.http.document import Document
from api.http.problems import Problem
from warehouse.documents.catalogue_entries import FillProgress
from warehouse.store import artefact, layout
from warehouse.store.storage import Storage


class DocumentCache:
    """The newest publication of each document in use, checked again after `ttl_s` seconds.

    A check is a system call, for which a thread releases Python's global lock and waits to acquire it again.
    """

    def __init__(self, storage: Storage, ttl_s: float = 0.0) -> None:
        self.storage = storage
        self._ttl_s = ttl_s
        self._documents: dict[str, Document] = {}

    def get(self, name: str) -> Document | None:
        """Return the document as it is stored now, None if it was never published."""
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
        fresh = self._documents[name] = Document(name, published.body, published.identity)
        return fresh

    def require(self, name: str, zone: str = "") -> Document:
        """Return the document as it is stored now. `zone` is the zone that it describes.

        Raises Problem 503, with the progress of a first fill, if it was never published.
        """
        published = self.get(name)
        if published is None:
            raise _not_yet_available(name, zone, self.catalogue.filling if self.get(layout.CATALOGUE) else {})
        return published

    @property
    def catalogue(self) -> Catalogue:
        """Return the newest catalogue. Raises NoCatalogue before the first start of the pipeline, and DamagedFile."""
        document = self.get(layout.CATALOGUE)
        if document is None:
            raise NoCatalogue("no catalogue was published yet; `emds serve` and every other start of emds publishes it")
        catalogue: Catalogue = document.derive("catalogue as read", Catalogue.parse)
        return catalogue


def _not_yet_available(name: str, zone: str, filling: Mapping[str, FillProgress]) -> Problem:
    """Return the 503 for a document that was never published. `filling` is the progress of a first fill."""
    reason, members = "nothing has been published for it so far", {}
    if progress := filling.get(zone) or filling.get(""):
        of = f" for {zone}" if zone in filling and zone else ""
        reason = f"{progress.done} of {progress.of} runs of the first fill{of} are done"
        members = {"filling": asdict(progress)}
    detail = f"{name.removesuffix('.json')} does not exist yet: {reason}."
    return Problem("not-yet-available", detail, members=members, headers=[("Retry-After", "60")])
