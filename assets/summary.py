"""The brief in words: deterministic English from its figures, and the figures as said (rounded). No arithmetic of its own.

A person hears whole megawatts and times of the zone's own clock. Each number that is said is kept in `summary_figures`,
so that none stands in the text alone (API.md section 3). Numbers carry their sign and no thousands separators.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from assets.figures import Figure, Mix, ZoneFigures
from assets.localtime import LocalTime
from warehouse.context import WINDOW_DAYS, Context, Trend

_NAMES = {"price": "The price", "demand": "Demand", "interchange": "Interchange", "carbon_intensity": "Carbon intensity"}
_DECIMALS = {"price": 2}
_RANKS = {
    "record_low": "lower than at any time", "very_low": "very low", "low": "low", "typical": "typical",
    "high": "high", "very_high": "very high", "record_high": "higher than at any time",
}
_PRICE_RANKS = _RANKS | {
    "record_low": "cheaper than at any time", "very_low": "very cheap", "low": "cheap",
    "high": "expensive", "very_high": "very expensive", "record_high": "more expensive than at any time",
}
_REASONS = {
    "too_few_samples": "fewer than 20 values in the window", "coverage_below_50_pct": "less than half of the window observed",
    "no_rows": "no value is known", "withheld_by_terms": "its publisher's terms withhold it",
}
_MANY_TIES = 25.0
_TOLD_FUELS = 3
_ANOTHER_RANK = 10
"""Percentile points."""

Said = dict[str, Any]


def summary(told: ZoneFigures, now: int, simulated: bool) -> tuple[str, Said]:
    """The sentences, and by metric the numbers and times that they say."""
    said: Said = {}
    head = max((f.reading.ts for f in told.figures.values()), default=now)
    opening = LocalTime(head, told.zone["tz"])
    sentences = [f"{told.zone['name']}, {opening}."]
    said["at"] = str(opening)
    for metric, figure in told.figures.items():
        words = _Words(metric, figure, told.zone["tz"], overdue=now > figure.expected_by)
        sentences += words.sentences(opening)
        said[metric] = words.said
    if told.mix is not None:
        sentences.append(_mix_sentence(told.mix, said))
    sentences += [_missing_sentence(metric, reason) for metric, reason in told.missing.items()]
    return " ".join([*sentences, *(["Simulated figures, not market data."] if simulated else [])]), said


class _Words:
    """The sentences about one metric. `said` gathers what they say."""

    def __init__(self, metric: str, figure: Figure, tz: str, overdue: bool) -> None:
        self.metric, self.figure, self.tz, self.overdue = metric, figure, tz, overdue
        self.said: Said = {}

    def sentences(self, opening: LocalTime) -> list[str]:
        """Value and rank, trend, and whether it is overdue."""
        reading = self.figure.reading
        told = [
            self._value(opening) + (self._rank(reading.context) if reading.context else ", with too little history to rank it."),
            self._trend(reading.trend) if reading.trend else "There is no value of a day earlier.",
        ]
        if self.overdue:
            due = LocalTime(self.figure.expected_by, self.tz)
            self.said["due"] = str(due)
            told.append(f"A newer value was due by {due} and had not come.")
        return told

    def _value(self, opening: LocalTime) -> str:
        at = LocalTime(self.figure.reading.ts, self.tz)
        self.said["at"] = str(at)
        value = self.figure.reading.value
        when = "" if at == opening else f" at {at.beside(opening)}"
        negative = "negative, " if self.metric == "price" and value < 0 else ""
        flow = "" if self.metric != "interchange" else " (net import)" if value > 0 else " (net export)" if value < 0 else " (balanced)"
        verb = "was" if self.overdue else "is"
        return f"{_NAMES[self.metric]}{when} {verb} {negative}{self._say('value', value)} {self.figure.unit}{flow}"

    def _rank(self, context: Context) -> str:
        days = "30" if context.window_days_actual == WINDOW_DAYS else self._say_plain("window_days_actual", context.window_days_actual)
        window = f"the last {days} days"
        if context.ties_pct > _MANY_TIES:
            return f", a value that {window} often had, so that no rank is given."
        words = (_PRICE_RANKS if self.metric == "price" and self.figure.reading.value >= 0 else _RANKS)[context.band]
        if context.band.startswith("record"):
            return f", {words} in {window}: {self._against_median(context)}."
        rank = f"percentile {context.percentile} of {window}{_same_hour(context)}"
        return f", {words} for this zone: {rank}, {self._against_median(context)}."

    def _against_median(self, context: Context) -> str:
        """No percentage beside a negative value: -108 % of a price explains nothing."""
        difference = self._say("vs_median", context.vs_median, signed=True)
        return f"{difference}{self._share(context.vs_median_pct)} from the median of {self._say('median', context.median)}"

    def _trend(self, trend: Trend) -> str:
        verb = "was" if self.overdue else "is"
        if trend.direction == "flat":
            return f"It {verb} much as a day earlier."
        change = self._say("change", trend.change, signed=True)
        return f"It {verb} {trend.direction}: {change}{self._share(trend.change_pct)} on a day earlier."

    def _share(self, pct: float | None) -> str:
        return "" if pct is None or self.figure.reading.value < 0 else f" ({_signed(pct, 1)} %)"

    def _say(self, name: str, value: float, signed: bool = False) -> str:
        decimals = _DECIMALS.get(self.metric, 0)
        self.said[name] = heard(value, decimals)
        return _signed(self.said[name], decimals) if signed else _plain(self.said[name], decimals)

    def _say_plain(self, name: str, value: float) -> str:
        self.said[name] = value
        return _plain(value, 1)


def _same_hour(context: Context) -> str:
    """What a daily cycle hides: said where the rank among the same hours is another one."""
    rank = context.percentile_same_hour
    if rank is None or abs(rank - context.percentile) < _ANOTHER_RANK:
        return ""
    return f" ({rank} among the same hours of the day)"


def heard(value: float, decimals: int) -> float:
    """A value as a person hears it: rounded half up; a value that is not zero never becomes zero."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(-decimals)
    if exact and abs(exact) < step / 2:
        step = Decimal(1).scaleb(exact.adjusted())
    return float(exact.quantize(step, ROUND_HALF_UP)) + 0.0


def _plain(value: float, decimals: int) -> str:
    """Digits without an exponent, with at least so many decimals."""
    exact = Decimal(repr(value)).normalize()
    places = max(decimals, -int(exact.as_tuple().exponent))
    return f"{exact:.{places}f}"


def _signed(value: float, decimals: int) -> str:
    return ("+" if value > 0 else "") + _plain(value, decimals)


def _mix_sentence(mix: Mix, said: Said) -> str:
    first = sorted(mix.fuels, key=lambda fuel: (-mix.fuels[fuel], fuel))[:_TOLD_FUELS]
    decimals = 1 if mix.unit == "%" else 0
    said["generation_mix"] = {fuel: heard(mix.fuels[fuel], decimals) for fuel in first}
    parts = [f"{fuel.replace('_', ' ')} {_plain(value, 0)} {mix.unit}" for fuel, value in said["generation_mix"].items()]
    return f"The largest parts of the mix are {_listed(parts)}." if parts else ""


def _missing_sentence(metric: str, reason: str) -> str:
    if reason == "withheld_by_terms":
        return f"{_NAMES[metric]} is withheld by its publisher's terms."
    return f"No {_noun(metric)} is known."


def coverage_note(told: ZoneFigures) -> str:
    """Which context blocks rest on the whole window, which on part of it, and which are left out, and why."""
    contexts = {m: f.reading.context for m, f in told.figures.items()}
    full = [_noun(m) for m, c in contexts.items() if c is not None and c.confidence == "normal"]
    notes = [f"Nine tenths of the last {WINDOW_DAYS} days or more observed for {_listed(full)}."] if full else []
    notes += [
        f"Only {c.coverage} of the window observed for {_noun(m)} ({c.sample_count} values): low confidence."
        for m, c in contexts.items() if c is not None and c.confidence == "low"
    ]
    omitted = {m: f.reading.context_omitted for m, f in told.figures.items() if f.reading.context is None} | dict(told.missing)
    notes += [f"No context for {_noun(m)}: {_REASONS[reason]}." for m, reason in omitted.items()]
    return " ".join(notes) or "The zone publishes no metric that is ranked."


def _noun(metric: str) -> str:
    return metric.replace("_", " ")


def _listed(words: Iterable[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
