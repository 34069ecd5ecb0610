"""The values that are possible, by metric and zone: wider than every record and cap: no true value is refused."""

from __future__ import annotations

from warehouse.market import Fuel, Metric

PEAK_MW: dict[str, float] = {
    "US-CAISO": 52_100,
    "US-ERCOT": 85_500,
    "US-PJM": 165_600,
    "US-MISO": 127_100,
    "US-NYISO": 34_000,
    "US-ISONE": 28_200,
    "US-SPP": 56_200,
    "GB": 62_000,
    "AU-NSW": 14_800,
    "AU-QLD": 11_200,
    "AU-VIC": 10_600,
    "AU-SA": 3_500,
    "AU-TAS": 1_900,
    "DE-LU": 85_000,
    "FR": 102_100,
    "ES": 45_500,
    "IT-NO": 33_000,
    "NL": 20_500,
    "BE": 14_500,
    "PL": 29_000,
    "SE-3": 17_500,
    "NO-2": 7_500,
    "DK-1": 4_500,
    "AT": 13_000,
    "CH": 13_000,
}
"""The highest demand ever published for each zone, roughly, MW: the bounds below are shares of it."""

_STORES = frozenset({Fuel.BATTERY, Fuel.PUMPED_STORAGE})


def physical(metric: str, zone: str, unit: str, fuel: str | None = None) -> tuple[float, float]:
    """The lowest and the highest value that can be a reading, both included, in the row's own unit."""
    peak = PEAK_MW[zone]
    if metric in (Metric.PRICE, Metric.PRICE_DAY_AHEAD):
        return _price(zone, unit)
    if metric == Metric.DEMAND:
        # Rooftop solar has driven South Australia's demand below zero since 2023. Elsewhere next to nothing is no
        # demand but a missing reading spelt 0.
        return (-0.3 * peak if zone == "AU-SA" else 0.01 * peak), 1.5 * peak
    if metric == Metric.INTERCHANGE:
        # Small zones trade more than they use (NO-2, DK-1, CH).
        return -(15_000 + 0.25 * peak), 15_000 + 0.25 * peak
    if metric == Metric.GENERATION:
        if unit == "%":
            return 0.0, 100.0
        # Plants at rest draw their own use from the grid; stores charge.
        return -peak if fuel in _STORES else -0.05 * peak, 1.5 * peak
    if metric == Metric.CARBON_INTENSITY:
        return 1.0, 1000.0  # no grid of ours was ever free of carbon: 0 is a missing reading too
    return 0.0, 300_000.0


def _price(zone: str, unit: str) -> tuple[float, float]:
    """Market floors and caps with room: AEMO's cap rises every July, ERCOT's stood at 9000, SDAC's floor is -500."""
    if zone.startswith("AU-"):
        return -1_100.0, 40_000.0
    if zone.startswith("US-"):
        return -2_500.0, 15_000.0
    if unit == "PLN/MWh":
        return -4_500.0, 45_000.0
    return -1_000.0, 10_000.0


def largest_step(metric: str, zone: str) -> float | None:
    """The largest plausible step between two neighbouring readings; None where steps say nothing (prices)."""
    if metric == Metric.DEMAND:
        return 0.2 * PEAK_MW[zone]
    if metric == Metric.INTERCHANGE:
        return 5_000 + 0.1 * PEAK_MW[zone]
    if metric == Metric.CARBON_INTENSITY:
        return 150.0
    return None


FROZEN_HOURS: dict[str, float] = {Metric.DEMAND: 3, Metric.PRICE: 6, Metric.INTERCHANGE: 12, Metric.CARBON_INTENSITY: 6}
"""Hours a series may repeat one value. Absent: metrics that do (capacity, nuclear's share, a night's solar)."""
FROZEN_READINGS = 8
"""The fewest equal readings that count as frozen: three hourly ones prove nothing."""
