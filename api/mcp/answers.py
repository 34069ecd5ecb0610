"""What a tool's work gives, and how its structure spells instants. Values and pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warehouse.clock import iso

INSTANTS = frozenset({"start", "end", "from", "until", "valid_until", "next_auction_by", "min_ts", "max_ts"})
"""Members of windows and statistics that are Unix seconds, besides `ts`."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer: its text, its structured content, its rows, and since when it is overdue."""

    text: str
    structured: bytes
    """A JSON object."""
    rows: int = 1
    stale_since: int | None = None


@dataclass(frozen=True, slots=True)
class ToolQuery:
    """A call that can be answered: what it costs, and the work."""

    price: str
    """A key of `api.access.prices.PRICES`; empty for what is free."""
    path: str
    """The REST path that gives the same."""
    work: Callable[[bool], ToolAnswer]
    """Takes whether a sample is wanted."""
    kept: str = ""
    """What a sample holds."""


def with_times(stated: Any, instants: frozenset[str] = frozenset()) -> Any:
    """The same JSON value with ISO 8601 in UTC beside every instant: models misread Unix seconds.

    `time` stands beside `ts`, `start_time` beside `start` where `instants` names it.
    """
    if isinstance(stated, list):
        return [with_times(part, instants) for part in stated]
    if not isinstance(stated, dict):
        return stated
    timed = {name: with_times(part, instants) for name, part in stated.items()}
    for name in stated:
        if name in instants and isinstance(stated[name], int):
            timed[f"{name.removesuffix('_ts')}_time"] = iso(stated[name])
    return timed | {"time": iso(stated["ts"])} if isinstance(stated.get("ts"), int) else timed
