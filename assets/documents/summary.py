"""The brief in words: deterministic English from its figures, and those figures rounded as the text states them.

The text states whole megawatts and times of the zone's own clock. Each number in it is kept in `summary_figures`, so
that none stands in the text alone. The headline is one sentence with at most three numbers: the price, else demand,
else the net flow, else carbon intensity.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assets.documents.figures import Figure, Mix, ZoneFigures
from assets.documents.statement import Statement, grouped, heard
from warehouse.figures.context import WINDOW_DAYS, listed
from warehouse.market.clock import utc, zone_of
from warehouse.market.metrics import SCALAR, brief_words

_MIX = "generation_mix"
_LARGEST_FUELS = 3

Parts = dict[str, str]
Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LocalTime:
    """An instant (Unix seconds UTC) as a person on the clock of `tz` reads it: `2026-10-25 18:00 CET (17:00 UTC)`."""

    ts: int
    tz: str

    @property
    def local(self) -> datetime:
        return datetime.fromtimestamp(self.ts, zone_of(self.tz))

    def __str__(self) -> str:
        return f"{self.local:%Y-%m-%d} {self._clock}"

    def beside(self, other: LocalTime) -> str:
        """Without the date where the other time has the same."""
        return self._clock if self.local.date() == other.local.date() else str(self)

    @property
    def _clock(self) -> str:
        there = utc(self.ts)
        day = "" if there.date() == self.local.date() else f"{there:%Y-%m-%d} "
        return f"{self.local:%H:%M %Z} ({day}{there:%H:%M} UTC)"


def headline(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[str, Numbers]:
    """The sentence, and the numbers in it as they are said. `now` is Unix seconds."""
    place = of_zone.zone["name"].partition(" (")[0]
    mark = "Simulated figures: " if simulated else ""
    for metric in SCALAR:
        figure = of_zone.figures.get(metric)
        if figure is not None:
            statement = Statement(metric, figure, now > figure.expected_by)
            rank = statement.rank("the last thirty days", "the days on record")
            return f"{mark}{place}: {statement.amount()}{rank}.", statement.numbers
    return f"{mark}{place}: no price, demand or flow is known at present.", {}


def summary(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[Parts, Numbers]:
    """The sentences by subject, in reading order; and by the same names the numbers and times in them."""
    tz = of_zone.zone["tz"]
    newest = [f.reading.ts for f in of_zone.figures.values()] + ([of_zone.mix.ts] if of_zone.mix else [])
    opening = LocalTime(max(newest, default=now), tz)
    parts: dict[str, str] = {"opening": f"{of_zone.zone['name']}, {opening}."}
    figures: dict[str, Any] = {"at": str(opening)}
    for metric, figure in of_zone.figures.items():
        parts[metric], figures[metric] = _sentences(metric, figure, opening, overdue=now > figure.expected_by)
    if of_zone.mix is not None:
        parts[_MIX], figures[_MIX] = _mix_sentences(of_zone.mix, opening, overdue=now > of_zone.mix.expected_by)
    missing = {**of_zone.missing, **({_MIX: of_zone.mix_missing} if of_zone.mix_missing else {})}
    parts |= {metric: _missing_sentence(metric, reason) for metric, reason in missing.items()}
    figures["headline"] = headline(of_zone, now, simulated)[1]
    return parts | ({"simulated": "Simulated figures, not market data."} if simulated else {}), figures


def _sentences(metric: str, figure: Figure, opening: LocalTime, overdue: bool) -> tuple[str, Numbers]:
    """Value and rank, median, trend, and whether the value is overdue."""
    statement, context = Statement(metric, figure, overdue), figure.reading.context
    at = LocalTime(figure.reading.ts, opening.tz)
    times = {"at": str(at)}
    value = f"{_when(at, opening)} {statement.amount()}".strip()
    if context is None:
        sentences = [f"{value}, with too little history to rank it."]
    else:
        days = heard(context.window_days_actual, 0)
        if context.window_days_actual != WINDOW_DAYS:
            statement.numbers["window_days"] = days
        rank = statement.rank(f"the last {WINDOW_DAYS} days", f"the last {grouped(days, 0)} days")
        sentences = [f"{value}{rank}.", statement.against_median(context)]
    sentences.append(statement.trend())
    if overdue:
        due = LocalTime(figure.expected_by, opening.tz)
        times["due"] = str(due)
        sentences.append(_overdue("value", due))
    text = " ".join(sentences)
    return f"{text[0].upper()}{text[1:]}", {**statement.numbers, **times}


def _mix_sentences(mix: Mix, opening: LocalTime, overdue: bool) -> tuple[str, Numbers]:
    first = sorted(mix.fuels, key=lambda fuel: (-mix.fuels[fuel], fuel))[:_LARGEST_FUELS]
    decimals = 1 if mix.unit == "%" else 0
    figures: Numbers = {fuel: heard(mix.fuels[fuel], decimals) for fuel in first}
    parts = listed([f"{fuel.replace('_', ' ')} {grouped(value, 0)} {mix.unit}" for fuel, value in figures.items()])
    at = LocalTime(mix.ts, opening.tz)
    figures["at"] = str(at)
    sentence = f"{_when(at, opening)} the largest parts of the mix {'were' if overdue else 'are'} {parts}.".strip()
    sentence = f"{sentence[0].upper()}{sentence[1:]}"
    if not overdue:
        return sentence, figures
    due = LocalTime(mix.expected_by, opening.tz)
    figures["due"] = str(due)
    return f"{sentence} {_overdue('mix', due)}", figures


def _when(at: LocalTime, opening: LocalTime) -> str:
    return "" if at == opening else f"at {at.beside(opening)}"


def _overdue(what: str, due: LocalTime) -> str:
    return f"A newer {what} was due by {due} and had not come."


def _missing_sentence(metric: str, reason: str) -> str:
    subject = "The generation mix" if metric == _MIX else brief_words(metric).subject
    if reason == "withheld_by_terms":
        return f"{subject} is withheld by its publisher's terms."
    if reason == "unreadable":
        return f"{subject} cannot be read at present."
    return f"No {metric.replace('_', ' ')} is known."
