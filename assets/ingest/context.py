"""What a run needs from outside: the warehouse, its mode and rights, the sources, and the session that asks them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from assets.fetch.session import Fetched
from warehouse.documents import catalogue
from warehouse.market.feeds import Request, Source, Terms
from warehouse.store.storage import Storage


class Fetcher(Protocol):
    """The polite session, or anything that answers requests as it does."""

    def ask(self, request: Request) -> Fetched: ...


@dataclass(frozen=True, slots=True)
class PipelineContext:
    """Everything a run needs from outside, bound once by `orchestration.work.environment`."""

    storage: Storage
    mode: str
    sources: Mapping[str, Source]
    rights: Collection[str]
    ranks: Mapping[str, int]
    configured: Collection[str]
    session: Fetcher
    raw_retention_days: int = 7
    """So many days every kept answer stays; of older ones the last to each question of a market day."""

    @property
    def terms(self) -> dict[str, Terms]:
        """Those of each source, which month files state."""
        return catalogue.terms(self.sources, self.mode)
