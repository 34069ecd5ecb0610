"""Requests/s on questions that nobody asked before: random zones, metrics and windows over ten years of history.

    python -m tests.bench.random_windows [--table FILE]

One worker, 16 connections, each request with the next of a thousand keys, so that every answer is counted. `warm
series`: random windows over one series whose months are in memory. `all series`: random windows over all; each question
is asked once. `asked again`: the same list a second time, also in each content coding, since most clients take one: a
script's gzip, a browser's any. `all zones`: a day of all 25 in one call, against a day of one. The yardstick is a bare
Flask route under the same gunicorn that returns as many bytes. Peers hold one year of all series (more rows take them
minutes to load) and are asked the same as our worker over the same year. Each server keeps to one core and wrk to the
other.

Exit 1 where a budget is missed. `--table` writes the figures as Markdown with versions, machine and commit.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from api.http.compression import CODINGS
from tests.bench import wrk
from tests.bench.decade import METRICS, resolution, warehouse
from tests.bench.peers import PEERS, prepared
from tests.bench.servers import ROOT, fetch, gunicorn, keys, on_core, ours, resident, running
from tests.bench.warehouse import NOW
from tests.bench.wrk import Speed
from tests.stand_ins.ports import free_port
from warehouse import series
from warehouse.clock import DAY, RESOLUTIONS, Window
from warehouse.market import Metric
from warehouse.storage import Folder
from warehouse.zones import ZONES

YEARS = 10
COUNT = 20_000
SECONDS = 8
PEER_SECONDS = 8
WARM = ("AU-NSW", METRICS[0])
LEAST_OF_WARM, LEAST_OF_BARE, LEAST_OF_BARE_LONG, LEAST_TO_PEERS = 0.70, 0.45, 0.40, 10.0
LEAST_OF_ALL_ZONES = 0.25
MOST_RESIDENT_MB = 200


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table; `against` says what `part` is a part or a multiple of."""

    name: str
    speed: Speed
    part: float | None = None
    against: str = ""
    least: float | None = None

    @property
    def missed(self) -> bool:
        return self.least is not None and self.part is not None and self.part < self.least


def questions(seed: int, days: int, years: int, series: Sequence[tuple[str, str]], count: int = COUNT) -> Iterator[str]:
    """Paths of windows of `days` at random instants, in random formats: nine of ten JSON, the rest CSV and Parquet."""
    rng = random.Random(seed)
    first = NOW - years * 365 * DAY + DAY
    for _ in range(count):
        zone, metric = rng.choice(series)
        step = RESOLUTIONS[resolution(zone, Metric(metric))]
        start = rng.randrange(first, NOW - days * DAY)
        form = rng.choice(["json"] * 18 + ["csv", "parquet"])
        limit = min(5000, days * DAY // step + 1)
        path = f"/v1/{metric}/{zone}?start={start}&end={start + days * DAY}&limit={limit}"
        yield path if form == "json" else f"{path}&format={form}"


def of_all_zones(seed: int, years: int, count: int = COUNT) -> Iterator[str]:
    """Paths of a day of all zones at random instants, as JSON: some 4,700 rows each."""
    rng = random.Random(seed)
    for _ in range(count):
        start = rng.randrange(NOW - years * 365 * DAY + DAY, NOW - DAY)
        yield f"/v1/{rng.choice(METRICS)}?zones=all&start={start}&end={start + DAY}&limit=5000"


def _series() -> list[tuple[str, str]]:
    return [(zone, metric.value) for zone in ZONES for metric in METRICS]


def over_ten_years(folder: Path) -> tuple[list[Figure], float]:
    """Warm, cold and repeated questions against the bare route, and the worker's memory at the end in MB."""
    home, port, bare_port = warehouse(YEARS), free_port(), free_port()
    base, bare = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{bare_port}"
    command, environ = ours(home, port)
    warm = list(questions(1, 1, YEARS, [(WARM[0], WARM[1].value)]))
    cold = list(questions(2, 1, YEARS, _series()))
    long = list(questions(3, 18, YEARS, [pair for pair in _series() if pair[0][:2] in ("US", "AU")]))
    figures: list[Figure] = []
    with running([*on_core(0), *command], environ, f"{base}/readyz") as process:
        headers = keys(home, f"random{os.getpid()}")
        bodies = folder / "bodies"
        bodies.mkdir()
        (bodies / "ready").write_bytes(b"{}")
        for name, path in (("day", cold[0]), ("long", long[0])):
            (bodies / name).write_bytes(fetch(base + path.partition("&format")[0], headers[0])[0])
        yardstick = gunicorn("bare:app", bare_port, "--pythonpath", str(ROOT / "tests" / "bench" / "http_peers"))
        with running([*on_core(0), *yardstick], {"BENCH_BODIES": str(bodies), "WEB_CONCURRENCY": "1"}, f"{bare}/ready"):
            ask = partial(wrk.run, base, headers, seconds=SECONDS, before=on_core(1))
            day, bulky = wrk.run(f"{bare}/day", before=on_core(1)), wrk.run(f"{bare}/long", before=on_core(1))
            first, kept = ask(paths=warm), ask(paths=warm)
            once, again = ask(paths=cold), ask(paths=cold)
            rows, whole = ask(paths=long), ask(paths=list(of_all_zones(5, YEARS)))
            coded = [(coding, ask(paths=cold, coding=coding), ask(paths=long, coding=coding)) for coding in CODINGS]
        figures += [
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
        return figures, resident(process) / 1000


def against_peers() -> list[Figure]:
    """A year of all series behind each server, the same random questions, one core each."""
    home, port = warehouse(1), free_port()
    base = f"http://127.0.0.1:{port}"
    command, environ = ours(home, port)
    plain = [path for path in questions(4, 1, 1, _series()) if "format=" not in path]
    with running([*on_core(0), *command], environ, f"{base}/readyz"):
        headers = keys(home, f"peers{os.getpid()}")
        mine = wrk.run(base, headers, seconds=PEER_SECONDS, paths=plain, before=on_core(1))
    figures = [Figure("a year, 24 h, ours", mine)]
    for peer in prepared(home, free_port()):
        with running([*on_core(0), *peer.command], peer.environ, peer.base + peer.path(plain[0]), peer.folder):
            _same(peer.base + peer.path(plain[0]), home, plain[0])
            paths = [peer.path(path) for path in plain]
            theirs = wrk.run(peer.base, (), seconds=PEER_SECONDS, paths=paths, before=on_core(1))
        figures.append(Figure(f"a year, 24 h, {peer.name}", theirs, mine.rate / theirs.rate, "theirs", LEAST_TO_PEERS))
    return figures


def _same(url: str, home: Path, path: str) -> None:
    """Raises RuntimeError where the peer gives other rows than the month files hold."""
    _, _, metric, rest = path.split("/")
    zone, _, query = rest.partition("?")
    bounds = dict(part.split("=") for part in query.split("&"))
    table = series.read(Folder(home), zone, metric, Window(int(bounds["start"]), int(bounds["end"])))
    wanted = list(zip(table["ts"].to_pylist(), table["value"].to_pylist(), strict=True))
    document = json.loads(fetch(url)[0])
    rows = [(row["ts"], row["value"]) for row in (document if isinstance(document, list) else document["data"])]
    if rows != wanted:
        raise RuntimeError(f"{url} gives other rows")


def table(figures: Sequence[Figure]) -> str:
    """The figures as Markdown, with what they were measured on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT
    ).stdout.strip()
    cores = f"{os.cpu_count()} cores of {_processor()}"
    lines = [
        f"Commit {commit}, Python {platform.python_version()}, {cores}; {', '.join(PEERS)}.",
        "",
        "| question | requests/s | p50 ms | p99 ms | against | budget |",
        "|---|---|---|---|---|---|",
    ]
    for figure in figures:
        speed = figure.speed
        part = "" if figure.part is None else f"{figure.part:.2f} of {figure.against}"
        if figure.against == "theirs":
            part = f"ours {figure.part:.1f} times"
        least = "" if figure.least is None else f"{figure.least:g}"
        lines.append(f"| {figure.name} | {speed.rate:.0f} | {speed.p50:.2f} | {speed.p99:.2f} | {part} | {least} |")
    return "\n".join(lines) + "\n"


def _processor() -> str:
    names = re.findall(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else platform.machine()


def main() -> int:
    """Runs all; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, help="also write the table into this file")
    args = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing was measured")
        return 0
    with tempfile.TemporaryDirectory() as name:
        ours_alone, megabytes = over_ten_years(Path(name))
    figures = ours_alone + against_peers()
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
