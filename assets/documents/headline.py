"""The headline of a brief: one sentence that a newspaper could print, with at most three numbers in it.

The price comes first, else demand, else the net flow, else carbon intensity. Of price and demand the rank among the
same hours of the day leads and the rank over all hours follows. "About" holds for ties and rounding.
"""

from __future__ import annotations

from typing import Any

from assets.documents import flow_words
from assets.documents.figures import Figure, ZoneFigures
from assets.documents.spoken_numbers import band_of, grouped, heard
from warehouse.figures.context import WINDOW_DAYS, Context
from warehouse.market.metrics import SCALAR, brief_words

Numbers = dict[str, Any]


def headline(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[str, Numbers]:
    """The sentence, and the numbers in it as they are said. `now` is Unix seconds."""
    place = of_zone.zone["name"].partition(" (")[0]
    mark = "Simulated figures: " if simulated else ""
    for metric in SCALAR:
        figure = of_zone.figures.get(metric)
        if figure is not None:
            numbers: Numbers = {}
            said = _said(metric, figure, now > figure.expected_by, numbers)
            return f"{mark}{place}: {said}{_ranked(metric, figure, numbers)}.", numbers
    return f"{mark}{place}: no price, demand or flow is known at present.", {}


def _said(metric: str, figure: Figure, overdue: bool, numbers: Numbers) -> str:
    """The value: `power costs 60.50 EUR/MWh`."""
    value = figure.reading.value
    words = brief_words(metric)
    if metric == "interchange":
        return _flow(value, overdue, numbers)
    numbers["value"] = heard(value, words.decimals)
    stated = f"{grouped(numbers['value'], words.decimals)} {figure.unit}"
    if metric == "price" and value < 0:
        return f"the price of power {'was' if overdue else 'is'} negative at {stated}"
    if words.headline is not None:
        return f"{words.headline[overdue]} {stated}"
    return f"{words.subject.lower()} {'was' if overdue else 'is'} {stated}"


def _flow(value: float, overdue: bool, numbers: Numbers) -> str:
    if flow_words.is_balanced(value):
        return f"power imports and exports {'were' if overdue else 'are'} balanced"
    numbers["value"] = heard(abs(value), 0)
    return f"{flow_words.named(value)}s of power {'were' if overdue else 'are'} {grouped(numbers['value'], 0)} MW"


def _ranked(metric: str, figure: Figure, numbers: Numbers) -> str:
    """Where the value stands; nothing without enough history."""
    context = figure.reading.context
    if context is None or metric == "interchange":
        return ""
    window = "the last thirty days" if context.window_days_actual == WINDOW_DAYS else "the days on record"
    if figure.reading.many_ties:
        return f", as often in {window}"
    if context.band.startswith("record"):
        return f", {'more' if context.band == 'record_high' else 'less'} than at any time in {window}"
    same = context.percentile_same_hour if brief_words(metric).by_hour else None
    if same is None:
        return f", {_than(context.percentile, 'all_hours', numbers)} the hours of {window}"
    return _by_hour(same, context, window, numbers)


def _by_hour(same: int, context: Context, window: str, numbers: Numbers) -> str:
    usual, everywhere = band_of(same) == "typical", band_of(context.percentile) == "typical"
    if usual and everywhere:
        return f", about as usual at this hour and in {window} as a whole"
    if usual:
        return (
            f", about as usual at this hour but {_than(context.percentile, 'all_hours', numbers)} all hours of {window}"
        )
    leading = _than(same, "same_hour", numbers)
    if everywhere:
        return f", {leading} the same hours of {window}, though about as usual over all hours"
    following = _than(context.percentile, "all_hours", numbers)
    if (same > 50) == (context.percentile > 50):
        following = f"in {following.partition(' in ')[2]}"
    return f", {leading} the same hours of {window} and {following} all hours"


def _than(percentile: int, name: str, numbers: Numbers) -> str:
    """`more than in about 88 % of`; of low ranks the other side is said."""
    side, share = ("more", percentile) if percentile >= 50 else ("less", 100 - percentile)
    numbers[name] = share
    return f"{side} than in any of" if share == 100 else f"{side} than in about {share} % of"
