"""The webhook gets which run failed and why: the reason itself. No late annotations."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest

from orchestration.sensors import failure_sensor

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
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, object]]]:
    """What a webhook on loopback was told."""
    Webhook.heard = []
    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setenv("EMDS_ALERT_WEBHOOK", f"http://127.0.0.1:{server.server_port}/alerts")
        yield Webhook.heard
        server.shutdown()
        thread.join()


def told_of(step: dg.OpDefinition) -> None:
    """Fails a run by this step and lets the sensor see it."""

    @dg.job(name="caiso_every_5m", tags={"source": "caiso", "dagster/asset_partition_range_start": "2026-01-01"})
    def failing() -> None:
        step()

    with dg.DagsterInstance.ephemeral() as instance:
        run = failing.execute_in_process(instance=instance, raise_on_error=False)
        (event,) = [e for e in run.all_events if e.event_type is dg.DagsterEventType.RUN_FAILURE]
        context = dg.build_run_status_sensor_context(
            "tell_failures", event, instance, run.dagster_run
        ).for_run_failure()
        failure_sensor(context)


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
    told_of(step)
    (message,) = heard
    assert message["reason"] == reason
    assert (message["job"], message["source"], message["partitions"]) == ("caiso_every_5m", "caiso", ["2026-01-01"])


def test_without_a_webhook_nobody_is_told(heard: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMDS_ALERT_WEBHOOK")
    told_of(changed)
    assert heard == []
