"""Rebuilds the tables from publishers' files and checks them. No network.

    python -m geo_data.build check                    every check over the kept tables; exit 1 where one fails
    python -m geo_data.build zones FOLDER             tables/zones.{high,low}.geojson from the polygons in FOLDER
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from geo_data import TABLES, checks, records
from geo_data.recipe import LEVELS
from warehouse.zones import ZONES


def findings() -> dict[str, list[str]]:
    """Every check over the kept tables, by name; empty lists where all is well."""
    import shapely

    shapes = {level.name: {zone: shapely.from_geojson(json.dumps(g)) for zone, g in records.geometries(level.name).items()}
              for level in LEVELS}
    shapely.prepare(list(shapes["high"].values()))
    lines, plants = records.interconnectors(), records.plants()
    found = {
        "zone ids": checks.ids((z.id for z in records.zones()), list(ZONES)),
        "interconnector ids": checks.ids(line.id for line in lines),
        "plant ids": checks.ids(plant.id for plant in plants),
        "vocabulary": checks.vocabulary(plants, lines),
        "lines end in their zones": checks.line_ends(lines, shapes["high"]),
        "plants lie in their zones": checks.placed(plants, shapes["high"], records.outside()),
        "no plant twice": checks.duplicates(plants),
        "known totals": checks.off_total(plants, records.known_totals()),
    }
    for name, level in shapes.items():
        found[f"{name}: ids"] = checks.ids(level, list(ZONES))
        found[f"{name}: validity"] = checks.valid(level)
        found[f"{name}: ring order"] = checks.ring_order(level)
        found[f"{name}: shared borders"] = checks.coverage(level)
    return found


def write_zones(folder: Path) -> None:
    """Cuts and simplifies the footprints at each level of detail and writes them, one zone a line."""
    from geo_data.footprints import zones

    for level in LEVELS:
        built = zones(folder, TABLES / "counties.csv", level)
        lines = [json.dumps(_feature(zone, built[zone]), separators=(",", ":")) for zone in ZONES]
        text = '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"
        (TABLES / f"zones.{level.name}.geojson").write_text(text, encoding="utf-8")


def _feature(zone: str, shape: Any) -> dict[str, Any]:
    import shapely

    return {"type": "Feature", "id": zone, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}


def report(found: dict[str, list[str]]) -> int:
    """Prints each check and what it found; the exit code."""
    for name, faults in found.items():
        sys.stdout.write(f"{'ok  ' if not faults else 'FAIL'} {name}\n")
        for fault in faults:
            sys.stdout.write(f"       {fault}\n")
    return 1 if any(found.values()) else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m geo_data.build", description="Rebuild and check the geo layers.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check")
    verbs.add_parser("zones").add_argument("folder", type=Path)
    given = parser.parse_args(argv)
    if given.verb == "zones":
        write_zones(given.folder)
    return report(findings())


if __name__ == "__main__":
    raise SystemExit(main())
