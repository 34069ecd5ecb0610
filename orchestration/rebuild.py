"""`emds rebuild`: which days the kept bytes hold, and resolving every month again after ranks or rights changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from assets.ingest import pipeline
from orchestration.backfill import Task, runs
from warehouse import raw, series
from warehouse.market import Feed


def plan(house: pipeline.House, feeds: Sequence[Feed], first: date | None, last: date | None) -> list[Task]:
    """Runs over the market days that kept bodies of these feeds answer for."""
    tasks = []
    for feed in feeds:
        kept = {d for question in raw.questions(house.storage, feed.id, first, last) for d in question.days}
        tasks += runs(feed, (d for d in kept if (first is None or d >= first) and (last is None or d <= last)))
    return tasks


def resolve_all(house: pipeline.House) -> int:
    """Resolves every month file again; returns how many are served otherwise now."""
    return sum(series.resolve_again(house.storage, *place, house.ranks) for place in series.held(house.storage))
