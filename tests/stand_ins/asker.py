"""Processes that ask publishers through the polite session, as runs do; told by JSON lines what to do.

`begin` opens a new session in an environment, as a new process would, whose pace lies where that environment says
(`orchestration.resources.host_states`); `ask` asks with it.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from assets.fetch.live import Live
from assets.fetch.session import Session
from assets.fetch.shared_states import SharedStates
from assets.sources import feed as feed_of
from orchestration import resources
from orchestration.settings import PipelineSettings
from tests.stand_ins.publishers import KEYS, NOW, reached
from warehouse import clock
from warehouse.clock import MarketDay
from warehouse.errors import FeedError

AGAIN_S = 0.2
"""So long they leave a place alone that was away."""
ROOT = Path(__file__).resolve().parents[2]


class Waited(Exception):
    """A wait that the test does not sit out."""


class Asker:
    """Such a process, from the test's side."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stand_ins.asker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def begin(self, port: int, authority: Path, environ: Mapping[str, str], skew: float) -> None:
        """A new session: publishers are found at a port; `skew` seconds are added to the process's clocks."""
        self.tell("begin", port=port, authority=str(authority), environ=dict(environ), skew=skew)
        self.told()

    def ask(self, feed: str, times: int = 1) -> list[Any]:
        """`[outcome, seconds to wait]` for each time; a wait of more than a second ends that asking."""
        self.tell("ask", feed=feed, times=times, nap=False)
        return self.told()

    def log(self) -> list[Any]:
        """What was logged since it began."""
        self.tell("log")
        return self.told()

    def tell(self, verb: str, **words: object) -> None:
        """Sends a line; `ask` with `nap` waits as long as it is told to."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([verb, words]) + "\n")
        self._process.stdin.flush()

    def told(self) -> list[Any]:
        """The answer to a line."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        told: list[Any] = json.loads(line)
        return told

    def close(self) -> None:
        """Ends the process."""
        try:
            self._process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise


class _Log(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.getMessage()}")


def _main() -> None:
    log = _Log()
    logging.basicConfig(level=logging.INFO, handlers=[log])
    words: dict[str, Any] = {}
    for line in sys.stdin:
        verb, words = json.loads(line)
        while verb == "begin":
            log.lines.clear()
            with _begun(**words) as ask:
                print("[]", flush=True)
                verb, words = "end", {}
                for told in sys.stdin:
                    verb, words = json.loads(told)
                    if verb == "begin":
                        break
                    print(json.dumps(ask(**words) if verb == "ask" else log.lines), flush=True)


@contextmanager
def _begun(port: int, authority: str, environ: dict[str, str], skew: float) -> Iterator[Callable[..., list[Any]]]:
    real_time, real_monotonic = time.time, time.monotonic

    def unix() -> float:
        return real_time() + skew

    def tick() -> float:
        return real_monotonic() + skew

    with (
        mock.patch.object(time, "time", unix),
        mock.patch.object(resources, "SharedStates", partial(SharedStates, tick=tick, again_s=AGAIN_S)),
        mock.patch.dict("os.environ", {"EMDS_NOW": NOW}),
        reached(port, Path(authority)),
    ):
        states = resources.host_states(PipelineSettings.from_environ(environ))
        waits: list[float] = []
        napping = False

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if napping:
                time.sleep(seconds)
            elif seconds > 1.0:
                raise Waited

        session = Session(Live(), KEYS, states=states, tick=tick, sleep=sleep)

        def ask(feed: str, times: int, nap: bool) -> list[Any]:
            nonlocal napping
            napping, one, now = nap, feed_of(feed), clock.now()
            request = one.requests([MarketDay.at(now, one.tz)], now)[0]
            outcomes = []
            for _ in range(times):
                waits.clear()
                try:
                    session.ask(request)
                    outcome = "answered"
                except Waited:
                    outcome = "waits"
                except FeedError as error:
                    outcome = str(error)
                outcomes.append([outcome, sum(waits)])
            return outcomes

        yield ask


if __name__ == "__main__":
    _main()
