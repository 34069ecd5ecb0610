"""The brief's words a second time: sentences and headline from a brief's own numbers, as docs/brief.md says them.

The standard library alone, and nothing of this project; `recompute.py` has checked the numbers before.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

NAMES = {
    "price": "The price",
    "demand": "Demand",
    "interchange": "Interchange",
    "carbon_intensity": "Carbon intensity",
}
BY_HOUR = ("price", "demand")
FLOWS = {
    "record_low": "less {} than at any time",
    "very_low": "unusually little {}",
    "low": "less {} than usual",
    "typical": "typical",
    "high": "more {} than usual",
    "very_high": "unusually high {}",
    "record_high": "more {} than at any time",
}
SCALE = ["record_low", "very_low", "low", "typical", "high", "very_high", "record_high"]
CHEAP = dict(zip(SCALE, ["", "very cheap", "cheap", "typical", "expensive", "very expensive", ""], strict=True))
LOW = dict(zip(SCALE, ["", "very low", "low", "typical", "high", "very high", ""], strict=True))


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


def direction(value: Fraction) -> str:
    return "balanced" if abs(value) < 25 else "net import" if value > 0 else "net export"


def percent(block: dict[str, Any], name: str, value: Fraction) -> str:
    share = block.get(name)
    return "" if share is None or value < 0 else f" ({digits(abs(Fraction(share)), 1)} %)"


def flow_rank(value: Fraction, band: str) -> str:
    exporting = value < 0 or (value == 0 and SCALE.index(band) > 3)
    if exporting:
        band = SCALE[6 - SCALE.index(band)]
    return FLOWS[band].format("export" if exporting else "import")


def band_words(metric: str, value: Fraction, block: dict[str, Any]) -> str:
    band, same = block["band"], block["percentile_same_hour"]
    if metric == "interchange":
        return flow_rank(value, band)
    money = metric == "price" and value >= 0
    if band.startswith("record"):
        low = "cheaper" if money else "lower"
        return f"{low if band == 'record_low' else 'more expensive' if money else 'higher'} than at any time"
    if metric in BY_HOUR and same is not None:
        band = band_of(same)
    return (CHEAP if money else LOW)[band]


def ranked(metric: str, value: Fraction, block: dict[str, Any], ties: bool, decimals: int) -> str:
    actual = Fraction(block["window_days_actual"])
    window = f"the last {'30' if actual == 30 else digits(actual, 1)} days"
    if ties:
        return f", a value that {window} often had, so that no rank is given."
    median = said(block["median"], decimals)
    apart = said(value, decimals) - median
    against = f"the median of {digits(median, decimals)}"
    if apart:
        share = percent(block, "vs_median_pct", value)
        against = f"{digits(abs(apart), decimals)}{share} {'above' if apart > 0 else 'below'} {against}"
    else:
        exact = Fraction(block["vs_median"])
        against = f"{'just above' if exact > 0 else 'just below' if exact < 0 else 'level with'} {against}"
    words, rank, same = band_words(metric, value, block), block["percentile"], block["percentile_same_hour"]
    if block["band"].startswith("record"):
        return f", {words} in {window}: {against}."
    if metric in BY_HOUR and same is not None:
        place = f"percentile {same} of the same hour in {window}, {rank} of all hours"
        return f", {words} for this hour of the day: {place}, {against}."
    place = f"percentile {rank} of {'net import in ' if metric == 'interchange' else ''}{window}"
    if same is not None and abs(same - rank) >= 10:
        place += f" ({same} among the same hours of the day)"
    return f", {words} for this zone: {place}, {against}."


def moved(metric: str, value: Fraction, block: dict[str, Any], verb: str, decimals: int) -> str:
    if block["direction"] == "flat":
        return f"It {verb} about the same as a day earlier."
    up, before = block["direction"] == "rising", Fraction(block["from_value"])
    change = digits(abs(said(block["change"], decimals)), decimals) + percent(block, "change_pct", value)
    if metric != "interchange":
        return f"It {verb} {'up' if up else 'down'} {change} on a day earlier."
    if value * before < 0:
        told = f"A day earlier it was {direction(before)}"
    else:
        exporting = value < 0 or before < 0
        more, flow = "more" if up != exporting else "less", "export" if exporting else "import"
        told = f"It {verb} {more} {flow} than a day earlier"
    return f"{told}: the net import {'rose' if up else 'fell'} by {change}."


def opening(brief: dict[str, Any]) -> int:
    newest = [value["ts"] for value in brief["current"].values()]
    newest += [brief["generation_mix_ts"]] if brief["generation_mix"] else []
    return max(newest, default=brief["as_of"])


def part(brief: dict[str, Any], metric: str, tz: ZoneInfo, ties: bool) -> str:
    """The sentences about a metric that has a value."""
    now, decimals = brief["current"][metric], 2 if metric == "price" else 0
    value, late = Fraction(now["value"]), brief["as_of"] > now["expected_by"]
    verb = "was" if late else "is"
    at = "" if now["ts"] == opening(brief) else f" at {stamp(now['ts'], tz, opening(brief))}"
    negative = "negative, " if metric == "price" and value < 0 else ""
    flow = f" ({direction(value)})" if metric == "interchange" else ""
    lead = f"{NAMES[metric]}{at} {verb} {negative}{digits(said(value, decimals), decimals)} {now['unit']}{flow}"
    block, trend = brief["context"].get(metric), brief["trend_24h"].get(metric)
    rank = ranked(metric, value, block, ties, decimals) if block else ", with too little history to rank it."
    change = moved(metric, value, trend, verb, decimals) if trend else "There is no value of a day earlier."
    due = f" A newer value was due by {stamp(now['expected_by'], tz)} and had not come." if late else ""
    return f"{lead}{rank} {change}{due}"


def than(percentile: int) -> str:
    side, share = ("more", percentile) if percentile >= 50 else ("less", 100 - percentile)
    return f"{side} than in any of" if share == 100 else f"{side} than in about {share} % of"


def headline(brief: dict[str, Any], many_ties: dict[str, bool]) -> str:
    """The headline, without the mark of simulated figures."""
    place = brief["zone_name"].split(" (")[0]
    metric = next((m for m in NAMES if m in brief["current"]), None)
    if metric is None:
        return f"{place}: no price, demand or flow is known at present."
    now, block = brief["current"][metric], brief["context"].get(metric)
    value, late = Fraction(now["value"]), brief["as_of"] > now["expected_by"]
    if metric == "interchange":
        if abs(value) < 25:
            return f"{place}: power imports and exports {'were' if late else 'are'} balanced."
        megawatts = digits(said(abs(value), 0), 0)
        return f"{place}: {direction(value)}s of power {'were' if late else 'are'} {megawatts} MW."
    decimals = 2 if metric == "price" else 0
    stated = f"{digits(said(value, decimals), decimals)} {now['unit']}"
    verb = "was" if late else "is"
    if metric == "price":
        lead = f"power cost{'' if late else 's'} {stated}"
        if value < 0:
            lead = f"the price of power {verb} negative at {stated}"
    else:
        lead = f"{NAMES[metric].lower()} {verb} {stated}"
    return f"{place}: {lead}{headline_rank(metric, block, many_ties.get(metric, False))}."


def headline_rank(metric: str, block: dict[str, Any] | None, ties: bool) -> str:
    if block is None:
        return ""
    window = "the last thirty days" if Fraction(block["window_days_actual"]) == 30 else "the days on record"
    if ties:
        return f", as often in {window}"
    if block["band"].startswith("record"):
        return f", {'more' if block['band'] == 'record_high' else 'less'} than at any time in {window}"
    same, every = block["percentile_same_hour"], block["percentile"]
    if metric not in BY_HOUR or same is None:
        return f", {than(every)} the hours of {window}"
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
