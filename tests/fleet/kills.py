"""What is killed in the fleet, how it comes back, and by what it is seen to be back."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from tests.fleet.parts import CODE, Parts, Server
from tests.fleet.pipeline import Away, Dagster

JOB = "nyiso_every_30m"
"""A job, whose plan only a code server can tell."""
DOWN_S = 2.0
"""So long a part is away before it is started again."""
BACK_WITHIN_S = 240.0
GIVEN_UP = "Not retrying run since it is part of a backfill"


@dataclass
class Kill:
    """One kill. Times are Unix seconds."""

    part: str
    at: float
    back_at: float = 0.0
    """When the part was seen to work again, or was given up."""
    back: bool = True
    run: str = ""
    """The run whose process was killed."""
    why: str = ""
    """What Dagster says of a killed run that nobody took up."""

    @property
    def seconds(self) -> float:
        return self.back_at - self.at


@dataclass
class Kills:
    """The kills of one fleet, in turn."""

    parts: Parts
    dagster: Dagster
    ask: Callable[[], bool]
    """Whether a keyed window that needs database and store is answered through nginx."""
    done: list[Kill] = field(default_factory=list)
    replica: int = 0

    def kill(self, part: str) -> None:
        """Kills a part, lets it come back, and returns once it works or is given up."""
        work = getattr(self, f"_{part}")
        kill = Kill(part, time.time())
        back: Callable[[], bool] | None = work(kill)
        if back is None:
            return
        self.done.append(kill)
        try:
            self.dagster.wait(back, BACK_WITHIN_S)
        except TimeoutError:
            kill.back = False
            kill.why = self.dagster.describe(kill.run) if kill.run else ""
        kill.back_at = time.time()

    def _replica(self, kill: Kill) -> Callable[[], bool]:
        number = self.replica % len(self.parts.replicas)
        self.replica += 1
        self._again(self.parts.replicas[number], kill)
        url = f"http://127.0.0.1:{self.parts.replica_ports[number]}/readyz"
        return lambda: answers(url)

    def _store(self, kill: Kill) -> Callable[[], bool]:
        self._again(self.parts.store, kill)
        return self.ask

    def _database(self, kill: Kill) -> Callable[[], bool]:
        kill.at = time.time()
        self.parts.postgres.kill()
        time.sleep(DOWN_S)
        self.parts.postgres.start()
        return lambda: self._connects() and self.ask()

    def _connects(self) -> bool:
        with suppress(psycopg.Error):
            psycopg.connect(self.parts.accounts_url.replace("+psycopg", ""), connect_timeout=5).close()
            return True
        return False

    def _daemon(self, kill: Kill) -> Callable[[], bool]:
        self._again(self.parts.dagster["daemon"], kill)
        return lambda: self.dagster.heartbeat() > kill.at

    def _webserver(self, kill: Kill) -> Callable[[], bool]:
        self._again(self.parts.dagster["webserver"], kill)
        return lambda: self.dagster.heartbeat() > 0

    def _code(self, kill: Kill) -> Callable[[], bool]:
        """Back once it has loaded again. Runs under way go on: each has its own process."""
        self._again(self.parts.dagster[CODE], kill)
        return lambda: self.dagster.plans(JOB)

    def _worker(self, kill: Kill) -> Callable[[], bool] | None:
        """The process of a run under way; back once Dagster has the run that goes on with its work in the queue."""
        with suppress(Away, TimeoutError):
            run, process = self.dagster.wait(self._under_way, 60)
            kill.at, kill.run = time.time(), run
            os.kill(process, signal.SIGKILL)
            return lambda: self._taken_up(run)
        return None

    def _under_way(self) -> tuple[str, int] | None:
        for run in self.dagster.runs("STARTED"):
            process = self.dagster.process_of(run["id"])
            again = run["tags"].get("dagster/max_retries") != "0"  # a run of `live` is not: the next asks for its days
            if again and process is not None and "dagster/parent_run_id" not in run["tags"]:
                with suppress(ProcessLookupError):
                    os.kill(process, 0)
                    return run["id"], process
        return None

    def _taken_up(self, run: str) -> bool:
        """Whether another run is to go on with a killed one's work; or it had ended before.

        Dagster gives up a run whose backfill its daemon has ended in between, and says so: its days are asked for again
        at the end, as an operator would.
        """
        runs = {each["id"]: each for each in self.dagster.runs()}
        if runs.get(run, {}).get("status") == "SUCCESS" or GIVEN_UP in self.dagster.describe(run):
            return True
        return any(each["tags"].get("dagster/parent_run_id") == run for each in runs.values())

    def _again(self, server: Server, kill: Kill) -> None:
        kill.at = time.time()
        server.kill()
        time.sleep(DOWN_S)
        server.start()


def answers(url: str, headers: dict[str, str] | None = None) -> bool:
    """Whether a page is there."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=20) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
