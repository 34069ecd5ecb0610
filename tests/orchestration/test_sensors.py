"""The webhook gets which run failed and why: the reason itself. No late annotations."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import dagster as dg
import pytest

from orchestration.sensors import outage_begins, outage_ends

CHANGED = "1 of 3 days failed: 2026-01-02: FeedChanged: no column x"


class Webhook(BaseHTTPRequestHandler):
    heard: list[dict[str, object]]

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[dict[str, object]]]:
    """The messages that a webhook on loopback received."""
    Webhook.heard = []
    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("EMDS_HOME", str(tmp_path))
        monkeypatch.setenv("EMDS_ALERT_WEBHOOK", f"http://127.0.0.1:{server.server_port}/alerts")
        yield Webhook.heard
        server.shutdown()
        thread.join()


def run_of(step: dg.OpDefinition, name: str = "caiso_every_5m") -> None:
    """Runs this step as a feed's job and lets the sensors see how it ended."""

    @dg.job(name=name, tags={"source": "caiso", "dagster/asset_partition_range_start": "2026-01-01"})
    def job() -> None:
        step()

    with dg.DagsterInstance.ephemeral() as instance:
        run = job.execute_in_process(instance=instance, raise_on_error=False)
        kinds = (dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS)
        (event,) = [e for e in run.all_events if e.event_type in kinds]
        name = "outage_ends" if run.success else "outage_begins"
        context = dg.build_run_status_sensor_context(name, event, instance, run.dagster_run)
        outage_ends(context) if run.success else outage_begins(context.for_run_failure())


@dg.op
def works() -> None:
    pass


@dg.op
def changed() -> None:
    raise dg.Failure(CHANGED, allow_retries=False)


@dg.op
def silent() -> None:
    raise dg.RetryRequested(max_retries=0) from dg.Failure("2026-01-02: FeedUnavailable: no answer in time")


@dg.op
def broken() -> None:
    raise KeyError("zone")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (changed, CHANGED),
        (silent, "2026-01-02: FeedUnavailable: no answer in time"),
        (broken, "KeyError: 'zone'"),
    ],
)
def test_the_reason_is_told(heard: list[dict[str, object]], step: dg.OpDefinition, reason: str) -> None:
    run_of(step)
    (message,) = heard
    assert message["reason"] == reason
    assert (message["job"], message["source"], message["partitions"]) == ("caiso_every_5m", "caiso", ["2026-01-01"])


def test_without_a_webhook_nobody_is_told(heard: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMDS_ALERT_WEBHOOK")
    run_of(changed)
    assert heard == []


def test_a_mistake_in_the_launchpad_of_history_is_no_outage(heard: list[dict[str, object]]) -> None:
    run_of(changed, "history")
    assert heard == []


def test_an_outage_is_told_once_and_its_end_once(heard: list[dict[str, object]]) -> None:
    for step in (works, silent, changed, silent, works, works, changed):
        run_of(step)
    assert [(m["event"], m["job"]) for m in heard] == [
        ("outage", "caiso_every_5m"),
        ("recovered", "caiso_every_5m"),
        ("outage", "caiso_every_5m"),
    ]
    assert heard[1]["since"] == heard[0]["since"]


def test_an_outage_that_could_not_be_told_is_told_at_the_next_failure(
    heard: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("EMDS_ALERT_WEBHOOK", "http://127.0.0.1:9/nobody")
        with pytest.raises(OSError, match="refused"):
            run_of(silent)
    run_of(silent)
    assert [m["event"] for m in heard] == ["outage"]
