"""Requests/s and latencies of one repeated question, against a bare Flask route under the same gunicorn.

    python -m tests.bench.serving

One question is repeated: what memory answers. Questions at random: `tests.bench.random_windows`.

Both have one worker and are measured in turn for several rounds; each round is compared with its neighbour and the
median counts, so that a busy machine hits both alike. Exit 1 where a budget is missed, 0 with a message where wrk is
missing.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assets.documents import geo_layers
from tests.bench import wrk
from tests.bench.servers import ROOT, fetch, gunicorn, keys, ours, resident, running
from tests.bench.warehouse import NOW, TEN_YEARS, fill
from tests.bench.wrk import Speed
from tests.stand_ins.ports import free_port
from warehouse.market.clock import DAY
from warehouse.market.zones import ZONES
from warehouse.store.storage import Folder

ROUNDS, SECONDS = 5, 2
ZONE = "AU-NSW"
LONG = f"start={NOW - 20 * DAY}&end={NOW}&limit=5000"


@dataclass(frozen=True, slots=True)
class Case:
    """A path of ours, the least part of the bare route's requests/s, and how it is requested."""

    name: str
    path: str
    least: float
    keyed: bool = True
    status: int = 200


CASES = (
    Case("latest, key", f"/v1/latest/{ZONE}", 0.65),
    Case("brief, key", f"/v1/brief/{ZONE}", 0.65),
    Case("snapshot, key", "/v1/map/snapshot", 0.65),
    Case("zones, free", "/v1/zones", 0.85, keyed=False),
    Case("zones, 304", "/v1/zones", 0.85, keyed=False, status=304),
    Case("24 h, key", f"/v1/price/{ZONE}", 0.65),
    Case("5000 rows, key", f"/v1/price/{ZONE}?{LONG}", 0.40),
)
"""Of the bare route's requests/s."""
MOST_TAIL = 10.0
MOST_FOR_HISTORY = 1.2
MOST_RESIDENT_KB = 150_000
MOST_READY_S = 1.5


def compare(base: str, bare: str, bodies: Path, headers: list[str]) -> list[str]:
    """Ours against the bare route with the same bytes; prints a table and returns what was missed."""
    missed = []
    for case in CASES:
        lines = headers if case.keyed else []
        body, tag = fetch(base + case.path, lines[0] if lines else "")
        sent = [f"If-None-Match: {tag}"] if case.status == 304 else lines
        name = "unchanged" if case.status == 304 else re.sub(r"\W+", "_", case.name)
        (bodies / name).write_bytes(body)
        for connections in (16, 64):
            rounds = ROUNDS if connections == 16 else 1
            pairs = [
                (
                    wrk.run(f"{bare}/{name}", (), case.status, connections, SECONDS),
                    wrk.run(base + case.path, sent, case.status, connections, SECONDS),
                )
                for _ in range(rounds)
            ]
            missed += judged(case, connections, pairs)
    return missed


def judged(case: Case, connections: int, pairs: list[tuple[Speed, Speed]]) -> list[str]:
    """The middle of the rounds by what they say of each other; the tail is that of the calmest round."""
    bare, mine = sorted(pairs, key=lambda pair: pair[1].rate / pair[0].rate)[len(pairs) // 2]
    tail = min(speed.p99 / speed.p50 for _, speed in pairs)
    part = mine.rate / bare.rate
    print(
        f"{case.name:15} {connections:3} conns  bare {bare.rate:7.0f}/s {bare.p50:6.2f} {bare.p99:7.2f} ms   "
        f"ours {mine.rate:7.0f}/s {mine.p50:6.2f} {mine.p99:7.2f} ms   {part:4.0%} (at least {case.least:.0%})",
        flush=True,
    )
    missed = [f"{case.name}: {part:.0%} of the bare route"] if connections == 16 and part < case.least else []
    return missed + ([f"{case.name}: p99 is {tail:.1f} times p50"] if connections == 16 and tail >= MOST_TAIL else [])


def history(folder: Path) -> list[str]:
    """A 24 h window over a month and over ten years, in turns."""
    homes = {"1 month": folder / "month", "10 years": folder / "decade"}
    fill(homes["1 month"], 31)
    fill(homes["10 years"], TEN_YEARS)
    ports = {name: free_port() for name in homes}
    rates: dict[str, list[float]] = {name: [] for name in homes}
    lines = {name: keys(home) for name, home in homes.items()}
    commands = {name: ours(home, ports[name]) for name, home in homes.items()}
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    with (
        running(*commands["1 month"], urls["1 month"] + "/readyz"),
        running(*commands["10 years"], urls["10 years"] + "/readyz"),
    ):
        for _ in range(ROUNDS + 1):
            for name, url in urls.items():
                rates[name].append(wrk.run(f"{url}/v1/price/{ZONE}", lines[name], 200, 4, SECONDS).rate)
    cost = max(rates["1 month"]) / max(rates["10 years"])
    print(f"24 h over 10 years costs {cost:.2f} times 24 h over 1 month (at most {MOST_FOR_HISTORY})", flush=True)
    return [f"10 years of history cost {cost:.2f} times a month"] if cost > MOST_FOR_HISTORY else []


def everything(base: str) -> None:
    """A thousand samples of all kinds, sixteen at a time: memory after the hot paths alone would flatter the worker."""
    zones = [zone for zone in ZONES if zone != ZONE]
    formats = ("json", "csv", "parquet", "arrow")
    paths = [
        "/openapi.json",
        "/docs",
        "/catalog",
        "/v1/status",
        "/v1/map/snapshot?sample=true",
        "/v1/geo/zones?detail=high",
        "/v1/geo/plants",
        *(
            f"/v1/geo/plants?zone={zone}&format={name}"
            for zone in zones
            for name in ("geojson", "csv", "parquet", "fgb")
        ),
        *(
            f"/v1/geo/zones?detail=high&bbox=-10,{35 + n},10,60&format={name}"
            for n in range(10)
            for name in ("geojson", "parquet", "fgb")
        ),
        *(
            f"/v1/price/{ZONE}?sample=true&start={NOW - n * DAY}&end={NOW}&format={name}"
            for n in range(1, 45)
            for name in formats
        ),
    ]
    codings = ("br", "zstd", "gzip", "identity")

    def ask(number: int) -> int:
        request = urllib.request.Request(
            base + paths[number % len(paths)], headers={"Accept-Encoding": codings[number % len(codings)]}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return len(answer.read())

    with ThreadPoolExecutor(16) as threads:
        sum(threads.map(ask, range(1000)))


def main() -> int:
    """Runs all and says what was missed."""
    if shutil.which("wrk") is None:
        print("wrk is not installed: nothing was measured")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home, bodies = folder / "home", folder / "bodies"
        bodies.mkdir()
        fill(home, 45, documents=True)
        geo_layers.publish(Folder(home))
        port, bare_port = free_port(), free_port()
        base, bare = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{bare_port}"
        command, environ = ours(home, port)
        began = time.monotonic()
        with running(command, environ, f"{base}/readyz") as process:
            ready = time.monotonic() - began
            headers = keys(home)
            (bodies / "ready").write_bytes(b"{}")
            yardstick = gunicorn("bare:app", bare_port, "--pythonpath", str(ROOT / "tests" / "bench" / "http_peers"))
            with running(yardstick, {"BENCH_BODIES": str(bodies), "WEB_CONCURRENCY": "1"}, f"{bare}/ready"):
                missed = compare(base, bare, bodies, headers)
            everything(base)
            kilobytes = resident(process)
        missed += history(folder)
    print(
        f"ready after {ready:.2f} s (at most {MOST_READY_S}); worker {kilobytes / 1000:.0f} MB "
        f"(at most {MOST_RESIDENT_KB / 1000:.0f})"
    )
    missed += [f"ready after {ready:.2f} s"] if ready > MOST_READY_S else []
    missed += [f"worker holds {kilobytes} kB"] if kilobytes > MOST_RESIDENT_KB else []
    print("\n".join(f"MISSED {line}" for line in missed) or "every budget kept")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
