"""The tables against the facts that they were taken from, where those are at hand: nothing is lost or changed without a written reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shapely

from geo_data import records

SAME = (
    "name",
    "pair",
    "type",
    "capacity_mw",
    "capacity_from_to_mw",
    "capacity_to_from_mw",
    "commissioning_year",
    "geometry_quality",
)


def features(path: Path) -> dict[str, dict[str, object]]:
    return {feature["id"]: feature for feature in json.loads(path.read_text())["features"]}


def test_every_plant_is_there_and_differs_only_by_a_mend(shared_geo: Path) -> None:
    given, kept = features(shared_geo / "plants.geojson"), {p.id: p for p in records.plants()}
    mends = {(m.id, m.field) for m in records.mends()}
    assert set(given) - set(kept) == {name for name, field in mends if field == "drop"}
    assert set(kept) - set(given) == {"hand-nl-maasvlakte-3"}
    for name in set(given) & set(kept):
        told, plant = given[name]["properties"], kept[name]
        told |= dict(zip(("lon", "lat"), given[name]["geometry"]["coordinates"], strict=True))
        differing = {
            f
            for f in ("name", "zone", "country", "fuel", "capacity_mw", "commissioning_year", "source", "lon", "lat")
            if told[f] != getattr(plant, f)
        }
        assert differing == {field for mended, field in mends if mended == name}, name
        assert (told["owner"] or "").replace(",", "").split() == (plant.owner or "").replace(",", "").split()
        if told["fuels"]:
            assert dict(plant.shares()) == pytest.approx(told["fuels"], abs=0.11)


def test_every_line_is_there(shared_geo: Path) -> None:
    given, kept = features(shared_geo / "interconnectors.geojson"), {one.id: one for one in records.interconnectors()}
    assert set(given) == set(kept)
    for name, line in kept.items():
        told = given[name]["properties"]
        for field in SAME:
            assert told[field] == getattr(line, field)
        assert (told["from"], told["to"]) == (line.from_zone, line.to_zone)
        path = shapely.get_coordinates(shapely.from_wkt(line.line)).tolist()
        assert path[:-1] == given[name]["geometry"]["coordinates"][:-1]
        assert (path[-1] == given[name]["geometry"]["coordinates"][-1]) is (name != "miso-spp-ac")


@pytest.mark.parametrize("detail", ["low", "high"])
def test_footprints_cover_the_same_ground(shared_geo: Path, detail: str) -> None:
    given, kept = features(shared_geo / f"zones.{detail}.geojson"), records.geometries(detail)
    assert set(given) == set(kept)
    for name in kept:
        ours, theirs = (shapely.from_geojson(json.dumps(g)) for g in (kept[name], given[name]["geometry"]))
        assert shapely.intersection(ours, theirs).area / shapely.union(ours, theirs).area > 0.996, name


def test_counties_are_taken_over_as_they_are(shared_geo: Path) -> None:
    assert (records.TABLES / "counties.csv").read_bytes() == (shared_geo / "us_county_to_iso.csv").read_bytes()
