"""Test the rebuild of the plants: Form 860M in its published layout, corrections, downloads."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from datetime import date
from pathlib import Path

import openpyxl
import pytest
import requests

from geo_data import build, eia860m, fetch, table_rows
from geo_data.table_rows import Mend, Plant
from tests.fetch.stand_in_host import Publisher, replies

MONTHLY_HEADING = [
    "Entity ID", "Entity Name", "Plant ID", "Plant Name", "Plant State", "County", "Balancing Authority Code", "Sector",
    "Generator ID", "Unit Code", "Nameplate Capacity (MW)", "Technology", "Operating Month", "Operating Year", "Status",
    "Latitude", "Longitude",
]  # fmt: skip


def monthly(folder: Path, units: list[tuple[object, ...]], name: str = "december_generator2025.xlsx") -> Path:
    """Write a workbook laid out as EIA-860M, with two titles, a heading, units and a note."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Operating"
    sheet.append(["Inventory of Operating Generators as of December 2025"])
    sheet.append([None])
    sheet.append(MONTHLY_HEADING)
    for code, plant, authority, mw, technology, year, status, lat, lon in units:
        sheet.append(
            [1, "Owner", code, plant, "CA", "X", authority, "IPP", "1", None, mw, technology, 5, year, status, lat, lon]
        )
    sheet.append(["NOTES: capacity from facilities with a total of 1 MW or more"])
    book.save(folder / name)
    return folder / name


MONTHLY = [
    (6099, "Diablo  Canyon", "CISO", 1159.0, "Nuclear", 1985, "(OP) Operating", 35.21154, -120.85554),
    (6099, "Diablo  Canyon", "CISO", 1164.0, "Nuclear", 1986, "(OP) Operating", 35.21154, -120.85554),
    (70001, "Sun", "ERCO", 300.0, "Solar Photovoltaic", 2025, "(SB) Standby/Backup", 31.0, -100.0),
    (70002, "Small", "ERCO", 100.0, "Solar Photovoltaic", 2025, "(OP) Operating", 31.0, -100.0),
    (70003, "Elsewhere", "TVA", 900.0, "Nuclear", 1985, "(OP) Operating", 35.0, -86.0),
]


def test_an_unknown_technology_stops_the_build(tmp_path: Path) -> None:
    fusion = (6099, "Diablo", "CISO", 300.0, "Fusion", 2030, "(OP) Operating", 35.2, -120.8)
    with pytest.raises(ValueError, match="unknown technology in EIA-860M: 'Fusion'"):
        eia860m.plants(monthly(tmp_path, [fusion]))


def test_a_plant_has_the_shares_of_its_standing_units(tmp_path: Path) -> None:
    place = (36.80484, -121.78224)
    units = [
        (260, "Moss Landing", "CISO", 699.0, "Natural Gas Fired Combined Cycle", 2002, "(OP) Operating", *place),
        (260, "Moss Landing", "CISO", 699.0, "Natural Gas Fired Combined Cycle", 2002, "(SB) Standby", *place),
        (260, "Moss Landing", "CISO", 400.0, "Batteries", 2021, "(OP) Operating", *place),
        (260, "Moss Landing", "CISO", 2.5, "Petroleum Liquids", 1999, "(OA) Out of service", *place),
        (260, "Moss Landing", "CISO", 90.0, "Batteries", 2025, "(RE) Retired", *place),
        (7, "Small", "CISO", 249.9, "Solar Photovoltaic", 2015, "(OP) Operating", 36.0, -121.0),
        (8, "Large in the West", "SWPW", 900.0, "Conventional Steam Coal", 1980, "(OP) Operating", 39.0, -105.0),
    ]
    [moss] = eia860m.plants(monthly(tmp_path, units))
    assert moss.shares() == [("gas", 1398.0), ("battery", 400.0), ("oil", 2.5)]
    assert moss.commissioning_year == 1999


def test_corrections_set_fields_and_leave_rows_out(tmp_path: Path) -> None:
    diablo, sun = eia860m.plants(monthly(tmp_path, MONTHLY))
    mends = [
        Mend("eia-70001", "zone", "US-CAISO", "a list", "2026-01-01", "why"),
        Mend("eia-70001", "commissioning_year", "2002", "a list", "2026-01-01", "why"),
        Mend("eia-6099", "drop", None, "a list", "2026-01-01", "why"),
        Mend("eia-1", "drop", None, "a list", "2026-01-01", "the source lists it no more"),
    ]
    assert table_rows.mended([diablo, sun], mends) == [
        dataclasses.replace(sun, zone="US-CAISO", commissioning_year=2002)
    ]
    bare = dataclasses.replace(sun, commissioning_year=None)
    assert table_rows.mended([bare], mends[:2])[0].commissioning_year == 2002


def test_a_table_is_written_as_it_is_read(tmp_path: Path) -> None:
    table_rows.write(tmp_path / "plants.csv", table_rows.plants())
    assert (tmp_path / "plants.csv").read_bytes() == (table_rows.TABLES / "plants.csv").read_bytes()
    assert table_rows.ordered(reversed(table_rows.plants())) == table_rows.plants()


def test_the_command_writes_the_us_plants_of_the_workbook_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "plants.csv"
    monkeypatch.setattr(build, "PLANTS", target)
    with pytest.raises(FileNotFoundError, match=r"contains no \*_generator"):
        build.write_plants(tmp_path)
    monthly(tmp_path, MONTHLY)
    build.write_plants(tmp_path)
    written = table_rows.read(Plant, target)
    assert [p.id for p in written if p.id.startswith("eia-")] == ["eia-6099", "eia-70001"]
    others = [p for p in table_rows.plants() if not p.id.startswith("eia-")]
    assert [p for p in written if not p.id.startswith("eia-")] == others


def test_form_860m_gives_plants_of_250_mw_in_our_zones(tmp_path: Path) -> None:
    diablo, sun = eia860m.plants(monthly(tmp_path, MONTHLY))
    assert (diablo.id, diablo.name, diablo.capacity_mw) == ("eia-6099", "Diablo Canyon", 2323.0)
    assert (diablo.commissioning_year, diablo.source, diablo.as_of) == (1985, "EIA-860M 2025-12", "2025-12-01")
    assert (sun.zone, sun.fuel, sun.source_id) == ("US-ERCOT", "solar", "70001")


def test_the_newest_workbook_of_a_folder_counts(tmp_path: Path) -> None:
    monthly(tmp_path, MONTHLY[:2], "january_generator2026.xlsx")
    monthly(tmp_path, MONTHLY)
    assert eia860m.month_of(eia860m.newest(tmp_path)) == "2026-01"
    assert eia860m.address(date(2026, 11, 22)).endswith("/august_generator2026.xlsx")
    assert eia860m.address(date(2026, 1, 28)).endswith("/november_generator2025.xlsx")


def test_a_workbook_of_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "may_generator2026.xlsx"
    book = openpyxl.Workbook()
    book.save(path)
    with pytest.raises(ValueError, match='no sheet "Operating"'):
        eia860m.plants(path)
    book.active.title = "Operating"
    book.save(path)
    with pytest.raises(ValueError, match='no column "Plant ID"'):
        eia860m.plants(path)


def test_files_are_fetched_whole_once_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, missing = Publisher(replies(200, b"x" * 1000)), Publisher(replies(404))
    with closing(there), closing(missing):
        whole = f"{there.base}/file.zip"
        fetch.fetch(tmp_path, whole)
        assert (tmp_path / "file.zip").read_bytes() == b"x" * 1000
        (tmp_path / "file.zip").write_bytes(b"kept")
        fetch.fetch(tmp_path, whole)
        with pytest.raises(requests.HTTPError):
            fetch.fetch(tmp_path, f"{missing.base}/none.zip")
        assert (tmp_path / "file.zip").read_bytes() == b"kept"
        assert not (tmp_path / "none.zip").exists()
        monkeypatch.setattr(fetch, "MOST_BYTES", 100)
        (tmp_path / "file.zip").unlink()
        with pytest.raises(ValueError, match="larger than 100 bytes"):
            fetch.fetch(tmp_path, whole)
        assert not (tmp_path / "file.zip").exists()
