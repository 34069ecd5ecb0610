"""Where MISO's answers lie: live ones hold the running day, reports a day each. No parsing here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from assets.parsing.days import age
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request

ZONE = "US-MISO"
TZ = "Etc/GMT+5"
EST = -5
LIVE = "https://public-api.misoenergy.org/api"
REPORTS = "https://docs.misoenergy.org/marketreports"
PRELIMINARY_DAYS = 4
"""How long the preliminary real-time file stays; the final one is out by then."""
LIVE_PRICES = "MarketPricing/GetRealTimeFiveMinExPost"


def live(feed: str, path: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """One request whatever the days: these answers hold the running day only."""
    wanted = tuple(sorted({d.day for d in days}))
    return [Request(feed, f"{LIVE}/{path}", days=wanted, ext="json")] if wanted else []


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Today's newest interval; where yesterday is asked for too, both days whole, in answers of some 38 MB each."""
    ages = {age(day, now): day for day in days}
    answers = {0: "Rolling" if 1 in ages else "Current", 1: "Previous"}
    return [
        Request("miso.lmp_rt", f"{LIVE}/{LIVE_PRICES}/{answers[days_ago]}", days=(day.day,), ext="json")
        for days_ago, day in sorted(ages.items(), reverse=True)
        if days_ago in answers
    ]


def report(feed: str, name: str, days: Sequence[MarketDay], now: int, lag: int = 0) -> list[Request]:
    """One file a day; its name bears the market day, or the day `lag` days later on which it came out."""
    ext = name.rpartition(".")[2]
    return [
        Request(feed, f"{REPORTS}/{day.day + timedelta(days=lag):%Y%m%d}_{name}", days=(day.day,), ext=ext)
        for day in sorted(set(days))
    ]


def lmp_rt_daily_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """The preliminary file of the last days, the final one of those before."""
    files = [(day, "prelim" if age(day, now) <= PRELIMINARY_DAYS else "final") for day in sorted(set(days))]
    return [asked for day, state in files for asked in report("miso.lmp_rt_daily", f"rt_lmp_{state}.csv", [day], now)]
