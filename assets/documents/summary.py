"""The brief in words: deterministic English from its figures, and those figures rounded as the text states them.

The text states whole megawatts and times of the zone's own clock. Each number in it is kept in `summary_figures`, so
that none stands in the text alone. The headline is one sentence with at most three numbers: the price, else demand,
else the net flow, else carbon intensity.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from assets.documents.figures import Figure, Mix, ZoneFigures
from assets.documents.statement import FigureSentences, grouped, heard
from warehouse.figures.context import WINDOW_DAYS, listed
from warehouse.market.clock import local_date, utc, zone_of
from warehouse.market.metrics import MIXES, SCALAR, brief_words
from warehouse.market.vocabulary import Metric

_LARGEST_FUELS = 3
_REFUSED = {
    "fuel_missing": "the generation mix lacks a fuel",
    "other_share": "too much of the generation has no known fuel",
    "wide": "its bounds are too far apart",
    "refused": "the response of the publisher did not allow it",
}
"""Why the newest whole interval has no estimate of carbon intensity (docs/carbon.md)."""

Parts = dict[str, str]
Numbers = dict[str, Any]


def say_time(ts: int, tz: str, beside: int | None = None) -> str:
    """An instant (Unix seconds UTC) as a person on the clock of `tz` reads it: `2026-10-25 18:00 CET (17:00 UTC)`.

    Without the date where `beside`, another instant, has the same.
    """
    local, there = datetime.fromtimestamp(ts, zone_of(tz)), utc(ts)
    day = "" if there.date() == local.date() else f"{there:%Y-%m-%d} "
    time = f"{local:%H:%M %Z} ({day}{there:%H:%M} UTC)"
    is_same_day = beside is not None and local_date(beside, tz) == local.date()
    return time if is_same_day else f"{local:%Y-%m-%d} {time}"


def headline(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[str, Numbers]:
    """The sentence, and the numbers in it as they are said. `now` is Unix seconds."""
    place = of_zone.zone["name"].partition(" (")[0]
    mark = "Simulated figures: " if simulated else ""
    for metric in SCALAR:
        figure = of_zone.figures.get(metric)
        if figure is not None:
            statement = FigureSentences(metric, figure, now > figure.expected_by)
            rank = statement.rank("the last thirty days", "the days on record")
            return f"{mark}{place}: {statement.amount()}{rank}.", statement.numbers
    return f"{mark}{place}: no price, demand or flow is known at present.", {}


def summary(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[Parts, Numbers]:
    """The sentences by subject, in reading order; and by the same names the numbers and times in them."""
    tz = of_zone.zone["tz"]
    spoken = {words.member: metric for metric, words in MIXES.items() if words.subject}
    mixes = {member: of_zone.mixes[metric] for member, metric in spoken.items() if metric in of_zone.mixes}
    newest = [*(f.reading.ts for f in of_zone.figures.values()), *(mix.ts for mix in mixes.values())]
    opening = max(newest, default=now)
    figures: dict[str, Any] = {"at": say_time(opening, tz)}
    parts: dict[str, str] = {"opening": f"{of_zone.zone['name']}, {figures['at']}."}
    for metric, figure in of_zone.figures.items():
        if metric == figure.stored or figure.stored not in of_zone.figures:  # GB's carbon intensity has two names
            parts[metric], figures[metric] = _sentences(metric, figure, opening, tz, overdue=now > figure.expected_by)
    if of_zone.carbon_omitted in _REFUSED:
        parts[Metric.CARBON] = f"Carbon intensity is not estimated, because {_REFUSED[of_zone.carbon_omitted]}."
    for member, mix in mixes.items():
        parts[member], figures[member] = _mix_sentences(mix, opening, tz, overdue=now > mix.expected_by)
    for metric, reason in of_zone.missing.items():
        if metric not in MIXES:
            parts[metric] = _missing_sentence(metric, brief_words(metric).subject, reason)
    for member, metric in spoken.items():
        if metric in of_zone.missing:
            parts[member] = _missing_sentence(member, MIXES[metric].subject, of_zone.missing[metric])
    figures["headline"] = headline(of_zone, now, simulated)[1]
    return parts | ({"simulated": "Simulated figures, not market data."} if simulated else {}), figures


def _sentences(metric: str, figure: Figure, opening: int, tz: str, overdue: bool) -> tuple[str, Numbers]:
    """Value and rank; of a metric that is awaited also median, trend, and whether the value is overdue."""
    statement, context = FigureSentences(metric, figure, overdue), figure.reading.context
    value = statement.amount()
    if context is None:
        sentences = [f"{value}, with too little history to rank it."]
    else:
        days = heard(context.window_days_actual, 0)
        if context.window_days_actual != WINDOW_DAYS:
            statement.numbers["window_days"] = days
        rank = statement.rank(f"the last {WINDOW_DAYS} days", f"the last {grouped(days, 0)} days")
        sentences = [f"{value}{rank}."]
    if statement.words.is_awaited:
        sentences += [*([statement.against_median(context)] if context else []), statement.trend()]
    due = figure.expected_by if overdue and statement.words.is_awaited else None
    text, times = _with_times(sentences, figure.reading.ts, opening, tz, due)
    return text, {**statement.numbers, **times}


def _mix_sentences(mix: Mix, opening: int, tz: str, overdue: bool) -> tuple[str, Numbers]:
    first = sorted(mix.fuels, key=lambda fuel: (-mix.fuels[fuel], fuel))[:_LARGEST_FUELS]
    decimals = 1 if mix.unit == "%" else 0
    figures: Numbers = {fuel: heard(mix.fuels[fuel], decimals) for fuel in first}
    parts = listed([f"{fuel.replace('_', ' ')} {grouped(value, 0)} {mix.unit}" for fuel, value in figures.items()])
    sentence = f"the largest parts of the mix {'were' if overdue else 'are'} {parts}."
    text, times = _with_times([sentence], mix.ts, opening, tz, mix.expected_by if overdue else None, "mix")
    return text, {**figures, **times}


def _with_times(
    sentences: list[str], ts: int, opening: int, tz: str, due: int | None, what: str = "value"
) -> tuple[str, dict[str, str]]:
    """Sentences about a value of `ts`, told where that is not the opening's, and since when a newer one is `due`."""
    times = {"at": say_time(ts, tz)}
    when = "" if ts == opening else f"at {say_time(ts, tz, opening)} "
    if due is not None:
        times["due"] = say_time(due, tz)
        sentences.append(f"A newer {what} was due by {times['due']} and had not come.")
    text = when + " ".join(sentences)
    return f"{text[0].upper()}{text[1:]}", times


def _missing_sentence(name: str, subject: str, reason: str) -> str:
    if reason == "withheld_by_terms":
        return f"{subject} is withheld by its publisher's terms."
    if reason == "unreadable":
        return f"{subject} cannot be read at present."
    return f"No {name.replace('_', ' ')} is known."
