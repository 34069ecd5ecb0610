"""What the tests of all sources share: the recorded answers beside the project, where they are, and their expected rows."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.sources import feed
from warehouse.clock import days_of
from warehouse.market import Request
from warehouse.schema import Rows


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded answers; tests that need it are skipped where it is missing."""
    shared = Path(os.environ.get("EMDS_SHARED") or Path(__file__).resolve().parents[2] / "../shared")
    if not (shared / "recordings" / "MANIFEST.json").exists():
        pytest.skip("no recordings beside the project")
    return shared / "recordings"


@pytest.fixture
def recorded(recordings: Path) -> Callable[[str], dict[str, Any]]:
    """The manifest's entry of a file."""
    entries = {entry["file"]: entry for entry in json.loads((recordings / "MANIFEST.json").read_bytes())}
    return lambda file: entries[file]


@pytest.fixture
def parsed(recordings: Path, recorded: Callable[[str], dict[str, Any]]) -> Callable[..., Rows]:
    """The rows of a recorded file, parsed as the manifest says it was asked for, or by another feed."""

    def parse(file: str, feed_id: str | None = None) -> Rows:
        entry = recorded(file)
        found = feed(feed_id or entry["feed"])
        days = days_of(entry["day"]) if entry["day"] else ()
        return found.parse((recordings / file).read_bytes(), Request(found.id, "", days=days, zone=entry["zone"]))

    return parse


@pytest.fixture
def expected(recordings: Path) -> Callable[[str], set[tuple[object, ...]]]:
    """The canonical rows that a recorded file states, borders left aside: (metric, zone, fuel, ts, value, unit, resolution)."""

    def rows(file: str) -> set[tuple[object, ...]]:
        with (recordings / file).with_suffix(".expected.csv").open() as lines:
            return {
                (r["metric"], r["zone"], r["fuel"] or None, int(r["ts"]), float(r["value"]), r["unit"], r["resolution"])
                for r in csv.DictReader(lines)
            }

    return rows


@pytest.fixture
def stated() -> Callable[[Rows], set[tuple[object, ...]]]:
    """The same of parsed rows."""

    def rows_of(rows: Rows) -> set[tuple[object, ...]]:
        return {(r.metric, r.zone, r.fuel, r.ts, r.value, r.unit, r.resolution) for r in rows if r.counterparty is None}

    return rows_of
