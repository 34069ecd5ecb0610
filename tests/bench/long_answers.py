"""Answers over much: statistics of ten years of 5-minute rows, and month files by key.

    python -m tests.bench.long_answers

Statistics: each series is asked for once, alone, of one worker that has not read it before, after its month files were
dropped from the kernel's page cache too. Month files: every one of two years at random by keys, against a bare Flask
route that returns as many bytes under the same gunicorn; each server on a core, wrk on the other. What a web server
makes of the same files is in `tests.bench.static_side`. Exit 1 where a budget is missed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench import wrk
from tests.bench.decade import resolution, warehouse
from tests.bench.random_questions import YEARS, every_series
from tests.bench.servers import ROOT, fetch, gunicorn, keys, on_core, ours, running
from tests.bench.warehouse import NOW
from tests.stand_ins.ports import free_port
from warehouse import layout
from warehouse.clock import DAY, HOUR
from warehouse.market import Metric

MOST_MS = 150
SECONDS = 4
ROUNDS = 3


def of_ten_years(base: str, home: Path, header: str) -> list[float]:
    """Milliseconds to the statistics of each 5-minute series, in turn; the first comes of a worker that did nothing."""
    series = [pair for pair in every_series() if resolution(pair[0], Metric(pair[1])) == "5m"]
    random.Random(9).shuffle(series)
    start, spent = NOW + HOUR - YEARS * 365 * DAY, []
    for zone, metric in series:
        _drop(home, zone, metric)
        url = f"{base}/v1/{metric}/{zone}?start={start}&end={NOW}&stats=true"
        begun = time.perf_counter()
        body, _ = fetch(url, header)
        spent.append((time.perf_counter() - begun) * 1000)
        count = json.loads(body)["statistics"]["count"]
        if count != (NOW - start) // 300:
            raise RuntimeError(f"{url}: {count} rows")
    return spent


def _drop(home: Path, zone: str, metric: str) -> None:
    """Lets the kernel forget a series' files, so that they are read from the disk."""
    for path in (home / layout.series_prefix(metric, zone)).iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def month_files(base: str, bare: str, headers: list[str]) -> float:
    """The service's requests/s of random month files as a part of the bare route's, the middle of the rounds."""
    files = json.loads(fetch(f"{base}/v1/bulk")[0])["files"]
    paths = [file["url"].removeprefix(base) for file in files if file["month"] >= "2025" and file["bytes"] > 50_000]
    random.Random(9).shuffle(paths)
    parts = []
    for _ in range(ROUNDS):
        plain = wrk.run(f"{bare}/month", seconds=SECONDS, before=on_core(1)).rate
        parts.append(wrk.run(base, headers, seconds=SECONDS, paths=paths, before=on_core(1)).rate / plain)
    return statistics.median(parts)


def main() -> int:
    """The exit code."""
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing was measured")
        return 0
    home = warehouse(YEARS)
    with _served(home, []) as base:  # bound by itself, as in service
        first, *others = of_ten_years(base, home, keys(home, f"years{os.getpid()}")[0])
    with _served(home, on_core(0)) as base:
        part, size = _beside_bare(base, home)
    middle, slowest = statistics.median(others), max(others)
    print(f"statistics of ten years of 5-minute rows, cold: {middle:.0f} ms, slowest of {len(others)} {slowest:.0f},")
    print(f"the first of a new worker {first:.0f} ms (at most {MOST_MS})")
    print(f"month files at random by key, of {size} bytes: {part:.2f} of a bare route")
    return int(max(first, slowest) > MOST_MS)


@contextmanager
def _served(home: Path, server_on: Sequence[str]) -> Iterator[str]:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    command, environ = ours(home, port)
    with running([*server_on, *command], environ | {"EMDS_BASE_URL": base}, f"{base}/healthz"):
        yield base


def _beside_bare(base: str, home: Path) -> tuple[float, int]:
    """As `month_files`, and the size of the bare route's."""
    port = free_port()
    body = (home / layout.series("price", "AU-NSW", "2025-03")).read_bytes()
    yardstick = gunicorn("bare:app", port, "--pythonpath", str(ROOT / "tests" / "bench" / "http_peers"))
    with tempfile.TemporaryDirectory() as bodies:
        Path(bodies, "ready").write_bytes(b"{}")
        Path(bodies, "month").write_bytes(body)
        given = {"BENCH_BODIES": bodies, "WEB_CONCURRENCY": "1"}
        with running([*on_core(0), *yardstick], given, f"http://127.0.0.1:{port}/ready"):
            headers = keys(home, f"months{os.getpid()}")
            return month_files(base, f"http://127.0.0.1:{port}", headers), len(body)


if __name__ == "__main__":
    sys.exit(main())
