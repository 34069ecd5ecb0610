"""Measure requests/s on new requests: random zones, metrics and windows over ten years of history.

    python -m tests.bench.random_windows

16 connections send each request with the next of a thousand keys, so that every response is counted. `warm series` has
random windows over one series whose months are in memory. `all series` has random windows over all, each requested
once, and `asked again` the same list a second time. `all zones` compares a day of all 25 in one call with a day of one.
The yardstick is a bare Flask route under the same gunicorn that returns as many bytes. Each server has one worker on
one core, and wrk runs on the other. The output is a table in Markdown. The exit code is 1 if a budget is missed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.random_questions import WARM, YEARS, every_series, of_all_zones, questions
from tests.bench.servers import ROOT, fetch, gunicorn, keys, on_core, ours, resident, running
from tests.bench.wrk import Speed
from tests.stand_ins.ports import free_port

SECONDS = 8
MOST_RESIDENT_MB = 200

_warm = list(questions(1, 1, YEARS, [(WARM[0], WARM[1].value)]))
_cold = list(questions(2, 1, YEARS, every_series()))
_long = list(questions(3, 18, YEARS, [pair for pair in every_series() if pair[0][:2] in ("US", "AU")]))


@dataclass(frozen=True, slots=True)
class Figure:
    """A line of the table; `part` is its rate relative to `against`, and `least` is the budget."""

    name: str
    speed: Speed
    part: float | None = None
    against: str = ""
    least: float | None = None

    @property
    def missed(self) -> bool:
        return self.least is not None and self.part is not None and self.part < self.least

    def line(self) -> str:
        part = "" if self.part is None else f"{self.part:.2f} of {self.against}"
        least = "" if self.least is None else f"{self.least:g}"
        speed = self.speed
        return f"| {self.name} | {speed.rate:.0f} | {speed.p50:.2f} | {speed.p99:.2f} | {part} | {least} |"


def over_ten_years() -> tuple[list[Figure], float]:
    """Return the lines of emds and the bare route, and the worker's memory at the end in MB."""
    with _served() as (ask, ask_bare, process):
        day, bulky = ask_bare("/day"), ask_bare("/long")
        first, kept = ask(paths=_warm), ask(paths=_warm)
        once, again = ask(paths=_cold), ask(paths=_cold)
        rows, whole = ask(paths=_long), ask(paths=list(of_all_zones(5, YEARS)))
        megabytes = resident(process) / 1000
    return [
        Figure("bare route, a day's bytes", day),
        Figure("24 h, one series, first time", first, first.rate / day.rate, "bare"),
        Figure("24 h, one warm series", kept, kept.rate / day.rate, "bare"),
        Figure("24 h, all series, asked once", once, once.rate / again.rate, "asked again", 0.70),
        Figure("24 h, all series, asked again", again, again.rate / kept.rate, "warm series"),
        Figure("5,000 rows, asked once", rows, rows.rate / bulky.rate, "bare", 0.20),
        Figure("24 h, all zones in one call", whole, whole.rate / once.rate, "one zone"),
    ], megabytes


@contextmanager
def _served() -> Iterator[tuple[Any, Any, Any]]:
    """Return `wrk.run` of emds with keys, `wrk.run` of the bare route's `/day` and `/long`, and the process of emds."""
    home, port, bare_port = warehouse(YEARS), free_port(), free_port()
    base, bare = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{bare_port}"
    command, environ = ours(home, port)
    yardstick = gunicorn("bare:app", bare_port, "--pythonpath", str(ROOT / "tests" / "bench"))
    with (
        tempfile.TemporaryDirectory() as bodies,
        running([*on_core(0), *command], environ, f"{base}/readyz") as process,
    ):
        headers = keys(home, f"random{os.getpid()}")
        Path(bodies, "ready").write_bytes(b"{}")
        for name, path in (("day", _cold[0]), ("long", _long[0])):
            Path(bodies, name).write_bytes(fetch(base + path.partition("&format")[0], headers[0])[0])
        environ = {"BENCH_BODIES": bodies, "WEB_CONCURRENCY": "1"}
        with running([*on_core(0), *yardstick], environ, f"{bare}/ready"):
            ask = partial(wrk.run, base, headers, seconds=SECONDS, before=on_core(1))
            yield ask, lambda path: wrk.run(bare + path, before=on_core(1)), process


def main() -> int:
    """Run all; return the exit code."""
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing was measured")
        return 0
    figures, megabytes = over_ten_years()
    print("| question | requests/s | p50 ms | p99 ms | against | budget |\n|---|---|---|---|---|---|")
    print(*(figure.line() for figure in figures), sep="\n")
    print(f"worker: {megabytes:.0f} MB (at most {MOST_RESIDENT_MB})")
    missed = [figure.name for figure in figures if figure.missed]
    missed += ["memory"] if megabytes > MOST_RESIDENT_MB else []
    print("\n".join(f"MISSED {name}" for name in missed) or "every budget kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
