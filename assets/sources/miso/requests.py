"""Build the requests to MISO: live responses cover the current day, and each report covers one day."""

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
"""Days for which the preliminary real-time file exists. The final file is published by then."""
LIVE_PRICES = "MarketPricing/GetRealTimeFiveMinExPost"


def live(feed: str, path: str, days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return one request whatever the days: these responses cover the current day only."""
    wanted = tuple(sorted({d.day for d in days}))
    return [Request(feed, f"{LIVE}/{path}", days=wanted, ext="json")] if wanted else []


def lmp_rt_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return the request for today's newest interval. If yesterday is requested too, both days are fetched completely.

    Such a response has some 38 MB.
    """
    ages = {age(day, now): day for day in days}
    answers = {0: "Rolling" if 1 in ages else "Current", 1: "Previous"}
    return [
        Request("miso.lmp_rt", f"{LIVE}/{LIVE_PRICES}/{answers[days_ago]}", days=(day.day,), ext="json")
        for days_ago, day in sorted(ages.items(), reverse=True)
        if days_ago in answers
    ]


def report(feed: str, name: str, days: Sequence[MarketDay], now: int, lag: int = 0) -> list[Request]:
    """Return a request for one file per day. Its name has the market day, or the publication day `lag` days later."""
    ext = name.rpartition(".")[2]
    return [
        Request(feed, f"{REPORTS}/{day.day + timedelta(days=lag):%Y%m%d}_{name}", days=(day.day,), ext=ext)
        for day in sorted(set(days))
    ]


def lmp_rt_daily_requests(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for the preliminary file of recent days, and the final file of earlier days."""
    files = [(day, "prelim" if age(day, now) <= PRELIMINARY_DAYS else "final") for day in sorted(set(days))]
    return [asked for day, state in files for asked in report("miso.lmp_rt_daily", f"rt_lmp_{state}.csv", [day], now)]
