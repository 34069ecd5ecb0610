"""Define the words of the market: metrics, their forecasts, and fuels, as rows, paths and documents spell them."""

from __future__ import annotations

from enum import StrEnum


class Metric(StrEnum):
    """The quantity of a series. `price_day_ahead` is a separate series, served as `price?market=day_ahead`."""

    PRICE = "price"
    PRICE_DAY_AHEAD = "price_day_ahead"
    DEMAND = "demand"
    INTERCHANGE = "interchange"
    GENERATION = "generation"
    MIX = "mix"
    CARBON_INTENSITY = "carbon_intensity"
    CARBON = "carbon"
    CARBON_ESTIMATE = "carbon_estimate"
    CAPACITY = "capacity"


class Forecast(StrEnum):
    """A publisher's forecast of a metric: stored separately, never added to, ranked with or shown among actual values.

    Forecasts are not members of `Metric`, so that loops over all metrics exclude them.
    """

    PRICE = "price_forecast"
    DEMAND = "demand_forecast"
    CARBON_INTENSITY = "carbon_intensity_forecast"
    CARBON = "carbon_forecast"
    MIX = "mix_forecast"


def is_forecast(metric: str) -> bool:
    """Return whether a stored metric is a publisher's forecast."""
    return metric.endswith("_forecast")


def actual_of(metric: str) -> Metric:
    """Return the metric of a stored forecast, or the metric itself. Raises ValueError for any other word."""
    return Metric(metric.removesuffix("_forecast"))


def forecast_of(metric: Metric) -> Forecast:
    """Return the stored metric of a metric's forecasts. Raises ValueError for a metric without forecasts."""
    return Forecast(f"{metric}_forecast")


class Fuel(StrEnum):
    """The shared vocabulary of generation, mix, capacity and plants."""

    NUCLEAR = "nuclear"
    COAL = "coal"
    LIGNITE = "lignite"
    GAS = "gas"
    OIL = "oil"
    HYDRO = "hydro"
    PUMPED_STORAGE = "pumped_storage"
    WIND = "wind"
    WIND_ONSHORE = "wind_onshore"
    WIND_OFFSHORE = "wind_offshore"
    SOLAR = "solar"
    SOLAR_ROOFTOP = "solar_rooftop"
    BIOMASS = "biomass"
    WASTE = "waste"
    GEOTHERMAL = "geothermal"
    MARINE = "marine"
    BATTERY = "battery"
    IMPORTS = "imports"
    OTHER = "other"


PLANT_FUELS = tuple(fuel for fuel in Fuel if fuel is not Fuel.SOLAR_ROOFTOP)
"""The fuels of the plants layer: rooftop panels exist only in a mix."""
