"""Recompute the windows of all zones from the rows that the API serves, and report differences.

    python tests/independent/windows.py http://127.0.0.1:8000 emds_yourkey [ZONE ...]

The script implements docs/windows.md a second time, in exact fractions and by brute force. It uses only the standard
library and no code of this project. A zone takes up to 28 requests of a key's daily quota, or 37 if it has a share of
wind and solar. The exit code is 0 if everything is equal, otherwise 1.
"""

from __future__ import annotations

import sys
from datetime import datetime
from fractions import Fraction
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

from service import SECONDS, get

HOUR = 3600
QUESTIONS: list[dict[str, object]] = [
    *({"hours": hours} for hours in (1, 2, 3, 4, 6, 8)),
    *({"hours": hours, "find": "highest"} for hours in (1, 3)),
    {"hours": 2, "within": "7h"},
    {"hours": 2, "between": "22:15-07:00"},
    {"kwh": 22, "kw": "7.4"},
    *({"slots": count} for count in (1, 5)),
    {"slots": 3, "find": "highest", "between": "07:00-22:00"},
    {"metric": "wind_solar"},
    {"metric": "wind_solar", "hours": 5, "find": "lowest"},
    {"metric": "wind_solar", "slots": 4},
]
AHEAD = 4 * 24 * HOUR


def horizon(rows: list[dict[str, Any]], start: int, until: int) -> list[tuple[int, int, Fraction]]:
    """Return the known intervals `(start, end, value)` from `start` to `until`, up to the first gap."""
    known: list[tuple[int, int, Fraction]] = []
    for row in rows:
        begin, end = row["ts"], row["ts"] + SECONDS[row["resolution"]]
        if begin == (known[-1][1] if known else start) and begin < until:
            known.append((begin, min(end, until), Fraction(row["value"])))
    return known


def shares(mix: dict[str, Any], demand: dict[str, Any], zone: str) -> list[dict[str, Any]]:
    """Return wind and solar as a percentage of demand from the same publisher, in rows of the longest resolution."""
    load = [row for row in demand["data"] if row.get("source", *demand["sources"][:1]) in mix["sources"]]
    parts: dict[str, list[dict[str, Any]]] = {"demand": load}
    for row in mix["data"]:
        parts.setdefault(row["fuel"], []).append(row)
    every = [row for rows in parts.values() for row in rows]
    resolution = max((row["resolution"] for row in every), key=SECONDS.__getitem__)
    step, found = SECONDS[resolution], []
    for start in sorted({row["ts"] // step * step for row in load}):
        inside = {name: [row for row in rows if row["ts"] // step * step == start] for name, rows in parts.items()}
        if any(sum(SECONDS[row["resolution"]] for row in rows) != step for rows in inside.values()):
            continue
        came = {
            name: sum((Fraction(row["value"]) * SECONDS[row["resolution"]] for row in rows), Fraction(0))
            for name, rows in inside.items()
        }
        used = came.pop("demand") + (came["solar"] if zone == "GB" else 0)
        if used > 0:
            value = rounded(100 * sum(came.values()) / used, 4)
            published = max(row["published_at"] for rows in inside.values() for row in rows)
            found.append({"ts": start, "resolution": resolution, "value": value, "published_at": published})
    return found


def cut(known: list[tuple[int, int, Fraction]], between: str, tz: ZoneInfo) -> list[tuple[int, int, Fraction]]:
    """Return the parts of `known` whose local time in `tz` is within `between`, joined within an interval."""
    first, second = (60 * int(text[:2]) + int(text[3:]) for text in between.split("-"))
    parts: list[tuple[int, int, Fraction]] = []
    for begin, end, value in known:
        for quarter in range(begin, end, 300):
            clock = datetime.fromtimestamp(quarter, tz)
            minute = clock.hour * 60 + clock.minute
            if (minute - first) % 1440 < (second - first) % 1440:
                if parts and parts[-1][1] == quarter > begin:
                    parts[-1] = (parts[-1][0], quarter + 300, value)
                else:
                    parts.append((quarter, quarter + 300, value))
    return parts


def mean(known: list[tuple[int, int, Fraction]], start: int, end: int) -> Fraction:
    """Return the mean of the known values in `[start, end)`, weighted by time."""
    parts = (value * max(0, min(stop, end) - max(begin, start)) for begin, stop, value in known)
    return sum(parts, Fraction(0)) / sum(max(0, min(stop, end) - max(begin, start)) for begin, stop, _ in known)


def blocks(known: list[tuple[int, int, Fraction]], seconds: int) -> dict[int, Fraction]:
    """Return the mean of every block of `seconds` that the known intervals cover, by start."""
    covered = {part for begin, end, _ in known for part in range(begin, end, 60)}
    return {
        begin: mean(known, begin, begin + seconds)
        for begin, _, _ in known
        if covered.issuperset(range(begin, begin + seconds, 60))
    }


def rounded(value: Fraction, digits: int) -> Fraction:
    """Return `value` rounded half to even to `digits` decimals."""
    return Fraction(round(value * 10**digits), 10**digits)


def differences(answer: dict[str, Any], rows: list[dict[str, Any]], tz: ZoneInfo, asked: dict[str, Any]) -> list[str]:
    """Return the differences between an available response and its recomputation from `rows`."""
    wrong: list[str] = []

    def equal(name: str, published: object, computed: object) -> None:
        if published != computed:
            wrong.append(f"{name}: published {published}, computed {computed}")

    seconds = round(answer["hours"] * HOUR)
    span = answer["horizon"]
    within = answer["within_hours"]
    last = rows[-1]["ts"] + SECONDS[rows[-1]["resolution"]]
    end = last if within is None else span["from"] + within * HOUR
    known = horizon(rows, span["from"], end)
    running = known[0][0]
    equal("horizon.until", span["until"], known[-1][1] if known else None)
    equal("horizon.complete", span["complete"], span["until"] == end)
    equal("valid_until", answer["valid_until"], rows[0]["ts"] + SECONDS[rows[0]["resolution"]])
    if answer["basis"] == "operator_forecast":
        last_start = answer["slots"][-1]["start"] if "slots" in asked else answer["start"]
        equal("published_at", answer["published_at"], max(row["published_at"] for row in rows))
        equal("lead_s", answer["lead_s"], last_start - answer["published_at"])
    if "kwh" in asked:
        kwh = Fraction(asked["kwh"])
        equal("hours", seconds, ceil(HOUR * kwh / Fraction(asked["kw"])))
    sign = 1 if answer["find"] == "lowest" else -1
    if "between" in asked:
        whole_ones = known
        known = cut(known, asked["between"], tz)
        known = [part for part in known if part in whole_ones] if "slots" in asked else known
    if "slots" in asked:
        order = sorted(known, key=lambda part: (sign * part[2], part[0]))[: asked["slots"]]
        equal("slots", [(s["start"], s["end"], s["value"]) for s in answer["slots"]], sorted(order))
        best = sum((value * (end - begin) for begin, end, value in order), Fraction(0))
        equal("mean", answer["mean"], rounded(best / sum(end - begin for begin, end, _ in order), 4))
        equal("horizon.mean", span["mean"], rounded(mean(known, known[0][0], known[-1][1]), 4))
        return wrong
    means = blocks(known, seconds)
    order = sorted(means, key=lambda start: (sign * means[start], start))
    whole = mean(known, known[0][0], known[-1][1])
    equal("blocks", answer["blocks"], len(means))
    equal("horizon.mean", span["mean"], rounded(whole, 4))
    chosen: list[int] = []
    for start in order:
        if all(abs(start - other) >= seconds for other in chosen):
            chosen.append(start)
    published = [answer, *answer["alternatives"]]
    equal("starts", [block["start"] for block in published], chosen[:4])
    for block in published:
        start, touched = block["start"], [v for b, e, v in known if b < block["end"] and e > block["start"]]
        equal("end", block["end"], start + seconds)
        equal("mean", block["mean"], rounded(means[start], 4))
        equal("min", block["min"], min(touched))
        equal("max", block["max"], max(touched))
        equal("rank", block["rank"], 1 + sum(sign * other < sign * means[start] for other in means.values()))
        equal("vs_horizon_mean", block["vs_horizon_mean"], rounded(means[start] - whole, 4))
        percent = rounded(100 * (means[start] - whole) / whole, 1) if whole >= 1 and means[start] >= 0 else None
        equal("vs_horizon_mean_pct", block["vs_horizon_mean_pct"], percent)
    if "kwh" in asked:
        equal(
            "cost",
            answer["cost"]["value"],
            rounded(kwh * means[order[0]] / (1000 if answer["metric"] == "price" else 1), 4),
        )
    rank = 1 + sum(sign * other < sign * means[running] for other in means.values()) if running in means else None
    equal("now.rank", answer["now"]["rank"], rank)
    equal("now.in_best", answer["now"]["in_best"], answer["start"] <= running < answer["end"])
    return wrong


def main() -> int:
    """Compare the named zones, or all, print the differences and return the exit code."""
    base, key, *zones = sys.argv[1:]
    clocks = {zone["id"]: ZoneInfo(zone["tz"]) for zone in get(base, key, "/v1/zones")["zones"]}
    failed = available = 0
    for zone in zones or clocks:
        for question in QUESTIONS:
            asked = ({"metric": "carbon_intensity"} if zone == "GB" else {}) | question
            answer = get(base, key, f"/v1/windows/{zone}", **asked)
            if answer is None or not answer["available"]:
                continue
            available += 1
            start = answer["valid_until"] - HOUR
            kind = {"market": "day_ahead"} if answer["basis"] == "auction" else {"kind": "forecast"}
            span: dict[str, object] = {"start": start, "end": start + AHEAD, "limit": 5000, **kind}
            if asked.get("metric") == "wind_solar":
                mix = get(base, key, f"/v1/mix/{zone}", **span | {"start": start - 24 * HOUR})
                rows = shares(mix, get(base, key, f"/v1/demand/{zone}", **span), zone)
            else:
                rows = get(base, key, f"/v1/{answer['metric'].replace('_', '-')}/{zone}", **span)["data"]
            rows = [row for row in rows if row["ts"] >= answer["horizon"]["from"]]
            wrong = differences(answer, rows, clocks[zone], asked)
            failed += bool(wrong)
            for line in wrong:
                sys.stdout.write(f"{zone} {question}: {line}\n")
    sys.stdout.write(f"{available - failed} equal, {failed} different\n")
    return 1 if failed or not available else 0


if __name__ == "__main__":
    sys.exit(main())
