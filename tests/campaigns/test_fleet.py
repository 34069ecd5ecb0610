"""Run compose's fleet under traffic and kill each part in turn: rows and charges are right, a follower has all rows.

`make fleet` does the same for ten minutes, while a year of past days is backfilled.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg
import pytest

from api.access import key_life
from api.access import sign_up as sign_ups
from api.access.database import Database
from api.access.keys import Keys
from assets.sources import sources
from tests.campaigns.fleet import CODE, SERVICES, Parts
from tests.campaigns.traffic import Callers, Done, Follower, answers
from tests.orchestration.dagster_servers import ENDED, SELECTOR, Ui, stop_schedules, stop_sensor
from tests.stand_ins import stored_rows
from tests.stand_ins.buckets import CREDENTIALS
from tests.stand_ins.container_engine import Container
from tests.stand_ins.days import NOW
from tests.stand_ins.postgres import programs
from tests.stand_ins.web_server import program, web_server
from warehouse.market.clock import DAY, Window, instant
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Folder

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL IS NOT INSTALLED: the fleet is not tested here"),
    pytest.mark.skipif(program() is None, reason="nginx IS NOT INSTALLED: the fleet is not tested here"),
]
SECONDS, DAYS = float(os.environ.get("FLEET_SECONDS", "20")), int(os.environ.get("FLEET_DAYS", "10"))
"""The minimum duration in seconds, extended until each part was killed, and the past days to backfill meanwhile."""
KILLS = ("worker", "replica", "store", "database", "daemon", "code", "webserver")
OLD, NEW = "elexon", "neso"
"""The publisher to backfill, and the one to fetch new days from."""
KEYS, SPENT, QUOTA = 60, 2, 20
"""The number of keys, how many of them have a small quota, and that quota in calls."""
GRACE_S = 5.0
"""The time after a part's return, in seconds, in which calls may still fail because of its absence."""
GIVEN_UP = "Not retrying run since it is part of a backfill"
RUNS = """query($f: RunsFilter!) { runsOrError(filter: $f, limit: 500) { ... on Runs {
    results { id status jobName tags { key value } } } } }"""
EVENTS = """query($r: ID!) { runOrError(runId: $r) { ... on Run { eventConnection { events {
    ... on MessageEvent { message }
    ... on EngineEvent { metadataEntries { label ... on TextMetadataEntry { text } } } } } } } }"""
HEALTH = """{ instance { daemonHealth { allDaemonStatuses { daemonType lastHeartbeatTime } } } }"""
PLAN = """query($s: PipelineSelector!) { executionPlanOrError(pipeline: $s, mode: "default") { __typename } }"""


@dataclass
class Kill:
    """A kill of a part; times are Unix seconds."""

    part: str
    at: float = field(default_factory=time.time)
    back_at: float = 0.0


def wait(done: Callable[[], Any], seconds: float = 240) -> Any:
    """Return the first true result of `done`, which may find Dagster unavailable. Raises TimeoutError."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        with suppress(OSError, HTTPException, AssertionError, psycopg.Error):
            if value := done():
                return value
        time.sleep(0.3)
    raise TimeoutError(f"{done} was not so within {seconds:.0f} s")


def days_between(first: date, last: date) -> list[str]:
    """Return the days from `first` to `last` as partition keys."""
    return [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]


def feeds(source: str) -> list[str]:
    """Return the publisher's feeds with unlimited history; the others have no partitions of past days."""
    return [feed.id for feed in sources()[source].feeds if feed.reach_days is None]


@dataclass
class Fleet:
    """A running fleet."""

    parts: Parts
    url: str
    dagster: Ui
    today: date
    backfills: list[str] = field(default_factory=list)
    replica: int = 0

    def day(self, back: int) -> date:
        return self.today - timedelta(days=back)

    # The following methods query Dagster.

    def runs(self, *statuses: str) -> list[dict[str, Any]]:
        found = self.dagster.ask(RUNS, f={"statuses": list(statuses)} if statuses else {})["runsOrError"]["results"]
        return [run | {"tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found]

    def events(self, run: str) -> list[dict[str, Any]]:
        return list(self.dagster.ask(EVENTS, r=run)["runOrError"]["eventConnection"]["events"])

    def heartbeat(self) -> float:
        """Return the older of the newest heartbeats of the daemons that start runs, or 0 if one of them has none."""
        known = self.dagster.ask(HEALTH)["instance"]["daemonHealth"]["allDaemonStatuses"]
        wanted = ("QUEUED_RUN_COORDINATOR", "BACKFILL")
        return min((d["lastHeartbeatTime"] or 0.0 for d in known if d["daemonType"] in wanted), default=0.0)

    def plans(self) -> bool:
        """Return whether a code server reports what a run would do."""
        answered = self.dagster.ask(PLAN, s={"pipelineName": "nyiso_every_30m", **SELECTOR})
        return bool(answered["executionPlanOrError"]["__typename"] == "ExecutionPlan")

    def backfill(self, source: str, days: Sequence[str]) -> bool:
        self.backfills.append(self.dagster.backfill([feed.split(".") for feed in feeds(source)], list(days)))
        return True

    def at_rest(self) -> bool:
        """Return whether no run is queued or in progress."""
        ended = all(self.dagster.backfill_status(each) in ENDED for each in self.backfills)
        return ended and not self.runs("QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING")

    def missing(self, source: str, days: Sequence[str]) -> list[str]:
        """Return the days that are not complete for every feed of `source`."""
        done = [self.dagster.partitions(feed.split(".")).get("MATERIALIZED", set()) for feed in feeds(source)]
        return sorted(set(days) - set.intersection(*done))

    # The following methods kill a part, and wait until it has returned.

    def kill(self, part: str, asks: Callable[[], bool]) -> Kill:
        """Kill a part, and return once it works again. Raises TimeoutError."""
        kill = Kill(part)
        match part:
            case "worker":
                back = self._kill_worker(kill)
            case "database":
                self.parts.postgres.kill()
                time.sleep(2)
                self.parts.postgres.start()
                back = asks
            case "replica":
                number = self.replica % len(self.parts.replicas)
                self.replica += 1
                self.parts.replicas[number].restart()
                back = lambda: answers(f"http://127.0.0.1:{self.parts.replica_ports[number]}/readyz")  # noqa: E731
            case "store":
                self.parts.store.restart()
                back = asks
            case _:
                self.parts.dagster[part].restart()
                back = {
                    "daemon": lambda: self.heartbeat() > kill.at,
                    CODE: self.plans,
                    "webserver": lambda: self.heartbeat() > 0,
                }[part]
        wait(back)
        kill.back_at = time.time()
        return kill

    def _kill_worker(self, kill: Kill) -> Callable[[], bool]:
        """Kill the process of a current run; return once Dagster has queued the run that continues its work.

        Dagster gives up a run whose backfill its daemon has ended in between, and reports it. Its days are requested
        again at the end, as an operator would.
        """
        wait(lambda: self.backfill(NEW, days_between(self.day(2), self.today)))
        killed, process = wait(self._under_way)
        kill.at = time.time()
        os.kill(process, signal.SIGKILL)

        def taken_up() -> bool:
            runs = {each["id"]: each for each in self.runs()}
            is_over = runs[killed]["status"] == "SUCCESS"
            again = any(each["tags"].get("dagster/parent_run_id") == killed for each in runs.values())
            return is_over or again or any(GIVEN_UP in event.get("message", "") for event in self.events(killed))

        return taken_up

    def _under_way(self) -> tuple[str, int] | None:
        for run in self.runs("STARTED"):
            entries = [entry for event in self.events(run["id"]) for entry in event.get("metadataEntries", ())]
            processes = [int(entry["text"]) for entry in entries if entry["label"] == "pid"]
            tags = run["tags"]  # a run of `live` is not retried, since the next run fetches its days
            if processes and tags.get("dagster/max_retries") != "0" and "dagster/parent_run_id" not in tags:
                with suppress(ProcessLookupError):
                    os.kill(processes[-1], 0)
                    return run["id"], processes[-1]
        return None


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Yield the fleet with every part started, over a warehouse with three days of two publishers."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    today = date.fromisoformat(NOW[:10])
    parts = Parts(tmp_path, NOW, str(today - timedelta(days=DAYS + 5)))
    try:
        span = ("--start", str(today - timedelta(days=5)), "--end", str(today - timedelta(days=3)))
        parts.emds(*(("backfill", "--source", source, *span) for source in (OLD, NEW)))
        parts.start_replicas()
        parts.start_dagster(CODE)
        parts.start_dagster("webserver")
        upstream = "; server ".join(f"127.0.0.1:{port}" for port in parts.replica_ports)
        logged = "$http_x_caller $status $upstream_addr"
        with web_server(upstream, parts.public, tmp_path / "nginx", "simulated", logged, (100_000, 100_000)) as url:
            dagster = Ui(f"http://127.0.0.1:{parts.ports['webserver']}", Path(), lambda: None, [])
            for port in parts.replica_ports:
                wait(lambda port=port: answers(f"http://127.0.0.1:{port}/readyz"))
            wait(lambda: stop_schedules(dagster) or True)
            stop_sensor(dagster, "automation")
            parts.start_dagster("daemon")
            yield Fleet(parts, url, dagster, today)
    finally:
        parts.close()


def sign_up(fleet: Fleet) -> list[str]:
    """Return the callers' keys, starting with those of a small quota, and the judge's key with the largest quota."""
    accounts = Keys(Database(fleet.parts.accounts_url))
    names = [*(f"caller{number}" for number in range(KEYS)), "judge"]
    keys = [sign_ups.sign_up(accounts.database, f"{n}@example.org", "x", int(time.time()))[0] for n in names]
    with accounts.database.connect() as connection:
        ids = dict(connection.exec_driver_sql("SELECT email, id FROM keys").all())
    for name, quota in (*((f"caller{number}", QUOTA) for number in range(SPENT)), ("judge", 1_000_000)):
        key_life.set_quota(accounts.database, ids[f"{name}@example.org"], quota)
    accounts.database.close()
    return keys


@pytest.mark.timeout(max(1200, 3 * SECONDS))
def test_a_fleet_whose_parts_are_killed_loses_doubles_and_charges_nothing_wrongly(fleet: Fleet, tmp_path: Path) -> None:
    *keys, judge = sign_up(fleet)
    midnight = instant(f"{fleet.today}T00:00:00Z")
    callers = Callers(fleet.url, keys, range(SPENT), Window(midnight - 4 * DAY, midnight - 2 * DAY))
    follower, old_days = Follower(fleet.url, judge), days_between(fleet.day(DAYS + 5), fleet.day(6))
    fleet.backfill(OLD, old_days)
    kills, ends = [], time.monotonic() + SECONDS
    with callers.calling():
        while len(kills) < len(KILLS) or time.monotonic() < ends:
            kills.append(fleet.kill(KILLS[len(kills) % len(KILLS)], follower.asks))
            with suppress(OSError):
                follower.follow()
        wait(lambda: {done.key for done in callers.calls if done.status == 429} == set(range(SPENT)))
    settle(fleet, old_days)
    assert {each["status"] for each in fleet.runs()} >= {"SUCCESS", "FAILURE"}, "the worker's has failed"
    holds_the_rows_of_an_undisturbed_line(fleet, follower, tmp_path)
    beyond = [done for done in callers.errors() if not in_restart(done, kills)]
    assert beyond == []
    assert {done.status for done in callers.calls} >= {200, 304, 404}
    counts_every_answer(fleet, callers, kills, tmp_path)
    is_as_composed(fleet.parts)


def settle(fleet: Fleet, old_days: Sequence[str]) -> None:
    """Wait for the work in progress; request again the days that no run has done, as an operator would."""
    wait(fleet.at_rest, 900)
    newest = days_between(fleet.day(2), fleet.today)
    for source, span in ((OLD, old_days), (OLD, newest), (NEW, newest)):
        left = wait(lambda source=source, span=span: (fleet.missing(source, span),))[0]
        if left:
            wait(lambda source=source, left=left: fleet.backfill(source, left))
    wait(fleet.at_rest, 900)


def holds_the_rows_of_an_undisturbed_line(fleet: Fleet, follower: Follower, folder: Path) -> None:
    """Compare the rows of the fleet and of its follower with those that one command stores for the same days."""
    alone = ("EMDS_LOCAL_DIR", "EMDS_DATABASE_URL", "EMDS_PUBLISH_TO", "EMDS_DAGSTER_POSTGRES_URL", "EMDS_RUN_IMAGE")
    verbs = [
        (
            "backfill",
            "--feed",
            feed,
            "--start",
            str(fleet.day(DAYS + 5 if source == OLD else 5)),
            "--end",
            str(fleet.today),
        )
        for source in (OLD, NEW)
        for feed in feeds(source)
    ]
    fleet.parts.emds(*verbs, EMDS_HOME=str(folder / "truth"), **dict.fromkeys(alone, ""))
    served, unreadable = stored_rows.served(Bucket(fleet.parts.address, folder / "judge", cache_s=0.0))
    truth, _ = stored_rows.served(Folder(folder / "truth"))
    assert unreadable == []
    assert len(served) > 10_000
    assert Counter(served) == Counter(truth), "lost, doubled or wrong"

    def caught_up() -> bool:
        follower.follow()
        wanted = {row: value for row, value in served if row[0] == "GB" and not row[1].endswith("_forecast")}
        assert wanted
        return follower.held == wanted

    wait(caught_up, 60)


def in_restart(done: Done, kills: Sequence[Kill]) -> bool:
    return any(kill.at - done.seconds <= done.at <= kill.back_at + GRACE_S for kill in kills)


def counts_every_answer(fleet: Fleet, callers: Callers, kills: Sequence[Kill], folder: Path) -> None:
    """Compare each key's count with its responses.

    At most the calls in progress at a kill are counted without a response. nginx sent these to a second replica, or
    their statement was repeated after the database was killed.
    """
    with psycopg.connect(fleet.parts.accounts_url.replace("+psycopg", "")) as connection:
        found = connection.execute(
            "SELECT email, coalesce(sum(calls), 0) FROM keys LEFT JOIN usage ON usage.key_id = keys.id "
            "WHERE email LIKE 'caller%' GROUP BY email"
        ).fetchall()
    unknown = Counter(callers.open)
    for line in (folder / "nginx" / "calls.log").read_text().splitlines():
        if call := re.match(r"(\d+) \d+ (.+)", line):
            unknown[int(call[1])] += call[2].count(",")
    lost = [kill.at for kill in kills if kill.part == "database"]
    unknown.update(d.key for at in lost for d in callers.calls if d.at <= at + 1 and d.at + d.seconds >= at)
    assert callers.cost.total() > 50
    for email, count in found:
        key = int(email.removeprefix("caller").partition("@")[0])
        assert callers.cost[key] <= count <= callers.cost[key] + unknown[key], email
        assert callers.cost[key] <= (QUOTA if key < SPENT else 500), email


def is_as_composed(parts: Parts) -> None:
    """Run compose's health checks; a run's container has the image, environment, volumes and rights of the services."""
    for service in ("code", "webserver", "daemon"):
        checked = parts.health(service)
        assert checked.returncode == 0, f"{checked.stdout}{checked.stderr}"
    container: Container = next(iter(parts.engine.containers.values()))
    service, host = SERVICES["fill"], container.wanted["HostConfig"]
    assert container.wanted["Image"] == service["image"]
    given = {name: value for name, value in container.environ.items() if name != "DAGSTER_RUN_JOB_NAME"}
    given["EMDS_DAGSTER_POSTGRES_URL"] = given["EMDS_DAGSTER_POSTGRES_URL"].replace("+psycopg2", "")
    assert given == {name: parts.environ("daemon")[name] for name in SERVICES["daemon"]["environment"]}
    wanted = {
        "NetworkMode": "emds-data",
        "Binds": ["emds-site:/public"],
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "AutoRemove": True,
        "Tmpfs": {"/tmp": ""},
    }
    assert {name: host[name] for name in wanted} == wanted
    assert not host.get("Privileged")
    for secret in (parts.postgres.address("dagster").partition("@")[2], CREDENTIALS["AWS_SECRET_ACCESS_KEY"]):
        assert secret in str(container.wanted["Env"])
        assert secret not in str(container.wanted["Cmd"])
