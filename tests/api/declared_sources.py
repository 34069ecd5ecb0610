"""The four sources of the API's tests: declared, and never asked."""

from __future__ import annotations

from datetime import date
from typing import Any

from warehouse.market.market import Feed, Forecast, Metric, Publication, Source


def _none(*_: object) -> Any:
    raise AssertionError("the API asks no publisher")


def feed(
    name: str, zones: tuple[str, ...], metrics: tuple[Metric | Forecast, ...], resolution: str, rank: int = 1
) -> Feed:
    """A feed that is declared and never fetched."""
    return Feed(
        id=name,
        title=f"{name} of the tests",
        zones=zones,
        metrics=metrics,
        rank=rank,
        resolution=resolution,
        stamps="start",
        tz="UTC",
        since=date(2016, 1, 1),
        publication=Publication(lag_minutes=10),
        requests=_none,
        parse=_none,
        every_minutes=5,
    )


def source(code: str, feeds: tuple[Feed, ...], withheld: bool = False) -> Source:
    """A publisher that exists in the tests alone."""
    return Source(
        code,
        f"{code.title()} Market Operator",
        f"https://{code}.example",
        (f"{code}.example",),
        60.0,
        "CC BY 4.0",
        f"https://{code}.example/licence",
        f"© {code.title()} Market Operator",
        "no" if withheld else "yes",
        feeds,
        withheld,
    )


SOURCES = {
    s.code: s
    for s in (
        source(
            "north",
            (
                feed("north.price", ("GB", "AU-NSW", "DE-LU", "US-NYISO"), (Metric.PRICE,), "30m"),
                feed(
                    "north.grid",
                    ("GB", "AU-NSW", "DE-LU", "US-NYISO", "AU-SA"),
                    (Metric.DEMAND, Metric.INTERCHANGE),
                    "5m",
                ),
                feed("north.mix", ("GB", "US-CAISO"), (Metric.GENERATION,), "30m"),
                feed("north.intensity", ("GB",), (Metric.CARBON_INTENSITY,), "30m"),
                feed("north.auction", ("US-NYISO",), (Metric.PRICE_DAY_AHEAD,), "1h"),
                feed("north.plants", ("DE-LU", "FR"), (Metric.CAPACITY,), "1y"),
            ),
        ),
        source("south", (feed("south.hourly", ("US-NYISO", "GB"), (Metric.DEMAND,), "1h", 9),)),
        source(
            "east",
            (
                feed("east.ahead", ("GB", "US-NYISO"), (Forecast.DEMAND,), "1h"),
                feed("east.carbon", ("GB",), (Forecast.CARBON_INTENSITY,), "30m"),
                feed("east.price", ("AU-NSW",), (Forecast.PRICE,), "30m"),
            ),
        ),
        source("shut", (feed("shut.price", ("US-PJM",), (Metric.PRICE,), "5m"),), withheld=True),
    )
}
