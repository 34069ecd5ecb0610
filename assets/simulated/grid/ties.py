"""List every line over a border: between two covered zones, or to an outside area. `grid.flow` computes flows.

Lines between covered zones and their capacities come from the geographic layer; other capacities are round numbers.
Outside areas are spelled as in the sources: ENTSO-E's neighbours, the ties of ERCOT, NYISO and ISO-NE, and EIA's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warehouse.market.clock import instant
from warehouse.market.further_zones import ENABLED, name_area

ENERGY_CONNECT = instant("2026-09-30T14:00Z")


@dataclass(frozen=True, slots=True)
class GridTie:
    """A line from `a` to `b`. Power is + from `a` to `b`."""

    id: str
    a: str
    b: str
    forward: float
    """The maximum flow from `a` to `b`, in MW."""
    backward: float
    """The maximum flow from `b` to `a`, in MW."""
    bias: float = 0.0
    """The usual share of its capacity, -1..1."""
    sunny: float = 0.0
    """The effect of the noon sun at `a` on the flow towards `b`, -1..1."""
    since: int = 0
    """The time of the first flow, Unix seconds."""


_LINKS = (
    GridTie("gb-fr-ifa", "GB", "FR", 2000, 2000, -0.7),
    GridTie("gb-fr-ifa2", "GB", "FR", 1000, 1000, -0.7),
    GridTie("gb-fr-eleclink", "GB", "FR", 1000, 1000, -0.7),
    GridTie("gb-nl-britned", "GB", "NL", 1000, 1000, -0.3),
    GridTie("gb-be-nemo", "GB", "BE", 1000, 1000, -0.3),
    GridTie("gb-no2-nsl", "GB", "NO-2", 1400, 1400, -0.6),
    GridTie("gb-dk1-viking", "GB", "DK-1", 1400, 1400, -0.4),
    GridTie("de-no2-nordlink", "DE-LU", "NO-2", 1400, 1400, -0.3, 0.6),
    GridTie("nl-no2-norned", "NL", "NO-2", 700, 700, -0.3, 0.5),
    GridTie("nl-dk1-cobra", "NL", "DK-1", 700, 700, -0.2),
    GridTie("dk1-no2-skagerrak", "DK-1", "NO-2", 1632, 1632, -0.3),
    GridTie("dk1-se3-kontiskan", "DK-1", "SE-3", 715, 715, -0.4),
    GridTie("be-de-alegro", "BE", "DE-LU", 1000, 1000),
    GridTie("be-lu-ac", "BE", "DE-LU", 380, 180),
    GridTie("fr-es-inelfe", "FR", "ES", 2000, 2000, 0.2, -0.4),
    GridTie("fr-es-ac", "FR", "ES", 800, 800, 0.2, -0.4),
    GridTie("fr-it-savoie-piemonte", "FR", "IT-NO", 1200, 1200, 0.6),
    GridTie("fr-it-ac", "FR", "IT-NO", 3150, 960, 0.6),
    GridTie("fr-be-ac", "FR", "BE", 4300, 2800, 0.2),
    GridTie("fr-de-ac", "FR", "DE-LU", 3000, 3000, 0.2),
    GridTie("fr-ch-ac", "FR", "CH", 3700, 1300, 0.3),
    GridTie("be-nl-ac", "BE", "NL", 2400, 2400, -0.1),
    GridTie("nl-de-ac", "NL", "DE-LU", 4250, 4250, -0.2),
    GridTie("de-ch-ac", "DE-LU", "CH", 2700, 4600, 0.2, 0.3),
    GridTie("de-at-ac", "DE-LU", "AT", 5400, 5400, 0.3, 0.2),
    GridTie("de-pl-ac", "DE-LU", "PL", 500, 2500, 0.2, 0.3),
    GridTie("de-dk1-ac", "DE-LU", "DK-1", 3500, 3500, -0.1),
    GridTie("at-ch-ac", "AT", "CH", 1200, 1200, 0.1),
    GridTie("at-it-ac", "AT", "IT-NO", 400, 200, 0.6),
    GridTie("ch-it-ac", "CH", "IT-NO", 4240, 1910, 0.6),
    GridTie("au-nsw-qld-qni", "AU-NSW", "AU-QLD", 950, 1450, -0.4),
    GridTie("au-nsw-qld-directlink", "AU-NSW", "AU-QLD", 107, 210, -0.3),
    GridTie("au-vic-nsw-vni", "AU-VIC", "AU-NSW", 1600, 1350, 0.2),
    GridTie("au-vic-sa-heywood", "AU-VIC", "AU-SA", 650, 650, 0.1, -0.4),
    GridTie("au-vic-sa-murraylink", "AU-VIC", "AU-SA", 220, 200, 0.0, -0.3),
    GridTie("au-sa-nsw-pec", "AU-NSW", "AU-SA", 150, 150, 0.1, -0.3, ENERGY_CONNECT),
    GridTie("au-tas-vic-basslink", "AU-TAS", "AU-VIC", 594, 478, 0.1),
    GridTie("pjm-nyiso-neptune", "US-PJM", "US-NYISO", 660, 0, 0.7),
    GridTie("pjm-nyiso-htp", "US-PJM", "US-NYISO", 660, 0, 0.1),
    GridTie("pjm-nyiso-lindenvft", "US-PJM", "US-NYISO", 315, 315, 0.3),
    GridTie("pjm-nyiso-ac", "US-PJM", "US-NYISO", 1700, 1200, 0.3),
    GridTie("isone-nyiso-crosssound", "US-ISONE", "US-NYISO", 330, 330, 0.5),
    GridTie("isone-nyiso-northport", "US-ISONE", "US-NYISO", 200, 200, 0.3),
    GridTie("nyiso-isone-ac", "US-NYISO", "US-ISONE", 1400, 1600, 0.4),
    GridTie("pjm-miso-ac", "US-PJM", "US-MISO", 5000, 5000, 0.3),
    GridTie("miso-spp-ac", "US-MISO", "US-SPP", 3000, 3000, -0.3),
    GridTie("spp-ercot-east", "US-SPP", "US-ERCOT", 600, 600, 0.2),
    GridTie("spp-ercot-north", "US-SPP", "US-ERCOT", 220, 220, 0.2),
)
"""The lines of the geographic layer."""

_EUROPE_OUTSIDE = {
    "GB": {"Northern Ireland": (500, 0.2), "Ireland": (500, 0.3)},
    "DE-LU": {"Czechia": (2_500, 0.1), "Denmark DK2": (980, -0.1), "Sweden SE4": (615, -0.5)},
    "ES": {"Portugal": (3_500, 0.2)},
    "IT-NO": {"Slovenia": (700, -0.5), "Italy Centre-North": (3_800, 0.2)},
    "PL": {
        "Czechia": (1_200, 0.1),
        "Lithuania": (500, 0.3),
        "Sweden SE4": (600, -0.5),
        "Slovakia": (900, 0.2),
        "Ukraine": (900, 0.3),
    },
    "SE-3": {
        "Finland": (1_200, 0.3),
        "Norway NO1": (2_100, 0.0),
        "Sweden SE2": (7_300, -0.7),
        "Sweden SE4": (6_000, 0.6),
    },
    "NO-2": {"Norway NO1": (3_200, 0.0), "Norway NO5": (600, -0.2)},
    "DK-1": {"Denmark DK2": (600, 0.4)},
    "AT": {"Czechia": (1_000, -0.3), "Hungary": (1_100, 0.4), "Slovenia": (950, 0.3)},
}
_AMERICA_OUTSIDE = {
    "US-CAISO": {
        "Bonneville Power Administration": (2_400, -0.4),
        "Arizona Public Service Company": (1_900, -0.4),
        "Salt River Project Agricultural Improvement and Power District": (1_200, -0.3),
        "Nevada Power Company": (1_300, -0.1),
        "Western Area Power Administration - Desert Southwest Region": (700, -0.3),
        "Los Angeles Department of Water and Power": (1_100, 0.1),
        "Imperial Irrigation District": (500, -0.5),
        "Balancing Authority of Northern California": (900, 0.5),
        "PacifiCorp West": (150, 0.0),
        "Turlock Irrigation District": (120, 0.4),
        "Mexico (CENACE)": (350, 0.1),
    },
    "US-ERCOT": {"Mexico (CENACE)": (400, 0.0)},
    "US-PJM": {
        "LG&E and KU": (1_500, 0.1),
        "Tennessee Valley Authority": (1_800, 0.2),
        "Duke Energy Carolinas": (1_500, 0.2),
        "Duke Energy Progress East": (1_800, 0.2),
    },
    "US-MISO": {
        "Manitoba": (2_200, -0.3),
        "Ontario": (1_400, -0.3),
        "Tennessee Valley Authority": (3_000, -0.1),
        "Southern Company": (2_500, -0.1),
        "Associated Electric Cooperative": (2_000, -0.1),
        "LG&E and KU": (800, 0.0),
    },
    "US-SPP": {
        "Associated Electric Cooperative": (1_500, 0.2),
        "Southwestern Power Administration": (700, -0.2),
        "Southwest Power Pool West": (600, 0.1),
        "SaskPower": (150, -0.1),
    },
    "US-NYISO": {"Hydro-Quebec": (1_500, -0.6), "Ontario": (1_900, -0.5)},
    "US-ISONE": {"New Brunswick": (800, -0.2), "Hydro-Quebec": (2_000, -0.4)},
}
_SEVERAL = {
    ("US-ERCOT", "Mexico (CENACE)"): {"DC_L": 100, "DC_R": 300},
    ("US-NYISO", "Hydro-Quebec"): {"SCH - HQ - NY": 1_400, "SCH - HQ_CEDARS": 190, "SCH - HQ_CHPE": 1_250},
    ("US-NYISO", "Ontario"): {"SCH - OH - NY": 1_900},
    ("US-ISONE", "New Brunswick"): {"4010": 800},
    ("US-ISONE", "Hydro-Quebec"): {"4012": 1_600, "4013": 220, "4018": 1_200},
    ("GB", "Northern Ireland"): {"INTIRL": 500},
    ("GB", "Ireland"): {"INTEW": 500, "INTGRNL": 500},
}
"""Outside borders whose lines are published individually, under these IDs."""
_SINCE = {"SCH - HQ_CHPE": instant("2026-09-20T04:00Z")}


def _outside(zone: str, area: str, size: float, bias: float) -> list[GridTie]:
    lines = _SEVERAL.get((zone, area), {f"{zone}>{area}": size})
    # California exports at noon and imports in the evening.
    sunny = 0.6 if zone == "US-CAISO" else 0.0
    return [
        GridTie(name, zone, name_area(area), mw, mw, bias, sunny, _SINCE.get(name, 0)) for name, mw in lines.items()
    ]


def _further() -> Iterator[GridTie]:
    """Yield a line for each border of the zones of EMDS_ZONES that no other table has, sized by the zones' peaks."""
    peaks = {zone.id: zone.peak_mw for zone in ENABLED}
    drawn_pairs = {frozenset((zone, name_area(area))) for zone, areas in _EUROPE_OUTSIDE.items() for area in areas}
    for zone in ENABLED:
        for area in zone.neighbours:
            if (pair := frozenset((zone.id, area))) not in drawn_pairs:
                drawn_pairs.add(pair)
                size = 0.15 * min(zone.peak_mw, peaks.get(area, zone.peak_mw))
                yield GridTie(f"{zone.id}>{area}", zone.id, area, size, size)


TIES: tuple[GridTie, ...] = (
    *_LINKS,
    *_further(),
    *(
        tie
        for table in (_EUROPE_OUTSIDE, _AMERICA_OUTSIDE)
        for zone, areas in table.items()
        for area, (size, bias) in areas.items()
        for tie in _outside(zone, area, size, bias)
    ),
)
