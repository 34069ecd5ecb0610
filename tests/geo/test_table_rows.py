"""Test the tables: typed reading, no check fails, and each check finds its error."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from itertools import product
from pathlib import Path

import pytest
import shapely

from geo_data import checks, findings, table_rows
from geo_data.table_rows import Counterpart, Interconnector, KnownTotal, Outside, Plant
from warehouse.market.zones import ZONES

PLANTS = table_rows.plants()
LINES = table_rows.interconnectors()
HIGH = {zone: shapely.from_geojson(json.dumps(geometry)) for zone, geometry in table_rows.geometries("high").items()}


def plant(**changes: object) -> Plant:
    return dataclasses.replace(next(p for p in PLANTS if p.id == "eia-6099"), **changes)


def line(**changes: object) -> Interconnector:
    return dataclasses.replace(next(one for one in LINES if one.id == "fr-ch-ac"), **changes)


def test_the_kept_tables_pass_every_check() -> None:
    faults = {(layer, name): faults for layer, named in findings.every().items() for name, faults in named.items()}
    assert len(faults) == 31
    assert {key: faults for key, faults in faults.items() if faults} == {}


def test_every_zone_has_a_record_and_a_footprint_at_both_levels() -> None:
    drawn = [record.id for record in table_rows.zones()]
    assert drawn == list(ZONES), "a zone that is not drawn on purpose: take it out here, and say so in docs/map.md"
    assert list(table_rows.geometries("low")) == list(table_rows.geometries("high")) == drawn


@pytest.mark.slow
def test_the_label_stands_on_its_zone() -> None:
    for zone_set, detail in product(table_rows.SETS, ("low", "high")):
        geometries = table_rows.geometries(detail, zone_set)
        for zone in table_rows.zones(zone_set):
            shape = shapely.from_geojson(json.dumps(geometries[zone.id]))
            assert shape.contains(shapely.Point(zone.label_lon, zone.label_lat)), (zone.id, detail)


def test_mixed_plants_add_up() -> None:
    hybrid = next(p for p in PLANTS if p.id == "eia-260")
    assert hybrid.shares() == [("gas", 1398.0), ("battery", 750.0)]
    for one in PLANTS:
        assert sum(mw for _, mw in one.shares()) == pytest.approx(one.capacity_mw)
        assert one.shares()[0][1] >= one.shares()[-1][1] - 1e-9, one.id


def test_a_table_with_another_heading_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "plants_outside.csv"
    table.write_text("id,why\nx,y\n")
    with pytest.raises(ValueError, match="has the columns"):
        table_rows.read(Outside, table)


def test_an_empty_cell_is_none_only_where_it_may_be(tmp_path: Path) -> None:
    table = tmp_path / "known_totals.csv"
    table.write_text("zone,fuel,known_mw,tolerance_pct,grown_mw,grown_plant,source\nFR,nuclear,,2,,,EDF\n")
    with pytest.raises(ValueError, match="empty cell"):
        table_rows.read(KnownTotal, table)


def test_every_mend_and_explanation_names_a_plant_and_a_reason() -> None:
    ids = {p.id: p for p in PLANTS}
    for mend in table_rows.mends():
        assert len(mend.reason) > 20
        assert mend.source
        assert date.fromisoformat(mend.as_of) <= date(2026, 11, 25)
        if mend.field == "drop":
            assert mend.id not in ids
        elif mend.field == "added":
            assert ids[mend.id].capacity_mw == float(str(mend.value))
        else:
            kept = getattr(ids[mend.id], mend.field)
            assert kept == type(kept)(mend.value), mend
    assert {o.id for o in table_rows.outside()} <= set(ids)


def test_checks_find_a_bowtie_and_a_repeated_vertex() -> None:
    bowtie = shapely.from_wkt("POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))")
    stutter = shapely.from_wkt("POLYGON ((0 0, 2 0, 2 0, 2 2, 0 0))")
    faults = checks.valid({"A": bowtie, "B": stutter, "C": shapely.box(0, 0, 1, 1)})
    assert [text.split(":")[0] for text in faults] == ["A", "B"]
    assert checks.valid({"D": shapely.box(170, 0, 190, 1), "E": shapely.Polygon()}) != []


def test_checks_find_rings_that_run_the_wrong_way() -> None:
    square = shapely.orient_polygons(shapely.from_wkt("POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (2 2, 2 3, 3 3, 3 2, 2 2))"))
    assert checks.ring_order({"A": square}) == []
    assert checks.ring_order({"A": shapely.reverse(square)}) == [
        "A: an exterior ring is clockwise",
        "A: a hole is counter-clockwise",
    ]


def test_checks_find_overlaps_and_gaps_between_neighbours() -> None:
    west, east = shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)
    assert checks.coverage({"W": west, "E": east}) == []
    assert "W and E overlap" in checks.coverage({"W": west, "E": shapely.box(0.999, 0, 2, 1)})
    assert len(checks.coverage({"W": west, "E": shapely.box(1.001, 0, 2, 1)})) == 2


def test_checks_find_ids_twice_missing_and_unknown() -> None:
    assert checks.ids(["a", "b", "b", "c"], ["a", "b", "d"]) == ["b comes 2 times", "d is missing", "c is unknown"]


def test_checks_find_foreign_words_and_small_plants() -> None:
    wrong = [
        plant(),
        plant(zone="FI"),
        plant(fuel="uranium"),
        plant(fuel="imports"),
        plant(capacity_mw=249.9),
        plant(fuel_2="gas", fuel_2_mw=5000.0),
        plant(capacity_basis="gross"),
        plant(status="closed"),
    ]
    assert len(checks.vocabulary(wrong)) == 7
    outside = {"to_zone": None, "neighbour": "Andorra"}
    wrong = [line(to_zone="FR"), line(to_zone="IE"), line(neighbour="Andorra"), line(to_zone=None)]
    assert checks.ends([line(), line(**outside)], ZONES) == []
    assert len(checks.ends([*wrong, line(to_zone=None, neighbour="CH")], ZONES)) == 5


def test_checks_find_lines_that_end_elsewhere() -> None:
    assert checks.line_ends([line()], HIGH) == []
    there = line(line="LINESTRING (8 47, 2 48)")
    assert len(checks.line_ends([there], HIGH)) == 2
    outside = line(to_zone=None, neighbour="Andorra", line="LINESTRING (2 43, 1.6 42.55)")
    assert checks.line_ends([outside], HIGH) == []
    assert checks.line_ends([dataclasses.replace(outside, line="LINESTRING (2 43, 0 42)")], HIGH) == [
        "fr-ch-ac: ends in ES"
    ]
    # A landing point may be off the generalised shore, but a drawn corridor may not.
    shore = next(one for one in LINES if one.id == "gb-nl-britned")
    assert checks.line_ends([shore], HIGH) == []
    assert len(checks.line_ends([dataclasses.replace(shore, geometry_quality="schematic")], HIGH)) == 2


def test_checks_find_plants_in_the_wrong_place() -> None:
    assert checks.placed([plant()], HIGH, []) == []
    moved = plant(lon=2.35, lat=48.86)
    [faults] = checks.placed([moved], HIGH, [])
    assert faults.startswith("eia-6099 (Diablo Canyon): ")
    assert faults.endswith("from US-CAISO, in FR")
    assert checks.placed([moved], HIGH, [Outside("eia-6099", "a reason")]) == []
    offshore = plant(zone="GB", fuel="wind_offshore", lon=1.67, lat=55.97)
    assert checks.placed([offshore], HIGH, []) == []
    assert checks.placed([dataclasses.replace(offshore, lon=-15.0)], HIGH, []) != []
    # This point is at sea off GB, but on Dutch land.
    assert checks.placed([dataclasses.replace(offshore, lon=4.7, lat=52.4)], HIGH, []) != []


def test_distances_are_geodesic() -> None:
    box = shapely.box(0, 0, 1, 1)
    assert checks.distance_km(shapely.Point(0.5, 0.5), box) == 0
    assert checks.distance_km(shapely.Point(2, 0.5), box) == pytest.approx(111.32, abs=0.02)


def test_checks_find_a_plant_listed_twice_but_not_eias_own_pairs() -> None:
    amer = plant(id="ppm-a")
    beside = dataclasses.replace(amer, id="ppm-b", lat=35.22)
    assert checks.duplicates([amer, beside]) == ["ppm-a and ppm-b: 2323.0 and 2323.0 MW at one place"]
    assert checks.duplicates([amer, dataclasses.replace(amer, id="ppm-b", lat=35.5)]) == []
    assert checks.duplicates([plant(id="eia-1"), plant(id="eia-2")]) == []
    # Another fuel and 95% of the MW within a kilometre mean the same site twice, unless another list has both.
    other = dataclasses.replace(amer, id="ppm-c", fuel="oil", capacity_mw=2200.0, lat=35.218)
    assert len(checks.duplicates([amer, other])) == 1
    assert checks.duplicates([amer, dataclasses.replace(other, lat=35.235)]) == []
    assert checks.duplicates([amer, other], [counterpart("ppm-a"), counterpart("ppm-c")]) == []


def counterpart(name: str | None, mw: float = 2323.0, why: str | None = None, zone: str = "US-CAISO") -> Counterpart:
    return Counterpart("a list", "17", "Diablo Canyon", zone, "nuclear", mw, name, why)


def test_checks_find_what_another_list_has_otherwise() -> None:
    ours = [plant(id="ppm-a")]
    assert checks.other_lists(ours, [counterpart("ppm-a"), counterpart("ppm-a", 2200.0)]) == []
    # The cases are a sum of two values, half of a plant, another market, a missing plant, and a dropped row.
    wrong = [
        counterpart("ppm-a", 1161.5),
        counterpart("ppm-a", 4646.0),
        counterpart("ppm-a", zone="US-ERCOT"),
        counterpart(None),
        counterpart("ppm-b", why="a reason does not bring it back"),
    ]
    assert len(checks.other_lists(ours, wrong)) == 5
    assert checks.other_lists(ours, [counterpart(None, why="closed"), counterpart("ppm-a", 4646.0, "gross")]) == []
    assert checks.other_lists(ours, [counterpart("ppm-small", 212.0)]) == [], "below the floor"


def test_checks_find_totals_that_are_off() -> None:
    known = [KnownTotal("US-CAISO", "nuclear", 2323.0, 1.0, None, None, "a publisher")]
    assert checks.off_total([plant()], known) == []
    assert checks.off_total([plant(capacity_mw=2400.0)], known) == [
        "US-CAISO nuclear: 2,400 MW against 2,323 (a publisher)"
    ]
    assert checks.off_total([], known) != []
    grown = [dataclasses.replace(known[0], grown_mw=77.0, grown_plant="eia-6099")]
    assert checks.off_total([plant(capacity_mw=2400.0)], grown) == []
    assert checks.off_total([plant()], grown) != []
