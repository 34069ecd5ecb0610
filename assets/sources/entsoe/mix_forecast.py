"""Parse day-ahead forecasts of wind and solar in the European zones (document A69, process A01, 14.1.D).

Traps:
- The day-ahead forecast (A01), the intraday one (A40) and the current one (A18) are three products. Only A01 is read.
- `createdDateTime` is the time of the response, and `revisionNumber` does not count. The issue time of a forecast is
  the time of its fetch.
- A type that a zone does not have is left out of the response. A curve A03 leaves out points that repeat the last one.
"""

from __future__ import annotations

from assets.parsing.members import Members, require_known
from assets.sources.entsoe.areas import requested_zone
from assets.sources.entsoe.xml import RESOLUTIONS, column, interval_of, series_of
from warehouse.errors import FeedChanged, NotPublished
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Forecast, Fuel
from warehouse.rows.schema import Rows, SeriesKey

FUELS = {"B16": Fuel.SOLAR, "B18": Fuel.WIND_OFFSHORE, "B19": Fuel.WIND_ONSHORE}
"""Fuels by psrType."""
TYPES = Members("production type", Forecast.MIX, FUELS, costs="rows")


def parse_mix_forecast(body: bytes, request: Request) -> Rows:
    """Return the `mix_forecast` rows of a zone. Raises FeedChanged, FeedUnavailable, NotPublished."""
    rows = Rows()
    for series in series_of(body, "A69", process="A01"):
        series.need("quantity_Measure_Unit.name", "MAW")
        kind = series.texts.get("psrType", "")
        if not kind:
            raise FeedChanged("a series has no psrType")
        zone = requested_zone(series.texts, "inBiddingZone_Domain.mRID", request.zone)
        for period in series.periods:
            interval = interval_of(period)
            ts, values = column(period, interval, "quantity", series.texts.get("curveType"))
            if ts and (fuel := TYPES.find(rows, kind, ts, zone)):
                key = SeriesKey(zone, Forecast.MIX, "MW", RESOLUTIONS[interval.resolution], fuel.value)
                rows.extend(key, ts, values)
    require_known(rows)
    if not len(rows):
        raise NotPublished("no forecast in the response")
    return rows
