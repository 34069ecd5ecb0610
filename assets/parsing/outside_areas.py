"""Name the areas outside the covered zones, with one name each for the border rows of every feed.

The `counterparty` of a border row is a zone id if the area is a covered zone, else a name of this table. A border thus
has the same name in every feed.
"""

from __future__ import annotations

from typing import NamedTuple

from assets.parsing.stamps import utc_stamp
from warehouse.market.further_zones import ENABLED, TABLE

AMERICAN = {
    "AEC": "PowerSouth Energy Cooperative",
    "AECI": "Associated Electric Cooperative",
    "AZPS": "Arizona Public Service Company",
    "BANC": "Balancing Authority of Northern California",
    "BHBA": "Black Hills Power",
    "BPAT": "Bonneville Power Administration",
    "CEN": "Mexico (CENACE)",
    "CFE": "Mexico (CENACE)",
    "CPLE": "Duke Energy Progress East",
    "CPLW": "Duke Energy Progress West",
    "DUK": "Duke Energy Carolinas",
    "EEI": "Electric Energy Inc",
    "EPE": "El Paso Electric Company",
    "GLHB": "GridLiance Heartland",
    "HQT": "Hydro-Quebec",
    "IESO": "Ontario",
    "IID": "Imperial Irrigation District",
    "LDWP": "Los Angeles Department of Water and Power",
    "LGEE": "LG&E and KU",
    "MHEB": "Manitoba",
    "NBSO": "New Brunswick",
    "NEVP": "Nevada Power Company",
    "OVEC": "Ohio Valley Electric Corporation",
    "PACE": "PacifiCorp East",
    "PACW": "PacifiCorp West",
    "PNM": "Public Service Company of New Mexico",
    "PSCO": "Public Service Company of Colorado",
    "SIKE": "Sikeston Board of Municipal Utilities",
    "SOCO": "Southern Company",
    "SPA": "Southwestern Power Administration",
    "SPC": "SaskPower",
    "SRP": "Salt River Project Agricultural Improvement and Power District",
    "SWPW": "Southwest Power Pool West",
    "TIDC": "Turlock Irrigation District",
    "TVA": "Tennessee Valley Authority",
    "WACM": "Western Area Power Administration - Rocky Mountain Region",
    "WALC": "Western Area Power Administration - Desert Southwest Region",
    "WAUW": "Western Area Power Administration - Upper Great Plains West",
}
"""Names by the code that Form EIA-930 gives a balancing authority (https://www.eia.gov/electricity/gridmonitor/about).
"""

_EUROPEAN = {zone.outside_names[0]: zone.eic for zone in TABLE} | {
    "Albania": "10YAL-KESH-----5",
    "Bosnia and Herzegovina": "10YBA-JPCC-----D",
    "Kosovo": "10Y1001C--00100H",
    "Malta": "10Y1001A1001A93C",
    "Moldova": "10Y1001A1001A990",
    "Montenegro": "10YCS-CG-TSO---S",
    "North Macedonia": "10YMK-MEPSO----8",
    "Türkiye": "10YTR-TEIAS----W",
    "Ukraine": "10Y1001C--000182",
}
EUROPEAN = {name: eic for name, eic in _EUROPEAN.items() if eic not in {zone.eic for zone in ENABLED}}
"""Name -> the code under which ENTSO-E publishes its flows
(https://www.entsoe.eu/data/energy-identification-codes-eic/).
"""

IRELAND, NORTHERN_IRELAND = "Ireland", "Northern Ireland"

OUTSIDE_AREAS = frozenset({*AMERICAN.values(), *EUROPEAN, IRELAND, NORTHERN_IRELAND})


class Announced(NamedTuple):
    """A border that a cable under construction will add. Its flows are not requested yet."""

    zones: frozenset[str]
    """Its ends among the covered zones."""
    name: str
    since: int
    """The earliest time at which it may flow, Unix seconds."""


ANNOUNCED = (
    Announced(frozenset({"FR", "IE"}), f"FR-{IRELAND} (Celtic)", utc_stamp("2028-01-01T00:00Z")),
    Announced(frozenset({"DE-LU"}), "DE-LU-GB (NeuConnect)", utc_stamp("2028-01-01T00:00Z")),
)
"""After that time the net of these zones is withheld if it is a sum of borders that are requested one by one. GB's net
is not: its publisher states every cable unrequested.
"""
