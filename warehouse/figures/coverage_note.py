"""A brief's `coverage_note`: how much of the window each context block rests on, in words.

It is made from the brief's own members, so that a shortened brief gets a note about what is left in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_REASONS = {
    "too_few_samples": "fewer than 20 values in the window",
    "coverage_below_50_pct": "less than half of the window observed",
    "no_rows": "no value is known",
    "withheld_by_terms": "its publisher's terms withhold it",
    "unreadable": "its stored rows cannot be read at present",
    "sample": "a sample leaves it out",
}
"""By the reasons of `context_omitted`."""


def coverage_note(brief: Mapping[str, Any]) -> str:
    """Which context blocks rest on the whole window, which on part of it, and which are left out, and why."""
    blocks: Mapping[str, Any] = brief["context"]
    days = brief["context_window_requested_days"]
    full = [_noun(m) for m, block in blocks.items() if block["confidence"] == "normal"]
    notes = [f"Nine tenths of the last {days} days or more observed for {listed(full)}."] if full else []
    notes += [
        f"Only {block['coverage']} of the window observed for {_noun(m)} "
        f"({block['sample_count']} values): low confidence."
        for m, block in blocks.items()
        if block["confidence"] == "low"
    ]
    notes += [f"No context for {_noun(m)}: {_REASONS[reason]}." for m, reason in brief["context_omitted"].items()]
    return " ".join(notes) or "The zone publishes no metric that is ranked."


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def _noun(metric: str) -> str:
    return metric.replace("_", " ")
