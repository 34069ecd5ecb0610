"""Run Dagster's servers over a warehouse as `emds up` does, for tests that use GraphQL or a browser."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestration.jobs import recording
from orchestration.servers import dagster_home, up
from tests.stand_ins.ports import free_port

SELECTOR = {"repositoryName": "__repository__", "repositoryLocationName": "emds"}
ENDED = ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED", "FAILED", "CANCELED")
"""The final states of a backfill."""


def ask(url: str, query: str, **variables: Any) -> Any:
    """Return the data of a GraphQL query to Dagster's web server."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    question = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(question, timeout=60) as answer:
        answered = json.load(answer)
    assert "errors" not in answered, answered["errors"]
    return answered["data"]


@dataclass(frozen=True)
class Ui:
    """A running web server with its code server and daemon, over one warehouse."""

    url: str
    home: Path
    start_daemon: Callable[[], subprocess.Popen[bytes]]
    """Starts the code server, if it does not run, and the daemon in its process group, which also contains the runs."""
    started: list[subprocess.Popen[bytes]]
    """The processes, with the newest last."""

    def kill_daemon(self) -> None:
        """Send SIGKILL to the daemon, the code server and every run."""
        daemon = self.started[-1]
        group = os.getpgid(daemon.pid)
        os.killpg(group, signal.SIGKILL)
        for child in self.started:
            if child.pid in (group, daemon.pid):
                child.wait(30)

    def ask(self, query: str, **variables: Any) -> Any:
        return ask(self.url, query, **variables)

    def until(
        self, query: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 180, most_pause_s: float = 2.0
    ) -> Any:
        return until(query, wanted, seconds, most_pause_s)

    def backfill(self, assets: list[list[str]], days: list[str]) -> str:
        """Launch a backfill as the UI does, and return its id."""
        mutation = """mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) { __typename
            ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
        selection = [{"path": path} for path in assets]
        asked = self.ask(mutation, p={"assetSelection": selection, "partitionNames": days, "tags": []})
        assert asked["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess", asked
        return str(asked["launchPartitionBackfill"]["backfillId"])

    def backfill_status(self, backfill: str) -> str:
        query = (
            "query($b: String!) { partitionBackfillOrError(backfillId: $b) { ... on PartitionBackfill { status } } }"
        )
        return str(self.ask(query, b=backfill)["partitionBackfillOrError"]["status"])

    def runs(self, **tags: str) -> dict[str, str]:
        """Return the status by id of the runs with these tags (`__` for a slash)."""
        query = "query($f: RunsFilter!) { runsOrError(filter: $f) { ... on Runs { results { id status } } } }"
        wanted = [{"key": name.replace("__", "/"), "value": value} for name, value in tags.items()]
        found = self.ask(query, f={"tags": wanted})["runsOrError"]["results"]
        return {run["id"]: run["status"] for run in found}

    def partitions(self, asset: list[str]) -> dict[str, set[str]]:
        """Return the days of an asset by status."""
        query = """query($k: AssetKeyInput!) { assetNodeOrError(assetKey: $k) { ... on AssetNode {
            assetPartitionStatuses { ... on TimePartitionStatuses { ranges { status startKey endKey } } } } } }"""
        by_status: dict[str, set[str]] = {}
        for span in self.ask(query, k={"path": asset})["assetNodeOrError"]["assetPartitionStatuses"]["ranges"]:
            first, last = date.fromisoformat(span["startKey"]), date.fromisoformat(span["endKey"])
            days = {str(first + timedelta(days=i)) for i in range((last - first).days + 1)}
            by_status.setdefault(span["status"], set()).update(days)
        return by_status


def until(
    query: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 180, most_pause_s: float = 2.0
) -> Any:
    """Return the result of `query` once it is as wanted. Polls slow down, since a GraphQL query takes 50 ms of CPU."""
    deadline, pause = time.monotonic() + seconds, 0.2
    while not wanted(value := query()):
        assert time.monotonic() < deadline, value
        time.sleep(pause)
        pause = min(most_pause_s, 1.3 * pause)
    return value


@contextmanager
def serving(home: Path, settings: Mapping[str, str], configuration: Mapping[str, str] | None = None) -> Iterator[Ui]:
    """Run all three servers; `configuration` replaces lines of dagster.yaml by their first word.

    Schedules and condition-based automation are stopped before the daemon starts, so that only the runs that a test
    requests take place.
    """
    port, code_port = free_port(), free_port()
    environ = {
        **os.environ,
        "EMDS_HOME": str(home),
        **settings,
        "DAGSTER_CODE_HOST": "127.0.0.1",
        "DAGSTER_CODE_PORT": str(code_port),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    for name in ("EMDS_NOW", "EMDS_FEEDS"):
        environ.pop(name, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")
        instance = recording.instance(home)
        assert instance is not None
        instance.dispose()
        patch.setenv("DAGSTER_CODE_HOST", "127.0.0.1")
        commands = up.dagster_commands(code_port, port)
    file = home / "dagster" / "dagster.yaml"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join((configuration or {}).get(line.partition(":")[0], line) for line in lines))
    environ["DAGSTER_HOME"] = str(home / "dagster")
    log = (home / "servers.log").open("wb")

    children: list[subprocess.Popen[bytes]] = []
    code: list[subprocess.Popen[bytes]] = []

    def start(name: str, group: int = 0) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            commands[name], cwd=dagster_home.ROOT, env=environ, stdout=log, stderr=log, process_group=group
        )
        children.append(child)
        return child

    def start_code_server() -> int:
        if not code or code[-1].poll() is not None:
            again = bool(code)
            code.append(start("code"))
            until(lambda: _listens(code_port), bool)
            if again:  # as `emds up` does
                subprocess.run([sys.executable, "-m", "orchestration.jobs.ended_runs", "fail"], env=environ, check=True)
        return code[-1].pid

    server = Ui(f"http://127.0.0.1:{port}", home, lambda: start("daemon", start_code_server()), children)
    try:
        start_code_server()
        start("webserver")
        until(lambda: _reachable(f"{server.url}/server_info"), bool)
        stop_schedules(server)
        stop_sensor(server, "automation")
        server.start_daemon()
        yield server
    finally:
        for child in reversed(children):  # the tests that stop `emds up` check how the servers end unaided
            with suppress(ProcessLookupError):
                os.killpg(os.getpgid(child.pid), signal.SIGKILL)
        for child in children:
            child.wait(30)
        log.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def stop_schedules(ui: Ui) -> None:
    """Stop every schedule in one request."""
    query = """query($s: RepositorySelector!) { schedulesOrError(repositorySelector: $s) {
        ... on Schedules { results { id name } } } }"""
    schedules = ui.ask(query, s=SELECTOR)["schedulesOrError"]["results"]
    assert len(schedules) > 20
    stops = " ".join(
        f"s{number}: stopRunningSchedule(id: {json.dumps(schedule['id'])}) {{ __typename }}"
        for number, schedule in enumerate(schedules)
    )
    stopped = ui.ask(f"mutation {{ {stops} }}")
    assert {each["__typename"] for each in stopped.values()} == {"ScheduleStateResult"}


def stop_sensor(ui: Ui, name: str) -> None:
    """Stop a sensor that runs by default."""
    query = "query($s: SensorSelector!) { sensorOrError(sensorSelector: $s) { ... on Sensor { id } } }"
    sensor = ui.ask(query, s={**SELECTOR, "sensorName": name})["sensorOrError"]
    stopped = ui.ask("mutation($i: String!) { stopSensor(id: $i) { __typename } }", i=sensor["id"])
    assert stopped["stopSensor"]["__typename"] == "StopSensorMutationResult", stopped
