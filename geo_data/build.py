"""Rebuild the tables from publishers' files, check them, and create the layers. Only `list` uses the network.

python -m geo_data.build check                    every check over the tables; exit code 1 if a check fails
python -m geo_data.build layers                   shipped/*, the published files, from the tables
python -m geo_data.build list FOLDER              only EIA's newest list of plants
python -m geo_data.build zones FOLDER             tables/zones{,.europe}.{high,low}.geojson from the polygons in FOLDER
python -m geo_data.build backdrop FOLDER          the land behind the map page, from the same polygons
python -m geo_data.build plants FOLDER            the US rows of tables/plants.csv from the newest EIA-860M in FOLDER,
                                                  corrected by plant_mends.csv; `git diff` shows what changed
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import shapely

from geo_data import TABLES, backdrop, eia860m, fetch, findings, footprints, layers, table_rows
from geo_data.recipe import LEVELS
from warehouse.market.zones import EVERY_ZONE

BACKDROP = Path(__file__).parents[1] / "api" / "pages" / "map" / "land.json"
PLANTS = TABLES / "plants.csv"


def write_zones(folder: Path) -> None:
    """Write the footprints at each level of detail: those of the default set, and those of all zones of Europe."""
    for level in LEVELS:
        default = footprints.zones(folder, TABLES / "counties.csv", level)
        for name, built in (("zones", default), ("zones.europe", footprints.all_of_europe(folder, level))):
            (TABLES / f"{name}.{level.name}.geojson").write_text(zone_collection(built), encoding="utf-8")


def zone_collection(built: Mapping[str, Any]) -> str:
    """Return the footprints as a FeatureCollection, one zone per line."""
    lines = [json.dumps(_feature(zone, built[zone]), separators=(",", ":")) for zone in EVERY_ZONE if zone in built]
    return '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"


def _feature(zone: str, shape: Any) -> dict[str, Any]:
    return {"type": "Feature", "id": zone, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}


def write_backdrop(folder: Path) -> None:
    """Write the land behind the map page."""
    BACKDROP.write_text(backdrop.collection(folder), encoding="utf-8")


def write_plants(folder: Path) -> None:
    """Write the corrected US plants of the newest workbook in the folder, together with the other plants.

    European rows are edited manually, each with its reason in plant_mends.csv. Raises FileNotFoundError.
    """
    listed = table_rows.mended(eia860m.plants(eia860m.newest(folder)), table_rows.mends())
    others = [plant for plant in table_rows.plants() if not plant.id.startswith("eia-")]
    table_rows.write(PLANTS, table_rows.ordered([*listed, *others]))


def report(findings_by_layer: dict[str, dict[str, list[str]]]) -> int:
    """Print every check with its findings and return the exit code: 1 if a check failed."""
    for layer, checks in findings_by_layer.items():
        for name, faults in checks.items():
            sys.stdout.write(f"{'FAIL' if faults else 'ok  '} {layer}: {name.replace('_', ' ')}\n")
            sys.stdout.writelines(f"       {fault}\n" for fault in faults)
    return 1 if any(faults for checks in findings_by_layer.values() for faults in checks.values()) else 0


VERBS: dict[str, Callable[[Path], None]] = {
    "list": lambda folder: fetch.fetch(folder, eia860m.address(datetime.now(UTC).date())),
    "zones": write_zones,
    "backdrop": write_backdrop,
    "plants": write_plants,
}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m geo_data.build", description="Rebuild and check the geo layers.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("check")
    verbs.add_parser("layers")
    for verb in VERBS:
        verbs.add_parser(verb).add_argument("folder", type=Path)
    arguments = parser.parse_args(argv)
    if arguments.verb == "layers":
        layers.write()
    elif arguments.verb in VERBS:
        try:
            VERBS[arguments.verb](arguments.folder)
        except (OSError, ValueError, KeyError) as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            return 2
    return report(findings.every())


if __name__ == "__main__":
    raise SystemExit(main())
