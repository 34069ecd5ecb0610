"""Parse EIA-930's interchange by border: signs, PJM's clock, and the nets that the borders add up to.

PJM writes the start of its UTC hours, and EIA reads these stamps as hour ends on the Eastern clock. All rows of PJM's
borders (`fromba`) are therefore 3 hours late in summer and 4 hours late in winter, but its demand and totals are not.
In spring, one UTC hour of a year is not on the Eastern clock and has no reading. In autumn, two periods name one hour.

PJM's own rows of its borders with MISO and NYISO are too high. Over 238 hours of June 2023 its borders differ from
EIA's total by 3,247 MW on average, and by 518 MW with the rows of MISO and NYISO instead. In July 2021 the difference
is 2,235 MW and 637 MW. The rows of the two neighbours are therefore used.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date

from assets.parsing.body import member
from assets.parsing.members import LONGEST_NAME, Members
from assets.parsing.outside_areas import AMERICAN
from assets.parsing.stamps import utc_stamp
from assets.parsing.totals import summed, undisputed
from assets.sources.eia.bodies import (
    RESPONDENTS,
    end_of,
    entries_of,
    is_cut,
    megawatts_of,
    offset_of,
    parse_by_zone,
    response_of,
)
from warehouse.errors import FeedChanged
from warehouse.market.clock import HOUR, utc, zone_of
from warehouse.market.feeds import Request
from warehouse.market.vocabulary import Metric
from warehouse.rows.schema import Rows, SeriesKey

BORDERS_SINCE = date(2019, 1, 1)
"""The first day of `interchange-data`. Older nets are the totals (TI) of `region-data`."""
PJM = "US-PJM"
PJM_TZ = "America/New_York"
LATEST_PERIOD = 4 * HOUR
"""How long after its day the last period of a day's borders is, in seconds: that of PJM in winter."""
INVERTED = frozenset({"CPLE", "CPLW", "DUK", "LGEE", "MISO", "NYIS", "TVA"})
INVERTED_UNTIL = utc_stamp("2019-10-31T04:00Z")
"""The periods before this one have the opposite sign on these borders of PJM."""
MIRRORED = ("US-MISO", "US-NYISO")
"""The neighbours whose rows of their border with PJM are better than PJM's own."""

NEIGHBOURS = Members("balancing authority", Metric.INTERCHANGE, AMERICAN | RESPONDENTS, costs="name")
"""The row of an unknown authority states a number and a sign in the zone's own list. Each authority is listed once."""

_CODE = re.compile(r"[A-Z][A-Z0-9]{1,7}", re.ASCII)
_HALF_A_DAY = range(-12 * HOUR, 13 * HOUR, HOUR)


def parse_interchange(body: bytes, request: Request) -> Rows:
    """Return `interchange` rows, + into the zone: each border, and the net of a complete page or of totals.

    Raises FeedChanged, FeedUnavailable, NotPublished.
    """
    response = response_of(body)
    entries = entries_of(response)
    if "fromba" not in entries[0]:
        return parse_by_zone(Metric.INTERCHANGE, "TI", -1.0, body, request)
    rows = Rows()
    for entry in entries:
        zone, other = RESPONDENTS.get(member(entry, "fromba", str)), member(entry, "toba", str)
        if zone is not None and (megawatts := megawatts_of(entry)) is not None:
            _add_border(rows, zone, other, end_of(entry), megawatts)
    return rows if is_cut(response, offset_of(request) + len(entries)) else combine_interchange(rows)


def _add_border(rows: Rows, zone: str, other: str, period: int, megawatts: float) -> None:
    """Add the import over a border. `megawatts` is its export in the hour that ends at `period`."""
    if not _CODE.fullmatch(other):
        raise FeedChanged(f"{other[:LONGEST_NAME]!r} is not the code of a balancing authority")
    start = start_in_pjm(period) if zone == PJM else period - HOUR
    if zone == PJM and start - start_in_pjm(period - HOUR) > HOUR:
        rows.refuse(PJM, Metric.INTERCHANGE, [start - HOUR])  # this hour has no period
    inverted = zone == PJM and other in INVERTED and period < INVERTED_UNTIL
    counterparty = NEIGHBOURS.find(rows, other, [start], zone) or other
    value = megawatts if inverted else -megawatts
    rows.add(zone, Metric.INTERCHANGE, start, value, "MW", "1h", None, counterparty)


def start_in_pjm(period: int) -> int:
    """Return the start of the hour that a period of PJM's borders means: its Eastern wall clock, read as UTC."""
    offset = utc(period).astimezone(zone_of(PJM_TZ)).utcoffset()
    return period + round(offset.total_seconds()) if offset is not None else period


def combine_interchange(rows: Rows) -> Rows:
    """Return the same rows with the nets that their borders add up to. A net that was stated as a total stays."""
    _mirror_borders(rows)
    borders: dict[str, list[dict[int, float]]] = defaultdict(list)
    for key, readings in rows.readings.items():
        if key.counterparty is not None:
            borders[key.zone].append(undisputed(readings.ts, readings.values))
    for zone, parts in borders.items():
        rows.readings.pop(_key(zone), None)
        rows.extend(_key(zone), *sum_whole(parts))
    return rows


def _mirror_borders(rows: Rows) -> None:
    """Replace PJM's readings of a border by those of the neighbour, if it reports within half a day of them."""
    for neighbour in MIRRORED:
        own, theirs = (rows.readings.get(_key(*ends)) for ends in ((PJM, neighbour), (neighbour, PJM)))
        if own is None or theirs is None:
            continue
        mirrored = {ts: 0.0 - value for ts, value in undisputed(theirs.ts, theirs.values).items()}
        chosen = [
            (ts, mirrored.get(ts, value))
            for ts, value in zip(own.ts, own.values, strict=True)
            if ts in mirrored or not _is_near(ts, mirrored)
        ]
        own.ts, own.values = [ts for ts, _ in chosen], [value for _, value in chosen]


def _is_near(ts: int, readings: Collection[int]) -> bool:
    return any(ts + shift in readings for shift in _HALF_A_DAY)


def sum_whole(parts: Sequence[Mapping[int, float]]) -> tuple[list[int], list[float]]:
    """Return the sums of the parts at the hours with all parts.

    A part without a value at the hour is missing if it has a value within half a day. Borders and plants change over
    the years, and the publisher does not list them with the values.
    """
    instants = sorted(set[int]().union(*parts))
    whole = [ts for ts in instants if all(ts in part or not _is_near(ts, part) for part in parts)]
    return whole, [summed(part[ts] for part in parts if ts in part) for ts in whole]


def _key(zone: str, counterparty: str | None = None) -> SeriesKey:
    return SeriesKey(zone, Metric.INTERCHANGE, "MW", "1h", counterparty=counterparty)
