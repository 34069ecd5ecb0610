"""Simulate PSE: prices in PLN at a daily exchange rate, and demand with a delay of ten hours, 100 rows per page.

Values come from the model grid. The original: https://raporty.pse.pl.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time

import numpy as np

from assets.simulated import grid
from assets.simulated.answer import Answer, choice, json_answer
from assets.simulated.day_ahead import QUARTER, QUARTER_HOURLY_SINCE, auction, is_out
from assets.sources.pse import HOST, TZ
from warehouse.market.clock import HOUR, MarketDay, utc
from warehouse.market.feeds import Request

OUT_AT = time(13, 50)
LAG = 10 * HOUR
PAGE = 100


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/api/csdac-pln` and `/api/kse-load`, filtered by one business date."""
    tables: dict[str, Callable[[MarketDay, int], list[dict[str, object]]]] = {"csdac-pln": _prices, "kse-load": _loads}
    table = request.url.removeprefix(f"https://{HOST}/api/")
    if table not in tables:
        return json_answer({"error": {"code": "EntityNotFound"}}, 404)
    rows = tables[table](MarketDay(date.fromisoformat(dict(request.params)["$filter"].split("'")[1]), TZ), now)
    return json_answer({"value": rows[:PAGE]})


def _prices(day: MarketDay, now: int) -> list[dict[str, object]]:
    if not is_out(day, now, OUT_AT) or day.day < QUARTER_HOURLY_SINCE:
        return []
    rate = 42_000 + choice("pse/rate", day.day, 2_000)
    ts, prices = auction("PL", day)
    return [
        _row(day, start, "csdac_pln", round(round(price * 100) * rate / 10_000) / 100)
        for start, price in zip(ts.tolist(), prices, strict=True)
    ]


def _loads(day: MarketDay, now: int) -> list[dict[str, object]]:
    ts = np.arange(day.start, day.end, QUARTER, dtype=np.int64)
    loads = grid.demand("PL", ts, QUARTER).round(3).tolist()
    return [
        _row(day, start, "load_actual", load if start + QUARTER + LAG <= now else None)
        for start, load in zip(ts.tolist(), loads, strict=True)
    ]


def _row(day: MarketDay, start: int, name: str, value: float | None) -> dict[str, object]:
    return {name: value, "dtime_utc": f"{utc(start + QUARTER):%Y-%m-%d %H:%M:%S}", "business_date": f"{day}"}
