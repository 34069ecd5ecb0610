"""The brief in words: deterministic English from its figures, and those figures rounded as the text states them.

The text states whole megawatts and times of the zone's own clock. Each number in it is kept in `summary_figures`, so
that none stands in the text alone; differences keep their sign there and are said as above or below, up or down.
Digits are grouped by commas. Of price and demand the rank among the same hours of the day comes first.
"""

from __future__ import annotations

from typing import Any

from assets.documents import flow_words
from assets.documents.figures import Figure, Mix, ZoneFigures
from assets.documents.headline import headline
from assets.documents.local_time import LocalTime
from assets.documents.spoken_numbers import band_of, difference_of, grouped, heard
from warehouse.figures.context import WINDOW_DAYS, Context, Trend
from warehouse.figures.coverage_note import listed
from warehouse.market.metrics import brief_words

_MIX = "generation_mix"
_RANKS = {
    "record_low": "lower than at any time",
    "very_low": "very low",
    "low": "low",
    "typical": "typical",
    "high": "high",
    "very_high": "very high",
    "record_high": "higher than at any time",
}
_PRICE_RANKS = _RANKS | {
    "record_low": "cheaper than at any time",
    "very_low": "very cheap",
    "low": "cheap",
    "high": "expensive",
    "very_high": "very expensive",
    "record_high": "more expensive than at any time",
}
_LARGEST_FUELS = 3
_ANOTHER_RANK = 10
"""Percentile points."""

Parts = dict[str, str]
Numbers = dict[str, Any]


def summary(of_zone: ZoneFigures, now: int, simulated: bool) -> tuple[Parts, Numbers]:
    """The sentences by subject, in reading order; and by the same names the numbers and times in them."""
    tz = of_zone.zone["tz"]
    newest = [f.reading.ts for f in of_zone.figures.values()] + ([of_zone.mix.ts] if of_zone.mix else [])
    opening = LocalTime(max(newest, default=now), tz)
    parts: dict[str, str] = {"opening": f"{of_zone.zone['name']}, {opening}."}
    figures: dict[str, Any] = {"at": str(opening)}
    for metric, figure in of_zone.figures.items():
        words = _Words(metric, figure, tz, overdue=now > figure.expected_by)
        parts[metric], figures[metric] = " ".join(words.sentences(opening)), words.numbers
    if of_zone.mix is not None:
        parts[_MIX], figures[_MIX] = _mix_sentences(of_zone.mix, opening, overdue=now > of_zone.mix.expected_by)
    missing = {**of_zone.missing, **({_MIX: of_zone.mix_missing} if of_zone.mix_missing else {})}
    parts |= {metric: _missing_sentence(metric, reason) for metric, reason in missing.items()}
    figures["headline"] = headline(of_zone, now, simulated)[1]
    return parts | ({"simulated": "Simulated figures, not market data."} if simulated else {}), figures


class _Words:
    """The sentences about one metric. `numbers`: the rounded numbers and the times in them."""

    def __init__(self, metric: str, figure: Figure, tz: str, overdue: bool) -> None:
        self.metric, self.figure, self.tz, self.overdue = metric, figure, tz, overdue
        self.words = brief_words(metric)
        self.decimals = self.words.decimals
        self.numbers: Numbers = {}

    def sentences(self, opening: LocalTime) -> list[str]:
        """Value and rank, trend, and whether it is overdue."""
        reading = self.figure.reading
        sentences = [
            self._value(opening)
            + (self._rank(reading.context) if reading.context else ", with too little history to rank it."),
            self._trend(reading.trend) if reading.trend else "There is no value of a day earlier.",
        ]
        if self.overdue:
            due = LocalTime(self.figure.expected_by, self.tz)
            self.numbers["due"] = str(due)
            sentences.append(_overdue("value", due))
        return sentences

    def _value(self, opening: LocalTime) -> str:
        at = LocalTime(self.figure.reading.ts, self.tz)
        self.numbers["at"] = str(at)
        value = self.figure.reading.value
        negative = "negative, " if self.metric == "price" and value < 0 else ""
        flow = f" ({flow_words.named(value)})" if self.metric == "interchange" else ""
        verb = "was" if self.overdue else "is"
        stated = f"{negative}{self._say('value', value)} {self.figure.unit}{flow}"
        return f"{self.words.subject}{_when(at, opening)} {verb} {stated}"

    def _rank(self, context: Context) -> str:
        days = (
            "30"
            if context.window_days_actual == WINDOW_DAYS
            else self._say_plain("window_days_actual", context.window_days_actual)
        )
        window = f"the last {days} days"
        if self.figure.reading.many_ties:
            return f", a value that {window} often had, so that no rank is given."
        words = self._band(context)
        if context.band.startswith("record"):
            return f", {words} in {window}: {self._against_median(context)}."
        same = context.percentile_same_hour
        if self.words.by_hour and same is not None:
            rank = f"percentile {same} of the same hour in {window}, {context.percentile} of all hours"
            return f", {words} for this hour of the day: {rank}, {self._against_median(context)}."
        ranked = f"net import in {window}" if self.metric == "interchange" else window
        rank = f"percentile {context.percentile} of {ranked}{_same_hour(context)}"
        return f", {words} for this zone: {rank}, {self._against_median(context)}."

    def _band(self, context: Context) -> str:
        value = self.figure.reading.value
        if self.metric == "interchange":
            return flow_words.ranked(value, context.band)
        band, same = context.band, context.percentile_same_hour
        if self.words.by_hour and same is not None and not band.startswith("record"):
            band = band_of(same)
        return (_PRICE_RANKS if self.metric == "price" and value >= 0 else _RANKS)[band]

    def _against_median(self, context: Context) -> str:
        """The difference of the two rounded numbers, or they would not add up. Needs the value in `numbers`."""
        median = f"the median of {self._say('median', context.median)}"
        difference = difference_of(self.numbers["value"], self.numbers["median"])
        if not difference:
            side = "just above" if context.vs_median > 0 else "just below" if context.vs_median < 0 else "level with"
            return f"{side} {median}"
        self.numbers["vs_median"] = difference
        side = "above" if difference > 0 else "below"
        return f"{grouped(abs(difference), self.decimals)}{self._share(context.vs_median_pct)} {side} {median}"

    def _trend(self, trend: Trend) -> str:
        verb = "was" if self.overdue else "is"
        if trend.direction == "flat":
            return f"It {verb} about the same as a day earlier."
        up = trend.direction == "rising"
        self.numbers["change"] = heard(trend.change, self.decimals)
        change = grouped(abs(self.numbers["change"]), self.decimals) + self._share(trend.change_pct)
        if self.metric == "interchange":
            moved = flow_words.moved(verb, self.figure.reading.value, trend.from_value, trend.direction)
            return f"{moved}: the net import {'rose' if up else 'fell'} by {change}."
        return f"It {verb} {'up' if up else 'down'} {change} on a day earlier."

    def _share(self, pct: float | None) -> str:
        """No percentage beside a negative value: -108 % of a price explains nothing."""
        return "" if pct is None or self.figure.reading.value < 0 else f" ({grouped(abs(pct), 1)} %)"

    def _say(self, name: str, value: float) -> str:
        self.numbers[name] = heard(value, self.decimals)
        return grouped(self.numbers[name], self.decimals)

    def _say_plain(self, name: str, value: float) -> str:
        self.numbers[name] = value
        return grouped(value, 1)


def _same_hour(context: Context) -> str:
    """The rank among the same hours of the day, where the daily cycle makes it another one."""
    rank = context.percentile_same_hour
    if rank is None or abs(rank - context.percentile) < _ANOTHER_RANK:
        return ""
    return f" ({rank} among the same hours of the day)"


def _mix_sentences(mix: Mix, opening: LocalTime, overdue: bool) -> tuple[str, Numbers]:
    first = sorted(mix.fuels, key=lambda fuel: (-mix.fuels[fuel], fuel))[:_LARGEST_FUELS]
    decimals = 1 if mix.unit == "%" else 0
    figures: Numbers = {fuel: heard(mix.fuels[fuel], decimals) for fuel in first}
    parts = listed([f"{fuel.replace('_', ' ')} {grouped(value, 0)} {mix.unit}" for fuel, value in figures.items()])
    at = LocalTime(mix.ts, opening.tz)
    figures["at"] = str(at)
    sentence = f"The largest parts of the mix{_when(at, opening)} {'were' if overdue else 'are'} {parts}."
    if not overdue:
        return sentence, figures
    due = LocalTime(mix.expected_by, opening.tz)
    figures["due"] = str(due)
    return f"{sentence} {_overdue('mix', due)}", figures


def _when(at: LocalTime, opening: LocalTime) -> str:
    return "" if at == opening else f" at {at.beside(opening)}"


def _overdue(what: str, due: LocalTime) -> str:
    return f"A newer {what} was due by {due} and had not come."


def _missing_sentence(metric: str, reason: str) -> str:
    subject = "The generation mix" if metric == _MIX else brief_words(metric).subject
    if reason == "withheld_by_terms":
        return f"{subject} is withheld by its publisher's terms."
    if reason == "unreadable":
        return f"{subject} cannot be read at present."
    return f"No {metric.replace('_', ' ')} is known."
