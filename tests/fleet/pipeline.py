"""Dagster's side of the fleet: a refresh again and again, a backfill, what became of their runs; asked by GraphQL."""

from __future__ import annotations

import time
import urllib.error
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.orchestration.dagster_servers import ENDED, SELECTOR, Ui, stop_schedules, stop_sensor

FINAL = ("SUCCESS", "FAILURE", "CANCELED")
_RUNS = """query($f: RunsFilter!) { runsOrError(filter: $f, limit: 500) { ... on Runs {
    results { id status jobName tags { key value } } } } }"""
_EVENTS = """query($r: ID!) { runOrError(runId: $r) { ... on Run { eventConnection { events { __typename
    ... on EngineEvent { metadataEntries { label ... on TextMetadataEntry { text } } } } } } } }"""
_MESSAGES = """query($r: ID!) { runOrError(runId: $r) { ... on Run { eventConnection { events {
    ... on MessageEvent { message } } } } } }"""
_HEALTH = """{ instance { daemonHealth { allDaemonStatuses { daemonType required lastHeartbeatTime } } } }"""
_PLAN = """query($s: PipelineSelector!) { executionPlanOrError(pipeline: $s, mode: "default") { __typename } }"""
_LAUNCH = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
    ... on LaunchRunSuccess { run { id } } ... on PythonError { message } } }"""


class Away(Exception):
    """Dagster's web server, or its database, does not answer at the moment."""


class Dagster:
    """The runs of one fleet."""

    def __init__(self, port: int) -> None:
        nothing: Callable[[], Any] = lambda: None  # noqa: E731  compose starts the daemon
        self.ui = Ui(f"http://127.0.0.1:{port}", Path(), nothing, [])
        self.launched: list[str] = []
        self.backfills: list[str] = []

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (OSError, HTTPException, AssertionError, urllib.error.URLError) as error:
            raise Away(str(error)[:300]) from None

    def ask(self, query: str, **variables: Any) -> Any:
        """Raises Away."""
        with self._answering():
            return self.ui.ask(query, **variables)

    def wait(self, done: Callable[[], Any], seconds: float, pause_s: float = 0.3) -> Any:
        """The first true answer of `done`, which may find Dagster away. Raises TimeoutError."""
        ends = time.monotonic() + seconds
        while True:
            try:
                if value := done():
                    return value
            except Away:
                pass
            if time.monotonic() > ends:
                raise TimeoutError(f"{done} was not so within {seconds:.0f} s")
            time.sleep(pause_s)

    def ready(self, documents: bool) -> None:
        """Returns once it answers; nothing is then started by a schedule, nor documents by conditions unless said."""
        self.wait(lambda: self._stopped(documents), 240)

    def _stopped(self, documents: bool) -> bool:
        with self._answering():
            stop_schedules(self.ui)
            if not documents:
                stop_sensor(self.ui, "automation")
        return True

    def heartbeat(self) -> float:
        """The oldest of the newest heartbeats of those daemons that start runs, Unix seconds; 0 where one has none."""
        told = self.ask(_HEALTH)["instance"]["daemonHealth"]["allDaemonStatuses"]
        wanted = [
            d["lastHeartbeatTime"] or 0.0 for d in told if d["daemonType"] in ("QUEUED_RUN_COORDINATOR", "BACKFILL")
        ]
        return min(wanted, default=0.0)

    def plans(self, job: str) -> bool:
        """Whether a code server answers the web server what a run of the job would do. Raises Away."""
        selector = {"pipelineName": job, **SELECTOR}
        return bool(self.ask(_PLAN, s=selector)["executionPlanOrError"]["__typename"] == "ExecutionPlan")

    def refresh(self, job: str, first: str, last: str) -> str:
        """Asks for what a schedule of the job asks for; the run's id. Raises Away."""
        span = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        tags = [{"key": key, "value": value} for key, value in {**span, "dagster/priority": "10"}.items()]
        wanted = {
            "selector": {**SELECTOR, "jobName": job},
            "mode": "default",
            "runConfigData": {},
            "executionMetadata": {"tags": tags},
        }
        launched = self.ask(_LAUNCH, p=wanted)["launchRun"]
        if launched["__typename"] != "LaunchRunSuccess":
            raise Away(str(launched)[:300])
        self.launched.append(launched["run"]["id"])
        return self.launched[-1]

    def backfill(self, assets: list[list[str]], days: Sequence[str]) -> bool:
        """Launches a backfill; true. Raises Away."""
        with self._answering():
            self.backfills.append(self.ui.backfill(assets, list(days)))
        return True

    def backfills_ended(self) -> bool:
        with self._answering():
            return all(self.ui.backfill_status(each) in ENDED for each in self.backfills)

    def runs(self, *statuses: str) -> list[dict[str, Any]]:
        """The newest runs in these states (none: in any). Raises Away."""
        found = self.ask(_RUNS, f={"statuses": list(statuses)} if statuses else {})["runsOrError"]["results"]
        return [run | {"tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found]

    def process_of(self, run: str) -> int | None:
        """The process that its events name. Raises Away."""
        events = self.ask(_EVENTS, r=run)["runOrError"]["eventConnection"]["events"]
        entries = [entry for event in events for entry in event.get("metadataEntries", ())]
        numbers = [int(entry["text"]) for entry in entries if entry["label"] == "pid"]
        return numbers[-1] if numbers else None

    def describe(self, run: str) -> str:
        """A run's state, tags and last events, in a line. Raises Away."""
        known = next((each for each in self.runs() if each["id"] == run), {})
        events = self.ask(_MESSAGES, r=run)["runOrError"]["eventConnection"]["events"]
        said = " | ".join(event.get("message", "")[:200] for event in events[-5:])
        return f"{run} {known.get('jobName')} {known.get('status')} {known.get('tags')}: {said}"

    def at_rest(self) -> bool:
        """Whether no run is to come or under way."""
        return self.backfills_ended() and not self.runs("QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING")

    def outcomes(self) -> Counter[str]:
        """How many runs ended how; retries count for themselves."""
        return Counter(run["status"] for run in self.runs())

    def missing(self, assets: list[list[str]], days: Sequence[str]) -> list[str]:
        """Days that an asset does not show as done."""
        left: set[str] = set()
        with self._answering():
            for asset in assets:
                left |= set(days) - self.ui.partitions(asset).get("MATERIALIZED", set())
        return sorted(left)


def days_between(first: date, last: date) -> list[str]:
    """The days from one to another, as partition keys."""
    return [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]
