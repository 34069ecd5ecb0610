"""Parse the mix of eleven zones: actual generation per production type (document A75, 16.1.B), output and consumption.

Traps:
- Consumption (a TimeSeries with an outBiddingZone) is not only storage: operators state the own use of every type. Only
  that of pumped storage (B10) and of batteries (B25) is used. The rest is counted and left out.
- Pumped storage may generate and pump in one interval, over several plants. The row is the difference.
- An operator may state only the output of storage. Missing consumption is not 0, so the row is gross (NO-2).
- A curve A03 repeats its last point to the end of its Period, not of the response. It has no values before its first
  point.
- A gap in a curve A01 splits a type into two TimeSeries, which are joined by type.
- Types arrive one after the other, so the newest interval often has half of them. Each is stored when it arrives.
- Each Period states its own resolution. If types of one fuel differ in it, the fuel has no row.
- A type that does not run is absent, or 0, or absent only at night. emds does not infer anything from that.
- NL: a third of the output is B20, and most solar panels are missing. ES: pumped storage generates in B12 and pumps in
  B10, so its net is never positive. SE-3: all combined heat and power is B20.
- B03 is gas derived from coal and B08 is peat. Their rows are gas and other, but they emit more than these. The
  estimate of carbon intensity needs the code, which rows do not keep.
- A response filtered by psrType looks like a mix of one type.
"""

from __future__ import annotations

from collections.abc import Sequence

from assets.parsing.columns import drop
from assets.parsing.members import Members, require_known
from assets.parsing.mix import STORAGE, Code, MixByCode, extend_mix
from assets.sources.entsoe.areas import MIX_ZONES, requested_zone
from assets.sources.entsoe.xml import RESOLUTIONS, column, interval_of, series_of
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.rows.schema import Rows

FUELS = {
    "B01": Fuel.BIOMASS,
    "B02": Fuel.LIGNITE,
    "B03": Fuel.GAS,
    "B04": Fuel.GAS,
    "B05": Fuel.COAL,
    "B06": Fuel.OIL,
    "B07": Fuel.OIL,
    "B08": Fuel.OTHER,
    "B09": Fuel.GEOTHERMAL,
    "B10": Fuel.PUMPED_STORAGE,
    "B11": Fuel.HYDRO,
    "B12": Fuel.HYDRO,
    "B13": Fuel.MARINE,
    "B14": Fuel.NUCLEAR,
    "B15": Fuel.OTHER,
    "B16": Fuel.SOLAR,
    "B17": Fuel.WASTE,
    "B18": Fuel.WIND_OFFSHORE,
    "B19": Fuel.WIND_ONSHORE,
    "B20": Fuel.OTHER,
    "B25": Fuel.BATTERY,
}
"""Fuels by psrType."""
INSIDE = {"B03": "coal_derived_gas", "B08": "peat"}
"""Types with their own emission factor, inside gas and other."""
MIX_TYPES = Members("production type", Metric.MIX, FUELS)
OUTPUT, CONSUMPTION = "inBiddingZone_Domain.mRID", "outBiddingZone_Domain.mRID"


def parse_mix(body: bytes, request: Request) -> Rows:
    """Return the `mix` rows of a zone. Raises FeedChanged, FeedUnavailable, NotPublished, CredentialsMissing."""
    rows, by_code = Rows(), MixByCode()
    for series in series_of(body, "A75", process="A16"):
        series.need("quantity_Measure_Unit.name", "MAW")
        kind = series.texts.get("psrType", "")
        if not kind or (OUTPUT in series.texts) == (CONSUMPTION in series.texts):
            raise FeedChanged("a series without psrType, or not of either output or consumption")
        is_consumed = CONSUMPTION in series.texts
        zone = requested_zone(series.texts, CONSUMPTION if is_consumed else OUTPUT, request.zone)
        if zone not in MIX_ZONES:
            raise FeedChanged(f"{zone} has its mix from another publisher")
        for period in series.periods:
            interval = interval_of(period)
            readings = column(period, interval, "quantity", series.texts.get("curveType"))
            add_readings(rows, by_code, zone, kind, is_consumed, RESOLUTIONS[interval.resolution], *readings)
    extend_mix(rows, by_code, INSIDE)
    require_known(rows)
    if not len(rows):
        raise NotPublished("no output in the response")
    return rows


def add_readings(
    rows: Rows,
    by_code: MixByCode,
    zone: str,
    kind: str,
    is_consumed: bool,
    resolution: str,
    ts: Sequence[int],
    values: Sequence[float],
) -> None:
    """Add readings of one production type (psrType) to a response's mix. Consumption is used for storage only."""
    if not ts:
        return
    fuel = MIX_TYPES.find(rows, kind, ts, zone)
    if fuel is None:
        for at, value in zip(ts, values, strict=True):
            by_code.unknown[zone][at] += 0.0 if is_consumed else value
        return
    if is_consumed and fuel not in STORAGE:
        drop(rows, f"consumption of {kind}, own use", sum(map(bool, values)))
        return
    code = Code(zone, fuel, f"{kind} consumption" if is_consumed else kind, resolution)
    by_code.extend(code, ts, [0.0 - value for value in values] if is_consumed else values)
