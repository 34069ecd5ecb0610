"""Provide what the views of one worker share: settings, readers and the gate. `create_app` builds it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from api.documents.document_cache import DocumentCache
from api.settings import OWN_MACHINE, Settings
from warehouse.caches import LruCache
from warehouse.series.reader import Reader
from warehouse.store.storage import Storage

if TYPE_CHECKING:
    from api.access.gate import Gate

READER_BYTES = 28_000_000
"""The memory of the reader, in bytes. Half of it is for values: a month of 5-minute rows takes 71 kB if the rows are
runs at their resolution, else 180 kB. The other half is for the positions of months in files: ten years of all series
are 9,075 months of 1 kB each."""
WORKER_TTL_S = 0.2
"""The seconds for which a worker does not check a file again, which saves each request two system calls."""
ANSWERS_BYTES = 6_000_000
"""The size of the cache of encoded series responses."""


class Service:
    """One worker's view of one warehouse."""

    def __init__(self, settings: Settings, storage: Storage, gate: Gate, ttl_s: float) -> None:
        """Build the service; `ttl_s` is the longest delay in seconds before a worker sees a new document."""
        self.settings, self.storage, self.gate = settings, storage, gate
        self.reader = Reader(storage, READER_BYTES, ttl_s)
        self.documents = DocumentCache(storage, ttl_s)
        self.answers = LruCache(ANSWERS_BYTES)  # by ETag
        self.lag_s = lag_s(settings, ttl_s)
        # The prefix of links in responses; without EMDS_BASE_URL, links are relative.
        self.own_address = "" if settings.base_url == OWN_MACHINE else settings.base_url


def lag_s(settings: Settings, ttl_s: float = WORKER_TTL_S) -> float:
    """Return the longest delay in seconds between the newest file and a worker's rows."""
    return 2 * ttl_s + (settings.bucket_cache_s if "://" in settings.home else 0)
