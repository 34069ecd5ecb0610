"""The 25 zones of the specification: ids, names, clocks, currencies, and the metrics that each publishes."""

from __future__ import annotations

from warehouse.errors import UnknownZone
from warehouse.market import Metric, Zone

_ALL = frozenset({Metric.PRICE, Metric.DEMAND, Metric.INTERCHANGE})
_CAPACITY = frozenset({Metric.CAPACITY})
_GB = frozenset({Metric.GENERATION, Metric.CARBON_INTENSITY})


def _us(
    zone: str,
    name: str,
    tz: str,
    market_tz: str,
    hub: str,
    step: str = "5-minute",
    extra: frozenset[Metric] = frozenset(),
) -> Zone:
    return Zone(
        zone,
        name,
        tz,
        market_tz,
        "USD",
        _ALL | extra,
        f"real-time {step} LMP at {hub}",
        f"day-ahead hourly LMP at {hub}",
        Metric.PRICE_DAY_AHEAD,
    )


def _eu(
    zone: str,
    name: str,
    tz: str,
    extra: frozenset[Metric] = _CAPACITY,
    auction: str = "day-ahead auction (SDAC)",
) -> Zone:
    return Zone(
        zone,
        name,
        tz,
        "Europe/Brussels",
        "EUR",
        _ALL | extra,
        auction,
        auction,
        Metric.PRICE,
    )


def _nem(zone: str, name: str, tz: str, region: str) -> Zone:
    return Zone(zone, name, tz, "Australia/Brisbane", "AUD", _ALL, f"5-minute dispatch price of region {region}")


ZONES: dict[str, Zone] = {
    z.id: z
    for z in (
        _us(
            "US-CAISO",
            "California (CAISO)",
            "America/Los_Angeles",
            "America/Los_Angeles",
            "hub TH_SP15_GEN-APND",
            extra=frozenset({Metric.GENERATION}),
        ),
        _us("US-ERCOT", "Texas (ERCOT)", "America/Chicago", "America/Chicago", "hub average HB_HUBAVG", "15-minute"),
        _us("US-PJM", "Mid-Atlantic and Ohio Valley (PJM)", "America/New_York", "America/New_York", "PJM-RTO"),
        _us("US-MISO", "Midcontinent (MISO)", "America/Chicago", "Etc/GMT+5", "hub INDIANA.HUB"),
        _us("US-NYISO", "New York (NYISO)", "America/New_York", "America/New_York", "zone N.Y.C."),
        _us("US-ISONE", "New England (ISO-NE)", "America/New_York", "America/New_York", "internal hub 4000"),
        _us(
            "US-SPP",
            "Southwest Power Pool, eastern balancing area (SPP)",
            "America/Chicago",
            "America/Chicago",
            "hub SPPSOUTH_HUB",
        ),
        Zone(
            "GB",
            "Great Britain",
            "Europe/London",
            "Europe/London",
            "GBP",
            _ALL | _GB,
            "half-hourly market index price (MID, APXMIDP)",
        ),
        _nem("AU-NSW", "New South Wales", "Australia/Sydney", "NSW1"),
        _nem("AU-QLD", "Queensland", "Australia/Brisbane", "QLD1"),
        _nem("AU-VIC", "Victoria", "Australia/Melbourne", "VIC1"),
        _nem("AU-SA", "South Australia", "Australia/Adelaide", "SA1"),
        _nem("AU-TAS", "Tasmania", "Australia/Hobart", "TAS1"),
        _eu("DE-LU", "Germany and Luxembourg", "Europe/Berlin"),
        _eu("FR", "France", "Europe/Paris"),
        _eu("ES", "Spain", "Europe/Madrid"),
        _eu("IT-NO", "Northern Italy", "Europe/Rome", frozenset()),
        _eu("NL", "Netherlands", "Europe/Amsterdam"),
        _eu("BE", "Belgium", "Europe/Brussels"),
        _eu("PL", "Poland", "Europe/Warsaw"),
        _eu("SE-3", "Sweden, Stockholm (SE3)", "Europe/Stockholm", frozenset()),
        _eu("NO-2", "Norway, Kristiansand (NO2)", "Europe/Oslo"),
        _eu("DK-1", "Denmark, Jutland and Funen (DK1)", "Europe/Copenhagen"),
        _eu("AT", "Austria", "Europe/Vienna"),
        _eu("CH", "Switzerland", "Europe/Zurich", auction="day-ahead auction (EPEX SPOT, not coupled)"),
    )
}
"""In the specification's order."""


def zone(name: str) -> Zone:
    """The zone of that id. Raises UnknownZone."""
    try:
        return ZONES[name]
    except KeyError:
        raise UnknownZone(name) from None


def zones_with(metric: Metric) -> tuple[str, ...]:
    """The ids of the zones that publish a metric."""
    return tuple(z.id for z in ZONES.values() if metric in z.metrics)
