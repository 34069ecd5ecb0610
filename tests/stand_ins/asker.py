"""A process that asks publishers through the polite session, as a run does; told by lines what to do.

`python -m tests.stand_ins.asker PORT AUTHORITY SKEW` finds the publishers' stand-ins at that port; the pace lies
where the environment says (`orchestration.resources.host_states`). SKEW seconds are added to both its clocks. A line
`ask FEED N` asks N times and prints one JSON line: how each ended, and how long it was told to wait before it. With
`nap ask FEED N` it really waits; else a wait of more than a second ends that asking.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest import mock

from assets.fetch.live import Live
from assets.fetch.session import Session
from assets.fetch.shared_states import SharedStates
from assets.sources import feed as feed_of
from orchestration import resources
from orchestration.settings import PipelineSettings
from tests.stand_ins.publishers import KEYS, reached
from warehouse import clock
from warehouse.clock import MarketDay
from warehouse.errors import FeedError

AGAIN_S = 0.2
"""So long it leaves a place alone that was away."""
ROOT = Path(__file__).resolve().parents[2]


class Waited(Exception):
    """A wait that the test does not sit out."""


class Asker:
    """Such a process, from the test's side."""

    def __init__(self, port: int, authority: Path, environ: dict[str, str], skew: float = 0.0) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.stand_ins.asker", str(port), str(authority), str(skew)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **KEYS, "EMDS_NOW": "2026-11-20T18:00:00Z", **environ},
        )
        self.errors = ""
        """What it logged, once it has ended."""

    def tell(self, words: str) -> None:
        """Sends a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def told(self) -> list[Any]:
        """Its next line: `[outcome, seconds to wait]` for each request."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._process.communicate(timeout=30)[1]
        told: list[Any] = json.loads(line)
        return told

    def ask(self, feed: str, times: int = 1) -> list[Any]:
        self.tell(f"ask {feed} {times}")
        return self.told()

    def close(self) -> None:
        if self._process.poll() is None:
            try:
                self.errors = self._process.communicate(timeout=30)[1]
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
                raise

    def __enter__(self) -> Self:
        assert self.told() == []  # ready
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _main(port: str, authority: str, skew: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    ahead, real_time, real_monotonic = float(skew), time.time, time.monotonic
    waits: list[float] = []
    napping = False

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if napping:
            time.sleep(seconds)
        elif seconds > 1.0:
            raise Waited

    def unix() -> float:
        return real_time() + ahead

    def tick() -> float:
        return real_monotonic() + ahead

    with (
        mock.patch.object(time, "time", unix),
        mock.patch.object(resources, "SharedStates", partial(SharedStates, tick=tick, again_s=AGAIN_S)),
        reached(int(port), Path(authority)),
    ):
        settings = PipelineSettings.from_environ(os.environ)
        session = Session(Live(), os.environ, states=resources.host_states(settings), tick=tick, sleep=sleep)
        now = clock.now()
        print("[]", flush=True)
        for line in sys.stdin:
            *nap, _, feed, times = line.split()
            one = feed_of(feed)
            request = one.requests([MarketDay.at(now, one.tz)], now)[0]
            napping = nap == ["nap"]
            outcomes = []
            for _ in range(int(times)):
                waits.clear()
                try:
                    session.ask(request)
                    outcome = "answered"
                except Waited:
                    outcome = "waits"
                except FeedError as error:
                    outcome = str(error)
                outcomes.append([outcome, sum(waits)])
            print(json.dumps(outcomes), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:4])
