"""How a warehouse and Dagster's storage grow in a day of its schedules: one tick of each, times its ticks a day.

    python -m tests.bench.day_of_runs

A simulated warehouse of two days; then each schedule of a feed is run once, in this process, with EMDS_NOW one interval
later, and all documents once. Captured output, which runs in processes of their own leave, is not in it.
"""

from __future__ import annotations

import os
import tempfile
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg

from assets.published import ZONE_PARTITIONS
from assets.sources import sources
from orchestration import backfill, commands, definitions, event_log
from orchestration.schedules import RANGE, look_back_keys, schedule_groups
from orchestration.settings import PipelineSettings

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
    zones = ZONE_PARTITIONS.get_partition_keys()
    of_zones = {dg.AssetKey(["published", name]) for name in ("latest", "brief")}
    documents = repository.get_implicit_global_asset_job_def().get_subset(asset_selection=of_zones)
    runs, cpu, grown = 0.0, 0.0, dict.fromkeys(FOLDERS, 0.0)
    instance = event_log.instance(home)
    assert instance is not None
    groups = [group for source in sources().values() for group in schedule_groups(source).items()]
    with instance:
        for name, feeds in [*groups, ("documents", [])]:
            minutes = feeds[0].every_minutes if feeds else 15
            moment = BEGIN + timedelta(minutes=minutes)
            at(moment)
            if feeds:
                today = moment.astimezone(ZoneInfo(feeds[0].tz)).date()
                job, span = repository.get_job(name), look_back_keys(feeds, today, firsts[feeds[0].id])
            else:
                job, span = documents, (zones[0], zones[-1])
            before, used = sizes(home), time.process_time()
            tags = dict(zip(RANGE, span, strict=True))
            assert job.execute_in_process(tags=tags, instance=instance, raise_on_error=False).success, name
            a_day = 1440 / minutes
            runs, cpu = runs + a_day, cpu + a_day * (time.process_time() - used)
            for folder, size in sizes(home).items():
                grown[folder] += a_day * (size - before[folder])
    return runs, cpu, grown


def sizes(home: Path) -> dict[str, int]:
    """Bytes by folder."""
    return {name: sum(path.stat().st_size for path in (home / name).rglob("*") if path.is_file()) for name in FOLDERS}


def told(runs: float, cpu: float, grown: dict[str, float]) -> None:
    print(f"{runs:.0f} runs a day, {cpu / runs:.2f} CPU s a run ({100 * cpu / 86400:.1f} % of one core)")
    for name, size in grown.items():
        print(f"  {name:10} {size / 1e6:8.1f} MB a day before retention")


if __name__ == "__main__":
    main()
