"""Write the sentences and the headline of a brief from its own numbers, as docs/brief.md defines them.

This second implementation uses only the standard library and no code of this project. `recompute.py` has checked the
numbers before.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

NAMES = {
    "price": ("power", "The wholesale price"),
    "demand": ("demand", "Demand"),
    "interchange": ("", ""),
    "carbon_intensity": ("carbon intensity", "Carbon intensity"),
    "carbon": ("carbon intensity", "Carbon intensity"),
}
BY_HOUR = ("price", "demand")
CURRENCIES = {"EUR": "€", "GBP": "£", "USD": "$", "AUD": "A$"}


def said(value: Any, decimals: int) -> Fraction:
    """Return `value` rounded half up. A value other than zero that would become zero keeps its first digit."""
    exact = Fraction(value)
    if exact and 2 * abs(exact) * 10**decimals < 1:
        while abs(exact) * 10**decimals < 1:
            decimals += 1
    size = Fraction(1, 10**decimals)
    whole = int(abs(exact) / size + Fraction(1, 2)) * size
    return whole if exact >= 0 else -whole


def digits(number: Fraction, least: int) -> str:
    """Return `number` with digits in groups of three and all its decimals, at least `least`."""
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
    """Return a text such as `€60.50` or `60 MW`. If `per` is set, a price includes its unit."""
    minus, currency = "minus " if number < 0 else "", unit.partition("/MWh")[0]
    if currency in CURRENCIES:
        return f"{minus}{CURRENCIES[currency]}{digits(abs(number), 2)}{' a megawatt-hour' if per else ''}"
    return f"{minus}{digits(abs(number), 0)} {unit}"


class Figure:
    """A metric of a brief. Flows are positive in the direction of the current flow."""

    def __init__(self, brief: dict[str, Any], metric: str) -> None:
        now = brief["current"][metric]
        self.metric, self.unit, self.flow = metric, now["unit"], metric == "interchange"
        self.decimals = 2 if metric == "price" else 0
        self.exports = self.flow and Fraction(now["value"]) < 0
        self.value = self.turned(now["value"])
        self.short, self.name = NAMES[metric]
        if metric == "carbon" and brief["carbon_basis"] == "estimate":
            self.short, self.name = "estimated carbon intensity", "Estimated carbon intensity"
        self.late = brief["as_of"] > now["expected_by"]
        self.past = self.late or now["ts"] != opening(brief)
        self.block, self.moved = brief["context"].get(metric), brief["trend_24h"].get(metric)
        self.balanced = self.flow and self.value < 25
        days = Fraction(self.block["window_days_actual"]) if self.block else Fraction(30)
        known = f"the {digits(said(days, 0), 0)} days on record"
        self.window, self.days = ("the past 30 days", "30 days") if days == 30 else (known, known)

    def turned(self, value: Any) -> Fraction:
        return -Fraction(value) if self.exports else Fraction(value)

    def round(self, value: Fraction) -> Fraction:
        return said(value, self.decimals)

    def say(self, value: Fraction, per: bool = False) -> str:
        return quantity(self.round(value), self.unit, per)

    def way(self, against: bool = False) -> str:
        return "net exports" if self.exports != against else "net imports"

    def be(self, one: str = "is", many: str = "are") -> str:
        if self.past:
            one, many = "was", "were"
        return many if self.flow else one

    def head(self) -> str:
        stated, last = self.say(self.value, per=True), "last " if self.late else ""
        if self.balanced:
            size = f" ({self.way()} of {stated})" if self.value else ""
            return f"imports and exports {last}nearly balanced{size}"
        return f"{self.way() if self.flow else self.short} {last}at {stated}"

    def lead(self, when: str) -> str:
        stated = self.say(self.value, per=True)
        if self.balanced:
            size = f", with {self.way()} of {stated}" if self.value else ""
            return f"Imports and exports {self.be()} nearly balanced{when}{size}"
        return f"{self.way().capitalize() if self.flow else self.name} {self.be()} {stated}{when}"

    def share(self, pct: Any) -> str:
        plain = pct is not None and self.value >= 0 and not self.exports and abs(Fraction(pct)) < 100
        return f" ({digits(abs(Fraction(pct)), 1)}%)" if plain else ""

    def median(self) -> str:
        median, be = self.turned(self.block["median"]), "was" if self.past else "is"
        whole = self.window == "the past 30 days"
        label = "30-day median" if whole else f"median of {self.window}"
        if self.flow and median < 0:
            return f"The {label} is {self.way(against=True)} of {self.say(-median)}."
        named = f"the {label} of {self.say(median)}" if whole else f"the {label}, {self.say(median)}"
        apart = self.round(self.value) - self.round(median)
        side = ["below", "level with", "above"][(apart > 0) - (apart < 0) + 1]
        if not apart:
            exact = self.turned(self.block["vs_median"])
            side = {1: "just above", 0: side, -1: "just below"}[(exact > 0) - (exact < 0)]
            return f"That {be} {side} {named}."
        return f"That {be} {quantity(abs(apart), self.unit)}{self.share(self.block['vs_median_pct'])} {side} {named}."

    def trend(self) -> str:
        if self.moved is None:
            return "No value is available for 24 hours earlier."
        they = f"{'They' if self.flow else 'It'} {self.be()}"
        if self.moved["direction"] == "flat":
            return f"{they} little changed from 24 hours earlier."
        before = self.turned(self.moved["from_value"])
        if self.flow and before < 0:
            other = f"{self.way(against=True)} of {self.say(-before)}"
            return f"They {'compared' if self.past else 'compare'} with {other} 24 hours earlier."
        change = self.turned(self.moved["change"])
        size = quantity(abs(self.round(change)), self.unit) + self.share(self.moved["change_pct"])
        return f"{they} {'up' if change > 0 else 'down'} {size} from 24 hours earlier."


def opening(brief: dict[str, Any]) -> int:
    newest = [value["ts"] for value in brief["current"].values()]
    newest += [brief["generation_mix_ts"]] if brief["generation_mix"] else []
    return max(newest, default=brief["as_of"])


def part(brief: dict[str, Any], metric: str, tz: ZoneInfo, ties: bool) -> str:
    """Return the sentences about a metric that has a value."""
    figure, now = Figure(brief, metric), brief["current"][metric]
    lead = figure.lead("" if now["ts"] == opening(brief) else f" at {stamp(now['ts'], tz, opening(brief))}")
    if figure.block is None:
        sentences = [f"{lead}. There is too little history to rank {'them' if figure.flow else 'it'}."]
    else:
        sentences = [f"{lead}{ranked(figure, ties)}."]
    if metric != "carbon":
        sentences += [*([figure.median()] if figure.block else []), figure.trend()]
    if figure.late and metric != "carbon":
        sentences.append(f"A newer value was due by {stamp(now['expected_by'], tz)} but had not arrived.")
    return " ".join(sentences)


def headline(brief: dict[str, Any], many_ties: dict[str, bool]) -> str:
    """Return the headline without the mark of simulated values."""
    place = brief["zone_name"].split(" (")[0]
    metric = next((m for m in NAMES if m in brief["current"]), None)
    if metric is None:
        return f"{place}: no current market data is available."
    figure = Figure(brief, metric)
    return f"{place}: {figure.head()}{ranked(figure, many_ties.get(metric, False))}."


def than(percentile: int) -> tuple[str, str]:
    """Return the comparison for a percentile, and the extreme if it is one, else an empty text."""
    side, share = ("high", percentile) if percentile >= 50 else ("low", 100 - percentile)
    return f"{side}er than {share}% of the time", f"the {side}est" if share == 100 else ""


def ranked(figure: Figure, ties: bool) -> str:
    block = figure.block
    if block is None or figure.balanced:
        return ""
    if ties:
        return f", a level seen more than a quarter of the time in {figure.window}"
    same, every = block["percentile_same_hour"], block["percentile"]
    every = 100 - every if figure.exports else every
    hourly = figure.metric in BY_HOUR and same is not None
    if block["band"].startswith("record") or (not hourly and every in (0, 100)):
        return f", the {'highest' if every == 100 else 'lowest'} in {figure.days}"
    if not hourly:
        band = band_of(100 - every if figure.exports else every)
        usual = f"within the usual range of {figure.window}"
        return f", {usual}" if band == "typical" else f", {than(every)[0]} in {figure.window}"
    usual, everywhere = band_of(same) == "typical", band_of(every) == "typical"
    if usual and everywhere:
        return f", within the usual range for this hour and for {figure.window} overall"
    (hour, hour_extreme), (overall, extreme) = than(same), than(every)
    overall = f"{extreme or overall} overall"
    if usual:
        return f", within the usual range for this hour but {overall} in {figure.window}"
    if everywhere:
        overall = "within the usual range overall"
    link = "and" if (same > 50) == (every > 50) and not everywhere else "but"
    if hour_extreme:
        return f", {hour_extreme} for this hour in {figure.days} {link} {overall}"
    if link == "and" and not extreme:
        return f", {hour} at this hour and {overall.partition(' than ')[2]} in {figure.window}"
    return f", {hour} at this hour in {figure.window} {link} {overall}"
