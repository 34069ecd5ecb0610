"""Parse the mix of six balancing authorities by energy source, from fuel-type-data.

Traps:
- California's OTH is its batteries, and its biomass has no code, so rows of CISO are left out. The mix of US-CAISO is
  that of the California ISO.
- The codes changed in the third quarter of 2024. Before, pumped storage is inside WAT, which is negative while it pumps
  more than rivers bring, and batteries are inside OTH. A series over the change jumps. BAT, PS, OES and SNB carry their
  own signs, and SUN is slightly negative at night because of the plants' own use.
- A code that is not in the list loses its own rows, is counted and reported.
- An hour in which an authority states 0 for every source is a missing report.
- One page contains a response. Three days would not fit, and a page break would cut an hour, so a cut response is
  rejected.
"""

from __future__ import annotations

from collections import defaultdict

from assets.parsing.body import member
from assets.parsing.members import Members, require_known
from assets.parsing.mix import Code, MixByCode, extend_mix
from assets.sources.eia.bodies import (
    FUELS,
    RESPONDENTS,
    entries_of,
    is_cut,
    megawatts_of,
    offset_of,
    response_of,
    start_of,
)
from warehouse.errors import FeedChanged
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows

MIX_RESPONDENTS = {code: zone for code, zone in RESPONDENTS.items() if code != "CISO"}
MIX_DAYS = 2
"""Days per request. Six respondents, 16 codes and 49 hours are 4,704 rows of a page of 5,000."""
SOURCES_OF_MIX = Members("energy source", Metric.MIX, FUELS)


def parse_mix(body: bytes, request: Request) -> Rows:
    """Return the `mix` rows of every respondent except CISO. Raises FeedChanged, FeedUnavailable, NotPublished."""
    response = response_of(body)
    entries = entries_of(response)
    if is_cut(response, offset_of(request) + len(entries)) or offset_of(request):
        raise FeedChanged(f"{len(entries)} rows are not the whole response")
    rows, values_at = Rows(), defaultdict[tuple[str, int], list[tuple[str, float]]](list)
    for entry in entries:
        zone, name = MIX_RESPONDENTS.get(member(entry, "respondent", str)), member(entry, "fueltype", str)
        if zone is None:
            rows.dropped["respondent without a mix of this feed"] += 1
        elif (megawatts := megawatts_of(entry)) is not None:
            values_at[zone, start_of(entry)].append((name, megawatts))
    by_code = MixByCode()
    for (zone, start), values in values_at.items():
        if len(values) > 1 and not any(megawatts for _, megawatts in values):
            rows.dropped["hour of zeros"] += len(values)
            rows.refuse(zone, Metric.MIX, [start])
            continue
        for name, megawatts in values:
            if fuel := SOURCES_OF_MIX.find(rows, name, [start], zone):
                by_code.add(Code(zone, fuel, name, "1h"), start, megawatts)
            else:
                by_code.unknown[zone][start] += megawatts
    extend_mix(rows, by_code)
    require_known(rows)
    return rows
