"""Test zones from publishers' polygons on small invented countries: cuts, cleaning, simplification as a coverage."""

from __future__ import annotations

from pathlib import Path

import geopandas
import pytest
import shapely
from shapely.geometry import box

from geo_data import checks, footprints
from geo_data.recipe import INPUTS, Footprint, Level

COARSE = Level("coarse", 3000, 1, 5, 4)


def write(folder: Path, name: str, units: dict[str, object]) -> None:
    source = INPUTS[name]
    frame = geopandas.GeoDataFrame({source.column: list(units)}, geometry=list(units.values()), crs="EPSG:4326")
    frame.to_file(folder / source.file, driver="GeoJSON", layer=source.layer)


def wavy(x: float) -> list[tuple[float, float]]:
    return [(x + 0.02 * (i % 2), 48 + i / 40) for i in range(41)]


def test_units_name_what_a_file_lacks(tmp_path: Path) -> None:
    write(tmp_path, "australia", {"Victoria": box(0, 0, 1, 1)})
    assert list(footprints.units(tmp_path, "australia", ("Victoria",))) == ["Victoria"]
    with pytest.raises(KeyError, match="has no Queensland, Tasmania"):
        footprints.units(tmp_path, "australia", ("Victoria", "Tasmania", "Queensland"))


def polygons(**named: object) -> dict[str, dict[str, list[object]]]:
    return {name: units if isinstance(units, dict) else {name: [units]} for name, units in named.items()}


def test_parts_are_kept_and_dropped_by_boxes() -> None:
    islands = shapely.MultiPolygon([box(0, 0, 4, 4), box(10, 0, 11, 1), box(0, 10, 1, 11)])
    whole = Footprint("X", "countries", ("Land",), keep=(-1, -1, 5, 20), drop=((-1, 9, 2, 12),))
    shape = footprints._footprint(whole, polygons(countries={"Land": [islands]}))
    assert shape.equals(box(0, 0, 4, 4))


def test_a_cut_by_another_file_leaves_no_sliver() -> None:
    # The other file's coast differs by a hair: the strip that it leaves along the coast does not belong to the zone.
    south = shapely.union_all([box(0.001, 0, 4, 2)])
    cut = Footprint("X", "countries", ("Land",), without=("italy", ("South",)))
    shape = footprints._footprint(
        cut, polygons(countries={"Land": [box(0, 0, 4, 2), box(0, 2, 4, 4)]}, italy={"South": [south]})
    )
    assert [part.bounds for part in shapely.get_parts(shape)] == [(0.0, 0.0, 4.0, 4.0)] or shape.area == pytest.approx(
        8, abs=0.01
    )


def test_within_and_also_and_without() -> None:
    zone = Footprint(
        "X", "countries", ("Land",), within="se_3", also=("sweden", ("County",)), without=("sweden", ("Corner",))
    )
    shape = footprints._footprint(
        zone,
        polygons(
            countries={"Land": [box(0, 0, 10, 10)]},
            se_3={"SE_3": [box(0, 0, 10, 4)]},
            sweden={"County": [box(0, 4, 5, 6)], "Corner": [box(8, 0, 12, 4)]},
        ),
    )
    assert shape.equals(shapely.union(box(0, 0, 8, 4), box(0, 4, 5, 6)))


def test_neighbours_share_every_vertex_and_small_things_go() -> None:
    border = wavy(9.0)
    west = shapely.Polygon([(8, 48), *border, (8, 49)])
    east = shapely.Polygon([(10, 48), (10, 49), *reversed(border)])
    holed = shapely.difference(west, shapely.union(box(8.3, 48.3, 8.301, 48.301), box(8.5, 48.5, 8.6, 48.6)))
    enclave = box(8.5, 48.5, 8.6, 48.6)
    crumb = box(7.5, 48, 7.503, 48.003)
    built = footprints.coverage({"W": shapely.union(holed, crumb), "E": east, "N": enclave}, "EPSG:3035", COARSE)
    assert checks.valid(built) == checks.ring_order(built) == checks.coverage(built) == []
    assert {shape.geom_type for shape in built.values()} == {"MultiPolygon"}
    assert len(shapely.get_parts(built["W"])) == 1, "the islet is too small to see"
    assert len(shapely.get_parts(built["W"])[0].interiors) == 1, "the enclave's hole stays, the pinhole goes"
    assert shapely.get_num_coordinates(built["E"]) < shapely.get_num_coordinates(east)
    assert shapely.intersection(built["W"], built["E"]).length > 0.9


def test_overlapping_inputs_give_each_face_one_owner() -> None:
    built = footprints.coverage({"A": box(8, 48, 9, 49), "B": box(8.9, 47.9, 10, 49.1)}, "EPSG:3035", COARSE)
    assert checks.coverage(built) == []
    assert built["A"].area == pytest.approx(1, abs=0.01), "the first zone has what both claim"


def test_zones_share_out_the_whole_of_their_country() -> None:
    """Give a coastal strip to the zone behind it, or without a cut to the zone beside it, and leave islands out."""
    country = [shapely.MultiPolygon([box(0, 0, 4, 4), box(30, 30, 31, 31)])]
    south = shapely.union(box(0, 0, 4, 1.95), box(0, 1.95, 0.004, 4))
    north = shapely.union(box(0, 2, 3.99, 4), box(0, 0, 0.004, 2))
    shared = footprints._share_out(country, {"S": south, "N": north})
    assert shapely.intersection(shared["S"], shared["N"]).area == 0
    assert shapely.union(shared["S"], shared["N"]).area == pytest.approx(16)
    assert shapely.intersection(shared["S"], box(0, 2.1, 4, 4)).area == 0
    assert shapely.intersection(shared["N"], box(0, 0, 4, 1.9)).area == 0
    assert shared["N"].covers(shapely.Point(3.995, 3))


def test_a_harbour_counts_as_land_within_its_box() -> None:
    city = shapely.union(box(0, 0, 1, 1), box(1.015, 0, 2, 1))
    zone = Footprint("X", "countries", ("Land",), harbour=(0.9, 0.4, 1.1, 0.6))
    shape = footprints._footprint(zone, polygons(countries={"Land": [city]}))
    assert shape.covers(shapely.Point(1.0075, 0.5))
    assert not shape.covers(shapely.Point(1.0075, 0.8))


def test_a_narrow_gap_that_zones_enclose_is_closed() -> None:
    boxes = {"W": box(8, 48, 9, 49), "E": box(9.001, 48, 10, 49), "N": box(8, 49, 10, 50), "S": box(8, 47, 10, 48)}
    areas = {zone: shapely.segmentize(shape, 0.01) for zone, shape in boxes.items()}
    gaping = footprints.coverage(areas, "EPSG:3035", COARSE)
    assert checks.coverage(gaping) + checks.enclosed_slivers(gaping) != []
    closed = footprints.coverage(areas, "EPSG:3035", COARSE, gap_m=200)
    assert checks.coverage(closed) + checks.enclosed_slivers(closed) == []
    assert shapely.intersection(closed["W"], closed["E"]).length > 0.9
