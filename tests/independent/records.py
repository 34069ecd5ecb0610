"""Recompute a zone's price records from the rows that the service serves, and report differences.

    python tests/independent/records.py URL KEY ZONE [FIRST_DAY]

The script shares no code with the service. The exit code is 1 if a record differs, otherwise 0.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

SECONDS = {"5m": 300, "15m": 900, "30m": 1800, "1h": 3600}
Get = Callable[[str], dict[str, Any]]
Row = dict[str, Any]


def expected(rows: list[Row], tz: str) -> dict[str, dict[str, Any]]:
    """Return the records of ascending `rows` for all time and for each year in `tz`."""
    periods: dict[str, list[Row]] = {"all": rows}
    for row in rows:
        periods.setdefault(str(datetime.fromtimestamp(row["ts"], ZoneInfo(tz)).year), []).append(row)
    return {period: _of_period(own) for period, own in periods.items() if own}


def _of_period(rows: list[Row]) -> dict[str, Any]:
    high = max(rows, key=lambda row: (row["value"], -row["ts"]))
    low = min(rows, key=lambda row: (row["value"], row["ts"]))
    best, run = None, None
    for row in rows:
        if row["value"] >= 0:
            continue
        end = row["ts"] + SECONDS[row["resolution"]]
        run = (run[0], end) if run and run[1] == row["ts"] else (row["ts"], end)
        if best is None or run[1] - run[0] > best[1] - best[0]:
            best = run
    longest = None if best is None else {"value": (best[1] - best[0]) / 3600, "ts": best[0], "end": best[1]}
    return {"highest": _point(high), "lowest": _point(low), "longest_negative": longest}


def _point(row: Row) -> dict[str, Any]:
    return {"value": row["value"], "ts": row["ts"]}


def differences(get: Get, zone: str, start: str) -> list[str]:
    """Return a line for each record that differs. `start` is the first day of history."""
    tz = next(each["tz"] for each in get("/v1/zones")["zones"] if each["id"] == zone)
    answer = get(f"/v1/records/{zone}?metric=price")
    until = answer["all_time"]["until"]
    rows: list[Row] = []
    cursor = f"start={start}"
    while cursor:
        page = get(f"/v1/price/{zone}?limit=5000&{cursor}")
        rows += page["data"]
        cursor = f"start={page['end']}" if page["truncated"] else ""
    rows = [row for row in rows if str(datetime.fromtimestamp(row["ts"], ZoneInfo(tz)).date()) <= until]
    told = {"all": answer["all_time"], **answer["years"]}
    lines = []
    for period, records in expected(rows, tz).items():
        for kind, record in records.items():
            shown = told.get(period, {}).get(kind)
            mine = None if shown is None else {name: shown[name] for name in record or shown}
            if mine != record:
                lines.append(f"{zone} {period} {kind}: {mine} is not {record}")
    return lines


def main(url: str, key: str, zone: str, start: str = "2015") -> int:
    """Query a running service, print the differences and return the exit code."""

    def get(path: str) -> dict[str, Any]:
        request = urllib.request.Request(f"{url}{path}", headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request) as answer:
            body: dict[str, Any] = json.load(answer)
            return body

    lines = differences(get, zone, start)
    print("\n".join(lines) or f"{zone}: every record is that of the rows")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
