"""Check, at many times with irregular values, that a brief's words and numbers never contradict each other."""

from __future__ import annotations

import re

import numpy as np
import orjson

from assets.documents.publish import publish
from tests.assets.published_zones import DAY, HOUR, START
from warehouse.store import artefact


def numbers_in(node) -> set[float]:
    if isinstance(node, dict):
        return set().union(*(numbers_in(v) for v in node.values()))
    return {float(node)} if isinstance(node, int | float) else set()


def texts_in(node) -> list[str]:
    if isinstance(node, dict):
        return [text for v in node.values() for text in texts_in(v)]
    return [node] if isinstance(node, str) and node else []


def said_only(brief) -> set[float]:
    """Return the sizes that only the summary contains. Times and units also occur verbatim in other fields."""
    summary = brief["summary"]
    others = {k: v for k, v in brief.items() if k not in ("summary", "summary_parts", "coverage_note")}
    kept = texts_in(others)
    clocks = [text[11:] for text in kept if re.match(r"\d{4}-\d\d-\d\d ", text)]
    for text in sorted(kept, key=len, reverse=True) + clocks:
        summary = summary.replace(text, " ")
    summary = re.sub(r"(?<=\d),(?=\d{3})", "", summary).replace("24 hours earlier", "").replace("gCO2", "")
    return {float(n) for n in re.findall(r"\d+(?:\.\d+)?", summary)} - {abs(n) for n in numbers_in(others)}


def sign(number) -> int:
    return (number > 0) - (number < 0)


def trends(brief, metric) -> str:
    """Return the words for a change within a day. For a flow they depend on its direction."""
    value, trend = brief["current"][metric]["value"], brief["trend_24h"][metric]
    if trend["direction"] == "flat":
        return "little changed from 24 hours earlier"
    exporting = metric == "interchange" and value < 0
    if metric == "interchange" and trend["from_value"] * (-1 if exporting else 1) < 0:
        return "They compare"
    return " up " if (trend["direction"] == "rising") != exporting else " down "


def contradictions(brief, now) -> list[str]:
    """Return the contradictions in a brief: ranks with extremes, directions with changes, words with numbers."""
    agree = {"as_of": brief["as_of"] == now, "parts": brief["summary"] == " ".join(brief["summary_parts"].values())}
    for metric, figures in brief["summary_figures"].items():
        if "vs_median" in figures:
            agree[f"{metric} sum"] = abs(figures["value"] - figures["median"] - figures["vs_median"]) < 1e-9
    for metric, block in brief["context"].items():
        value, percentile = brief["current"][metric]["value"], block["percentile"]
        agree |= {
            f"{metric} percentile": 0 <= percentile <= 100,
            f"{metric} lowest": (percentile == 0) == (value < block["min"]),
            f"{metric} highest": (percentile == 100) == (value > block["max"]),
            f"{metric} order": block["min"] <= block["p10"] <= block["median"] <= block["p90"] <= block["max"],
            f"{metric} median": sign(block["vs_median"]) == sign(value - block["median"]),
            f"{metric} reason": (block["vs_median_pct"] is None) == ("vs_median_pct_reason" in block),
        }
    for metric, trend in brief["trend_24h"].items():
        flat = abs(trend["change"]) <= trend["flat_threshold"]
        agree |= {
            f"{metric} direction": trend["direction"]
            == ("flat" if flat else "rising" if trend["change"] > 0 else "falling"),
            f"{metric} share": trend["change_pct"] is None or sign(trend["change_pct"]) == sign(trend["change"]),
            f"{metric} change": sign(trend["change"]) == sign(brief["current"][metric]["value"] - trend["from_value"]),
        }
    agree |= {f"{metric} ahead": value["ts"] <= now for metric, value in brief["current"].items()}
    moved = [trends(brief, metric) for metric in brief["trend_24h"] if metric != "carbon"]
    for words in (" up ", " down ", "little changed from 24 hours earlier", "They compare"):
        agree[words] = brief["summary"].count(words) == moved.count(words)
    agree["negative"] = (brief["current"].get("price", {"value": 0})["value"] < 0) == bool(
        re.search(r"wholesale price (is|was) minus", brief["summary"])
    )
    agree["blocks"] = not brief["context"].keys() & brief["context_omitted"].keys()
    agree["trends"] = not brief["trend_24h"].keys() & brief["trend_omitted"].keys()
    return [name for name, holds in agree.items() if not holds]


def rough(random, count):
    """Return values with plateaus, zeros, negatives, spikes and gaps."""
    values = np.round(random.normal(20, 60, count).cumsum() / 8 % 220 - 60, int(random.integers(0, 6)))
    values[random.random(count) < 0.15] = 0
    values[random.random(count) < 0.01] *= 1000
    holes = random.random(count) < random.choice([0.0, 0.05, 0.45])
    if random.random() < 0.3:
        holes[count // 3 : count // 2] = True
    return [None if hole else float(v) for v, hole in zip(values, holes, strict=True)]


def test_many_instants_without_contradiction(world, monkeypatch, thorough):
    count = 1000 if thorough else 150
    random = np.random.default_rng(20261120)
    hours = 24 * 75
    for zone in ("FR", "AU-SA", "GB"):
        for metric in ("price", "demand", "interchange"):
            world.fold(zone, metric, START, rough(random, hours))
    world.fold("GB", "carbon_intensity", START, rough(random, hours * 2), "30m")
    for fuel in ("gas", "wind", "imports"):
        world.fold("GB", "generation", START, rough(random, hours * 2), "30m", fuel=fuel)
    read = []
    monkeypatch.setattr(artefact, "put", lambda storage, name, body, version: read.append((name, body)) or True)
    for instant in random.integers(START - HOUR, START + 80 * DAY, count).tolist():
        read.clear()
        publish(world.storage, instant, [("FR", "AU-SA", "GB")[instant % 3]])
        for name, whole in read:
            body = whole
            assert b"NaN" not in body
            assert b"Infinity" not in body
            for absent in (b'_pct":null', b'percentile":null', b'hour":null'):
                body = body.replace(absent, b"")
            assert b"null" not in body or name.startswith("geo/live"), "an hour of a chart, a zone without borders"
            if name.startswith("brief"):
                brief = orjson.loads(whole)
                assert said_only(brief) == set(), brief["summary"]
                assert contradictions(brief, instant) == [], brief
    assert read
