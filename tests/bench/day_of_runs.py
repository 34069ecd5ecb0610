"""How a warehouse and Dagster's storage grow in a day of its schedules: one tick of each, times its ticks a day.

    python -m tests.bench.day_of_runs

A simulated warehouse of two days; then each job of feeds is run once, in this process, with EMDS_NOW one interval later
(`live` at a full hour, with its look-back, and five minutes later without), and all documents once. Captured output,
which runs in processes of their own leave, is not in it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from assets.sources import sources
from orchestration import definitions
from orchestration.jobs import recording
from orchestration.jobs.live import LIVE, TICK
from orchestration.jobs.schedules import RANGE, look_back_keys, schedule_groups
from orchestration.work import backfill, commands
from orchestration.work.settings import PipelineSettings

BEGIN = datetime(2026, 11, 20, 12, tzinfo=UTC)
FIRST = date(2026, 11, 18)
FOLDERS = ("raw", "series", "history", "published", "dagster")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="emds-day-") as folder:
        for name in [name for name in os.environ if name.startswith("EMDS_")]:
            del os.environ[name]
        os.environ |= {"EMDS_HOME": folder, "EMDS_SINCE": str(FIRST), "DAGSTER_HOME": ""}
        at(BEGIN)
        commands.run(backfill.plan(backfill.chosen(None, None), FIRST, None))
        told(*run(Path(folder)))


def at(moment: datetime) -> None:
    os.environ["EMDS_NOW"] = f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def run(home: Path) -> tuple[float, float, dict[str, float]]:
    """Runs each tick once. Returns runs a day, CPU seconds a day, and bytes a day by folder."""
    repository = definitions.build().get_repository_def()
    firsts = definitions.first_partitions(PipelineSettings.from_environ(os.environ))
    runs, cpu, grown = 0.0, 0.0, dict.fromkeys(FOLDERS, 0.0)
    instance = recording.instance(home)
    assert instance is not None
    with instance:
        for name, minutes, a_day, tags in _ticks(firsts):
            at(BEGIN + timedelta(minutes=minutes))
            before, used = sizes(home), time.process_time()
            job = repository.get_job(name)
            done = job.execute_in_process(
                tags=tags, instance=instance, run_config=recording.QUIET, raise_on_error=False
            )
            assert done.success, name
            runs, cpu = runs + a_day, cpu + a_day * (time.process_time() - used)
            for folder, size in sizes(home).items():
                grown[folder] += a_day * (size - before[folder])
    return runs, cpu, grown


def _ticks(firsts: Mapping[str, date]) -> Iterator[tuple[str, int, float, dict[str, str]]]:
    """Job, minutes after BEGIN, ticks a day, and the run's tags."""
    for minutes, a_day in ((60, 24.0), (65, 264.0)):
        yield LIVE, minutes, a_day, {TICK: (BEGIN + timedelta(minutes=minutes)).isoformat()}
    for source in sources().values():
        for name, feeds in schedule_groups(source, firsts).items():
            minutes = feeds[0].every_minutes
            today = (BEGIN + timedelta(minutes=minutes)).astimezone(ZoneInfo(feeds[0].tz)).date()
            span = look_back_keys(feeds, today, firsts[feeds[0].id])
            if span[0] <= span[1]:
                yield name, minutes, 1440 / minutes, dict(zip(RANGE, span, strict=True))
    yield "documents", 15, 96.0, {}


def sizes(home: Path) -> dict[str, int]:
    """Bytes by folder."""
    return {name: sum(path.stat().st_size for path in (home / name).rglob("*") if path.is_file()) for name in FOLDERS}


def told(runs: float, cpu: float, grown: dict[str, float]) -> None:
    print(f"{runs:.0f} runs a day, {cpu / runs:.2f} CPU s a run ({100 * cpu / 86400:.1f} % of one core)")
    for name, size in grown.items():
        print(f"  {name:10} {size / 1e6:8.1f} MB a day before retention")


if __name__ == "__main__":
    main()
