"""Parse the mix of Great Britain: actual generation by type (AGPT), with one response for all types.

Traps:
- In runs of half hours every type except wind and solar is exactly 0. Such a half hour is a missing report, as is a
  half hour with only wind and solar. Its types have no rows.
- Solar, and a part of the wind, are estimates of generation embedded in distribution networks. FUELHH has neither.
- `from` and `to` are settlement dates, both included, which count from London midnight: a day has up to 50 periods.
  Only `startTime` (UTC) dates a row. Half hours and the types of a half hour are unordered.
- Pumped storage is one type with a sign. In old history it is never below 0, because its pumping was not published.
- Batteries are inside Other, with output and charging netted.
- A type that is not in the list loses its own rows, is counted and reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from assets.parsing.body import member, reading
from assets.parsing.days import runs
from assets.parsing.members import Members, require_known
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.sources.elexon.bodies import entries_of, request_of, start_of
from warehouse.market.clock import MarketDay
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Fuel, Metric
from warehouse.rows.schema import Rows

LONGEST_MIX = 7
"""Days per request."""
LAST_PERIOD = 50
"""The last period of a day of 25 hours."""
PSR_TYPES = {
    "Biomass": Fuel.BIOMASS,
    "Fossil Gas": Fuel.GAS,
    "Fossil Hard coal": Fuel.COAL,
    "Fossil Oil": Fuel.OIL,
    "Hydro Pumped Storage": Fuel.PUMPED_STORAGE,
    "Hydro Run-of-river and poundage": Fuel.HYDRO,
    "Hydro Water Reservoir": Fuel.HYDRO,
    "Nuclear": Fuel.NUCLEAR,
    "Other": Fuel.OTHER,
    "Other renewable": Fuel.OTHER,
    "Solar": Fuel.SOLAR,
    "Wind Offshore": Fuel.WIND_OFFSHORE,
    "Wind Onshore": Fuel.WIND_ONSHORE,
}
TYPES = Members("psrType", Metric.MIX, PSR_TYPES, "GB")
ESTIMATED = ("Solar", "Wind Offshore", "Wind Onshore")
"""Types that have values even if the others are missing."""


def parse_mix(body: bytes, request: Request) -> Rows:
    """Return the `mix` rows of every half hour with a report. Raises FeedChanged, NotPublished."""
    rows, by_code = Rows(), MixByCode()
    for entry in entries_of(body, "AGPT"):
        start = start_of(entry)
        by_type = [
            (name, megawatts)
            for part in member(entry, "data", list)
            if (megawatts := reading(member(part, "quantity"), name := member(part, "psrType", str))) is not None
        ]
        metered = [megawatts for name, megawatts in by_type if name not in ESTIMATED]
        if not any(metered):
            rows.dropped["half hour without metered generation"] += len(by_type)
            rows.refuse("GB", Metric.MIX, [start])
            continue
        for name, megawatts in by_type:
            if fuel := TYPES.find(rows, name, [start]):
                by_code.add(Code("GB", fuel, name, "30m"), start, megawatts)
            else:
                by_code.unknown["GB"][start] += megawatts
    extend_mix(rows, by_code)
    require_known(rows)
    return rows


def request_mix(days: Sequence[MarketDay], now: int) -> list[Request]:
    """Return requests for all periods of these settlement dates."""
    return [
        request_of("elexon.mix", "generation/actual/per-type", _params(block), block)
        for block in runs(days, LONGEST_MIX)
    ]


def _params(block: Sequence[MarketDay]) -> tuple[tuple[str, str], ...]:
    return (
        ("from", str(block[0])),
        ("to", str(block[-1])),
        ("settlementPeriodFrom", "1"),
        ("settlementPeriodTo", str(LAST_PERIOD)),
        ("format", "json"),
    )
