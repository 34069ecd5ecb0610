"""Recomputes every zone's windows from the prices that the API itself serves, and says where a figure differs.

    python tests/independent/windows.py http://127.0.0.1:8000 emds_yourkey [ZONE ...]

Uses the standard library alone and nothing of this project: docs/windows.md is written down here again, in exact
fractions and by brute force. Takes some 18 answers of a key's day for each zone. Exit 0: everything equal; 1: not.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from fractions import Fraction
from typing import Any

HOUR = 3600
PATIENCE = 10
"""Seconds that a refusal for too many calls a second may ask for; more means that the day is used up."""
SECONDS = {"5m": 300, "15m": 900, "30m": 1800, "1h": HOUR}
QUESTIONS: list[dict[str, object]] = [
    *({"hours": hours} for hours in (1, 2, 3, 4, 6, 8)),
    *({"hours": hours, "kind": "highest"} for hours in (1, 3)),
    {"hours": 2, "within": "7h"},
]
AHEAD = 4 * 24 * HOUR


def get(base: str, key: str, path: str, **query: object) -> Any:
    """The decoded body, numbers with a point as fractions; None for 404 and 503."""
    url = f"{base.rstrip('/')}{path}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer, parse_float=Fraction)
    except urllib.error.HTTPError as error:
        if error.code in (404, 503):
            return None
        if error.code != 429 or int(error.headers["Retry-After"]) > PATIENCE:
            raise
        time.sleep(int(error.headers["Retry-After"]))
    return get(base, key, path, **query)


def horizon(rows: list[dict[str, Any]], start: int, until: int) -> list[tuple[int, int, Fraction]]:
    """Known intervals `(start, end, value)` from `start` to `until`, cut at the first gap."""
    known: list[tuple[int, int, Fraction]] = []
    for row in rows:
        begin, end = row["ts"], row["ts"] + SECONDS[row["resolution"]]
        if begin == (known[-1][1] if known else start) and begin < until:
            known.append((begin, min(end, until), Fraction(row["value"])))
    return known


def mean(known: list[tuple[int, int, Fraction]], start: int, end: int) -> Fraction:
    """Weighted by time over `[start, end)`, which is covered."""
    parts = (value * max(0, min(stop, end) - max(begin, start)) for begin, stop, value in known)
    return sum(parts, Fraction(0)) / (end - start)


def blocks(known: list[tuple[int, int, Fraction]], seconds: int) -> dict[int, Fraction]:
    """Start -> mean of every block that the horizon covers."""
    return {begin: mean(known, begin, begin + seconds) for begin, _, _ in known if begin + seconds <= known[-1][1]}


def rounded(value: Fraction, digits: int) -> Fraction:
    """Half to even."""
    return Fraction(round(value * 10**digits), 10**digits)


def differences(answer: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """What an available answer says otherwise than its rows."""
    wrong: list[str] = []

    def equal(name: str, published: object, computed: object) -> None:
        if published != computed:
            wrong.append(f"{name}: published {published}, computed {computed}")

    seconds = answer["hours"] * HOUR
    span = answer["horizon"]
    within = answer["within_hours"]
    last = rows[-1]["ts"] + SECONDS[rows[-1]["resolution"]]
    asked = last if within is None else span["from"] + within * HOUR
    known = horizon(rows, span["from"], asked)
    equal("horizon.until", span["until"], known[-1][1] if known else None)
    equal("horizon.complete", span["complete"], span["until"] == asked)
    equal("valid_until", answer["valid_until"], rows[0]["ts"] + SECONDS[rows[0]["resolution"]])
    means = blocks(known, seconds)
    sign = 1 if answer["kind"] == "lowest" else -1
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
        percent = rounded(100 * (means[start] - whole) / whole, 1) if whole > 0 else None
        equal("vs_horizon_mean_pct", block["vs_horizon_mean_pct"], percent)
    running = known[0][0]
    rank = 1 + sum(sign * other < sign * means[running] for other in means.values()) if running in means else None
    equal("now.rank", answer["now"]["rank"], rank)
    equal("now.in_best", answer["now"]["in_best"], answer["start"] <= running < answer["end"])
    return wrong


def main() -> int:
    """Compares zone by zone; the exit code."""
    base, key, *zones = sys.argv[1:]
    zones = zones or [zone["id"] for zone in get(base, key, "/v1/zones")["zones"]]
    failed = available = 0
    for zone in zones:
        for question in QUESTIONS:
            answer = get(base, key, f"/v1/windows/{zone}", **question)
            if answer is None or not answer["available"]:
                continue
            available += 1
            span = answer["horizon"]
            query = {"start": span["from"], "end": span["from"] + AHEAD, "market": "day_ahead", "limit": 5000}
            wrong = differences(answer, get(base, key, f"/v1/price/{zone}", **query)["data"])
            failed += bool(wrong)
            for line in wrong:
                sys.stdout.write(f"{zone} {question}: {line}\n")
    sys.stdout.write(f"{available - failed} equal, {failed} different\n")
    return 1 if failed or not available else 0


if __name__ == "__main__":
    sys.exit(main())
