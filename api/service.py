"""What the views of one worker share: settings, readers, the gate. Built once by `create_app`."""

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
"""Half of it for values: a month of 5-minute rows is 71 kB where it is runs of rows at their resolution, else 180 kB.
Half for their places in files: ten years of all series are 9,075 months, 1 kB each."""
WORKER_TTL_S = 0.2
"""For so long a worker does not look at a file again: it spares each request two system calls."""
ANSWERS_BYTES = 6_000_000
"""Series answers as they were sent."""


class Service:
    """One worker's view of one warehouse."""

    def __init__(self, settings: Settings, storage: Storage, gate: Gate, ttl_s: float) -> None:
        """`ttl_s`: how late it may see a new document."""
        self.settings, self.storage, self.gate = settings, storage, gate
        self.reader = Reader(storage, READER_BYTES, ttl_s)
        self.documents = DocumentCache(storage, ttl_s)
        self.answers = LruCache(ANSWERS_BYTES)  # by ETag
        self.lag_s = lag_s(settings, ttl_s)
        # What links in answers begin with: relative ones where EMDS_BASE_URL is not set.
        self.own_address = "" if settings.base_url == OWN_MACHINE else settings.base_url


def lag_s(settings: Settings, ttl_s: float = WORKER_TTL_S) -> float:
    """Return how many seconds older than the newest file a worker's rows may be."""
    return 2 * ttl_s + (settings.bucket_cache_s if "://" in settings.home else 0)
