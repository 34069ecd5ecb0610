"""The brief's words a second time: sentences and headline from a brief's own numbers, as docs/brief.md says them.

The standard library alone, and nothing of this project; `recompute.py` has checked the numbers before.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

NAMES = {
    "price": "power",
    "demand": "demand",
    "interchange": "",
    "carbon_intensity": "carbon intensity",
    "carbon": "carbon intensity",
}
BY_HOUR = ("price", "demand")
CURRENCIES = {"EUR": "€", "GBP": "£", "USD": "$", "AUD": "A$"}


def said(value: Any, decimals: int) -> Fraction:
    """Half up; what is not zero keeps its first digit."""
    exact = Fraction(value)
    if exact and 2 * abs(exact) * 10**decimals < 1:
        while abs(exact) * 10**decimals < 1:
            decimals += 1
    size = Fraction(1, 10**decimals)
    whole = int(abs(exact) / size + Fraction(1, 2)) * size
    return whole if exact >= 0 else -whole


def digits(number: Fraction, least: int) -> str:
    """Groups of three, as many decimals as it has, `least` at least."""
    places = least
    while (number * 10**places).denominator > 1:
        places += 1
    whole = f"{int(abs(number) * 10**places):0{places + 1}d}"
    integer, rest = (whole[:-places], "." + whole[-places:]) if places else (whole, "")
    return f"{'-' if number < 0 else ''}{int(integer):,}{rest}"


def stamp(ts: int, tz: ZoneInfo, beside: int | None = None) -> str:
    local, there = datetime.fromtimestamp(ts, tz), datetime.fromtimestamp(ts, UTC)
    day = "" if there.date() == local.date() else f"{there:%Y-%m-%d} "
    clock = f"{local:%H:%M %Z} ({day}{there:%H:%M} UTC)"
    same = beside is not None and datetime.fromtimestamp(beside, tz).date() == local.date()
    return clock if same else f"{local:%Y-%m-%d} {clock}"


def band_of(percentile: int) -> str:
    limits = ((10, "very_low"), (25, "low"), (76, "typical"), (90, "high"))
    return next((name for limit, name in limits if percentile < limit), "very_high")


def quantity(number: Fraction, unit: str, per: bool = False) -> str:
    """`€60.50` or `60 MW`; `per` with what it is counted by."""
    minus, currency = "minus " if number < 0 else "", unit.partition("/MWh")[0]
    if currency in CURRENCIES:
        return f"{minus}{CURRENCIES[currency]}{digits(abs(number), 2)}{' a megawatt-hour' if per else ''}"
    grams = "g of carbon dioxide a kilowatt-hour" if per else "g"
    return f"{minus}{digits(abs(number), 0)} {grams if unit == 'gCO2/kWh' else unit}"


class Figure:
    """One metric of a brief; flows count in the direction of the running one."""

    def __init__(self, brief: dict[str, Any], metric: str) -> None:
        now = brief["current"][metric]
        self.metric, self.unit, self.flow = metric, now["unit"], metric == "interchange"
        self.decimals = 2 if metric == "price" else 0
        self.exports = self.flow and Fraction(now["value"]) < 0
        self.value = self.turned(now["value"])
        self.name = NAMES[metric]
        if metric == "carbon" and brief["carbon_basis"] == "estimate":
            self.name = f"estimated {self.name}"
        self.late = brief["as_of"] > now["expected_by"]
        self.verb = "was" if self.late else "is"
        self.block, self.moved = brief["context"].get(metric), brief["trend_24h"].get(metric)
        self.balanced = self.flow and self.value < 25

    def turned(self, value: Any) -> Fraction:
        return -Fraction(value) if self.exports else Fraction(value)

    def round(self, value: Fraction) -> Fraction:
        return said(value, self.decimals)

    def say(self, value: Fraction, per: bool = False) -> str:
        return quantity(self.round(value), self.unit, per)

    def way(self, against: bool = False) -> str:
        return "net export" if self.exports != against else "net import"

    def lead(self) -> str:
        stated = self.say(self.value, per=True)
        if self.balanced:
            return f"imports and exports {'were' if self.late else 'are'} balanced" + (
                f", at a {self.way()} of {stated}" if self.value else ""
            )
        if self.flow:
            return f"{self.way()} {self.verb} {stated}"
        if self.metric == "price":
            if self.value < 0:
                return f"the price of power {self.verb} negative at {stated}"
            return f"power cost{'' if self.late else 's'} {stated}"
        return f"{self.name} {self.verb} {stated}"

    def share(self, pct: Any) -> str:
        plain = pct is not None and self.value >= 0 and not self.exports and abs(Fraction(pct)) < 100
        return f" ({digits(abs(Fraction(pct)), 1)} %)" if plain else ""

    def median(self) -> str:
        median = self.turned(self.block["median"])
        if self.flow and median < 0:
            return f"The median {self.verb} a {self.way(against=True)} of {self.say(-median)}."
        apart = self.round(self.value) - self.round(median)
        side = ["below", "level with", "above"][(apart > 0) - (apart < 0) + 1]
        if not apart:
            exact = self.turned(self.block["vs_median"])
            side = {1: "just above", 0: side, -1: "just below"}[(exact > 0) - (exact < 0)]
            return f"That {self.verb} {side} the median of {self.say(median)}."
        size = f"{quantity(abs(apart), self.unit)}{self.share(self.block['vs_median_pct'])}"
        return f"That {self.verb} {size} {side} the median of {self.say(median)}."

    def trend(self) -> str:
        if self.moved is None:
            return "There is no value of a day earlier."
        if self.moved["direction"] == "flat":
            return f"It {self.verb} about the same as a day earlier."
        before = self.turned(self.moved["from_value"])
        if self.flow and before < 0:
            return f"A day earlier it was a {self.way(against=True)} of {self.say(-before)}."
        change = self.turned(self.moved["change"])
        size = quantity(abs(self.round(change)), self.unit) + self.share(self.moved["change_pct"])
        return f"It {self.verb} {'up' if change > 0 else 'down'} {size} on a day earlier."


def opening(brief: dict[str, Any]) -> int:
    newest = [value["ts"] for value in brief["current"].values()]
    newest += [brief["generation_mix_ts"]] if brief["generation_mix"] else []
    return max(newest, default=brief["as_of"])


def part(brief: dict[str, Any], metric: str, tz: ZoneInfo, ties: bool) -> str:
    """The sentences about a metric that has a value."""
    figure, now = Figure(brief, metric), brief["current"][metric]
    at = "" if now["ts"] == opening(brief) else f"at {stamp(now['ts'], tz, opening(brief))} "
    lead = f"{at}{figure.lead()}"
    if figure.block is None:
        sentences = [f"{lead}, with too little history to rank it."]
    else:
        days = digits(said(Fraction(figure.block["window_days_actual"]), 0), 0)
        sentences = [f"{lead}{ranked(figure, f'the last {days} days', ties)}."]
    if metric != "carbon":
        sentences += [*([figure.median()] if figure.block else []), figure.trend()]
    if figure.late and metric != "carbon":
        sentences.append(f"A newer value was due by {stamp(now['expected_by'], tz)} and had not come.")
    text = " ".join(sentences)
    return text[0].upper() + text[1:]


def than(percentile: int) -> str:
    side, share = ("more", percentile) if percentile >= 50 else ("less", 100 - percentile)
    return f"{side} than in any of" if share == 100 else f"{side} than in {share} % of"


def headline(brief: dict[str, Any], many_ties: dict[str, bool]) -> str:
    """The headline, without the mark of simulated figures."""
    place = brief["zone_name"].split(" (")[0]
    metric = next((m for m in NAMES if m in brief["current"]), None)
    if metric is None:
        return f"{place}: no price, demand or flow is known at present."
    figure, window = Figure(brief, metric), "the days on record"
    if figure.block and Fraction(figure.block["window_days_actual"]) == 30:
        window = "the last thirty days"
    return f"{place}: {figure.lead()}{ranked(figure, window, many_ties.get(metric, False))}."


def ranked(figure: Figure, window: str, ties: bool) -> str:
    block = figure.block
    if block is None or figure.balanced:
        return ""
    if ties:
        return f", as often in {window}"
    same, every = block["percentile_same_hour"], block["percentile"]
    every = 100 - every if figure.exports else every
    hourly = figure.metric in BY_HOUR and same is not None
    if block["band"].startswith("record") or (not hourly and every in (0, 100)):
        return f", {'more' if every == 100 else 'less'} than at any time in {window}"
    if not hourly:
        band = band_of(100 - every if figure.exports else every)
        return f", about as usual in {window}" if band == "typical" else f", {than(every)} {window}"
    usual, everywhere = band_of(same) == "typical", band_of(every) == "typical"
    if usual and everywhere:
        return f", about as usual at this hour and in {window} as a whole"
    if usual:
        return f", about as usual at this hour but {than(every)} all hours of {window}"
    if everywhere:
        return f", {than(same)} the same hours of {window}, though about as usual over all hours"
    following = than(every)
    if (same > 50) == (every > 50):
        following = following[following.index("in ") :]
    return f", {than(same)} the same hours of {window} and {following} all hours"
