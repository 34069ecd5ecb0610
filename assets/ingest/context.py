"""Define the external inputs of a run: the warehouse, its mode and permissions, the sources and the HTTP session."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from assets.fetch.session import Fetched
from warehouse.documents import catalogue
from warehouse.market.feeds import Request, Source, Terms
from warehouse.store.storage import Storage


class Fetcher(Protocol):
    """The rate-limited session, or an object that returns responses as it does."""

    def ask(self, request: Request) -> Fetched: ...


@dataclass(frozen=True, slots=True)
class PipelineContext:
    """All external inputs of a run, created once by `orchestration.work.environment`."""

    storage: Storage
    mode: str
    sources: Mapping[str, Source]
    rights: Collection[str]
    ranks: Mapping[str, int]
    configured: Collection[str]
    session: Fetcher
    raw_retention_days: int = 7
    """The number of days for which every raw response is kept. After that, only the last response to each request of a
    market day is kept.
    """

    @property
    def terms(self) -> dict[str, Terms]:
        """Return the terms of each source, which monthly files contain."""
        return catalogue.terms(self.sources, self.mode)
