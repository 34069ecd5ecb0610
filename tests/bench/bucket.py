"""Windows over a bucket against the same windows in a folder: requests, milliseconds and CPU, cold and warm.

    python -m tests.bench.bucket [--windows N]

The bucket is an S3 server on loopback in Python, whose own time is most of a cold window's; for a far one the number of
requests counts. `cold`: nothing of the bucket lies on this machine; `copied`: its bodies do, and are looked at again;
`fresh`: they were looked at a moment ago by the same client, where the others open one a window. Each window is a
day of one zone's metric, asked of a new reader that holds no rows.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from orchestration.copy import copy
from tests.faults.warehouse import BASE_DAYS, NOW, ingest, opened
from tests.stand_ins.bad_line import bad_line
from tests.stand_ins.buckets import CREDENTIALS, moto
from warehouse import series
from warehouse.bucket import Bucket
from warehouse.clock import DAY, Window
from warehouse.reader import Reader
from warehouse.storage import Folder, Storage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--windows", type=int, default=200)
    count = parser.parse_args().windows
    os.environ.update(CREDENTIALS)
    with tempfile.TemporaryDirectory() as scratch, moto() as endpoint, bad_line(endpoint) as line:
        home = Path(scratch) / "home"
        ingest(opened(home, NOW), NOW, BASE_DAYS)
        folder = Folder(home)

        def bucket(name: str, fresh_s: float) -> Bucket:
            return Bucket(f"s3://emds/w?endpoint={line.url}", Path(scratch) / name, fresh_s)

        begun = time.perf_counter()
        files, _ = copy(folder, bucket("copy", 0.0))
        print(f"{files} files copied in {time.perf_counter() - begun:.1f} s by {len(line.requests)} requests\n")
        windows = [*_windows(folder, count)]
        print("| windows | requests each | ms each | CPU ms each |\n|---|---|---|---|")
        row = _row(windows, lambda: len(line.requests))
        row("folder", lambda number: folder)
        row("bucket, cold", lambda number: bucket(f"cold-{number}", 2.0))
        row("bucket, copied", lambda number: bucket("copied", 2.0), rounds=2)
        one = bucket("fresh", 3600.0)
        row("bucket, fresh", lambda number: one, rounds=2)


def _windows(storage: Storage, count: int) -> list[tuple[str, str, Window]]:
    """Random days of random series."""
    chance, held = random.Random(1), sorted({place[:2] for place in series.held(storage)})
    found = []
    for _ in range(count):
        metric, zone = chance.choice(held)
        start = NOW - chance.randrange(1, BASE_DAYS) * DAY
        found.append((zone, metric, Window(start, start + DAY)))
    return found


def _row(windows: list[tuple[str, str, Window]], requests: Callable[[], int]) -> Callable[..., None]:
    def row(name: str, storage: Callable[[int], Storage], rounds: int = 1) -> None:
        """Only the last round counts."""
        for _ in range(rounds):
            before, begun, cpu = requests(), time.perf_counter(), time.thread_time()
            for number, (zone, metric, window) in enumerate(windows):
                reader = Reader(storage(number), 1_000_000)
                for file in reader.files(zone, metric, window):
                    reader.rows(file, "net")
        each = (requests() - before) / len(windows), (time.perf_counter() - begun) / len(windows) * 1e3
        print(f"| {name} | {each[0]:.2f} | {each[1]:.2f} | {(time.thread_time() - cpu) / len(windows) * 1e3:.2f} |")

    return row


if __name__ == "__main__":
    main()
