"""Simulated OMIE: a day's prices of Portugal and Spain; one day in eight is published a second time, unchanged.

Values come from the model grid. The original: https://www.omie.es.
"""

from __future__ import annotations

from datetime import date, datetime, time

from assets.simulated.answer import Answer
from assets.simulated.day_ahead import auction, is_out
from assets.simulated.format import choice, lines, short
from assets.sources.omie import HOST, TZ
from warehouse.clock import MarketDay
from warehouse.market import Request

OUT_AT = time(13, 15)


def answer(request: Request, now: int) -> Answer:
    """`/es/file-download?parents=marginalpdbc&filename=marginalpdbc_YYYYMMDD.N`."""
    params = dict(request.params)
    name, _, version = params.get("filename", "").partition(".")
    if request.url != f"https://{HOST}/es/file-download" or params.get("parents") != "marginalpdbc":
        return Answer(404, b"Not Found")
    try:
        day = datetime.strptime(name, "marginalpdbc_%Y%m%d").date()  # noqa: DTZ007  a civil date
    except ValueError:
        return Answer(404, b"Not Found")
    versions = 2 if choice("omie/version", day, 8) == 0 else 1
    if not is_out(MarketDay(day, TZ), now, OUT_AT) or version not in map(str, range(1, versions + 1)):
        return Answer(404, b"Not Found")
    return Answer(200, render(day))


def render(day: date) -> bytes:
    """A day's file."""
    _, prices = auction("ES", MarketDay(day, TZ))
    texts = [short(price, 2) for price in prices]
    return lines(
        [
            "MARGINALPDBC;",
            *(f"{day:%Y;%m;%d};{period};{text};{text};" for period, text in enumerate(texts, start=1)),
            "*",
        ]
    )
