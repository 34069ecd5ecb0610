"""What each metric measures, in words: definition, unit, sign and time.

The one place from which documentation takes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from warehouse.market import Metric


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric, as a reader of its figures needs to know it."""

    title: str
    definition: str
    unit: str
    sign: str
    interval: str
    """What one row's `ts` and `resolution` span."""


_MEAN = (
    "The interval that starts at `ts`: its mean, or the reading at `ts` where the publisher reads meters at instants."
)

DEFINITIONS: dict[Metric, Definition] = {
    Metric.PRICE: Definition(
        "Wholesale price",
        "The zone's headline wholesale price: real-time locational marginal price (LMP) at one named hub in the US, "
        "the market index price in Great Britain, the regional dispatch price in Australia, the day-ahead auction in "
        "continental Europe. Taxes, network charges and retail margins are not in it.",
        "local currency per MWh",
        "May be negative: the seller pays.",
        "The price that holds for the interval that starts at `ts`.",
    ),
    Metric.PRICE_DAY_AHEAD: Definition(
        "Day-ahead price",
        "The price of the day-ahead auction: in the US at the same hub as the headline price, in continental Europe "
        "the headline price itself. Great Britain and Australia have none here. Served as `price?market=day_ahead`.",
        "local currency per MWh",
        "May be negative: the seller pays.",
        "The price of the delivery interval that starts at `ts`; rows of tomorrow are known from the auction on.",
    ),
    Metric.DEMAND: Definition(
        "Demand",
        "Electricity demand of the zone as its publisher meters or estimates it at transmission level: consumption and "
        "grid losses less what small generators behind the meter cover. Publishers differ in whether pumping is in it; "
        "docs/feeds.md names the product of each feed.",
        "MW",
        "Positive.",
        _MEAN,
    ),
    Metric.INTERCHANGE: Definition(
        "Interchange",
        "Net flow over all borders of the zone. With `by=border`, one row for each neighbour or tie. A net that is a "
        "sum is there only where all its borders are.",
        "MW",
        "Net import: positive into the zone, negative out of it.",
        _MEAN + " NYISO's ties are schedules, not meters.",
    ),
    Metric.GENERATION: Definition(
        "Generation mix",
        "Generation by fuel: MW in California, share of total generation in Great Britain, where imports are a part.",
        "MW, or % of the total",
        "Positive; storage that charges is negative, California's imports are negative when it exports.",
        _MEAN,
    ),
    Metric.CARBON_INTENSITY: Definition(
        "Carbon intensity",
        "CO2 emitted at power stations for each kWh consumed, as NESO estimates it from the metered mix (actual, not "
        "forecast); life-cycle emissions are not in it. Great Britain only.",
        "gCO2/kWh",
        "Positive.",
        _MEAN,
    ),
    Metric.CAPACITY: Definition(
        "Installed capacity",
        "Net generating capacity installed in the zone by fuel, as reported to ENTSO-E for a calendar year.",
        "MW",
        "Positive.",
        "The calendar year, in Brussels time, that starts at `ts`.",
    ),
}
