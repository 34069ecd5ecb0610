"""Run every check of `geo_data.checks` over the tables: findings by layer and check, empty if a check passes."""

from __future__ import annotations

import json
from typing import Any

import shapely

from geo_data import checks, table_rows
from geo_data.recipe import LEVELS
from warehouse.market.further_zones import EUROPE, SPEC


def every() -> dict[str, dict[str, list[str]]]:
    """Return the findings of every check over the tables, by layer and check name; empty if a check passes."""
    return {
        "zones": zones(SPEC),
        "interconnectors": interconnectors(SPEC),
        "plants": plants(),
        "zones of europe": zones(EUROPE),
        "interconnectors of europe": interconnectors(EUROPE),
    }


def zones(zone_set: str) -> dict[str, list[str]]:
    """Return the findings for zones. A zone with a record needs a footprint at each level; others are not drawn."""
    drawn = [zone.id for zone in table_rows.zones(zone_set)]
    findings = {"ids": checks.ids(drawn, [zone for zone in table_rows.SETS[zone_set] if zone in drawn])}
    for level in LEVELS:
        shapes = _shapes(level.name, zone_set)
        findings[f"ids_{level.name}"] = checks.ids(shapes, drawn)
        findings[f"validity_{level.name}"] = checks.valid(shapes)
        findings[f"ring_order_{level.name}"] = checks.ring_order(shapes)
        # The mouth of the Minho and the sounds of Norway are as narrow as a fault would be.
        findings[f"shared_borders_{level.name}"] = (
            checks.coverage(shapes, 0) + checks.enclosed_slivers(shapes)
            if zone_set == EUROPE
            else checks.coverage(shapes)
        )
    return findings


def interconnectors(zone_set: str) -> dict[str, list[str]]:
    lines = table_rows.interconnectors(zone_set)
    return {
        "ids": checks.ids(line.id for line in lines),
        "lead_somewhere": checks.ends(lines, table_rows.SETS[zone_set]),
        "end_in_their_zones": checks.line_ends(lines, _shapes("high", zone_set)),
    }


def plants() -> dict[str, list[str]]:
    listed = table_rows.plants()
    return {
        "ids": checks.ids(plant.id for plant in listed),
        "names": checks.ids(plant.name.casefold() for plant in listed),
        "vocabulary": checks.vocabulary(listed),
        "in_their_zones_or_explained": checks.placed(listed, _shapes("high"), table_rows.outside()),
        "none_twice": checks.duplicates(listed, table_rows.counterparts()),
        "other_lists": checks.other_lists(listed, table_rows.counterparts()),
        "known_totals": checks.off_total(listed, table_rows.known_totals()),
    }


def _shapes(detail: str, zone_set: str = SPEC) -> dict[str, Any]:
    geometries = table_rows.geometries(detail, zone_set)
    shapes = {zone: shapely.from_geojson(json.dumps(geometry)) for zone, geometry in geometries.items()}
    shapely.prepare(list(shapes.values()))
    return shapes
