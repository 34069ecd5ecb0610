"""Rebuilds the tables from publishers' files and checks them. No network.

    python -m geo_data.build check                    every check over the kept tables; exit 1 where one fails
    python -m geo_data.build zones FOLDER             tables/zones.{high,low}.geojson from the polygons in FOLDER
    python -m geo_data.build backdrop FOLDER          the land behind the map page, from the same polygons
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from geo_data import TABLES, checks, records
from geo_data.recipe import LEVELS, Level
from warehouse.zones import ZONES

BACKDROP = Path(__file__).parents[1] / "api" / "pages" / "map" / "land.json"


def findings() -> dict[str, dict[str, list[str]]]:
    """Every check over the kept tables, by layer and name; empty lists where all is well."""
    return {"zones": zone_findings(), "interconnectors": line_findings(), "plants": plant_findings()}


def zone_findings() -> dict[str, list[str]]:
    found = {"ids": checks.ids((z.id for z in records.zones()), list(ZONES))}
    for level in LEVELS:
        shapes = _shapes(level.name)
        found[f"ids_{level.name}"] = checks.ids(shapes, list(ZONES))
        found[f"validity_{level.name}"] = checks.valid(shapes)
        found[f"ring_order_{level.name}"] = checks.ring_order(shapes)
        found[f"shared_borders_{level.name}"] = checks.coverage(shapes)
    return found


def line_findings() -> dict[str, list[str]]:
    lines = records.interconnectors()
    return {
        "ids": checks.ids(line.id for line in lines),
        "pairs_of_zones": checks.pairs(lines),
        "end_in_their_zones": checks.line_ends(lines, _shapes("high")),
    }


def plant_findings() -> dict[str, list[str]]:
    plants = records.plants()
    return {
        "ids": checks.ids(plant.id for plant in plants),
        "vocabulary": checks.vocabulary(plants),
        "in_their_zones_or_explained": checks.placed(plants, _shapes("high"), records.outside()),
        "none_twice": checks.duplicates(plants),
        "known_totals": checks.off_total(plants, records.known_totals()),
    }


def _shapes(detail: str) -> dict[str, Any]:
    import shapely

    shapes = {zone: shapely.from_geojson(json.dumps(geometry)) for zone, geometry in records.geometries(detail).items()}
    shapely.prepare(list(shapes.values()))
    return shapes


def write_zones(folder: Path) -> None:
    """Writes the footprints at each level of detail."""
    for level in LEVELS:
        (TABLES / f"zones.{level.name}.geojson").write_text(zone_collection(folder, level), encoding="utf-8")


def zone_collection(folder: Path, level: Level) -> str:
    """The footprints of the polygons in `folder` as a FeatureCollection, one zone a line."""
    from geo_data.footprints import zones

    built = zones(folder, TABLES / "counties.csv", level)
    lines = [json.dumps(_feature(zone, built[zone]), separators=(",", ":")) for zone in ZONES]
    return '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"


def _feature(zone: str, shape: Any) -> dict[str, Any]:
    import shapely

    return {"type": "Feature", "id": zone, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}


def report(found: dict[str, dict[str, list[str]]]) -> int:
    """Prints each check and what it found; the exit code."""
    for layer, named in found.items():
        for name, faults in named.items():
            sys.stdout.write(f"{'FAIL' if faults else 'ok  '} {layer}: {name.replace('_', ' ')}\n")
            sys.stdout.writelines(f"       {fault}\n" for fault in faults)
    return 1 if any(faults for named in found.values() for faults in named.values()) else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m geo_data.build", description="Rebuild and check the geo layers.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check")
    for verb in ("zones", "backdrop"):
        verbs.add_parser(verb).add_argument("folder", type=Path)
    given = parser.parse_args(argv)
    if given.verb == "zones":
        write_zones(given.folder)
    if given.verb == "backdrop":
        from geo_data.backdrop import collection

        BACKDROP.write_text(collection(given.folder), encoding="utf-8")
    return report(findings())


if __name__ == "__main__":
    raise SystemExit(main())
