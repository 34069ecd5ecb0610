"""Fetch history and publish every document, for `emds fill` and the first start of `emds up`."""

from __future__ import annotations

import os
from pathlib import Path

from assets.ingest.refresh import refresh_all
from orchestration.jobs import recording
from orchestration.work import backfill, commands, gaps, replay
from orchestration.work.disk_space import require_space
from orchestration.work.environment import PipelineSettings, open_context
from orchestration.work.fill_progress import is_first_fill
from warehouse.bookkeeping import logged


def fill(days: int, recordings: Path | None) -> None:
    """Fetch history and publish at the first start of `emds up`; only publish at later starts.

    The publishers are measured last. If that document is missing, a first start was killed, and this start fetches the
    incomplete days. Raises MarketError if local files fail, or if the disk is nearly full.
    """
    from orchestration.jobs import ended_runs, materialise  # here, since it loads every definition

    pipeline = open_context(recordings=recordings)
    require_space(pipeline.storage.local)
    instance = recording.instance(pipeline.storage.local)
    if instance is not None:
        with logged("slots of pools"):
            ended_runs.free_slots(instance)
    if recordings is not None:
        replay.replay(recordings)
    elif pipeline.mode == "recorded" or not is_first_fill(pipeline):
        refresh_all(pipeline)
    else:
        since = PipelineSettings.from_environ(os.environ).since
        reach = f"history since {since}" if since else f"{days} days of history"
        print(f"first start: {reach}, {pipeline.mode} feeds", flush=True)
        tasks = backfill.plan(backfill.chosen(), since, None, None if since else days)
        commands.run(gaps.without_whole_days(pipeline, tasks), history=True)
    materialise.materialise_the_rest(instance)
