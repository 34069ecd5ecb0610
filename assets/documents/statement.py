"""Word one value of a brief: the value itself, its rank, its difference from the median, and its trend.

A flow is worded in its own direction: net imports of -4,475 MW are net exports of 4,475 MW. The values that it
is compared with change sign in the same way.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from assets.documents.figures import Figure
from warehouse.figures.context import WINDOW_DAYS, ContextBlock
from warehouse.market.metrics import brief_words
from warehouse.market.vocabulary import Metric

BALANCED_MW = 25
"""A smaller net flow in either direction is nearly balanced: the interconnectors of the smallest zone carry 500 MW."""
_SYMBOLS = {"EUR/MWh": "€", "GBP/MWh": "£", "USD/MWh": "$", "AUD/MWh": "A$"}
_FLOWS = {1: "imports", -1: "exports"}


class FigureSentences:
    """The sentences about one value. `numbers` collects the rounded numbers in them.

    `past` selects the past tense of the summary, for a value of an earlier time than the opening's or an overdue one.
    """

    def __init__(self, metric: str, figure: Figure, past: bool) -> None:
        self.metric, self.figure, self.words, self.past = metric, figure, brief_words(metric), past
        self.is_flow = metric == "interchange"
        self.sign = -1 if self.is_flow and figure.reading.value < 0 else 1
        self.value = figure.reading.value * self.sign
        self.numbers: dict[str, Any] = {}

    def head(self, overdue: bool) -> str:
        """Return the subject and value of the headline: `power at €60.50 a megawatt-hour`."""
        value, last = self._say("value", self.value, whole=True), "last " if overdue else ""
        if self.is_balanced:
            size = f" (net {_FLOWS[self.sign]} of {value})" if self.value else ""
            return f"imports and exports {last}nearly balanced{size}"
        name = self.words.headline or self._mark_estimate(self.words.subject.lower())
        return f"{f'net {_FLOWS[self.sign]}' if self.is_flow else name} {last}at {value}"

    def lead(self, when: str) -> str:
        """Return subject, verb and value for the summary; `when` (` at 17:45 CET (16:45 UTC)` or empty) follows."""
        value = self._say("value", self.value, whole=True)
        if self.is_balanced:
            size = f", with net {_FLOWS[self.sign]} of {value}" if self.value else ""
            return f"Imports and exports {self._be()} nearly balanced{when}{size}"
        subject = f"Net {_FLOWS[self.sign]}" if self.is_flow else self._mark_estimate(self.words.subject)
        return f"{subject} {self._be()} {value}{when}"

    def _mark_estimate(self, subject: str) -> str:
        if self.figure.stored is not Metric.CARBON_ESTIMATE:
            return subject
        return f"{'Estimated' if subject[0].isupper() else 'estimated'} {subject.lower()}"

    def _be(self) -> str:
        """Return the verb that agrees with the subject: flows are plural."""
        return ("were" if self.past else "are") if self.is_flow else ("was" if self.past else "is")

    @property
    def is_balanced(self) -> bool:
        """Return whether a net flow is too small to have a direction."""
        return self.is_flow and self.value < BALANCED_MW

    def rank(self) -> str:
        """Return the rank within the window, after a comma; empty without history and for a balanced flow."""
        context = self.figure.reading.context
        if context is None or self.is_balanced:
            return ""
        window = self._window(context)
        if self.figure.reading.many_ties:
            return f", a level seen more than a quarter of the time in the {window}"
        same = context.percentile_same_hour if self.words.by_hour else None
        if context.band.startswith("record") or (same is None and context.percentile in (0, 100)):
            is_highest = (context.percentile == 100) == (self.sign > 0)
            return f", the {'highest' if is_highest else 'lowest'} in {_shorten(window)}"
        if same is not None:
            return f", {self._rank_by_hour(same, context.percentile, window)}"
        if _is_usual(context.percentile):
            return f", within the usual range of the {window}"
        side, share = self._side(context.percentile, "all_hours")
        return f", {side} than {share}% of the time in the {window}"

    def _window(self, context: ContextBlock) -> str:
        """Return the window's name without an article. The length of a shorter window is added to `numbers`."""
        if context.window_days_actual == WINDOW_DAYS:
            return f"past {WINDOW_DAYS} days"
        self.numbers["window_days"] = heard(context.window_days_actual, 0)
        return f"{grouped(self.numbers['window_days'], 0)} days on record"

    def _rank_by_hour(self, same: int, every: int, window: str) -> str:
        """Return the rank among the same hours of the day, then among all hours."""
        if _is_usual(same):
            if _is_usual(every):
                return f"within the usual range for this hour and for the {window} overall"
            return f"within the usual range for this hour but {self._overall(every)} in the {window}"
        side, share = self._side(same, "same_hour")
        overall = "within the usual range overall" if _is_usual(every) else self._overall(every)
        is_alike = not _is_usual(every) and (same > 50) == (every > 50)
        link = "and" if is_alike else "but"
        if share == 100:
            return f"the {side.removesuffix('er')}est for this hour in {_shorten(window)} {link} {overall}"
        at_this_hour = f"{side} than {share}% of the time at this hour"
        if is_alike and self.numbers["all_hours"] < 100:
            return f"{at_this_hour} and {self.numbers['all_hours']}% of the time overall in the {window}"
        return f"{at_this_hour} in the {window} {link} {overall}"

    def _overall(self, percentile: int) -> str:
        side, share = self._side(percentile, "all_hours")
        return (
            f"the {side.removesuffix('er')}est overall" if share == 100 else f"{side} than {share}% of the time overall"
        )

    def _side(self, percentile: int, name: str) -> tuple[str, int]:
        """Return `higher` or `lower` and the percentage of time; a low percentile is worded from the other side."""
        percentile = percentile if self.sign > 0 else 100 - percentile
        side, share = ("higher", percentile) if percentile >= 50 else ("lower", 100 - percentile)
        self.numbers[name] = share
        return side, share

    def against_median(self, context: ContextBlock) -> str:
        """Return the difference of the two rounded numbers, so that they add up. Needs the value in `numbers`."""
        median, window = context.median * self.sign, self._window(context)
        label = f"{WINDOW_DAYS}-day median" if context.window_days_actual == WINDOW_DAYS else f"median of the {window}"
        be = "was" if self.past else "is"
        if self.is_flow and median < 0:
            return f"The {label} is {self._other_way('median', median)}."
        named = f"the {label}{',' if 'of' in label else ' of'} {self._say('median', median)}"
        value, base = (Decimal(repr(self.numbers[name])) for name in ("value", "median"))
        difference = float(value - base)  # without a binary remainder
        if not difference:
            apart = context.vs_median * self.sign
            side = "just above" if apart > 0 else "just below" if apart < 0 else "level with"
            return f"That {be} {side} {named}."
        self.numbers["vs_median"] = difference
        size = f"{self._quantity(abs(difference))}{self._share(context.vs_median_pct)}"
        return f"That {be} {size} {'above' if difference > 0 else 'below'} {named}."

    def trend(self) -> str:
        """Return how the value moved within 24 hours."""
        trend = self.figure.reading.trend
        if trend is None:
            return "No value is available for 24 hours earlier."
        subject = f"{'They' if self.is_flow else 'It'} {self._be()}"
        if trend.direction == "flat":
            return f"{subject} little changed from 24 hours earlier."
        before = trend.from_value * self.sign
        if self.is_flow and before < 0:
            compare = "compared" if self.past else "compare"
            return f"They {compare} with {self._other_way('before', before)} 24 hours earlier."
        self.numbers["change"] = heard(trend.change * self.sign, self.words.decimals)
        size = f"{self._quantity(abs(self.numbers['change']))}{self._share(trend.change_pct)}"
        return f"{subject} {'up' if self.numbers['change'] > 0 else 'down'} {size} from 24 hours earlier."

    def _other_way(self, name: str, flow: float) -> str:
        """Return a flow against the direction of this one: `net exports of 580 MW`."""
        return f"net {_FLOWS[-self.sign]} of {self._say(name, abs(flow))}"

    def _share(self, pct: float | None) -> str:
        """Return ` (5.1%)`; empty beside a negative value and for three digits, where a percentage misleads."""
        return "" if pct is None or self.figure.reading.value < 0 or abs(pct) >= 100 else f" ({grouped(abs(pct), 1)}%)"

    def _say(self, name: str, value: float, whole: bool = False) -> str:
        self.numbers[name] = heard(value, self.words.decimals)
        return self._quantity(self.numbers[name], whole)

    def _quantity(self, value: float, whole: bool = False) -> str:
        """Return `€60.50`, or `€60.50 a megawatt-hour` if `whole`; other units always follow their number."""
        unit, minus = self.figure.unit, "minus " if value < 0 else ""
        digits = grouped(abs(value), self.words.decimals)
        if unit in _SYMBOLS:
            return f"{minus}{_SYMBOLS[unit]}{digits}{' a megawatt-hour' if whole else ''}"
        return f"{minus}{digits} {unit}"


def _shorten(window: str) -> str:
    """Return the window after `the highest in`: `30 days`, or `the 22 days on record`."""
    return window.removeprefix("past ") if window.startswith("past ") else f"the {window}"


def _is_usual(percentile: int) -> bool:
    """Return whether a percentile is in the band `typical`."""
    return 25 <= percentile <= 75


def heard(value: float, decimals: int) -> float:
    """Round a value half up, as the text states it; a value that is not zero never becomes zero."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(-decimals)
    if exact and abs(exact) < step / 2:
        step = Decimal(1).scaleb(exact.adjusted())
    return float(exact.quantize(step, ROUND_HALF_UP)) + 0.0


def grouped(value: float, decimals: int) -> str:
    """Format digits in groups of three, without an exponent and with at least `decimals`: `25,000`, `1,234.50`."""
    exact = Decimal(repr(value)).normalize()
    places = max(decimals, -int(exact.as_tuple().exponent))
    return f"{exact:,.{places}f}"
