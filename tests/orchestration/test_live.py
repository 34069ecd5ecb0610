"""Check the `live` job: an unavailable publisher affects no other, and only what needs manual action fails the job."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from assets.fetch.session import Fetched
from assets.ingest.context import PipelineContext
from assets.sources import feed, sources
from orchestration.jobs import live
from orchestration.jobs.recording import QUIET
from orchestration.work.backfill import Task
from tests.assets.demand_feed import DAY, FEED, NOON, SOURCE, whole
from tests.stand_ins import stored_rows
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable
from warehouse.market import clock
from warehouse.market.clock import Window
from warehouse.market.feeds import Feed, Publication, Request, Source
from warehouse.market.vocabulary import Metric
from warehouse.store.storage import Folder

ZONES = {"one": "GB", "two": "ES"}


def source(code: str) -> Source:
    """Return a publisher of one live feed, either GB's or Spain's demand, from the same bodies."""

    def parse(body: bytes, request: Request) -> object:
        rows = FEED.parse(body, request)
        if ZONES[code] != "GB":
            moved = type(rows)()
            for key, readings in rows.readings.items():
                moved.extend(key._replace(zone=ZONES[code]), readings.ts, readings.values)
            return moved
        return rows

    def requests(days: Sequence[clock.MarketDay], now: int) -> list[Request]:
        return [Request(f"{code}.demand", f"https://example.org/{code}/{d}", days=(d.day,), ext="txt") for d in days]

    feed: Feed = replace(
        FEED,
        id=f"{code}.demand",
        zones=(ZONES[code],),
        metrics=(Metric.DEMAND,),
        publication=Publication(grace_minutes=30),
        requests=requests,
        parse=parse,
        every_minutes=5,
    )
    return replace(SOURCE, code=code, feeds=(feed,))


SOURCES = {code: source(code) for code in ZONES}


class Publishers:
    """The response of each publisher: bytes, or the failure to raise."""

    def __init__(self, **answers: bytes | FeedError | Exception) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def ask(self, request: Request) -> Fetched:
        code = request.feed.split(".")[0]
        self.asked.append(code)
        answer = self.answers[code]
        if isinstance(answer, Exception):
            raise answer
        return Fetched(request, answer, clock.now())


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipelineContext:
    monkeypatch.setenv("EMDS_NOW", str(NOON))
    publishers = Publishers(one=whole(0, 30), two=whole(0, 30))
    ranks = {"one.demand": 1, "two.demand": 1}
    return PipelineContext(Folder(tmp_path), "simulated", SOURCES, (), ranks, set(SOURCES), publishers)


def run(pipeline: PipelineContext) -> dg.ExecuteInProcessResult:
    job, _ = live.live_jobs(pipeline.sources)
    return job.execute_in_process(resources={"warehouse": pipeline}, run_config=QUIET, raise_on_error=False)


def count_rows(pipeline: PipelineContext, zone: str) -> int:
    return stored_rows.read(pipeline.storage, zone, "demand", Window(0, 2**32)).num_rows


def reason(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = (e for e in result.all_events if e.event_type is dg.DagsterEventType.STEP_FAILURE)
    said = failure.step_failure_data.user_failure_data
    return said.description if said else str(failure)


def test_a_run_writes_the_events_of_every_publishers_partitions(pipeline: PipelineContext) -> None:
    result = run(pipeline)
    assert result.success
    made = {(e.asset_key.to_user_string(), e.partition) for e in result.get_asset_materialization_events()}
    assert {(f"{code}/demand", str(DAY)) for code in SOURCES} <= made
    judged = [
        e.asset_check_evaluation_data
        for e in result.all_events
        if e.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    today = {(e.asset_key.path[0], e.check_name) for e in judged if e.passed and e.partition == str(DAY)}
    assert today == {(code, name) for code in SOURCES for name in ("plausible", "complete", "no_anomalies")}
    assert {(e.asset_key.path[0], e.passed) for e in judged if e.check_name == "fresh"} == {
        ("one", True),
        ("two", True),
    }


def test_a_publisher_that_is_away_fails_no_run_and_costs_no_other(pipeline: PipelineContext) -> None:
    away = Publishers(one=FeedUnavailable("example.org answers 503"), two=whole(0, 30))
    assert run(replace(pipeline, session=away)).success
    assert (count_rows(pipeline, "GB"), count_rows(pipeline, "ES")) == (0, 30)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (FeedChanged("no column x"), "one.demand: FeedChanged: no column x"),
        (
            ZeroDivisionError("a defect"),
            "one.demand: FeedChanged: one.demand: the request raised ZeroDivisionError",
        ),
    ],
)
def test_a_changed_format_fails_the_run_by_name_and_costs_no_other(
    pipeline: PipelineContext, answer: Exception, words: str
) -> None:
    result = run(replace(pipeline, session=Publishers(one=answer, two=whole(0, 30))))
    assert not result.success
    assert words in reason(result)
    assert "two." not in reason(result)
    assert count_rows(pipeline, "ES") == 30


def verdicts(result: dg.ExecuteInProcessResult, check: str) -> dict[str, bool]:
    """Return by publisher whether a run's check of today passed (`fresh` belongs to the feed, not to a day)."""
    judged = [
        e.asset_check_evaluation_data
        for e in result.all_events
        if e.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    return {e.asset_key.path[0]: e.passed for e in judged if e.check_name == check and e.partition in (None, str(DAY))}


def test_a_publisher_that_stands_still_fails_its_freshness_and_not_the_run(
    pipeline: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send the rows of noon again two hours later, while the other publisher continues."""
    assert verdicts(run(pipeline), "fresh") == {"one": True, "two": True}
    monkeypatch.setenv("EMDS_NOW", str(NOON + 2 * clock.HOUR))
    result = run(replace(pipeline, session=Publishers(one=whole(0, 30), two=whole(0, 34))))
    assert result.success
    assert verdicts(result, "fresh") == {"one": False, "two": True}
    assert verdicts(result, "complete")["one"] is True, "the running day is not due as a whole"
    assert count_rows(pipeline, "GB") == 30


def test_a_revision_is_a_materialisation_under_another_data_version(pipeline: PipelineContext) -> None:
    def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
        return {
            e.asset_key.path[0]: (e.materialization.tags or {})["dagster/data_version"]
            for e in result.get_asset_materialization_events()
            if e.partition == str(DAY)
        }

    first, again = versions(run(pipeline)), versions(run(pipeline))
    assert first == again, "unchanged: nothing downstream turns stale"
    revised = versions(run(replace(pipeline, session=Publishers(one=whole(0, 30, 31000), two=whole(0, 30)))))
    assert revised["one"] != first["one"]
    assert revised["two"] == first["two"]


def test_when_its_time_is_over_a_publisher_is_asked_nothing_more(pipeline: PipelineContext) -> None:
    publishers = Publishers(one=whole(0, 30))
    (asked,) = live.ask(replace(pipeline, session=publishers), [Task("one.demand", (DAY,))], seconds=-1.0)
    assert publishers.asked == []
    assert asked.faults == [], "the next run asks again"
    assert "no time left" in asked.reports[0].days[0].reason


def test_the_look_back_is_asked_once_an_hour_and_yesterday_until_it_has_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = datetime(2026, 6, 10, 15, 5, tzinfo=ZoneInfo("UTC"))

    def days(tick: datetime | None, now: str) -> list[date]:
        monkeypatch.setenv("EMDS_NOW", now)
        (task,) = live.due_tasks({"one": SOURCES["one"]}, tick)
        return list(task.days)

    noon, night = "2026-06-10T15:05:00Z", "2026-06-10T00:05:00Z"
    assert days(at, noon) == [date(2026, 6, 10)]
    assert days(at.replace(minute=0), noon) == [date(2026, 6, day) for day in (8, 9, 10)]
    assert days(at, night) == [date(2026, 6, 9), date(2026, 6, 10)]
    assert days(None, noon) == [date(2026, 6, day) for day in (8, 9, 10)]


@pytest.mark.parametrize("minute", [0, 5, 15, 30])
def test_a_tick_asks_the_feeds_whose_interval_it_ends(minute: int) -> None:
    every = {task.feed for task in live.due_tasks(sources(), None)}
    asked = {task.feed for task in live.due_tasks(sources(), datetime(2026, 11, 20, 12, minute, tzinfo=UTC))}
    assert asked == {name for name in every if (12 * 60 + minute) % feed(name).every_minutes == 0}
    assert (asked < every) == (minute != 0)
