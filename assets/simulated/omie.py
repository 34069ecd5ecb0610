"""Simulated OMIE: a day's prices of Portugal and Spain; one day in eight is published a second time, unchanged.

Values come from the model grid. The original: https://www.omie.es.
"""

from __future__ import annotations

from datetime import datetime, time

from assets.simulated.answer import NOTHING, Answer, choice, lines, short
from assets.simulated.day_ahead import auction, is_out
from assets.sources.omie import HOST, TZ
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request

OUT_AT = time(13, 15)


def answer(request: Request, now: int) -> Answer:
    """`/es/file-download?parents=marginalpdbc&filename=marginalpdbc_YYYYMMDD.N`."""
    params = dict(request.params)
    name, _, version = params.get("filename", "").partition(".")
    if request.url != f"https://{HOST}/es/file-download" or params.get("parents") != "marginalpdbc":
        return NOTHING
    day = datetime.strptime(name, "marginalpdbc_%Y%m%d").date()  # noqa: DTZ007  a civil date
    versions = 2 if choice("omie/version", day, 8) == 0 else 1
    if not is_out(MarketDay(day, TZ), now, OUT_AT) or version not in map(str, range(1, versions + 1)):
        return NOTHING
    _, prices = auction("ES", MarketDay(day, TZ))
    texts = [short(price, 2) for price in prices]
    rows = [f"{day:%Y;%m;%d};{period};{text};{text};" for period, text in enumerate(texts, start=1)]
    return Answer(200, lines(["MARGINALPDBC;", *rows, "*"]))
