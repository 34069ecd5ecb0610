"""`emds rebuild`: which days the kept bytes hold, and resolving every month again after ranks or rights changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from assets.ingest.context import PipelineContext
from orchestration.backfill import Task, monthly_tasks
from warehouse import raw, series
from warehouse.bookkeeping import logged
from warehouse.market import Feed


def plan(pipeline: PipelineContext, feeds: Sequence[Feed], first: date | None, last: date | None) -> list[Task]:
    """Runs over the market days that kept bodies of these feeds answer for."""
    tasks = []
    for feed in feeds:
        kept = {d for question in raw.questions(pipeline.storage, feed.id, first, last) for d in question.days}
        tasks += monthly_tasks(feed, (d for d in kept if (first is None or d >= first) and (last is None or d <= last)))
    return tasks


def resolve_all(pipeline: PipelineContext) -> tuple[int, list[str]]:
    """Resolves every month file again; returns how many changed, and a line for each unreadable one."""
    changed, unreadable = 0, []
    for place in series.held(pipeline.storage):
        with logged("/".join(place)) as attempt:
            changed += series.resolve_again(pipeline.storage, *place, pipeline.ranks)
        if attempt.error is not None:
            unreadable.append(attempt.failure)
    return changed, unreadable
