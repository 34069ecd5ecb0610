"""List the areas that ENTSO-E names by EIC: covered zones, neighbours, and each zone's borders with their start.

Codes and borders follow entsoe-py 0.8.1 (https://github.com/EnergieID/entsoe-py, mappings.py), except Poland's border
with Ukraine. Since 2022-09-22 its flows are under UA-IPS, and those under the previous code are doubtful zeros
(https://github.com/electricitymaps/electricitymaps-contrib/pull/6799).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assets.parsing.outside_areas import EUROPEAN
from assets.parsing.stamps import utc_stamp
from warehouse.errors import FeedChanged
from warehouse.market import zone_names
from warehouse.market.further_zones import ENABLED, name_area

EIC = {zone: code for zone, code in zone_names.EIC.items() if zone != "GB"} | {zone.id: zone.eic for zone in ENABLED}
"""Zones whose own values come from this publisher."""

ZONES = tuple(EIC)
MIX_ZONES = tuple(zone for zone in ZONES if zone != "FR")
"""Zones with a mix. The mix of FR is that of RTE."""
TWO_AUCTIONS = frozenset({"DE-LU", "AT"})
"""Zones for which EXAA's morning auction is published beside SDAC."""

_OUTSIDE = {"GB": zone_names.EIC["GB"]} | {name: eic for name, eic in EUROPEAN.items() if eic not in EIC.values()}
"""Areas without a feed of this publisher, by their name in border rows. GB's own values come from Elexon."""

_OF_DEFAULT = {
    "DE-LU": ("AT", "BE", "CH", "Czechia", "DK-1", "Denmark DK2", "FR", "NO-2", "NL", "PL", "Sweden SE4"),
    "FR": ("BE", "CH", "DE-LU", "ES", "GB", "IT-NO"),
    "ES": ("FR", "Portugal"),
    "IT-NO": ("CH", "FR", "Slovenia", "AT", "Italy Centre-North"),
    "NL": ("BE", "DE-LU", "GB", "NO-2", "DK-1"),
    "BE": ("NL", "FR", "GB", "DE-LU"),
    "PL": ("Czechia", "DE-LU", "Lithuania", "Sweden SE4", "Slovakia", "Ukraine"),
    "SE-3": ("DK-1", "Finland", "Norway NO1", "Sweden SE2", "Sweden SE4"),
    "NO-2": ("DE-LU", "DK-1", "NL", "Norway NO1", "Norway NO5", "GB"),
    "DK-1": ("DE-LU", "Denmark DK2", "NO-2", "SE-3", "NL", "GB"),
    "AT": ("CH", "Czechia", "DE-LU", "Hungary", "IT-NO", "Slovenia"),
    "CH": ("AT", "DE-LU", "FR", "IT-NO"),
}
_NEIGHBOURS = {zone: tuple(map(name_area, areas)) for zone, areas in _OF_DEFAULT.items()} | {
    zone.id: zone.neighbours for zone in ENABLED
}
"""Zone -> the areas beyond its borders. EMDS_ZONES changes their names, never the list."""
NET_SINCE = {zone.id: utc_stamp(zone.net_since) for zone in ENABLED if zone.net_since}
"""The time (Unix seconds) since when the sum of a zone's borders is its net, if it was not always."""

_LINES = {
    ("DE-LU", "NO-2"): ("de-no2-nordlink", "2020-12-01T00:00Z", True),
    ("NL", "NO-2"): ("nl-no2-norned", "", True),
    ("DK-1", "NL"): ("nl-dk1-cobra", "2019-09-01T00:00Z", True),
    ("GB", "NL"): ("gb-nl-britned", "", True),
    ("BE", "GB"): ("gb-be-nemo", "2019-01-01T00:00Z", True),
    ("GB", "NO-2"): ("gb-no2-nsl", "2021-06-01T00:00Z", True),
    ("DK-1", "GB"): ("gb-dk1-viking", "2023-12-01T00:00Z", True),
    ("BE", "DE-LU"): (None, "2020-11-01T00:00Z", True),  # ALEGrO
    ("DE-LU", "SE-4"): (None, "", True),  # Baltic Cable
    ("PL", "SE-4"): (None, "", True),  # SwePol
    ("LT", "SE-4"): (None, "", True),  # NordBalt
    ("GR", "IT-SO"): (None, "", True),  # GRITA
    ("IT-CNO", "IT-SAR"): (None, "", True),  # SACOI
    ("IT-CSO", "IT-SAR"): (None, "", True),  # SAPEI
    ("IT-CSO", "Montenegro"): (None, "2019-12-28T00:00Z", True),  # Monita
    ("DK-1", "NO-2"): ("dk1-no2-skagerrak", "", False),
    ("DK-1", "SE-3"): ("dk1-se3-kontiskan", "", False),
    ("BE", "FR"): ("fr-be-ac", "", False),
    ("DE-LU", "FR"): ("fr-de-ac", "", False),
    ("CH", "FR"): ("fr-ch-ac", "", False),
    ("BE", "NL"): ("be-nl-ac", "", False),
    ("DE-LU", "NL"): ("nl-de-ac", "", False),
    ("CH", "DE-LU"): ("de-ch-ac", "", False),
    ("AT", "DE-LU"): ("de-at-ac", "", False),
    ("DE-LU", "PL"): ("de-pl-ac", "", False),
    ("DE-LU", "DK-1"): ("de-dk1-ac", "", False),
    ("AT", "CH"): ("at-ch-ac", "", False),
    ("AT", "IT-NO"): ("at-it-ac", "", False),
    ("CH", "IT-NO"): ("ch-it-ac", "", False),
}
"""The known facts of a border by its two areas: a link, a start, and whether it is one cable.

The link is its one line of the geographic layer, which carries the border's total (other borders have several lines).
The start is the earliest time at which its cable may have flowed, tests included, or empty if it always existed. A
border of one direct-current cable may be out of service as a whole.
"""

_BY_NAMES = {(name_area(one), name_area(two)): line for (one, two), line in _LINES.items()}

_AMPRION, _GERMANY, _ITALY = "10YDE-RWENET---I", "10Y1001A1001A83F", "10YIT-GRTN-----B"
_UKRAINE_BEFORE, _UKRAINE_CHANGED = "10Y1001C--00003F", utc_stamp("2022-09-21T22:00Z")
_UKRAINE_WEST = "10YUA-WEPS-----0"
_UKRAINE, _MONTENEGRO = name_area("Ukraine"), name_area("Montenegro")
_UNDER_ANOTHER_NAME = {
    ("BE", _AMPRION): "DE-LU",
    **{(name, _ITALY): "IT-NO" for name in _NEIGHBOURS["IT-NO"] if name != name_area("IT-CNO")},
    ("GR", _ITALY): name_area("IT-SO"),
    (name_area("Malta"), _ITALY): name_area("IT-SIC"),
    (_MONTENEGRO, _ITALY): name_area("IT-CSO"),
    **{(name, _GERMANY): "DE-LU" for name in _NEIGHBOURS["DE-LU"]},
    ("PL", _UKRAINE_BEFORE): _UKRAINE,
    **{(zone, _UKRAINE_WEST): _UKRAINE for zone in ("PL", "SK", "HU", "RO")},
}
"""Borders published under a control area or a country. Elsewhere Amprion is a part of a border, not a name for it."""

_AREAS = {eic: name for name, eic in (EIC | _OUTSIDE).items()}


@dataclass(frozen=True, slots=True)
class Border:
    """A zone's border with a neighbour. `since` is in Unix seconds, 0 if it always existed."""

    zone: str
    neighbour: str
    since: int
    link: str | None
    is_cable: bool
    """Whether it is one direct-current cable."""

    def eics(self, ts: int) -> tuple[str, str]:
        """Return the codes under which this border is published at the time `ts`: the zone's and the neighbour's."""
        return _code(self.zone, self.neighbour, ts), _code(self.neighbour, self.zone, ts)


def _code(area: str, other: str, ts: int) -> str:
    """Return the code of an area at its border with another area."""
    if area == _UKRAINE and ts < _UKRAINE_CHANGED:
        return _UKRAINE_BEFORE if other == "PL" else _UKRAINE_WEST
    if other == _MONTENEGRO and area == name_area("IT-CSO"):
        return _ITALY
    return EIC.get(area) or _OUTSIDE[area]


def _require_named() -> None:
    """Check that each area has one name. Raises ValueError, which states what to change."""
    for name, eic in EUROPEAN.items():
        if zone := next((zone for zone, own in EIC.items() if own == eic), None):
            raise ValueError(
                f"{name!r} is the zone {zone} now: remove it from assets/parsing/outside_areas.py, and write {zone} "
                "for it in assets/sources/entsoe/areas.py and assets/simulated/grid/ties.py."
            )
    if without := EIC.keys() - _NEIGHBOURS.keys():
        raise ValueError(f"{min(without)} has no borders: add it to _OF_DEFAULT in assets/sources/entsoe/areas.py.")
    for zone, names in _NEIGHBOURS.items():
        for name in names:
            if name not in EIC and name not in _OUTSIDE:
                raise ValueError(
                    f"{zone} borders {name!r}, which is neither a zone of EIC nor an area of "
                    "assets/parsing/outside_areas.py."
                )
            if name in EIC and zone not in _NEIGHBOURS[name]:
                raise ValueError(
                    f"{zone} borders {name}, but {name} does not border {zone}: complete _OF_DEFAULT in "
                    "assets/sources/entsoe/areas.py."
                )


_require_named()


def _border(zone: str, neighbour: str) -> Border:
    link, since, is_cable = _BY_NAMES.get((zone, neighbour)) or _BY_NAMES.get((neighbour, zone)) or (None, "", False)
    return Border(zone, neighbour, utc_stamp(since) if since else 0, link, is_cable)


BORDERS = {zone: tuple(_border(zone, name) for name in names) for zone, names in _NEIGHBOURS.items()}
"""Zone -> all its borders. The zone has a net if each of them has a value."""


def zone_of(eic: str | None) -> str | None:
    """Return the covered zone with that code, if any."""
    name = _AREAS.get(eic or "")
    return name if name in EIC else None


def requested_zone(texts: Mapping[str, str], element: str, requested: str | None) -> str:
    """Return the zone that an element of a TimeSeries names. Raises FeedChanged for an area that was not requested."""
    zone = zone_of(texts.get(element))
    if zone is None or requested not in (None, zone):
        raise FeedChanged(
            f"unexpected {element} {texts.get(element, 'missing')[:20]!r} in a response for "
            f"{requested or 'the zones served here'}"
        )
    return zone


def names_of(first: str, second: str) -> tuple[str, str]:
    """Return the names of the two areas of a flow. The name of an unknown area is its code."""
    one, two = _AREAS.get(first), _AREAS.get(second)
    one = one or _UNDER_ANOTHER_NAME.get((two or "", first), first)
    return one, two or _UNDER_ANOTHER_NAME.get((one, second), second)


def borders() -> Iterator[Border]:
    """Yield every border of every zone. A border between two covered zones appears twice."""
    for own in BORDERS.values():
        yield from own
