"""The job `history`: past market days of any feeds, from one launchpad, though their market days differ.

A run has one partitions definition. So the job's own run only says what it takes; when it has ended, a sensor starts a
run for each feed and month. No `from __future__ import annotations`: Dagster reads the annotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import dagster as dg
from pydantic import Field

from assets.feeds import ReadFrom
from assets.giving_way import HISTORY
from assets.partitions import asset_key, key_of
from assets.sources import feed as feed_of
from assets.sources import sources
from orchestration import backfill
from orchestration.backfill import Task
from orchestration.schedules import RANGE, schedule_groups
from warehouse import clock
from warehouse.market import Feed

HISTORY_JOB = "history"
MOST_RUNS = 500
"""Started at once; each costs Dagster's storage some 200 kB until retention, and `emds backfill` does without."""
OP = "plan_history"


class HistoryConfig(dg.Config):
    """Which days of which feeds."""

    feeds: list[str] = Field(description="Feeds (`elexon.demand`) and publishers (`eia`: all its feeds).")
    first: str = Field(description="The first market day, as 2026-10-01; of each feed in its own time zone.")
    last: str = Field(description="The last one.")
    read_from: ReadFrom = Field(ReadFrom.publisher, description="`kept_bytes` parses what was kept, and asks nobody.")


def tasks(config: HistoryConfig, firsts: Mapping[str, date]) -> list[Task]:
    """A run a feed and month. `firsts`: the first partition of every feed.

    Days out of the publisher's reach are left out. Raises dg.Failure for what cannot be asked for.
    """
    feeds = {feed.id: feed for word in config.feeds for feed in _chosen(word)}
    first, last = _day(config.first), _day(config.last)
    if not feeds or first > last:
        raise dg.Failure("nothing is asked for: name feeds, and a first day that is not after the last")
    planned = list(_within_reach(backfill.plan(feeds.values(), first, last)))
    for task in planned:
        if task.days[0] < firsts[task.feed]:
            raise dg.Failure(
                f"the partitions of {task.feed} begin with {firsts[task.feed]}: start emds with EMDS_SINCE={first}, or"
                f" run `emds backfill --feed {task.feed} --start {first}`"
            )
    if not planned:
        raise dg.Failure("nothing to ask for: no publisher gives these days yet, or any more")
    if len(planned) > MOST_RUNS:
        raise dg.Failure(f"{len(planned)} runs, and at most {MOST_RUNS} are started at once: `emds backfill` takes any")
    return planned


def _chosen(word: str) -> Sequence[Feed]:
    known = sources()
    if word in known:
        return known[word].feeds
    try:
        return [feed_of(word)]
    except KeyError:
        raise dg.Failure(f"no feed and no publisher is called {word!r}") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise dg.Failure(f"{text!r} is no day: write it as 2026-10-01") from None


def _within_reach(planned: Sequence[Task]) -> Iterator[Task]:
    for task in planned:
        feed = feed_of(task.feed)
        today = clock.local_date(clock.now(), feed.tz)
        days = tuple(day for day in task.days if feed.yearly or feed.out_of_reach(day, today) is None)
        if days:
            yield Task(task.feed, days)


def requests(asked: dg.DagsterRun, firsts: Mapping[str, date]) -> Iterator[dg.RunRequest]:
    """The runs that a run of `history` asked for; all carry its id in the tag `emds/history`."""
    launched: Any = asked.run_config
    config = HistoryConfig(**launched["ops"][OP]["config"])
    job_of = {f.id: name for s in sources().values() for name, feeds in schedule_groups(s).items() for f in feeds}
    for task in tasks(config, firsts):
        feed = feed_of(task.feed)
        first, last = (key_of(feed, str(day)) for day in (task.days[0], task.days[-1]))
        yield dg.RunRequest(
            run_key=f"{asked.run_id} {task.name}",
            job_name=job_of[feed.id],
            asset_selection=[asset_key(feed)],
            asset_check_keys=[],
            run_config={"ops": {feed.id.replace(".", "__"): {"config": {"read_from": config.read_from.value}}}},
            tags={RANGE[0]: first, RANGE[1]: last, HISTORY: asked.run_id},
        )


def history_job_and_sensor(firsts: Mapping[str, date], jobs: Sequence[Any]) -> tuple[Any, dg.SensorDefinition]:
    """The job, and the sensor that starts what it asked for. `jobs`: the feeds' own."""

    @dg.op(name=OP, description="Says how many runs it takes; fails where a feed or day cannot be asked for.")
    def plan_history(context: dg.OpExecutionContext, config: HistoryConfig) -> None:
        planned = tasks(config, firsts)
        context.log.info(f"{len(planned)} runs will be started; find them by the tag {HISTORY}={context.run_id}")
        for task in planned:
            context.log.info(task.name)

    @dg.job(
        name=HISTORY_JOB,
        description="Past market days of any feeds, though their market days differ: a run a feed and month.",
        tags={"source": "history"},
    )
    def history() -> None:
        plan_history()

    @dg.run_status_sensor(
        name="start_history",
        run_status=dg.DagsterRunStatus.SUCCESS,
        monitored_jobs=[history],
        request_jobs=list(jobs),
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=30,
        description="Starts a run a feed and month for each run of `history`.",
    )
    def start_history(context: dg.RunStatusSensorContext) -> Iterator[dg.RunRequest]:
        yield from requests(context.dagster_run, firsts)

    return history, start_history
