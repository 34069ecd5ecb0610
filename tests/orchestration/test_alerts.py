"""Check that the alert webhook gets which run failed and the reason itself. No late annotations."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import orjson
import pytest

from orchestration import definitions
from orchestration.jobs import alerts
from orchestration.jobs.failed_runs import failed_runs
from orchestration.work.environment import open_context
from tests.stand_ins.receiver import Receiver
from warehouse.documents import health
from warehouse.documents.failed_runs import FailedRuns
from warehouse.documents.health import Health
from warehouse.market import clock
from warehouse.store import artefact, layout

CHANGED = "1 of 3 days failed: 2026-01-02: FeedChanged: no column x"


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Receiver]:
    """Yield a webhook on loopback."""
    receiver = Receiver()
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_ALERT_WEBHOOK", receiver.url)
    yield receiver
    receiver.close()


def messages(heard: Receiver) -> list[dict[str, Any]]:
    return [orjson.loads(body) for _, body in heard.tries]


class Watch:
    """A watch that runs a step as a feed's job over an instance, and then evaluates the sensor."""

    def __init__(self, home: Path) -> None:
        self.pipeline = open_context({"EMDS_HOME": str(home), "EMDS_RAW_RETENTION_DAYS": "7"})
        self.instance = dg.DagsterInstance.ephemeral()
        self.outages = alerts.Outages(time.time(), {})

    def run(self, step: dg.OpDefinition, name: str = "caiso_every_1h") -> None:
        @dg.job(name=name, tags={"source": "caiso", "dagster/asset_partition_range_start": "2026-01-01"})
        def job() -> None:
            step()

        job.execute_in_process(instance=self.instance, raise_on_error=False)
        self.look()

    def look(self) -> None:
        alerts.look(self.instance, self.pipeline, os.environ["EMDS_ALERT_WEBHOOK"], self.outages)


@pytest.fixture
def watch(heard: Receiver, tmp_path: Path) -> Watch:
    return Watch(tmp_path)


@dg.op
def works() -> None:
    pass


@dg.op
def changed() -> None:
    raise dg.Failure(CHANGED, allow_retries=False)


@dg.op
def silent() -> None:
    raise dg.RetryRequested(max_retries=0) from dg.Failure("2026-01-02: FeedUnavailable: no answer in time")


def test_an_outage_is_told_once_and_its_end_once(heard: Receiver, watch: Watch) -> None:
    for step in (works, silent, changed, silent, works, works, changed):
        watch.run(step)
    assert [(m["event"], m["job"]) for m in messages(heard)] == [
        ("outage", "caiso_every_1h"),
        ("recovered", "caiso_every_1h"),
        ("outage", "caiso_every_1h"),
    ]
    assert messages(heard)[1]["since"] == messages(heard)[0]["since"]


def test_the_sensor_keeps_what_it_reported_in_its_cursor_and_no_token(
    heard: Receiver, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tick(cursor: str) -> tuple[str, str]:
        resources = {"warehouse": watch.pipeline}
        with dg.build_sensor_context(instance=watch.instance, cursor=cursor, resources=resources) as context:
            return str(alerts.alerts(context).skip_message), str(context.cursor)

    _, cursor = tick("")
    with monkeypatch.context() as patch:
        patch.setenv("EMDS_ALERT_WEBHOOK", "http://127.0.0.1:9/s3cret")
        with pytest.raises(OSError, match="refused"):
            watch.run(changed)
        message, cursor = tick(cursor)
        assert "did not accept a message" in message
        assert "s3cret" not in message
    for expected in ("1 messages sent", "0 messages sent"):
        message, cursor = tick(cursor)
        assert message == expected
    assert [m["event"] for m in messages(heard)] == ["outage"]


def test_a_feed_whose_publisher_is_away_is_an_outage_though_no_run_fails(
    heard: Receiver, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = clock.instant("2026-11-20T12:00:00Z")

    def at(now: int, until: int, error: str) -> None:
        monkeypatch.setenv("EMDS_NOW", str(now))
        zone = Health("nyiso.load", "US-NYISO", now, error, now if error else 0, until, reached={"demand": until})
        health.note(watch.pipeline.storage, "nyiso", [zone])
        watch.look()

    at(noon, noon, "")
    at(noon + 900, noon, "mis.nyiso.com answers 503")
    at(noon + 3600, noon, "mis.nyiso.com answers 503")
    at(noon + 7200, noon, "mis.nyiso.com answers 503")
    at(noon + 7500, noon + 7500, "")
    told = [(m["event"], m["job"], m.get("source"), m.get("reason")) for m in messages(heard)]
    assert told == [
        ("outage", "nyiso.load", "nyiso", "mis.nyiso.com answers 503"),
        ("recovered", "nyiso.load", None, None),
    ]


def test_failed_runs_are_counted_by_job(tmp_path: Path) -> None:
    """Count with the sensor that the daemon evaluates, for `/metrics`."""
    pipeline, instance = open_context({"EMDS_HOME": str(tmp_path)}), dg.DagsterInstance.ephemeral()
    for name in ("live", "retention", "live"):

        @dg.job(name=name)
        def job() -> None:
            changed()

        done = job.execute_in_process(instance=instance, raise_on_error=False)
        [event] = [event for event in done.all_events if event.event_type_value == "PIPELINE_FAILURE"]
        context = dg.build_run_status_sensor_context("failed_runs", event, instance, done.dagster_run)
        failed_runs(context.for_run_failure(), warehouse=pipeline)
    counted = artefact.load_as(pipeline.storage, layout.FAILED_RUNS, FailedRuns)
    assert counted == FailedRuns({"live": 2, "retention": 1})
    assert failed_runs in (definitions.build().sensors or ())
