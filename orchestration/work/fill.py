"""Fill an empty warehouse, or publish the documents of one that is not, before the servers of `emds up` start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from warehouse.errors import MarketError


def run(days: int, recordings: Path | None) -> None:
    """Fetch history and publish at the first start; only publish at later ones.

    The publishers are measured last: where that document is missing, a first start was killed, and this one asks for
    the days that are not whole. Raises MarketError where our own files fail.
    """
    # Imported here: the process that starts this one keeps none of it.
    from assets.ingest.refresh import refresh_all
    from orchestration.jobs import recording
    from orchestration.work import backfill, commands, gaps, kept_answers
    from orchestration.work.environment import PipelineSettings, open_context
    from warehouse.store import layout

    pipeline = open_context(recordings=recordings)
    instance = recording.instance(pipeline.storage.local)
    if recordings is not None:
        kept_answers.replay(recordings)
    elif pipeline.mode == "recorded" or pipeline.storage.stat(layout.published(layout.PUBLISHERS)) is not None:
        refresh_all(pipeline)
    else:
        since = PipelineSettings.from_environ(os.environ).since
        reach = f"history since {since}" if since else f"{days} days of history"
        print(f"first start: {reach}, {pipeline.mode} feeds", flush=True)
        tasks = backfill.plan(backfill.chosen(None, None), since, None, None if since else days)
        commands.run(gaps.without_whole_days(pipeline, tasks), history=True)
    recording.materialise_the_rest(instance)


if __name__ == "__main__":  # by `emds up`, while none of its servers runs
    from orchestration.jobs import end_runs

    end_runs.end("fail")
    try:
        run(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    except MarketError as error:
        sys.exit(f"emds: {error}")
