"""Declare the four sources of the API's tests, which are never fetched."""

from __future__ import annotations

from tests.stand_ins.declared import feed, source
from warehouse.market.vocabulary import Forecast, Metric

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
        source("south", (feed("south.hourly", ("US-NYISO", "GB"), (Metric.DEMAND,), "1h", rank=9),)),
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
