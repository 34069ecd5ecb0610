"""Simulate OMIE: a day's prices of Portugal and Spain. One day in eight is published again, as version 2 or 3.

Each version replaces the version before, after an hour, and its prices are a euro lower. Only the last version's are
right.

Values come from the model grid. The original: https://www.omie.es.
"""

from __future__ import annotations

from datetime import datetime, time

from assets.simulated.answer import NOTHING, Answer, choice, lines, short
from assets.simulated.day_ahead import auction, is_out
from assets.sources.omie import COLUMNS, HOST, TZ
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request

OUT_AT = time(13, 15)


def simulate_response(request: Request, now: int) -> Answer:
    """Respond to `/es/file-download?parents=marginalpdbc&filename=marginalpdbc_YYYYMMDD.N`."""
    params = dict(request.params)
    name, _, version = params.get("filename", "").partition(".")
    if request.url != f"https://{HOST}/es/file-download" or params.get("parents") != "marginalpdbc":
        return NOTHING
    day = datetime.strptime(name, "marginalpdbc_%Y%m%d").date()  # noqa: DTZ007  a civil date
    last = 2 + choice("omie/last version", day, 2) if choice("omie/version", day, 8) == 0 else 1
    out = sum(is_out(MarketDay(day, TZ), now, OUT_AT.replace(hour=OUT_AT.hour + hour)) for hour in range(last))
    if not out or version != str(out):
        return NOTHING
    spain, portugal = (
        [short(price + last - out, 2) for price in auction(zone, MarketDay(day, TZ))[1]]
        for zone in ("ES", "PT" if "PT" in COLUMNS else "ES")
    )
    prices = enumerate(zip(portugal, spain, strict=True), start=1)
    rows = [f"{day:%Y;%m;%d};{period};{pt};{es};" for period, (pt, es) in prices]
    return Answer(200, lines(["MARGINALPDBC;", *rows, "*"]))
