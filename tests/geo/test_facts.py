"""Compare the tables with the collections they were taken from: every difference has a written reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shapely

from geo_data import table_rows


def features(path: Path) -> dict[str, dict[str, object]]:
    return {feature["id"]: feature for feature in json.loads(path.read_text())["features"]}


def test_every_plant_outside_the_us_is_there_and_differs_only_by_a_mend(shared_geo: Path) -> None:
    """Leave out the US plants, which come from a later form."""
    source = {name: f for name, f in features(shared_geo / "plants.geojson").items() if not name.startswith("eia-")}
    kept = {p.id: p for p in table_rows.plants() if not p.id.startswith("eia-")}
    mends = {(m.id, m.field) for m in table_rows.mends() if not m.id.startswith("eia-")}
    assert set(source) - set(kept) == {name for name, field in mends if field == "drop"}
    added = set(kept) - set(source)
    assert all(name.startswith(("hand-", "nem-")) for name in added)
    assert len(added - {name for name, field in mends if field == "added"}) == 9
    for name in set(source) & set(kept):
        properties, plant = source[name]["properties"], kept[name]
        properties |= dict(zip(("lon", "lat"), source[name]["geometry"]["coordinates"], strict=True))
        differing = {
            f
            for f in ("name", "zone", "country", "fuel", "capacity_mw", "commissioning_year", "source", "lon", "lat")
            if properties[f] != getattr(plant, f)
        }
        if plant.source == "powerplantmatching 0.9.1":
            assert (
                plant.capacity_mw == pytest.approx(properties["capacity_mw"], rel=0.03)
                or (name, "capacity_mw") in mends
            )
            differing -= {"capacity_mw"}
        assert differing - {"source"} <= {field for mended, field in mends if mended == name}, name
        assert (properties["owner"] or "").replace(",", "").split() == (plant.owner or "").replace(",", "").split()


@pytest.mark.parametrize("detail", ["low", "high"])
def test_footprints_cover_the_same_ground(shared_geo: Path, detail: str) -> None:
    source, kept = features(shared_geo / f"zones.{detail}.geojson"), table_rows.geometries(detail)
    assert set(source) == set(kept)
    lubbock = shapely.box(-102.09, 33.38, -101.55, 33.84)
    for name in kept:
        ours, theirs = (
            shapely.difference(shapely.from_geojson(json.dumps(shape)), lubbock)
            for shape in (kept[name], source[name]["geometry"])
        )
        assert shapely.intersection(ours, theirs).area / shapely.union(ours, theirs).area > 0.996, name
