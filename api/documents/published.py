"""The published documents of a zone and of all zones: their sample forms, and when they are overdue."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import orjson

from api.documents.cache import Document, DocumentCache
from api.http.problems import Problem
from warehouse.clock import LAST_INSTANT
from warehouse.coverage_note import coverage_note
from warehouse.market import Metric


def document(documents: DocumentCache, name: str) -> Document:
    """A published document. Raises Problem 503 where it does not exist yet."""
    published = documents.get(name)
    if published is None:
        raise Problem(
            "not-yet-available",
            f"{name.removesuffix('.json')} does not exist yet: nothing has been ingested for it so far.",
            headers=[("Retry-After", "60")],
        )
    return published


def sample_latest(stated: dict[str, Any]) -> dict[str, Any]:
    """The price alone, the zone's attribution and licence with it."""
    metrics = {metric: value for metric, value in stated["metrics"].items() if metric == Metric.PRICE}
    left = {name: member for name, member in stated.items() if not name.startswith("generation_mix")}
    return {**left, "metrics": metrics, "sample": True}


def sample_brief(stated: dict[str, Any]) -> dict[str, Any]:
    """One context block with its trend (the price's where there is one), and the summary's sentences about it."""
    blocks = ("context", "trend_24h")
    kept = next((m for name in blocks for m in ("price", *stated.get(name, {})) if m in stated.get(name, {})), None)
    taken = {m for name in blocks for m in stated.get(name, {}) if m != kept}
    document = dict(stated)
    for name, omitted in zip(blocks, ("context_omitted", "trend_omitted"), strict=True):
        there = stated.get(name, {})
        document[name] = {m: block for m, block in there.items() if m == kept}
        document[omitted] = stated.get(omitted, {}) | {m: "sample" for m in there if m != kept}
    # The whole summary's own sentences, so that a sample cannot say otherwise.
    parts, figures = (
        {m: part for m, part in stated.get(name, {}).items() if m not in taken}
        for name in ("summary_parts", "summary_figures")
    )
    parts["sample"] = "This is a sample: the brief ranks every metric that the zone publishes."
    return {
        **document,
        "sample": True,
        "summary": " ".join(parts.values()),
        "summary_parts": parts,
        "summary_figures": figures,
        "coverage_note": coverage_note(document),
    }


def sample_snapshot(stated: dict[str, Any]) -> dict[str, Any]:
    """The price of every zone that has one."""
    return {**filtered_snapshot(stated, (Metric.PRICE,), None), "sample": True}


def filtered_snapshot(
    stated: dict[str, Any], metrics: Collection[str] | None, zones: Collection[str] | None
) -> dict[str, Any]:
    """The snapshot of some metrics and zones, None for all; the mix belongs to generation.

    Its `valid_until` and those of its zones are of the figures that it keeps.
    """
    kept = {
        zone: _of_metrics(member, metrics) for zone, member in stated["zones"].items() if zones is None or zone in zones
    }
    ends = [end for member in kept.values() for end in _ends(member)]
    return {**stated, "valid_until": min(ends, default=stated["valid_until"]), "zones": kept}


def _of_metrics(member: dict[str, Any], metrics: Collection[str] | None) -> dict[str, Any]:
    """A zone of the snapshot with some of its figures."""
    if metrics is None:
        return member
    mix = Metric.GENERATION in metrics
    left = {name: part for name, part in member.items() if mix or not name.startswith("generation_mix")}
    left["metrics"] = {metric: value for metric, value in member["metrics"].items() if metric in metrics}
    ends = _ends(left)
    return left | ({"valid_until": min(ends)} if ends else {})


def _ends(member: dict[str, Any]) -> list[int]:
    """When each figure of a zone is due anew."""
    figures = [*member["metrics"].values(), member.get("generation_mix", {})]
    return [figure["expected_by"] for figure in figures if "expected_by" in figure]


def sampled(document: Document, key: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> Document:
    """The sample form of a document, made once a publication."""
    form: Document = document.derive(
        key, lambda whole: Document(whole.name, orjson.dumps(make(whole.json)), whole.identity)
    )
    return form


def stale_after(document: Document) -> int:
    """The instant after which a document's figures are overdue."""
    return overdue_after(document.json)


def overdue_after(stated: dict[str, Any]) -> int:
    """The instant after which the figures of a body are overdue: `valid_until`, or the first `expected_by` in it."""
    ends = [stated.get("valid_until"), *(value.get("expected_by") for value in stated.get("metrics", {}).values())]
    return min((end for end in ends if end is not None), default=LAST_INSTANT)
