"""Parse bodies with entsoe-py, gridstatus and NEMOSIS for `tests.bench.parsing`, under the peers' own Python.

    .venv-bench/bin/python tests/bench/parsing_peers/parse.py FOLDER

The output is JSON: the CPU seconds of the fastest run and the number of values by name. This script knows nothing of
emds.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import entsoe.parsers
import gridstatus
import nemosis
import nemosis.data_fetch_methods
import pandas
import requests

DAY = "2026-03-03"
SECONDS, RUNS = 1.5, 3
"""The minimum duration of each case in seconds, and its minimum number of runs."""


class Answered:
    """A replacement for the response of `requests.get`, with a body of the folder."""

    status_code = 200

    def __init__(self, content: bytes) -> None:
        self.content, self.text = content, content.decode()

    def raise_for_status(self) -> None:
        """Raise nothing, since the body exists."""


def served(content: bytes, ask: Callable[[], Any]) -> Callable[[], int]:
    """Return a gridstatus call that gets this body and counts its rows."""

    def run() -> int:
        with mock.patch.object(requests, "get", return_value=Answered(content)):
            return len(ask())

    return run


def opened(content: bytes, ask: Callable[[], Any]) -> Callable[[], int]:
    """Return a gridstatus call that reads this workbook and counts the hours with an actual load of all of MISO."""
    read = pandas.read_excel

    def run() -> int:
        with mock.patch.object(pandas, "read_excel", lambda _, **how: read(io.BytesIO(content), **how)):
            return int(ask()["MISO"].notna().sum())

    return run


def compiled(body: bytes, folder: str) -> Callable[[], int]:
    """Return a NEMOSIS call over its cache folder with only the requested columns."""
    (Path(folder) / "PUBLIC_DVD_DISPATCHPRICE_202403010000.CSV").write_bytes(body)
    columns = ["SETTLEMENTDATE", "REGIONID", "INTERVENTION", "RRP"]

    def run() -> int:
        with mock.patch.object(nemosis.data_fetch_methods, "_download_data", return_value=None):
            return len(
                nemosis.dynamic_data_compiler(
                    "2024/03/05 00:00:00",
                    "2024/03/25 00:00:00",
                    "DISPATCHPRICE",
                    folder,
                    select_columns=columns,
                    fformat="csv",
                )
            )

    return run


def cases(folder: Path, cache: str) -> dict[str, Callable[[], int]]:
    """Return each peer's own call for each body."""
    read = {path.name: path.read_bytes() for path in folder.iterdir()}
    text = {name: content.decode() for name, content in read.items() if name != "miso_load"}
    york, california, midcontinent = gridstatus.NYISO(), gridstatus.CAISO(), gridstatus.MISO()
    return {
        "entsoe_load": lambda: len(entsoe.parsers.parse_loads(text["entsoe_load"], process_type="A16")),
        "entsoe_price": lambda: sum(map(len, entsoe.parsers.parse_prices(text["entsoe_price"]).values())),
        "entsoe_flow": lambda: len(entsoe.parsers.parse_crossborder_flows(text["entsoe_flow"])),
        "nyiso_load": served(read["nyiso_load"], lambda: york.get_load(DAY)),
        "nyiso_price": served(
            read["nyiso_price"],
            lambda: york.get_lmp(DAY, market="DAY_AHEAD_HOURLY", location_type="zone").query("Location == 'N.Y.C.'"),
        ),
        "caiso_fuel": served(read["caiso_fuel"], lambda: california.get_fuel_mix(DAY)),
        "miso_load": opened(
            read["miso_load"], lambda: midcontinent.get_zonal_load_hourly(pandas.Timestamp(DAY, tz="EST"))
        ),
        "aemo_price": compiled(read["aemo_price"], cache),
    }


def fastest(run: Callable[[], int]) -> tuple[float, int]:
    """Return the CPU seconds of the fastest run, and its count."""
    times: list[float] = []
    count = 0
    while len(times) < RUNS or sum(times) < SECONDS:
        began = time.process_time()
        count = run()
        times.append(time.process_time() - began)
    return min(times), count


def main() -> None:
    """Time every case and print the results."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as cache:
        figures = {name: fastest(run) for name, run in cases(Path(sys.argv[1]), cache).items()}
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
