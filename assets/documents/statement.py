"""One figure of a brief in words, as a newspaper prints it: its amount, where it stands, and how it moved.

A flow counts in its own direction: a net import of -4,475 MW is a net export of 4,475 MW, and so is what it is compared
with.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from assets.documents.figures import Figure
from warehouse.figures.context import WINDOW_DAYS, Context
from warehouse.market.metrics import brief_words
from warehouse.market.vocabulary import Metric

BALANCED_MW = 25
"""A net flow of less, either way, is balanced: the smallest zone's ties carry some 500 MW."""
_SYMBOLS = {"EUR/MWh": "€", "GBP/MWh": "£", "USD/MWh": "$", "AUD/MWh": "A$"}
_SPOKEN_UNITS = {"MW": ("MW", "MW"), "gCO2/kWh": ("g", "g of carbon dioxide a kilowatt-hour")}
"""A unit beside a difference, and beside the value itself."""
_DIRECTIONS = {1: "import", -1: "export"}


class FigureSentences:
    """The sentences about one figure. `numbers`: the rounded numbers in them."""

    def __init__(self, metric: str, figure: Figure, overdue: bool) -> None:
        self.metric, self.figure, self.words = metric, figure, brief_words(metric)
        self.is_flow = metric == "interchange"
        self.sign = -1 if self.is_flow and figure.reading.value < 0 else 1
        self.value = figure.reading.value * self.sign
        self.verb = "was" if overdue else "is"
        self.numbers: dict[str, Any] = {}

    def amount(self) -> str:
        """What the figure is: `power costs €60.50 a megawatt-hour`."""
        value = self._say("value", self.value, whole=True)
        if self.is_balanced:
            size = f", at a net {_DIRECTIONS[self.sign]} of {value}" if self.value else ""
            return f"imports and exports {'were' if self.verb == 'was' else 'are'} balanced{size}"
        if self.is_flow:
            return f"net {_DIRECTIONS[self.sign]} {self.verb} {value}"
        if self.metric == "price" and self.value < 0:
            return f"the price of power {self.verb} negative at {value}"
        subject = self.words.headline[self.verb == "was"] if self.words.headline else f"{self._subject()} {self.verb}"
        return f"{subject} {value}"

    def _subject(self) -> str:
        subject = self.words.subject.lower()
        return f"estimated {subject}" if self.figure.stored is Metric.CARBON_ESTIMATE else subject

    @property
    def is_balanced(self) -> bool:
        """Whether a net flow is too small to have a direction."""
        return self.is_flow and self.value < BALANCED_MW

    def rank(self, whole_window: str, short_window: str) -> str:
        """Where the value stands among a window of `WINDOW_DAYS`, or among a shorter one; nothing without history."""
        context = self.figure.reading.context
        if context is None or self.is_balanced:
            return ""
        window = whole_window if context.window_days_actual == WINDOW_DAYS else short_window
        if self.figure.reading.many_ties:
            return f", as often in {window}"
        same = context.percentile_same_hour if self.words.by_hour else None
        if context.band.startswith("record") or (same is None and context.percentile in (0, 100)):
            high = (context.percentile == 100) == (self.sign > 0)
            return f", {'more' if high else 'less'} than at any time in {window}"
        if same is not None:
            return self._rank_by_hour(same, context.percentile, window)
        if _is_usual(context.percentile):
            return f", about as usual in {window}"
        return f", {self._than(context.percentile, 'all_hours')} {window}"

    def _rank_by_hour(self, same: int, every: int, window: str) -> str:
        usual, everywhere = _is_usual(same), _is_usual(every)
        if usual and everywhere:
            return f", about as usual at this hour and in {window} as a whole"
        if usual:
            return f", about as usual at this hour but {self._than(every, 'all_hours')} all hours of {window}"
        leading = self._than(same, "same_hour")
        if everywhere:
            return f", {leading} the same hours of {window}, though about as usual over all hours"
        following = self._than(every, "all_hours")
        if (same > 50) == (every > 50):
            following = f"in {following.partition(' in ')[2]}"
        return f", {leading} the same hours of {window} and {following} all hours"

    def _than(self, percentile: int, name: str) -> str:
        """`more than in 88 % of`; of low ranks the other side is told."""
        percentile = percentile if self.sign > 0 else 100 - percentile
        side, share = ("more", percentile) if percentile >= 50 else ("less", 100 - percentile)
        self.numbers[name] = share
        return f"{side} than in any of" if share == 100 else f"{side} than in {share} % of"

    def against_median(self, context: Context) -> str:
        """The difference of the two rounded numbers, or they would not add up. Needs the value in `numbers`."""
        median = context.median * self.sign
        if self.is_flow and median < 0:
            return f"The median {self.verb} {self._other_way('median', median)}."
        named = f"the median of {self._say('median', median)}"
        value, base = (Decimal(repr(self.numbers[name])) for name in ("value", "median"))
        difference = float(value - base)  # without a binary remainder
        if not difference:
            apart = context.vs_median * self.sign
            side = "just above" if apart > 0 else "just below" if apart < 0 else "level with"
            return f"That {self.verb} {side} {named}."
        self.numbers["vs_median"] = difference
        size = f"{self._quantity(abs(difference))}{self._share(context.vs_median_pct)}"
        return f"That {self.verb} {size} {'above' if difference > 0 else 'below'} {named}."

    def trend(self) -> str:
        """How the figure moved within a day."""
        trend = self.figure.reading.trend
        if trend is None:
            return "There is no value of a day earlier."
        if trend.direction == "flat":
            return f"It {self.verb} about the same as a day earlier."
        before = trend.from_value * self.sign
        if self.is_flow and before < 0:
            return f"A day earlier it was {self._other_way('before', before)}."
        self.numbers["change"] = heard(trend.change * self.sign, self.words.decimals)
        size = f"{self._quantity(abs(self.numbers['change']))}{self._share(trend.change_pct)}"
        return f"It {self.verb} {'up' if self.numbers['change'] > 0 else 'down'} {size} on a day earlier."

    def _other_way(self, name: str, flow: float) -> str:
        """A flow against the direction of this one."""
        return f"a net {_DIRECTIONS[-self.sign]} of {self._say(name, abs(flow))}"

    def _share(self, pct: float | None) -> str:
        """No percentage that explains nothing: beside a negative value, or of three digits."""
        return "" if pct is None or self.figure.reading.value < 0 or abs(pct) >= 100 else f" ({grouped(abs(pct), 1)} %)"

    def _say(self, name: str, value: float, whole: bool = False) -> str:
        self.numbers[name] = heard(value, self.words.decimals)
        return self._quantity(self.numbers[name], whole)

    def _quantity(self, value: float, whole: bool = False) -> str:
        """`€60.50`; `whole` with what it is counted by, `€60.50 a megawatt-hour`."""
        unit, minus = self.figure.unit, "minus " if value < 0 else ""
        digits = grouped(abs(value), self.words.decimals)
        if unit in _SYMBOLS:
            return f"{minus}{_SYMBOLS[unit]}{digits}{' a megawatt-hour' if whole else ''}"
        return f"{minus}{digits} {_SPOKEN_UNITS.get(unit, (unit, unit))[whole]}"


def _is_usual(percentile: int) -> bool:
    """Whether a percentile is that of the band `typical`."""
    return 25 <= percentile <= 75


def heard(value: float, decimals: int) -> float:
    """A value as the text states it: rounded half up; a value that is not zero never becomes zero."""
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(-decimals)
    if exact and abs(exact) < step / 2:
        step = Decimal(1).scaleb(exact.adjusted())
    return float(exact.quantize(step, ROUND_HALF_UP)) + 0.0


def grouped(value: float, decimals: int) -> str:
    """Digits in groups of three, without an exponent, with at least so many decimals: `25,000`, `1,234.50`."""
    exact = Decimal(repr(value)).normalize()
    places = max(decimals, -int(exact.as_tuple().exponent))
    return f"{exact:,.{places}f}"
