"""Recompute the briefs of all zones from the rows that the API serves, and report every digit that differs.

    python tests/independent/recompute.py http://127.0.0.1:8000 emds_yourkey [ZONE ...]

The script implements docs/brief.md a second time, in exact fractions and with the sentences in words.py. It uses only
the standard library and no code of this project. All zones take about 180 requests of a key's daily quota. The exit
code is 0 if everything is equal, otherwise 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import service
import words
from service import SECONDS

HOUR, DAY = 3600, 86400
WINDOW = 30 * DAY
PATHS = {
    "price": "price",
    "demand": "demand",
    "interchange": "interchange",
    "carbon_intensity": "carbon-intensity",
    "carbon": "carbon",
}
Get = Callable[..., Any]
"""`service.get` or `service.rows_of`, with the URL and the key already given."""


class Row(NamedTuple):
    """A row of a series. `value` is exactly the decimal in the JSON."""

    ts: int
    value: Fraction
    unit: str
    resolution: str

    @property
    def end(self) -> int:
        return self.ts + SECONDS[self.resolution]


def standing(rows: list[Row]) -> list[Row]:
    """Return, in ascending order, the rows that no finer row overlaps."""
    kept: list[Row] = []
    for step in sorted({SECONDS[r.resolution] for r in rows}):
        cells = {cell for r in kept for cell in range(r.ts // 300, -(-r.end // 300))}
        kept += [
            r
            for r in rows
            if SECONDS[r.resolution] == step and not any(c in cells for c in range(r.ts // 300, -(-r.end // 300)))
        ]
    return sorted(kept)


def number(exact: Fraction) -> Fraction:
    """Return `exact` as JSON publishes it, which is the shortest decimal of the nearest double."""
    return Fraction(repr(float(exact)))


def half_up(exact: Fraction, decimals: int) -> Fraction:
    size = Fraction(1, 10**decimals)
    whole = int(abs(exact) / size + Fraction(1, 2)) * size
    return whole if exact >= 0 else -whole


def quantile(pairs: list[tuple[Fraction, int]], tenths: int) -> Fraction:
    """Return the inverse of the weighted distribution of ascending `pairs` at `tenths`.

    If the cut falls exactly between two values, return their mean. Raise ValueError if there are no pairs.
    """
    target, reached = sum(w for _, w in pairs) * tenths, 0
    for place, (value, weight) in enumerate(pairs):
        reached += weight * 10
        if reached == target:
            return (value + pairs[place + 1][0]) / 2
        if reached > target:
            return value
    raise ValueError("empty window")


def rank(pairs: list[tuple[Fraction, int]], x: Fraction) -> Fraction:
    total = sum(w for _, w in pairs)
    below, equal = sum(w for v, w in pairs if v < x), sum(w for v, w in pairs if v == x)
    return Fraction(200 * below + 100 * equal, 2 * total)


def percentile(pairs: list[tuple[Fraction, int]], x: Fraction) -> int:
    if all(v > x for v, _ in pairs):
        return 0
    if all(v < x for v, _ in pairs):
        return 100
    return min(max(int(half_up(rank(pairs, x), 0)), 1), 99)


def too_little(pairs: list[tuple[Fraction, int]], window: int) -> str:
    if len(pairs) < 20:
        return "too_few_samples"
    return "coverage_below_50_pct" if 2 * sum(w for _, w in pairs) < window else ""


def percentage(part: Fraction, base: Fraction, floor: Fraction, name: str, block: dict[str, Any], reason: str) -> None:
    """Add a percentage to `block` as `name`, or null and the reason."""
    if base < floor:
        block[name], block[f"{name}_reason"] = None, f"{reason}_{'not_positive' if base <= 0 else 'near_zero'}"
        return
    exact, decimals = 100 * part / base, 1
    if exact and not half_up(exact, 1):  # A value that is too small for one decimal keeps its first digit.
        while abs(exact) * 10**decimals < 1:
            decimals += 1
    block[name] = half_up(exact, decimals)


def band(x: Fraction, pairs: list[tuple[Fraction, int]], threshold: Fraction) -> str:
    if x > pairs[-1][0] + threshold:
        return "record_high"
    if x < pairs[0][0] - threshold:
        return "record_low"
    at = rank(pairs, x)
    for limit, name in ((10, "very_low"), (25, "low")):
        if at < limit:
            return name
    return "typical" if at <= 75 else "high" if at < 90 else "very_high"


def context(window: list[Row], now: Row, tz: ZoneInfo) -> tuple[dict[str, Any] | str, Fraction]:
    """Return the block, or the reason why it is omitted, and the largest change that counts as flat."""
    pairs = sorted((r.value, min(r.end, now.ts) - r.ts) for r in window)
    reason = too_little(pairs, WINDOW)
    if reason:
        return reason, Fraction(1)
    p10, median, p90 = (quantile(pairs, tenths) for tenths in (1, 5, 9))
    threshold, total, x = max(Fraction(1), (p90 - p10) / 20), sum(w for _, w in pairs), now.value
    hour = datetime.fromtimestamp(now.ts, tz).hour
    same = sorted((r.value, min(r.end, now.ts) - r.ts) for r in window if datetime.fromtimestamp(r.ts, tz).hour == hour)
    block: dict[str, Any] = {
        "percentile": percentile(pairs, x),
        "percentile_exact": half_up(rank(pairs, x), 2),
        "percentile_same_hour": None,
        "band": band(x, pairs, threshold),
        "ties_pct": half_up(Fraction(100 * sum(w for v, w in pairs if v == x), total), 1),
        "vs_median": number(x - median),
        "median": number(median),
        "p10": number(p10),
        "p90": number(p90),
        "min": number(pairs[0][0]),
        "max": number(pairs[-1][0]),
        "sample_count": len(pairs),
        "coverage": half_up(Fraction(total, WINDOW), 2),
        "confidence": "normal" if total * 10 >= WINDOW * 9 else "low",
        "window_start": now.ts - WINDOW,
        "window_end": now.ts,
        "window_days_actual": half_up(Fraction(now.ts - window[0].ts, DAY), 1),
        "unit": now.unit,
    }
    percentage(x - median, median, threshold, "vs_median_pct", block, "median")
    reason = too_little(same, WINDOW // 24)
    if reason:
        block["percentile_same_hour_reason"] = reason
    else:
        block["percentile_same_hour"] = percentile(same, x)
    return block, threshold


def trend(rows: list[Row], now: Row, threshold: Fraction) -> dict[str, Any] | str:
    before = [r for r in rows if r.ts <= now.ts - DAY < r.end]
    if not before:
        return "no_value_24h_ago"
    base, change = before[-1], now.value - before[-1].value
    direction = "flat" if abs(change) <= threshold else "rising" if change > 0 else "falling"
    block: dict[str, Any] = {
        "direction": direction,
        "change": number(change),
        "from_value": number(base.value),
        "from_ts": base.ts,
        "flat_threshold": number(threshold),
        "unit": now.unit,
    }
    percentage(change, base.value, threshold, "change_pct", block, "from")
    return block


def check_metric(rows_of: Get, brief: dict[str, Any], metric: str, tz: ZoneInfo, ties: dict[str, bool]) -> list[str]:
    """Return the differences between a metric of `brief` and its rows.

    Record in `ties` whether many rows equal the value.
    """
    zone, as_of = brief["zone"], brief["as_of"]
    stated = brief["current"].get(metric)
    if f"{metric}_omitted" in brief:
        return [] if stated is None else [f"{metric}: current and omitted"]
    start = (stated["ts"] if stated else as_of) - WINDOW
    answer = rows_of(f"/v1/{PATHS[metric]}/{zone}", max(0, start), as_of + 1, as_of=as_of)
    rows = standing([Row(r["ts"], Fraction(r["value"]), r["unit"], r["resolution"]) for r in answer])
    if not rows or stated is None:
        return [] if not rows and stated is None else [f"{metric}: current {stated}, but {len(rows)} rows"]
    now = rows[-1]
    window = [r for r in rows if now.ts - WINDOW <= r.ts < now.ts]
    weights = [(r.value, min(r.end, now.ts) - r.ts) for r in window]
    ties[metric] = 4 * sum(w for v, w in weights if v == now.value) > sum(w for _, w in weights)
    block, threshold = context(window, now, tz)
    moved = trend(rows, now, threshold)
    wrong = differences(metric, {k: stated[k] for k in ("value", "unit", "ts", "resolution")}, now._asdict())
    for kind, left_out, computed in (("context", "context_omitted", block), ("trend_24h", "trend_omitted", moved)):
        if isinstance(computed, str):
            wrong += differences(
                f"{metric} {kind}",
                {left_out: brief[left_out].get(metric), kind: brief[kind].get(metric)},
                {left_out: computed, kind: None},
            )
        else:
            wrong += differences(f"{metric} {kind}", brief[kind].get(metric) or {}, computed)
    return wrong


def differences(where: str, published: dict[str, Any], computed: dict[str, Any]) -> list[str]:
    return [
        f"{where}.{name}: published {format_value(published.get(name))}, computed {format_value(computed.get(name))}"
        for name in sorted({*published, *computed})
        if published.get(name) != computed.get(name)
    ]


def format_value(value: Any) -> str:
    return repr(float(value)) if isinstance(value, Fraction) else repr(value)


def check_mix(rows_of: Get, brief: dict[str, Any]) -> list[str]:
    """Check that the mix is that of the newest interval that has started."""
    if not brief["generation_mix"]:
        return []
    ts, as_of = brief["generation_mix_ts"], brief["as_of"]
    rows = rows_of(f"/v1/generation/{brief['zone']}", ts, as_of + 1, as_of=as_of)
    mix = {r["fuel"]: r["value"] for r in rows if r["ts"] == max(row["ts"] for row in rows)}
    computed = {
        "generation_mix": mix,
        "generation_mix_ts": max(r["ts"] for r in rows),
        "generation_mix_unit": rows[0]["unit"],
    }
    return differences("mix", {name: brief[name] for name in computed}, computed)


def numbers_in(node: Any) -> set[Fraction]:
    if isinstance(node, dict):
        return set().union(*(numbers_in(part) for part in node.values()))
    return {Fraction(node)} if isinstance(node, int | Fraction) and not isinstance(node, bool) else set()


def texts_in(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for part in node.values() for text in texts_in(part)]
    return [node] if isinstance(node, str) and node else []


def check_summary(brief: dict[str, Any]) -> list[str]:
    """Check that the summary equals its parts, and that the rest of the JSON contains every number of the summary.

    Such a number may also be a word of a time or a name.
    """
    summary = brief["summary"]
    others = {name: part for name, part in brief.items() if name not in ("summary", "summary_parts")}
    kept = sorted(texts_in({k: v for k, v in others.items() if k != "coverage_note"}), key=len, reverse=True)
    for text in [*kept, *(text[11:] for text in kept if re.match(r"\d{4}-\d\d-\d\d ", text))]:
        summary = summary.replace(text, " ")
    summary = re.sub(", |24 hours earlier|gCO2", " ", summary)
    spoken = {abs(Fraction(n.replace(",", ""))) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", summary)}
    lonely = spoken - set(map(abs, numbers_in(others)))
    joined = (
        [] if brief["summary"] == " ".join(brief["summary_parts"].values()) else ["summary: its parts say otherwise"]
    )
    return joined + [f"summary: {format_value(n)} stands nowhere else" for n in sorted(lonely)]


def check_words(brief: dict[str, Any], tz: ZoneInfo, ties: dict[str, bool]) -> list[str]:
    """Compare the sentences about each metric and the headline with those of words.py.

    The headline must contain at most three values.
    """
    spoken = [m for m in brief["current"] if m != "carbon" or "carbon_intensity" not in brief["current"]]
    computed = {m: words.part(brief, m, tz, ties.get(m, False)) for m in spoken}
    wrong = differences("words", {m: brief["summary_parts"].get(m) for m in computed}, computed)
    headline = brief["headline"].replace(" (simulated): ", ": ")
    wrong += differences("words", {"headline": headline}, {"headline": words.headline(brief, ties)})
    said = re.sub(r"\d+ days|gCO2", "", headline.partition(": ")[2])
    count = len(re.findall(r"\d[\d,.]*", said))
    return [*wrong, f"headline: {count} numbers"] if count > 3 else wrong


def check_latest(brief: dict[str, Any], latest: dict[str, Any]) -> list[str]:
    """Check that the latest values of the same publication are the current values of the brief."""
    if latest["updated"] != brief["as_of"]:
        return []
    published, current = ({m: v["value"] for m, v in part.items()} for part in (latest["metrics"], brief["current"]))
    wrong = differences("latest", published, current)
    for metric, value in latest["metrics"].items():
        block = brief["context"].get(metric)
        wrong += differences(
            f"latest {metric}", {"percentile": value["percentile"]}, {"percentile": block and block["percentile"]}
        )
    return wrong


def main(argv: list[str]) -> int:
    """Check the named zones, or all, print a line per zone and return the exit code."""
    get, rows_of = (partial(ask, argv[0], argv[1]) for ask in (service.get, service.rows_of))
    zones = {zone["id"]: ZoneInfo(zone["tz"]) for zone in get("/v1/zones")["zones"]}
    failed = checked = 0
    for zone in argv[2:] or zones:
        brief, latest = get(f"/v1/brief/{zone}"), get(f"/v1/latest/{zone}")
        if brief is None or latest is None:
            print(f"{zone}: not published")
            continue
        ties: dict[str, bool] = {}
        wrong = [line for metric in PATHS for line in check_metric(rows_of, brief, metric, zones[zone], ties)]
        wrong += check_mix(rows_of, brief) + check_summary(brief) + check_latest(brief, latest)
        wrong += check_words(brief, zones[zone], ties)
        checked += 1
        failed += bool(wrong)
        print(
            f"{zone}: {'differs' if wrong else 'equal'} "
            f"({len(brief['context'])} context blocks, {len(brief['trend_24h'])} trends)"
        )
        for line in wrong:
            print(f"  {line}")
    print(f"{checked} zones checked, {failed} differ")
    return int(failed > 0 or not checked)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
