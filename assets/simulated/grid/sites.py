"""Describe each zone: how much it uses and when, its wind and solar, and its prices.

Round values of the mid-2020s give realistic sizes on a map. They are not measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.simulated.grid.noise import Floats
from warehouse.market.further_zones import ENABLED
from warehouse.market.zones import ZONES


@dataclass(frozen=True, slots=True)
class Site:
    """A zone. Powers are in MW, prices in the zone's currency per MWh, shares of 1."""

    mean: float
    """Mean demand over a year."""
    winter: float
    """The additional demand in the depth of winter, as a share."""
    summer: float
    """The additional demand at the height of summer, as a share."""
    weekend: float
    """Weekend demand as a share of a working day's."""
    swing: float
    """The difference between day and night; 1 is usual."""
    wind: float
    """Installed wind."""
    solar: float
    """The maximum simultaneous output of the zone's metered panels."""
    price: float
    """Mean wholesale price."""
    rooftop: float = 0.0
    """Solar behind the meter, which lowers demand."""
    spikes: float = 1.0
    """The volatility of the real-time market; 1 is usual."""
    floor: float = -600.0
    """The floor of SDAC from delivery day 2026-05-29."""
    cap: float = 4000.0

    @property
    def residual(self) -> float:
        """Return the mean demand left for other plants, around which prices move."""
        return self.mean - float(self.taken(np.float64(0.34 * self.wind + 0.15 * self.solar)))

    def taken(self, green: Floats | np.float64) -> Floats:
        """Return how many of `green` MW of wind and solar are used here. The more there is, the more is exported."""
        most = 0.9 * self.mean
        used: Floats = most * np.tanh(green / most)
        return used


SITES = {
    "US-CAISO": Site(26_000, 0.02, 0.28, 0.95, 1.0, 6_500, 20_000, 42, 7_000, floor=-150, cap=1000),
    "US-ERCOT": Site(53_000, 0.10, 0.30, 0.95, 0.9, 39_000, 26_000, 38, spikes=2.0, floor=-250, cap=5000),
    "US-PJM": Site(90_000, 0.15, 0.25, 0.93, 0.9, 12_000, 12_000, 40, floor=-300, cap=2000),
    "US-MISO": Site(74_000, 0.10, 0.22, 0.93, 0.85, 31_000, 10_000, 34, floor=-300, cap=2000),
    "US-NYISO": Site(17_200, 0.06, 0.27, 0.92, 1.0, 2_600, 1_500, 46, floor=-300, cap=2000),
    "US-ISONE": Site(13_300, 0.12, 0.25, 0.94, 1.0, 1_600, 2_500, 52, floor=-150, cap=2000),
    "US-SPP": Site(32_000, 0.12, 0.26, 0.95, 0.8, 34_000, 1_500, 30, spikes=1.5, floor=-300, cap=2000),
    "GB": Site(31_000, 0.28, 0.0, 0.92, 1.2, 30_000, 4_000, 75, 9_000, floor=-150, cap=1500),
    "AU-NSW": Site(8_600, 0.12, 0.10, 0.93, 1.0, 3_500, 5_000, 95, 3_800, 4.0, -1000, 20_300),
    "AU-QLD": Site(6_900, 0.02, 0.18, 0.96, 1.0, 2_500, 4_500, 88, 3_400, 4.0, -1000, 20_300),
    "AU-VIC": Site(5_600, 0.16, 0.08, 0.93, 1.0, 5_000, 1_500, 76, 3_000, 4.0, -1000, 20_300),
    "AU-SA": Site(1_650, 0.12, 0.15, 0.95, 1.0, 2_600, 800, 82, 1_500, 6.0, -1000, 20_300),
    "AU-TAS": Site(1_150, 0.18, 0.0, 0.97, 0.8, 570, 20, 80, 120, 2.0, -1000, 20_300),
    "DE-LU": Site(54_000, 0.14, 0.0, 0.83, 1.1, 72_000, 60_000, 78),
    "FR": Site(50_000, 0.36, 0.0, 0.90, 1.0, 23_000, 16_000, 60),
    "ES": Site(26_500, 0.08, 0.08, 0.88, 1.05, 31_000, 22_000, 62),
    "IT-NO": Site(18_500, 0.05, 0.12, 0.78, 1.2, 200, 6_000, 108),
    "NL": Site(12_800, 0.14, 0.0, 0.87, 1.1, 11_500, 9_000, 78, 4_000),
    "BE": Site(9_300, 0.15, 0.0, 0.88, 1.0, 5_500, 6_500, 76),
    "PL": Site(18_800, 0.12, 0.02, 0.85, 1.1, 10_500, 12_500, 95),
    "SE-3": Site(9_600, 0.32, 0.0, 0.93, 0.8, 4_500, 1_500, 45),
    "NO-2": Site(4_100, 0.30, 0.0, 0.96, 0.7, 1_500, 100, 62),
    "DK-1": Site(2_450, 0.15, 0.0, 0.88, 1.1, 5_000, 1_700, 72),
    "AT": Site(7_100, 0.17, 0.0, 0.84, 1.05, 4_000, 4_800, 88),
    "CH": Site(7_000, 0.22, 0.0, 0.87, 0.9, 100, 4_500, 82),
}


def site_of(zone: str) -> Site:
    """Return the description of a zone; a default of the size in the zone's record if there is none."""
    return SITES.get(zone) or Site(0.6 * ZONES[zone].peak_mw, 0.15, 0.05, 0.9, 1.0, 0.2 * ZONES[zone].peak_mw, 0.0, 60)


_CAPACITY_2025 = """
fuel           DE-LU    FR    ES    NL    BE    PL  NO-2 DK-1   AT    CH
nuclear            - 63000  7100   500  3900     -     -    -    -  2970
lignite        15000     -     -     -     -  7700     -    -    -     -
coal           16000  1800  1900  4000     - 22500     -  800    -     -
gas            35500 12900 30500 15500  7300  6300    40 1500 4200     -
oil             3000  2300   700     -   150   350     -  300  150     -
hydro           5000 19500 14200    40   180  1000 11200   10 8900 13300
pumped_storage  9800  5000  6000     -  1300  1400   900    - 5300  3900
wind_onshore   63500 23500 31500  7000  3300 10500  1500 3700 4200   100
wind_offshore   9200  1500     -  4700  2300     -     - 1500    -     -
solar          95000 24500 32000 26000 10500 20500     - 2600 7800  7200
biomass         8600  1300  1000   500   700   900     -  900  500     -
waste           1900   900   500   750   350     -    30  200  120   450
geothermal        50     -     -     -     -     -     -    -    1     -
marine             -   200     -     -     -     -     -    -    -     -
battery            -     -     -     -   500     -     -    -    -     -
other           1200     -   600   500     -   500     -    -    -     -
"""


def _by_zone(table: str) -> dict[str, dict[str, int]]:
    """Return the columns of a table whose lines are fuels. `-` means none."""
    (_, *zones), *lines = (line.split() for line in table.strip().splitlines())
    return {zone: {fuel: int(cells[i]) for fuel, *cells in lines if cells[i] != "-"} for i, zone in enumerate(zones)}


CAPACITY_2025 = _by_zone(_CAPACITY_2025) | {
    zone.id: {
        "gas": round(0.6 * zone.peak_mw),
        "hydro": round(0.3 * zone.peak_mw),
        "wind_onshore": round(0.2 * zone.peak_mw),
        "solar": round(0.1 * zone.peak_mw),
    }
    for zone in ENABLED
    if zone.has_capacity
}
"""MW by fuel at the start of 2025."""

GROWTH = {
    "solar": 0.18,
    "wind_onshore": 0.05,
    "wind_offshore": 0.07,
    "battery": 0.45,
    "coal": -0.06,
    "lignite": -0.05,
    "oil": -0.03,
}
"""Growth per year as a share. Other fuels do not change."""
