"""The zones that EMDS_ZONES adds to the 25 of the default set: one table, from which everything about them follows.

A zone is added with one entry of `TABLE`. Its feeds, borders, catalogue entry, names and simulated responses follow.
Codes and borders are those that entsoe-py lists (https://github.com/EnergieID/entsoe-py, mappings.py), but for these:
Italy's links to Greece and Montenegro are borders of the zone in which they end. Serbia borders on Kosovo instead of
Albania, since Kosovo is a control area of its own. The Baltic states and Finland have no border with Russia or Belarus,
and a net only from when no power flowed there. Corsica's ties are not published as a border of a zone.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from warehouse.errors import StorageError

SPEC, EUROPE = "spec", "europe"
"""The two sets that have a name."""
WITHOUT_RUSSIA = "2022-05-14T00:00Z"
"""Finland has imported nothing from Russia since."""
BORDERLESS_BALTIC = "2025-02-10T00:00Z"
"""The Baltic states left the Russian and Belarusian system on 2025-02-08 and joined the European one on 2025-02-09."""
TODAYS_ITALY = "2020-12-31T23:00Z"
"""Italy's zones have had their present borders since 2021-01-01."""
WITHOUT_KOSOVO = "2020-12-14T00:00Z"
"""Kosovo's control area was separated from Serbia's on that day."""


@dataclass(frozen=True, slots=True)
class FurtherZone:
    """One zone of ENTSO-E's Transparency Platform beyond the default set. Its prices are in EUR."""

    id: str
    name: str
    eic: str
    tz: str
    """The civil time zone."""
    peak_mw: float
    """The highest demand, as an order of magnitude: bounds and tolerances are shares of it."""
    place: tuple[float, float]
    """Latitude and longitude of a point in its middle."""
    borders: str
    """The areas that it borders on, separated by commas: ids of zones, and names of areas that no set covers."""
    outside: str
    """What border rows call the area while it is not a zone; several names are separated by commas."""
    aliases: tuple[str, ...] = ()
    part_of: tuple[str, ...] = ()
    """The country of which it is only a part, by name and code."""
    has_capacity: bool = True
    """Whether the installed capacity of the zone is published."""
    net_since: str = ""
    """The start of the first hour for which the sum of its borders is its net; empty if it always was."""
    auction: str = "day-ahead auction (SDAC)"

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Return the areas that it borders on, each under the name that a border row carries."""
        return tuple(name_area(area) for area in self.borders.split(", "))

    @property
    def outside_names(self) -> tuple[str, ...]:
        """Return the names that border rows give the area while it is not a zone."""
        return tuple(self.outside.split(", "))


TABLE = (
    FurtherZone(
        "CZ",
        "Czechia",
        "10YCZ-CEPS-----N",
        "Europe/Prague",
        11_800,
        (49.7, 15.3),
        "AT, DE-LU, PL, SK",
        outside="Czechia",
        aliases=("Czech Republic", "Cesko"),
    ),
    FurtherZone(
        "SK",
        "Slovakia",
        "10YSK-SEPS-----K",
        "Europe/Bratislava",
        4_600,
        (48.7, 19.5),
        "CZ, HU, PL, Ukraine",
        outside="Slovakia",
        aliases=("Slovensko",),
    ),
    FurtherZone(
        "HU",
        "Hungary",
        "10YHU-MAVIR----U",
        "Europe/Budapest",
        7_700,
        (47.2, 19.4),
        "AT, HR, RO, RS, SI, SK, Ukraine",
        outside="Hungary",
        aliases=("Magyarorszag",),
    ),
    FurtherZone(
        "SI",
        "Slovenia",
        "10YSI-ELES-----O",
        "Europe/Ljubljana",
        2_300,
        (46.1, 14.8),
        "AT, HR, IT-NO, HU",
        outside="Slovenia",
    ),
    FurtherZone(
        "HR",
        "Croatia",
        "10YHR-HEP------M",
        "Europe/Zagreb",
        3_300,
        (45.2, 16.4),
        "Bosnia and Herzegovina, HU, RS, SI",
        outside="Croatia",
        aliases=("Hrvatska",),
    ),
    FurtherZone(
        "RO",
        "Romania",
        "10YRO-TEL------P",
        "Europe/Bucharest",
        9_500,
        (45.9, 25.0),
        "BG, HU, Moldova, RS, Ukraine",
        outside="Romania",
    ),
    FurtherZone(
        "BG",
        "Bulgaria",
        "10YCA-BULGARIA-R",
        "Europe/Sofia",
        7_700,
        (42.8, 25.2),
        "GR, North Macedonia, RO, RS, Türkiye",
        outside="Bulgaria",
    ),
    FurtherZone(
        "GR",
        "Greece",
        "10YGR-HTSO-----Y",
        "Europe/Athens",
        10_600,
        (39.5, 22.6),
        "Albania, BG, North Macedonia, Türkiye, IT-SO",
        outside="Greece",
        aliases=("Hellas",),
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "RS",
        "Serbia",
        "10YCS-SERBIATSOV",
        "Europe/Belgrade",
        7_300,
        (44.2, 20.8),
        "Bosnia and Herzegovina, BG, HR, HU, Montenegro, North Macedonia, RO, Kosovo",
        outside="Serbia",
        net_since=WITHOUT_KOSOVO,
        auction="day-ahead auction (SEEPEX, not coupled)",
    ),
    FurtherZone("PT", "Portugal", "10YPT-REN------W", "Europe/Lisbon", 9_900, (39.7, -8.0), "ES", outside="Portugal"),
    FurtherZone(
        "EE",
        "Estonia",
        "10Y1001A1001A39I",
        "Europe/Tallinn",
        1_600,
        (58.7, 25.8),
        "FI, LV",
        outside="Estonia",
        aliases=("Eesti",),
        net_since=BORDERLESS_BALTIC,
    ),
    FurtherZone(
        "LV",
        "Latvia",
        "10YLV-1001A00074",
        "Europe/Riga",
        1_300,
        (56.9, 24.9),
        "EE, LT",
        outside="Latvia",
        aliases=("Latvija",),
        net_since=BORDERLESS_BALTIC,
    ),
    FurtherZone(
        "LT",
        "Lithuania",
        "10YLT-1001A0008Q",
        "Europe/Vilnius",
        2_200,
        (55.3, 23.9),
        "LV, PL, SE-4",
        outside="Lithuania",
        aliases=("Lietuva",),
        net_since=BORDERLESS_BALTIC,
    ),
    FurtherZone(
        "FI",
        "Finland",
        "10YFI-1--------U",
        "Europe/Helsinki",
        15_100,
        (64.5, 26.3),
        "EE, NO-4, SE-1, SE-3",
        outside="Finland",
        aliases=("Suomi",),
        net_since=WITHOUT_RUSSIA,
    ),
    FurtherZone(
        "DK-2",
        "Denmark, Zealand and Bornholm (DK2)",
        "10YDK-2--------M",
        "Europe/Copenhagen",
        2_600,
        (55.5, 11.9),
        "DE-LU, DK-1, SE-4",
        outside="Denmark DK2",
        part_of=("Denmark", "DK"),
    ),
    FurtherZone(
        "NO-1",
        "Norway, Oslo (NO1)",
        "10YNO-1--------2",
        "Europe/Oslo",
        8_300,
        (60.9, 10.8),
        "NO-2, NO-3, NO-5, SE-3",
        outside="Norway NO1",
        part_of=("Norway", "NO"),
    ),
    FurtherZone(
        "NO-3",
        "Norway, Trondheim (NO3)",
        "10YNO-3--------J",
        "Europe/Oslo",
        4_700,
        (63.1, 8.8),
        "NO-1, NO-4, NO-5, SE-2",
        outside="Norway NO3",
        part_of=("Norway", "NO"),
    ),
    FurtherZone(
        "NO-4",
        "Norway, Tromso (NO4)",
        "10YNO-4--------9",
        "Europe/Oslo",
        3_000,
        (68.8, 19.7),
        "SE-2, FI, NO-3, SE-1",
        outside="Norway NO4",
        part_of=("Norway", "NO"),
    ),
    FurtherZone(
        "NO-5",
        "Norway, Bergen (NO5)",
        "10Y1001A1001A48H",
        "Europe/Oslo",
        3_100,
        (60.7, 6.9),
        "NO-1, NO-2, NO-3",
        outside="Norway NO5",
        part_of=("Norway", "NO"),
    ),
    FurtherZone(
        "SE-1",
        "Sweden, Lulea (SE1)",
        "10Y1001A1001A44P",
        "Europe/Stockholm",
        2_300,
        (66.8, 20.1),
        "FI, NO-4, SE-2",
        outside="Sweden SE1",
        part_of=("Sweden", "SE"),
        has_capacity=False,
    ),
    FurtherZone(
        "SE-2",
        "Sweden, Sundsvall (SE2)",
        "10Y1001A1001A45N",
        "Europe/Stockholm",
        3_200,
        (63.6, 16.1),
        "NO-3, NO-4, SE-1, SE-3",
        outside="Sweden SE2",
        part_of=("Sweden", "SE"),
        has_capacity=False,
    ),
    FurtherZone(
        "SE-4",
        "Sweden, Malmo (SE4)",
        "10Y1001A1001A47J",
        "Europe/Stockholm",
        4_900,
        (56.5, 14.3),
        "DE-LU, DK-2, LT, PL, SE-3",
        outside="Sweden SE4",
        part_of=("Sweden", "SE"),
        has_capacity=False,
    ),
    FurtherZone(
        "IT-CNO",
        "Italy, Centre-North",
        "10Y1001A1001A70O",
        "Europe/Rome",
        6_500,
        (43.4, 11.7),
        "IT-NO, IT-CSO, IT-SAR",
        outside="Italy Centre-North",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IT-CSO",
        "Italy, Centre-South",
        "10Y1001A1001A71M",
        "Europe/Rome",
        9_000,
        (41.9, 13.5),
        "IT-CNO, IT-SAR, IT-SO, Montenegro",
        outside="Italy Centre-South",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IT-SO",
        "Italy, South",
        "10Y1001A1001A788",
        "Europe/Rome",
        4_500,
        (40.9, 16.2),
        "IT-CSO, IT-CAL, GR",
        outside="Italy South",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IT-CAL",
        "Italy, Calabria",
        "10Y1001C--00096J",
        "Europe/Rome",
        1_300,
        (39.1, 16.3),
        "IT-SIC, IT-SO",
        outside="Italy Calabria",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IT-SIC",
        "Italy, Sicily",
        "10Y1001A1001A75E",
        "Europe/Rome",
        3_400,
        (37.6, 14.2),
        "IT-CAL, Malta",
        outside="Italy Sicily",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IT-SAR",
        "Italy, Sardinia",
        "10Y1001A1001A74G",
        "Europe/Rome",
        1_700,
        (40.1, 9.0),
        "IT-CNO, IT-CSO",
        outside="Italy Sardinia",
        part_of=("Italy", "IT", "Italia"),
        has_capacity=False,
        net_since=TODAYS_ITALY,
    ),
    FurtherZone(
        "IE",
        "Ireland, single electricity market (SEM)",
        "10Y1001A1001A59C",
        "Europe/Dublin",
        7_500,
        (53.4, -7.8),
        "GB",
        outside="Ireland, Northern Ireland",
        aliases=("Ireland", "Northern Ireland", "Republic of Ireland", "IE-SEM"),
        auction="day-ahead auction (SEM)",
    ),
)
"""In the order in which the zones follow the default set."""
_BY_ID = {zone.id: zone for zone in TABLE}


def choose(setting: str) -> tuple[FurtherZone, ...]:
    """Return the zones that a value of EMDS_ZONES adds, in the order of the table."""
    words = split(setting)
    return tuple(zone for zone in TABLE if words == [EUROPE] or zone.id in words)


def split(setting: str) -> list[str]:
    """Return the words of a value of EMDS_ZONES."""
    return [word.strip() for word in setting.split(",") if word.strip()]


def require_known(setting: str, default: Collection[str]) -> None:
    """Check that every id in a value of EMDS_ZONES exists. A list may repeat the ids of the `default` set.

    Raises StorageError.
    """
    words = split(setting)
    if words in ([SPEC], [EUROPE]):
        return
    if unknown := [word for word in words if word not in _BY_ID and word not in default]:
        raise StorageError(
            f"EMDS_ZONES names unknown zones: {', '.join(unknown)[:200]}. Set it to {SPEC}, {EUROPE} or a list of "
            f"these ids, separated by commas: {', '.join(_BY_ID)}. The zones of {SPEC} are always covered"
        )


SETTING = os.environ.get("EMDS_ZONES", "")
ENABLED = choose(SETTING)
"""The zones that this process covers beside the default set."""
ID_OF_OUTSIDE = {name: zone.id for zone in ENABLED for name in zone.outside_names}
"""The names of areas outside the default set that are zones here -> their ids."""
_OUTSIDE_OF_ID = {zone.id: zone.outside_names[0] for zone in TABLE if zone not in ENABLED}


def name_area(area: str) -> str:
    """Return what border rows call an area, given by its id or by its name while it is not a zone."""
    return ID_OF_OUTSIDE.get(area) or _OUTSIDE_OF_ID.get(area, area)
