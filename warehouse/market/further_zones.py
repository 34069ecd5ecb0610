"""Define the zones that EMDS_ZONES adds to the default set of 25, in one table that determines everything about them.

A zone is added with one row of `further_zones.csv`. Its feeds, borders, catalogue entry, names and simulated responses
follow. Lists within a cell are separated by a comma and a blank. Codes and borders are those that entsoe-py lists
(https://github.com/EnergieID/entsoe-py, mappings.py), with the following exceptions. Italy's interconnectors to Greece,
Montenegro and Malta are borders of the zone in which they end. Serbia borders on Kosovo instead of Albania, since
Kosovo is a separate control area. The Baltic states and Finland have no border with Russia or Belarus. Corsica's
interconnectors are not published as a border of a zone.

The dates of `net_since`: Italy's zones have had their present borders since 2021-01-01. Kosovo's control area was
separated from Serbia's on 2020-12-14. Finland has imported nothing from Russia since 2022-05-14. The Baltic states left
the Russian and Belarusian system on 2025-02-08 and joined the European one on 2025-02-09.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib.resources import files

from warehouse.errors import StorageError

SPEC, EUROPE = "spec", "europe"
"""The names of the two named sets."""


@dataclass(frozen=True, slots=True)
class FurtherZone:
    """A zone of ENTSO-E's Transparency Platform beyond the default set. Its prices are in EUR."""

    id: str
    name: str
    eic: str
    tz: str
    """The civil time zone."""
    peak_mw: float
    """The highest demand, as an order of magnitude: bounds and tolerances are shares of it."""
    place: tuple[float, float]
    """Latitude and longitude of a point near its centre."""
    borders: str
    """The areas that it borders on, separated by commas: IDs of zones, and names of areas that no set covers."""
    outside: str
    """The area's name in border rows while it is not a zone; several names are separated by commas."""
    aliases: tuple[str, ...]
    part_of: tuple[str, ...]
    """The country that contains it, by name and code, if it is only a part."""
    has_capacity: bool
    """Whether the installed capacity of the zone is published."""
    net_since: str
    """The start of the first hour for which the sum of its borders is its net; empty if it always was."""
    auction: str

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Return the areas that it borders on, each under its name in border rows."""
        return tuple(name_area(area) for area in self.borders.split(", "))

    @property
    def outside_names(self) -> tuple[str, ...]:
        """Return the area's names in border rows while it is not a zone."""
        return tuple(self.outside.split(", "))


def _read() -> Iterator[FurtherZone]:
    text = files("warehouse.market").joinpath("further_zones.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        place = float(row.pop("lat")), float(row.pop("lon"))
        peak_mw, has_capacity = float(row.pop("peak_mw")), row.pop("has_capacity") == "yes"
        aliases, part_of = (tuple(filter(None, row.pop(name).split(", "))) for name in ("aliases", "part_of"))
        yield FurtherZone(
            **row, place=place, peak_mw=peak_mw, has_capacity=has_capacity, aliases=aliases, part_of=part_of
        )


TABLE = tuple(_read())
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
    """Check that every ID in a value of EMDS_ZONES exists. A list may repeat the IDs of the `default` set.

    Raises StorageError.
    """
    words = split(setting)
    if words in ([SPEC], [EUROPE]):
        return
    if unknown := [word for word in words if word not in _BY_ID and word not in default]:
        raise StorageError(
            f"EMDS_ZONES names unknown zones: {', '.join(unknown)[:200]}. Set it to only {SPEC}, to only {EUROPE}, or "
            f"to a list of these IDs, separated by commas: {', '.join(_BY_ID)}. The zones of {SPEC} are always covered"
        )


SETTING = os.environ.get("EMDS_ZONES", "")
ENABLED = choose(SETTING)
"""The zones that this process covers beside the default set."""
NAME_OF_SET = {(): SPEC, TABLE: EUROPE}.get(ENABLED)
"""The name of the set that this process covers; None for a list of some of the further zones."""
ID_OF_OUTSIDE = {name: zone.id for zone in ENABLED for name in zone.outside_names}
"""Names of areas outside the default set that are zones in this process -> their IDs."""
_OUTSIDE_OF_ID = {zone.id: zone.outside_names[0] for zone in TABLE if zone not in ENABLED}


def name_area(area: str) -> str:
    """Return an area's name in border rows, given its ID or its name while it is not a zone."""
    return ID_OF_OUTSIDE.get(area) or _OUTSIDE_OF_ID.get(area, area)
