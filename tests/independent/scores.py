"""Recompute the scores of forecasts from the Parquet files of a warehouse, and report differences.

    python tests/independent/scores.py EMDS_HOME

The script implements docs/publishers.md a second time, in exact fractions. It uses pandas and no code of this project.
The exit code is 0 if every value is equal to the last digit, otherwise 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

SECONDS = {"5m": 300, "15m": 900, "30m": 1800, "1h": 3600}
CLOCKS = {
    **dict.fromkeys(
        ("DE-LU", "FR", "ES", "IT-NO", "NL", "BE", "PL", "SE-3", "NO-2", "DK-1", "AT", "CH"), "Europe/Paris"
    ),
    "GB": "Europe/London",
    "AU-NSW": "Australia/Sydney",
    "AU-QLD": "Australia/Brisbane",
    "AU-VIC": "Australia/Melbourne",
    "AU-SA": "Australia/Adelaide",
    "AU-TAS": "Australia/Hobart",
    "US-CAISO": "America/Los_Angeles",
    "US-ERCOT": "America/Chicago",
    "US-SPP": "America/Chicago",
    **dict.fromkeys(("US-NYISO", "US-ISONE", "US-PJM"), "America/New_York"),
}


def rows(home: Path, metric: str, zone: str, *roots: str) -> pd.DataFrame:
    """Return the rows of `metric` in `zone` from the files below the folders `roots`."""
    names = [path for root in roots for path in (home / root / f"metric={metric}" / f"zone={zone}").glob("*.parquet")]
    return pd.concat([pd.read_parquet(name, partitioning=None) for name in names], ignore_index=True)


def readings(table: pd.DataFrame) -> dict[int, tuple[int, Fraction]]:
    """Return the length in seconds and the value of each net row, by start."""
    net = table[table["counterparty"].isna() & table["link"].isna()]
    return {
        int(ts): (SECONDS[str(resolution)], Fraction(repr(value)))
        for ts, resolution, value in zip(net["ts"], net["resolution"], net["value"].tolist(), strict=True)
    }


def mean(known: dict[int, tuple[int, Fraction]], start: int, step: int) -> Fraction | None:
    """Return the mean of an interval by walking from value to value, or None if they do not fill it completely."""
    at, area = start, Fraction(0)
    while at < start + step:
        if at not in known or at + known[at][0] > start + step:
            return None
        seconds, value = known[at]
        area += seconds * value
        at += seconds
    return area / step


def naive_start(ts: int, published: int, tz: ZoneInfo) -> int | None:
    """Return the same local time on the day before publication, in Unix seconds, or None if the clocks skip it."""
    clock, day = datetime.fromtimestamp(ts, tz), datetime.fromtimestamp(published, tz).date() - timedelta(days=1)
    naive = datetime(day.year, day.month, day.day, clock.hour, clock.minute, tzinfo=tz)
    at = int(naive.timestamp())
    shown = datetime.fromtimestamp(at, tz)
    return at if (shown.hour, shown.minute) == (clock.hour, clock.minute) else None


def scores(entry: dict[str, Any], home: Path) -> Iterator[dict[str, Any]]:
    """Yield the scores of each lead of an entry."""
    metric, zone, tz = entry["metric"], entry["zone"], ZoneInfo(CLOCKS[entry["zone"]])
    table = rows(home, f"{metric}_forecast", zone, "series", "history")
    table = table[
        (table["feed"].astype(str) == entry["feed"]) & (table["resolution"].astype(str) == entry["resolution"])
    ]
    actual, capacity = rows(home, metric, zone, "series"), None
    if fuel := entry.get("fuel"):
        table, actual = table[table["fuel"].astype(str) == fuel], actual[actual["fuel"].astype(str) == fuel]
        capacity = installed(home, zone, fuel, entry["end"])
    known, step = readings(actual), SECONDS[entry["resolution"]]
    grid = range(-(-entry["start"] // step) * step, entry["end"], step)
    hours = [{"lead_s": 3600 * hour} for hour in range(1, 1 + len(entry["mae_by_hour"]))]
    for lead in [*entry["leads"], *hours]:
        early = table[table["published_at"] <= table["ts"] - lead["lead_s"]]
        early = early[(early["ts"] >= entry["start"]) & (early["ts"] < entry["end"])]
        newest = early.sort_values(["ts", "published_at", "known_at"]).drop_duplicates("ts", keep="last")
        errors, both, total = [], [], Fraction(0)
        columns = (newest[name].tolist() for name in ("ts", "value", "published_at"))
        for ts, value, published in zip(*columns, strict=True):
            came = mean(known, ts, step)
            if came is None:
                continue
            errors.append(Fraction(repr(value)) - came)
            total += abs(came)
            before = naive_start(ts, int(published), tz)
            naive = None if before is None else mean(known, before, step)
            if naive is not None:
                both.append((abs(errors[-1]), abs(naive - came)))
        found: dict[str, Any] = {"lead_s": lead["lead_s"], "n": len(errors)}
        found |= dict.fromkeys(("coverage", "bias", "mae", "rmse", "wape", "skill"))
        if len(errors) >= 100:
            count, absolute = len(errors), sum(map(abs, errors))
            naive_error = sum(other for _, other in both)
            found |= {
                "coverage": Fraction(count, sum(mean(known, ts, step) is not None for ts in grid)),
                "bias": sum(errors) / Fraction(count),
                "mae": absolute / Fraction(count),
                "rmse": sqrt(sum(error * error for error in errors) / Fraction(count)),
                "wape": 100 * absolute / total if metric == "demand" and total else None,
                "skill": 1 - sum(own for own, _ in both) / naive_error if naive_error else None,
            }
        if fuel:
            found["mae_pct_of_capacity"] = None
            if found["mae"] is not None and capacity:
                found["mae_pct_of_capacity"] = 100 * Fraction(repr(rounded(found["mae"]))) / capacity
        yield {name: rounded(figure) for name, figure in found.items()}


WIND_AND_SOLAR = ("wind", "wind_onshore", "wind_offshore", "solar")


def share(parts: dict[str, dict[int, tuple[int, Fraction]]], zone: str, start: int, step: int) -> Fraction | None:
    """Return wind and solar as a percentage of demand, to four decimals.

    Return None if the rows do not fill the interval completely.
    """
    came = {name: mean(known, start, step) for name, known in parts.items()}
    if None in came.values():
        return None
    load = came.pop("demand") + (came.get("solar", 0) if zone == "GB" else 0)  # type: ignore[operator]
    return Fraction(repr(rounded(100 * sum(came.values()) / load))) if load > 0 else None  # type: ignore[arg-type]


def errors_of_share(entry: dict[str, Any], home: Path) -> list[float | None]:
    """Return the mean absolute errors of the share of wind and solar 1 to 48 hours ahead."""
    zone, span = entry["zone"], range(entry["start"], entry["end"])
    tables, actual = {}, {}
    for metric in ("mix", "demand"):
        table = rows(home, f"{metric}_forecast", zone, "series", "history")
        table = table[(table["source"].astype(str) == entry["source"]) & table["ts"].between(span.start, span.stop - 1)]
        readings_of = rows(home, metric, zone, "series")
        for fuel in WIND_AND_SOLAR if metric == "mix" else ("demand",):
            own, came = (t if fuel == "demand" else t[t["fuel"].astype(str) == fuel] for t in (table, readings_of))
            tables |= {fuel: own} if len(own) else {}
            actual |= {fuel: readings(came)} if len(came) else {}
    step = max(SECONDS[str(r)] for table in (*tables.values(), readings_of) for r in table["resolution"].unique())
    step = max(step, *(seconds for known in actual.values() for seconds, _ in known.values()))
    came_at = {start: share(actual, zone, start, step) for start in span[::step]}
    found: list[float | None] = []
    for hour in range(1, 49):
        parts = {}
        for name, table in tables.items():
            early = table[table["published_at"] <= table["ts"] - 3600 * hour]
            newest = early.sort_values(["ts", "published_at", "known_at"]).drop_duplicates("ts", keep="last")
            parts[name] = readings(newest)
        pairs = [(share(parts, zone, start, step), came) for start, came in came_at.items()]
        errors = [abs(expected - came) for expected, came in pairs if expected is not None and came is not None]
        found.append(rounded(sum(errors) / Fraction(len(errors))) if len(errors) >= 100 else None)
    return found


def installed(home: Path, zone: str, fuel: str, end: int) -> Fraction | None:
    """Return the installed MW of `fuel` in the newest year that began before `end`, or None if none is published."""
    if not (home / "series" / "metric=capacity" / f"zone={zone}").exists():
        return None
    table = rows(home, "capacity", zone, "series")
    table = table[(table["fuel"].astype(str) == fuel) & (table["ts"] < end)].sort_values("ts")
    return Fraction(repr(table["value"].tolist()[-1])) if len(table) else None


def rounded(figure: Any) -> Any:
    """Return `figure` rounded to four decimals, and whole numbers and None unchanged."""
    return figure if figure is None or isinstance(figure, int) else float(round(figure, 4))


def differences(home: Path) -> tuple[list[str], int]:
    """Return the differences of the published document, and the number of values in it."""
    document = json.loads((home / "published" / "publishers.json").read_text())
    entries, wrong, figures = document["scores"], [], 0
    for entry in document["shares"]:
        computed_errors = errors_of_share(entry, home)
        figures += sum(error is not None for error in computed_errors)
        if entry["mae_by_hour"] != computed_errors:
            wrong.append(f"{entry['zone']} share: {entry['mae_by_hour']}, computed {computed_errors}")
    for entry in entries:
        computed_leads = list(scores(entry, home))
        by_hour = [found["mae"] for found in computed_leads[len(entry["leads"]) :]]
        if by_hour != entry["mae_by_hour"]:
            wrong.append(f"{entry['zone']} {entry['metric']}: {entry['mae_by_hour']}, computed {by_hour}")
        for published, computed in zip(entry["leads"], computed_leads, strict=False):
            figures += sum(of is not None for of in published.values())
            if published != computed:
                wrong.append(f"{entry['zone']} {entry['metric']} {entry['feed']}: {published}, computed {computed}")
    return wrong, figures


def main() -> int:
    """Compare every value, print the differences and return the exit code."""
    wrong, figures = differences(Path(sys.argv[1]))
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    sys.stdout.write(f"{figures} figures, {len(wrong)} leads differ\n")
    return 1 if wrong or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
