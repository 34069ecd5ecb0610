"""Word the brief from its values by fixed rules, and return those values rounded as the text states them.

The text states whole megawatts and times in the zone's own clock. `summary_figures` contains each number of the text.
The headline is one sentence about the price, else demand, else the net flow, else carbon intensity. It has at most
three values; the length of the window is not counted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assets.documents.figures import Figure, ZoneFigures
from assets.documents.greenest_hours import GreenestHours, find_greenest
from assets.documents.statement import FigureSentences, grouped, heard
from warehouse.documents.present import GenerationMix
from warehouse.figures.context import listed
from warehouse.figures.wind_solar import WIND_SOLAR
from warehouse.market.clock import local_date, utc, zone_of
from warehouse.market.metrics import MIXES, SCALAR
from warehouse.market.vocabulary import Metric

_LARGEST_FUELS = 3
_REFUSED = {
    "fuel_missing": "the generation mix lacks a fuel",
    "other_share": "too much of the generation has no known fuel",
    "wide": "its bounds are too far apart",
    "refused": "the response of the publisher did not allow it",
}
"""Why the newest complete interval has no estimate of carbon intensity (docs/carbon.md)."""

Parts = dict[str, str]
Numbers = dict[str, Any]


def say_time(ts: int, tz: str, beside: int | None = None) -> str:
    """Format a time (Unix seconds UTC) in the civil time `tz`, with UTC: `2026-10-25 18:00 CET (17:00 UTC)`.

    The date is left out if `beside`, another time, has the same.
    """
    local, there = datetime.fromtimestamp(ts, zone_of(tz)), utc(ts)
    day = "" if there.date() == local.date() else f"{there:%Y-%m-%d} "
    time = f"{local:%H:%M %Z} ({day}{there:%H:%M} UTC)"
    is_same_day = beside is not None and local_date(beside, tz) == local.date()
    return time if is_same_day else f"{local:%Y-%m-%d} {time}"


def headline(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[str, Numbers]:
    """Return the sentence and the rounded numbers in it. `now` is in Unix seconds."""
    place = of_zone.zone.name.partition(" (")[0] + (" (simulated)" if simulated else "")
    for metric in SCALAR:
        figure = of_zone.figures.get(metric)
        if figure is not None:
            overdue = now > figure.expected_by
            statement = FigureSentences(metric, figure, overdue)
            return f"{place}: {statement.head(overdue)}{statement.rank()}.", statement.numbers
    return f"{place}: no current market data is available.", {}


def summary(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[Parts, Numbers]:
    """Return the sentences by subject in reading order, and by the same names the numbers and times in them."""
    tz = of_zone.zone.tz
    spoken = {words.member: metric for metric, words in MIXES.items() if words.subject}
    mixes = {member: of_zone.mixes[metric] for member, metric in spoken.items() if metric in of_zone.mixes}
    newest = [*(f.reading.ts for f in of_zone.figures.values()), *(mix.ts for mix in mixes.values())]
    opening = max(newest, default=now)
    figures: dict[str, Any] = {"at": say_time(opening, tz)}
    parts: dict[str, str] = {"opening": f"{of_zone.zone.name}, {figures['at']}."}
    for metric, figure in of_zone.figures.items():
        if metric == figure.stored or figure.stored not in of_zone.figures:  # GB's carbon intensity has two names
            parts[metric], figures[metric] = _sentences(metric, figure, opening, tz, overdue=now > figure.expected_by)
    if of_zone.carbon_omitted in _REFUSED:
        parts[Metric.CARBON] = f"Carbon intensity is not estimated because {_REFUSED[of_zone.carbon_omitted]}."
    for member, mix in mixes.items():
        subject, overdue = MIXES[spoken[member]].subject, now > mix.expected_by
        parts[member], figures[member] = _mix_sentences(subject, mix, opening, tz, overdue=overdue)
    if (greenest := find_greenest(of_zone.shares, tz, now)) is not None:
        parts[WIND_SOLAR], figures[WIND_SOLAR] = _greenest_sentence(greenest, tz)
    for metric, reason in of_zone.missing.items():
        if metric not in MIXES:
            parts[metric] = _missing_sentence(metric, reason)
    for member, metric in spoken.items():
        if metric in of_zone.missing:
            subject = MIXES[metric].subject.removeprefix("The ").lower()
            parts[member] = _missing_sentence(subject, of_zone.missing[metric])
    figures["headline"] = headline(of_zone, now, simulated)[1]
    return parts | ({"simulated": "Simulated data, not market data."} if simulated else {}), figures


def _sentences(metric: str, figure: Figure, opening: int, tz: str, overdue: bool) -> tuple[str, Numbers]:
    """Return the value with its rank; for an awaited metric also its median, its trend, and whether it is overdue."""
    ts, context = figure.reading.ts, figure.reading.context
    statement = FigureSentences(metric, figure, overdue or ts != opening)
    lead = statement.lead(_when(ts, opening, tz))
    if context is None:
        sentences = [f"{lead}.", f"There is too little history to rank {'them' if statement.is_flow else 'it'}."]
    else:
        sentences = [f"{lead}{statement.rank()}."]
    if statement.words.is_awaited:
        sentences += [*([statement.against_median(context)] if context else []), statement.trend()]
    due = _say_due("value", figure.expected_by, tz) if overdue and statement.words.is_awaited else None
    return _join(sentences, due, {**statement.numbers, "at": say_time(ts, tz)})


def _mix_sentences(subject: str, mix: GenerationMix, opening: int, tz: str, overdue: bool) -> tuple[str, Numbers]:
    """Return which fuels lead the mix, and whether the mix is overdue."""
    first = sorted(mix.fuels, key=lambda fuel: (-mix.fuels[fuel], fuel))[:_LARGEST_FUELS]
    unit, decimals = ("%", 1) if mix.unit == "%" else (f" {mix.unit}", 0)
    figures: Numbers = {fuel: heard(mix.fuels[fuel], decimals) for fuel in first}
    parts = listed([f"{fuel.replace('_', ' ')} ({grouped(value, 0)}{unit})" for fuel, value in figures.items()])
    verb = "was" if overdue or mix.ts != opening else "is"
    sentence = f"{subject} {verb} led by {parts}{_when(mix.ts, opening, tz)}."
    due = _say_due("mix", mix.expected_by, tz) if overdue else None
    return _join([sentence], due, {**figures, "at": say_time(mix.ts, tz)})


def _greenest_sentence(greenest: GreenestHours, tz: str) -> tuple[str, Numbers]:
    start, end = say_time(greenest.start, tz), say_time(greenest.end, tz, greenest.start)
    share = heard(greenest.share, 0)
    sentence = f"The highest forecast share of wind and solar over three hours is {grouped(share, 0)}% of demand"
    return f"{sentence}, from {start} to {end}.", {"share": share, "start": start, "end": end}


def _when(ts: int, opening: int, tz: str) -> str:
    """Return the time of a value, for the middle of a sentence; empty if it is the opening's."""
    return "" if ts == opening else f" at {say_time(ts, tz, opening)}"


def _say_due(what: str, due: int, tz: str) -> tuple[str, str]:
    """Return the sentence about an overdue value or mix, and the time in it."""
    at = say_time(due, tz)
    return f"A newer {what} was due by {at} but had not arrived.", at


def _join(sentences: list[str], due: tuple[str, str] | None, numbers: Numbers) -> tuple[str, Numbers]:
    if due is None:
        return " ".join(sentences), numbers
    return " ".join([*sentences, due[0]]), {**numbers, "due": due[1]}


def _missing_sentence(name: str, reason: str) -> str:
    words = name.replace("_", " ")
    if reason == "withheld_by_terms":
        return f"{words.capitalize()} data is withheld under its publisher's terms."
    if reason == "unreadable":
        return f"{words.capitalize()} data is temporarily unavailable."
    return f"No {words} data is available."
