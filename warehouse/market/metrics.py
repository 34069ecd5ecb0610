"""Define the metrics: one record each, which determines bounds, units, paths, prices and words everywhere.

Every field without a default must be set, so that a new metric does not inherit another's bounds or words.
"""

from __future__ import annotations

from dataclasses import replace

from warehouse.market import carbon
from warehouse.market.metric_definition import Agreement, BriefWords, CurrentMix, Definition, Path, Tolerance
from warehouse.market.vocabulary import Forecast, Metric, actual_of
from warehouse.market.zones import Limits, Zone, zones_with


def _mw(_zone: Zone) -> str:
    return "MW"


def _price_unit(zone: Zone) -> str:
    return f"{zone.currency}/MWh"


def _price_limits(zone: Zone, unit: str, _fuel: str | None) -> Limits:
    return zone.price_limits[unit.removesuffix("/MWh")]


def _generation_limits(zone: Zone, unit: str, fuel: str | None) -> Limits:
    if unit == "%":
        return Limits(0.0, 100.0)
    # Idle plants draw their own use from the grid; storage charges.
    stores = fuel in ("battery", "pumped_storage")
    return Limits(-zone.peak_mw if stores else -0.05 * zone.peak_mw, 1.5 * zone.peak_mw)


def _carbon_limits(zone: Zone, unit: str, fuel: str | None) -> Limits:
    return Limits(0.0, 1500.0)


def _carbon_level(zone: Zone) -> Tolerance | None:
    # The days of hydro zones vary from 0 to a few grams, which is a large step relative to nothing.
    return None if zone.id in ("AU-TAS", "NO-2") else Tolerance(5, 0.35, 30.0)


def _mix_limits(zone: Zone, unit: str, fuel: str | None) -> Limits:
    # Publishers without a fuel for storage count pumping and charging as hydro or other.
    if fuel in ("hydro", "other"):
        return Limits(-zone.peak_mw, 1.5 * zone.peak_mw)
    return _generation_limits(zone, unit, fuel)


MEAN = "The value is the mean of the interval, or the reading at `ts` if meters are read at points in time."
"""The interval of most metrics."""

_CARBON_ESTIMATE = Definition(
    title="Carbon intensity, estimated",
    definition="An estimate by this service, not a value of the publisher: direct CO2 of the generation inside the "
    "zone, from the rows of `mix` and published factors. It does not include imports, storage, upstream "
    "emissions or biogenic emissions. It is not suitable for legal reporting.",
    units="gCO2/kWh",
    unit=lambda zone: carbon.UNIT,
    sign="Zero or positive.",
    interval=MEAN,
    limits=_carbon_limits,
    level=_carbon_level,
    agreement=None,
    frozen_hours=None,
    path=None,
    brief=None,
)
METRICS: dict[Metric, Definition] = {
    Metric.PRICE: Definition(
        title="Wholesale price",
        definition="The headline wholesale price of the zone: the real-time locational marginal price (LMP) at one "
        "named hub in the US, the market index price in Great Britain, the regional dispatch price in Australia, and "
        "the day-ahead auction price in continental Europe. It does not include taxes, network charges or retail "
        "margins.",
        units="local currency per MWh",
        unit=_price_unit,
        sign="May be negative, when the seller pays.",
        interval="The price for the interval that starts at `ts`.",
        limits=_price_limits,
        level=lambda zone: Tolerance(8, 0.25, 5.0),
        agreement=Agreement(0.02, 1.0),
        frozen_hours=6,
        path=Path(
            "price",
            "Returns the zone's headline price in local currency per MWh: the real-time price at one hub for US zones, "
            "the market index price for Great Britain, the 5-minute dispatch price for Australia, and the day-ahead "
            "auction price for continental Europe. `/catalog` names the hub and market.",
            "Wholesale electricity price",
            71.5,
            other_words=("spot", "lmp", "cost"),
        ),
        brief=BriefWords("The wholesale price", "power", decimals=2, by_hour=True),
        in_windows=True,
    ),
    Metric.PRICE_DAY_AHEAD: Definition(
        title="Day-ahead price",
        definition="The price of the day-ahead auction. In the US it is at the same hub as the headline price. In "
        "continental Europe it is the headline price. It is not available for Great Britain or Australia. Available "
        "as `price?market=day_ahead`.",
        units="local currency per MWh",
        unit=_price_unit,
        sign="May be negative, when the seller pays.",
        interval="The price of the delivery interval that starts at `ts`. The prices of tomorrow are known after the "
        "auction.",
        limits=_price_limits,
        level=lambda zone: Tolerance(8, 0.25, 5.0),
        agreement=Agreement(0.005, 0.05),
        frozen_hours=None,
        path=None,
        brief=None,
        ahead=True,
    ),
    Metric.DEMAND: Definition(
        title="Demand",
        definition="Electricity demand of the zone at transmission level, as its publisher measures or estimates it: "
        "consumption and grid losses minus the output of small generators behind the meter. Publishers differ in "
        "whether they include pumping; [Feeds](feeds.md) describes each feed.",
        units="MW",
        unit=_mw,
        sign="Positive. In South Australia, rooftop solar can make it negative.",
        interval=MEAN,
        limits=lambda zone, unit, fuel: Limits(zone.least_demand * zone.peak_mw, 1.5 * zone.peak_mw),
        level=lambda zone: Tolerance(5, 0.07, 0.01 * zone.peak_mw),
        agreement=Agreement(0.06, 150.0),
        frozen_hours=3,
        path=Path(
            "demand",
            "Returns electricity demand in MW: actual values, or the publisher's forecast with `kind=forecast`.",
            "Electricity demand",
            28450.0,
            other_words=("load", "consumption"),
        ),
        brief=BriefWords("Demand", by_hour=True),
    ),
    Metric.INTERCHANGE: Definition(
        title="Interchange",
        definition="Net flow over all borders of the zone. With `by=border`, there is one row per neighbour or "
        "interconnector. A net that is a sum has a row only if all its borders have one. The five-minute flows of "
        "NYISO and MISO are schedules, and those of AEMO are dispatch targets, not measurements.",
        units="MW",
        unit=_mw,
        sign="Net import: positive into the zone, negative out of it.",
        interval=MEAN,
        # Small zones trade more than they use (NO-2, DK-1, CH).
        limits=lambda zone, unit, fuel: Limits(-(15_000 + 0.25 * zone.peak_mw), 15_000 + 0.25 * zone.peak_mw),
        level=lambda zone: Tolerance(5, 0.15, 0.015 * zone.peak_mw),
        agreement=Agreement(0.15, 300.0),
        frozen_hours=12,
        path=Path(
            "interchange",
            "Returns the net import of the zone in MW. Positive values are imports, negative values are exports.",
            "Net electricity import",
            2310.0,
            other_words=("flow", "flows", "exchange", "imports", "exports"),
        ),
        brief=BriefWords("Interchange"),
    ),
    Metric.GENERATION: Definition(
        title="Generation mix",
        definition="Generation by fuel: in MW for California, and as a share of total generation for Great Britain, "
        "which includes imports.",
        units="MW, or % of the total",
        unit=lambda zone: zone.generation_unit,
        sign="Positive. In California, storage is negative while charging, and idle plants may be slightly negative.",
        interval=MEAN,
        limits=_generation_limits,
        level=lambda zone: Tolerance(5, 0.10, 0.01 * zone.peak_mw),
        agreement=None,
        frozen_hours=None,  # nuclear's share and a night's solar stay constant
        path=Path(
            "generation",
            "Returns generation by fuel: in MW for US-CAISO, in % of total generation for GB.",
            "Electricity generation by fuel",
            31.4,
            other_words=("fuels", "production"),
        ),
        brief=None,
        mix=CurrentMix("generation_mix", "The generation mix", is_awaited=True),
        by_fuel=True,
    ),
    Metric.MIX: Definition(
        title="Mix",
        definition="Generation inside the zone by fuel, in MW, from one publisher per zone. Imports are not a fuel. A "
        "fuel that the publisher does not report has no row. If rooftop solar is published separately, it has its "
        "own fuel, `solar_rooftop`.",
        units="MW",
        unit=_mw,
        sign="Positive. `pumped_storage` and `battery` are output minus consumption: negative while charging. `hydro` "
        "and `other` may be negative if the publisher counts storage in them. Idle plants may be slightly negative.",
        interval=MEAN,
        limits=_mix_limits,
        level=None,  # fuels of an interval arrive one after another, so their sum is not a level
        agreement=None,
        frozen_hours=None,
        path=Path(
            "mix",
            "Returns generation by fuel in MW. Storage is net, and negative while it charges; imports are not a fuel. "
            "With `kind=forecast`, returns the operators' forecasts of wind and solar.",
            "Generation mix by fuel in MW",
            11200.0,
        ),
        brief=None,
        mix=CurrentMix("mix", is_whole=True),
        by_fuel=True,
    ),
    Metric.CARBON_INTENSITY: Definition(
        title="Carbon intensity",
        definition="CO2 emitted at power stations per kWh consumed, which NESO estimates from the measured mix (actual "
        "values, not the forecast). It does not include life-cycle emissions. Great Britain only.",
        units="gCO2/kWh",
        unit=lambda zone: "gCO2/kWh",
        sign="Positive.",
        interval=MEAN,
        # No covered grid was ever carbon-free: 0 is a missing value.
        limits=lambda zone, unit, fuel: Limits(1.0, 1000.0),
        level=lambda zone: Tolerance(5, 0.20, 15.0),
        agreement=None,
        frozen_hours=6,
        path=Path(
            "carbon-intensity",
            "Returns the carbon intensity of electricity in gCO2/kWh: actual values, or the publisher's forecast with "
            "`kind=forecast`.",
            "Carbon intensity of electricity",
            142.0,
        ),
        brief=BriefWords("Carbon intensity"),
        in_windows=True,
    ),
    Metric.CARBON: replace(
        _CARBON_ESTIMATE,
        title="Carbon",
        definition="CO2 per kWh as the operator of the zone publishes it: RTE for France, from generation only; "
        "Energinet for western Denmark, including imports. For Great Britain it is `carbon_intensity`. For all other "
        "zones the path returns `carbon_estimate`.",
        path=Path(
            "carbon",
            "Returns carbon intensity in gCO2/kWh: values that the zone's operator publishes or, if there are none, an "
            "estimate from the generation mix. `basis` names which.",
            "Carbon intensity of electricity, published or estimated",
            142.0,
            other_words=("co2", "emissions", "intensity"),
        ),
        brief=BriefWords("Carbon intensity", is_awaited=False),
        in_windows=True,
    ),
    Metric.CARBON_ESTIMATE: _CARBON_ESTIMATE,
    Metric.CAPACITY: Definition(
        title="Installed capacity",
        definition="Net generating capacity installed in the zone by fuel, as reported to ENTSO-E for a calendar year.",
        units="MW",
        unit=_mw,
        sign="Positive.",
        interval="The calendar year, in Brussels time, that starts at `ts`.",
        limits=lambda zone, unit, fuel: Limits(0.0, 300_000.0),
        level=None,
        agreement=None,
        frozen_hours=None,
        path=Path(
            "capacity",
            "Returns installed capacity by fuel in MW, one row per year and fuel. A year is returned if any part of it "
            "falls in the window.",
            "Installed capacity by fuel and year",
            9800.0,
        ),
        brief=None,
        by_fuel=True,
        due="years",
    ),
}
"""In the order in which documents and paths list them."""


def _define_forecast(actual: Metric) -> Definition:
    """Return a forecast's definition: its metric's units and limits, without comparisons between actual values."""
    of = METRICS[actual]
    return replace(
        of,
        title=f"{of.title}, forecast",
        definition=f"The forecast of the zone's own publisher for {of.title.lower()}, as of `published_at`.",
        level=None,
        agreement=None,
        frozen_hours=None,
        path=None,
        brief=None,
        mix=None,
        in_windows=False,
        due="vintages",
        merge="vintages",
    )


FORECASTS: dict[Forecast, Definition] = {metric: _define_forecast(actual_of(metric)) for metric in Forecast}
_BY_WORD: dict[str, Definition] = {str(metric): of for metric, of in [*METRICS.items(), *FORECASTS.items()]}
BY_FUEL = frozenset(metric for metric, of in METRICS.items() if of.by_fuel)
YEARLY = frozenset(metric for metric, of in METRICS.items() if of.yearly)
SCALAR = tuple(metric for metric, of in METRICS.items() if of.brief is not None)
"""The metrics with one current value per zone: the keys of `metrics`, `current`, `context` and `trend_24h`."""
AWAITED = tuple(metric for metric, of in METRICS.items() if of.brief is not None and of.brief.is_awaited)
"""The members of `SCALAR` on which `valid_until`, staleness and the charge depend."""
MIXES: dict[Metric, CurrentMix] = {metric: of.mix for metric, of in METRICS.items() if of.mix is not None}
"""The metrics by fuel whose newest interval is in documents of the present."""
CURRENT = (*SCALAR, *MIXES)
"""The metrics in documents of the present: latest, brief and snapshot."""
ONE_VALUED = tuple(metric for metric, of in METRICS.items() if not of.by_fuel and not of.yearly)
"""The metrics with one value per zone and interval, on which marts of days and hours are based."""
BY_PATH = {of.path.word: metric for metric, of in METRICS.items() if of.path is not None}
"""The metric for the last part of a series path, such as `carbon-intensity`."""
PUBLIC = tuple(BY_PATH.values())
"""The metrics that the API names: those with a path."""


def _require_complete() -> None:
    """Check what a single record cannot state. Raises ValueError, which names what to add or change."""
    for metric in Metric:
        if metric not in METRICS:
            raise ValueError(f"Metric.{metric.name} has no record: add it to METRICS in warehouse/market/metrics.py.")
    for metric in PUBLIC:
        if not zones_with(metric):
            raise ValueError(
                f"{metric} has a path, but no zone publishes it: add Metric.{metric.name} to the metrics of a zone in "
                "warehouse/market/zones.py."
            )
    for metric, of in METRICS.items():
        if taken := {*BY_PATH, *Metric}.intersection(of.path.other_words if of.path else ()):
            raise ValueError(
                f"{min(taken)} is a metric: remove it from the other_words of {metric} in warehouse/market/metrics.py."
            )


_require_complete()


def brief_words(metric: str) -> BriefWords:
    """Return how briefs describe a scalar metric. Raises ValueError for another metric."""
    words = define(metric).brief
    if words is None:
        raise ValueError(f"{metric} is not part of the brief")
    return words


def define(metric: str) -> Definition:
    """Return the definition of a metric or forecast by its stored word. Raises ValueError for another word."""
    found = _BY_WORD.get(metric)
    if found is None:
        raise ValueError(f"{metric!r} is not a metric")
    return found
