"""A net import in words, by the direction of the flow: a big export is "more export", though its number is low."""

from __future__ import annotations

from typing import Literal

from warehouse.figures.context import Band, Direction

Flow = Literal["import", "export"]

BALANCED_MW = 25
"""A net flow of less, either way, is balanced."""

_AMOUNTS: dict[Band, str] = {
    "record_low": "less {} than at any time",
    "very_low": "unusually little {}",
    "low": "less {} than usual",
    "typical": "typical",
    "high": "more {} than usual",
    "very_high": "unusually high {}",
    "record_high": "more {} than at any time",
}
_MIRRORED: dict[Band, Band] = {
    "record_low": "record_high",
    "very_low": "very_high",
    "low": "high",
    "typical": "typical",
    "high": "low",
    "very_high": "very_low",
    "record_high": "record_low",
}


def named(value: float) -> str:
    """The direction of a net import."""
    return "balanced" if is_balanced(value) else "net import" if value > 0 else "net export"


def is_balanced(value: float) -> bool:
    """Whether a net flow is too small to have a direction: the smallest zone's ties carry some 500 MW."""
    return abs(value) < BALANCED_MW


def ranked(value: float, band: Band) -> str:
    """The band of a net import in words, by the direction of the flow; at zero, by the one the window mostly had."""
    exporting = value < 0 or (not value and band in ("high", "very_high", "record_high"))
    return _AMOUNTS[_MIRRORED[band] if exporting else band].format("export" if exporting else "import")


def moved(verb: str, value: float, before: float, direction: Direction) -> str:
    """How a flow changed within a day, for a net import that rose or fell."""
    if value * before < 0:
        return f"A day earlier it was {named(before)}"
    exporting = value < 0 or before < 0
    more = (direction == "rising") != exporting
    return f"It {verb} {'more' if more else 'less'} {'export' if exporting else 'import'} than a day earlier"
