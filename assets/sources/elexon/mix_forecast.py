"""Parse the day-ahead forecast of wind and solar of Great Britain (DGWS).

Traps:
- A response contains the forecasts of several processes (`processType`). Only "Day ahead" is read, in any case.
- A half hour may have several publications, and each is a vintage.
- Solar is nearly all embedded in distribution networks, and so is a part of the wind on land.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from assets.parsing.body import member, reading
from assets.parsing.members import Members, require_known
from assets.parsing.stamps import utc_stamp
from assets.sources.elexon.bodies import entries_of, request_of, start_of
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Forecast, Fuel
from warehouse.rows.schema import Rows, SeriesKey

FUELS = {"Solar": Fuel.SOLAR, "Wind Offshore": Fuel.WIND_OFFSHORE, "Wind Onshore": Fuel.WIND_ONSHORE}
TYPES = Members("psrType", Forecast.MIX, FUELS, "GB")
PROCESS = "day ahead"


def parse_mix_forecast(body: bytes, request: Request) -> Rows:
    """Return the `mix_forecast` rows of every vintage in the response. Raises FeedChanged, NotPublished."""
    rows, vintages = Rows(), defaultdict[tuple[Fuel, int], list[tuple[int, float]]](list)
    for entry in entries_of(body, "DGWS"):
        if member(entry, "processType", str).lower() != PROCESS:
            rows.dropped["another process than day ahead"] += 1
            continue
        start, megawatts = start_of(entry), reading(member(entry, "quantity"), "quantity")
        if megawatts is not None and (fuel := TYPES.find(rows, member(entry, "psrType", str), [start])):
            vintages[fuel, utc_stamp(member(entry, "publishTime"))].append((start, megawatts))
    for (fuel, published_at), values in sorted(vintages.items()):
        key = SeriesKey("GB", Forecast.MIX, "MW", "30m", fuel.value)
        rows.extend_vintage(key, published_at, "body", *zip(*values, strict=True))
    require_known(rows)
    return rows


def request_mix_forecast(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return a request per day. Its response forecasts that day and the next."""
    return [
        request_of(
            "elexon.mix_forecast",
            "forecast/generation/wind-and-solar/day-ahead",
            (("from", str(day)), ("to", str(day.next())), ("processType", PROCESS), ("format", "json")),
            [day],
        )
        for day in sorted(set(days))
    ]
