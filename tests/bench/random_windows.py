"""Requests/s on questions that nobody asked before: random zones, metrics and windows over ten years of history.

    python -m tests.bench.random_windows [--table FILE]

16 connections, each request with the next of a thousand keys, so that every answer is counted. `warm series`: random
windows over one series whose months are in memory. `all series`: random windows over all; each question is asked once.
`asked again`: the same list a second time, also in each content coding, since most clients take one: a script's gzip, a
browser's any. `all zones`: a day of all 25 in one call, against a day of one. The yardstick is a bare Flask route under
the same gunicorn that returns as many bytes.

First one worker, each server on a core and wrk on the other. Then, as `two cores`, two workers as they run in service,
with wrk on the same cores.

Exit 1 where a budget is missed. `--table` writes the figures as Markdown with versions, machine and commit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from api.http.responses import CODINGS
from tests.bench import wrk
from tests.bench.decade import warehouse
from tests.bench.figures import Figure, table
from tests.bench.random_questions import WARM, YEARS, every_series, of_all_zones, questions
from tests.bench.servers import ROOT, fetch, gunicorn, keys, on_core, ours, resident, running
from tests.stand_ins.ports import free_port

SECONDS = 8
LEAST_OF_WARM, LEAST_OF_BARE, LEAST_OF_BARE_LONG = 0.70, 0.45, 0.40
LEAST_OF_ALL_ZONES = 0.25
MOST_RESIDENT_MB = 200

_warm = list(questions(1, 1, YEARS, [(WARM[0], WARM[1].value)]))
_cold = list(questions(2, 1, YEARS, every_series()))
_long = list(questions(3, 18, YEARS, [pair for pair in every_series() if pair[0][:2] in ("US", "AU")]))


@dataclass(frozen=True, slots=True)
class _Running:
    """Our service over ten years, and beside it the bare route with as many workers."""

    ask: Any
    """`wrk.run` of our service with keys."""
    ask_bare: Any
    """`wrk.run` of the bare route, which has the paths `/day` and `/long`."""
    process: Any


def over_ten_years() -> tuple[list[Figure], float]:
    """Questions against the bare route on one core, and the worker's memory at the end in MB."""
    with _served(1, on_core(0), on_core(1)) as servers:
        ask = servers.ask
        day, bulky = servers.ask_bare("/day"), servers.ask_bare("/long")
        first, kept = ask(paths=_warm), ask(paths=_warm)
        once, again = ask(paths=_cold), ask(paths=_cold)
        rows, whole = ask(paths=_long), ask(paths=list(of_all_zones(5, YEARS)))
        coded = [(coding, ask(paths=_cold, coding=coding), ask(paths=_long, coding=coding)) for coding in CODINGS]
        megabytes = resident(servers.process) / 1000
    figures = [
        Figure("bare route, a day's bytes", day),
        Figure("24 h, one series, first time", first, first.rate / day.rate, "bare"),
        Figure("24 h, one warm series", kept, kept.rate / day.rate, "bare", LEAST_OF_BARE),
        Figure("24 h, all series, asked once", once, once.rate / kept.rate, "warm", LEAST_OF_WARM),
        Figure("24 h, all series, asked again", again, again.rate / kept.rate, "warm"),
        Figure("5,000 rows, asked once", rows, rows.rate / bulky.rate, "bare", LEAST_OF_BARE_LONG),
        Figure("24 h, all zones in one call", whole, whole.rate / once.rate, "one zone", LEAST_OF_ALL_ZONES),
    ]
    for coding, short, bulk in coded:
        figures.append(Figure(f"24 h, all series, {coding}", short, short.rate / again.rate, "uncoded"))
        figures.append(Figure(f"5,000 rows, {coding}", bulk, bulk.rate / rows.rate, "uncoded"))
    return figures, megabytes


def on_two_cores() -> list[Figure]:
    """The same of two workers, as they run in service; wrk takes its part of the same cores."""
    with _served(2, [], []) as servers:
        servers.ask(paths=_warm)
        servers.ask_bare("/day")  # a worker that loads meanwhile gets none of the connections: by now all are there
        day, bulky = servers.ask_bare("/day"), servers.ask_bare("/long")
        kept, once, rows = (servers.ask(paths=paths) for paths in (_warm, _cold, _long))
    return [
        Figure("two cores: bare route, a day's bytes", day),
        Figure("two cores: 24 h, one warm series", kept, kept.rate / day.rate, "bare"),
        Figure("two cores: 24 h, all series, asked once", once, once.rate / kept.rate, "warm"),
        Figure("two cores: 5,000 rows, asked once", rows, rows.rate / bulky.rate, "bare"),
    ]


@contextmanager
def _served(workers: int, server_on: Sequence[str], wrk_on: Sequence[str]) -> Iterator[_Running]:
    home, port, bare_port = warehouse(YEARS), free_port(), free_port()
    base, bare = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{bare_port}"
    command, environ = ours(home, port, workers)
    yardstick = gunicorn("bare:app", bare_port, "--pythonpath", str(ROOT / "tests" / "bench"))
    with tempfile.TemporaryDirectory() as bodies, running([*server_on, *command], environ, f"{base}/readyz") as process:
        headers = keys(home, f"random{os.getpid()}")
        Path(bodies, "ready").write_bytes(b"{}")
        for name, path in (("day", _cold[0]), ("long", _long[0])):
            Path(bodies, name).write_bytes(fetch(base + path.partition("&format")[0], headers[0])[0])
        given = {"BENCH_BODIES": bodies, "WEB_CONCURRENCY": str(workers)}
        with running([*server_on, *yardstick], given, f"{bare}/ready"):
            ask = partial(wrk.run, base, headers, seconds=SECONDS, before=wrk_on)
            yield _Running(ask, lambda path: wrk.run(bare + path, before=wrk_on), process)


def main() -> int:
    """Runs all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, help="also write the table into this file")
    args = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing was measured")
        return 0
    figures, megabytes = over_ten_years()
    if (os.cpu_count() or 1) > 1:
        figures += on_two_cores()
    text = table(figures)
    print(text)
    print(f"worker: {megabytes:.0f} MB (at most {MOST_RESIDENT_MB})")
    if args.table:
        args.table.write_text(text)
    missed = [figure.name for figure in figures if figure.missed]
    missed += ["memory"] if megabytes > MOST_RESIDENT_MB else []
    print("\n".join(f"MISSED {name}" for name in missed) or "every budget kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
