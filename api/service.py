"""What the views of one worker share: settings, readers, the gate. Built once by `create_app`."""

from __future__ import annotations

from dataclasses import dataclass

from api.access.gate import Gate
from api.access.values import Refusal
from api.documents import changes
from api.documents.cache import DocumentCache
from api.documents.catalogue import Catalogue, current
from api.http import problem_responses
from api.http.guard import Make, guard
from api.http.messages import Request, Response
from api.settings import Settings
from warehouse.caches import AskedBefore, LruCache, TtlCache
from warehouse.reader import Reader
from warehouse.storage import Storage

READER_BYTES = 28_000_000
"""Half of it for values: a month of 5-minute rows is 71 kB where it is runs of rows at their resolution, else 180 kB.
Half for where they lie in their files: ten years of all series are 9,075 months, 1 kB each."""
ANSWERS_BYTES = 6_000_000
"""Series answers as they were sent, of those that were asked for twice."""


@dataclass(frozen=True, slots=True)
class Service:
    """One worker's view of one warehouse."""

    settings: Settings
    storage: Storage
    reader: Reader
    answers: LruCache
    """By validator."""
    questions: TtlCache
    """Series queries as they were read a moment ago, by request."""
    documents: DocumentCache
    gate: Gate
    lag_s: float = 0.0
    """How much older than the newest file rows may be that this worker gives."""

    @classmethod
    def over(cls, settings: Settings, storage: Storage, gate: Gate, ttl_s: float) -> Service:
        """A service over a warehouse's storage; `ttl_s`: how late it may see a new document."""
        return cls(
            settings,
            storage,
            Reader(storage, READER_BYTES, ttl_s),
            LruCache(ANSWERS_BYTES, AskedBefore().note),
            TtlCache(ttl_s),
            DocumentCache(storage, ttl_s),
            gate,
            changes.lag_s(settings, ttl_s),
        )

    @property
    def catalogue(self) -> Catalogue:
        """The newest catalogue. Raises NoCatalogue."""
        return current(self.documents)

    def guarded(self, request: Request, price: str, make: Make, answer_format: str = "json") -> Response:
        """The answer of `make` if the gate lets a request in; `price` "" is a free path."""
        return guard(self.gate, request, price, make, self._refuse, answer_format)

    def _refuse(self, refusal: Refusal, request: Request) -> Response:
        return problem_responses.refused(self.settings.base_url, refusal, request)
