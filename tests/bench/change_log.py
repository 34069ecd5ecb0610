"""What the log of changes costs a fold: its note, its entry, and finding out what changed.

    python -m tests.bench.change_log [FOLDS]

Folds that bring an hour of 5-minute rows each into a month that holds 20 days of them, in turn with the log and without
it, each in a folder of its own on the disk of temporary files. The log's newest segment is put anew with each entry:
its length goes through all values from 1 to 256. No budget: exit 0.
"""

from __future__ import annotations

import sys
import tempfile
import time
from statistics import mean, median
from unittest.mock import patch

from warehouse import change_log, vintages
from warehouse.clock import DAY, HOUR, instant
from warehouse.schema import Rows, SeriesKey
from warehouse.series import fold
from warehouse.storage import Folder

START = instant("2026-10-01T00:00:00Z")
HELD = 20 * DAY // 300


def _fold(storage: Folder, first: int, count: int, turn: int) -> None:
    rows = Rows()
    stamps = [START + (first + i) * 300 for i in range(count)]
    rows.extend(SeriesKey("US-CAISO", "demand", "MW", "5m"), stamps, [20_000.0 + turn + i for i in range(count)])
    fold(storage, "caiso.demand", rows, {}, {"caiso.demand": 1}, START + turn, "simulated")


def measure(folds: int) -> dict[str, list[tuple[float, float]]]:
    """CPU and wall seconds of each fold, `with` the log and `without`."""
    took: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        places = {"without": Folder(one), "with": Folder(other)}
        for storage in places.values():
            _fold(storage, 0, HELD, 0)
        for turn in range(1, folds + 1):
            for name, storage in places.items():
                silent = name == "without"
                with patch.object(vintages, "_noted", (lambda *_: None) if silent else vintages._noted):
                    cpu, wall = time.process_time(), time.perf_counter()
                    _fold(storage, HELD + turn % 200 * (HOUR // 300), HOUR // 300, turn)
                    took[name].append((time.process_time() - cpu, time.perf_counter() - wall))
        told = int(change_log.newest(places["with"]).rpartition("-")[2])
        assert told == folds + 1, f"{told} entries of {folds + 1} folds"
    return took


def main() -> int:
    """Prints a line for each; 0."""
    took = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
    print(f"{'':8} {'CPU ms':>8} {'wall ms':>8}   of a fold: mean CPU, median wall")
    for name, each in took.items():
        print(f"{name:8} {mean(c for c, _ in each) * 1000:8.2f} {median(w for _, w in each) * 1000:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
