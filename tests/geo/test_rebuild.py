"""Rebuild of the plants: Form 860M in its published layout, corrections, comparison of Europe, downloads."""

from __future__ import annotations

import csv
import dataclasses
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openpyxl
import pytest
import requests

from geo_data import build, compare, eia860m, fetch, mending, records, refresh, review
from geo_data.compare import Listed
from geo_data.records import Mend, Plant

MONTHLY_HEADING = [
    "Entity ID", "Entity Name", "Plant ID", "Plant Name", "Plant State", "County", "Balancing Authority Code", "Sector",
    "Generator ID", "Unit Code", "Nameplate Capacity (MW)", "Technology", "Operating Month", "Operating Year", "Status",
    "Latitude", "Longitude",
]  # fmt: skip


def monthly(folder: Path, units: list[tuple[object, ...]], name: str = "december_generator2025.xlsx") -> Path:
    """A workbook laid out as EIA-860M: two titles, a heading, units, a note."""
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
    with pytest.raises(ValueError, match="technology that we do not know: 'Fusion'"):
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
    assert mending.mended([diablo, sun], mends) == [dataclasses.replace(sun, zone="US-CAISO", commissioning_year=2002)]
    bare = dataclasses.replace(sun, commissioning_year=None)
    assert mending.mended([bare], mends[:2])[0].commissioning_year == 2002


def test_plants_stand_by_zone_and_size() -> None:
    kept = records.plants()
    assert mending.ordered(reversed(kept)) == kept


def test_a_table_is_written_as_it_is_read(tmp_path: Path) -> None:
    records.write(tmp_path / "plants.csv", records.plants())
    assert (tmp_path / "plants.csv").read_bytes() == (records.TABLES / "plants.csv").read_bytes()


def test_the_command_shows_changes_and_takes_them_only_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "plants.csv"
    monkeypatch.setattr(build, "PLANTS", target)
    monthly(
        tmp_path, [*MONTHLY, (6099, "Diablo Canyon", "CISO", 500.0, "Batteries", 2024, "(OP) Operating", 35.2, -120.8)]
    )
    build.review_plants(tmp_path)
    shown = capsys.readouterr().out.splitlines()
    assert not target.exists()
    assert "changed US-CAISO eia-6099 Diablo Canyon: " in "\n".join(shown)
    gone = sum(p.id.startswith("eia-") for p in records.plants()) - 1
    assert sum(line.startswith("gone ") for line in shown) == gone
    assert shown[-1] == f"1 new, {gone} gone, 1 changed: {tmp_path / 'plants_review.csv'}"
    kept = list(csv.DictReader((tmp_path / "plants_review.csv").read_text().splitlines()))
    assert [row["kind"] for row in kept].count("gone") == gone
    assert {row["source"] for row in kept} == {"EIA-860M 2025-12"}
    build.review_plants(tmp_path, take=True)
    written = records.read(Plant, target)
    assert [p.id for p in written if p.id.startswith("eia-")] == ["eia-6099", "eia-70001"]
    others = [p for p in records.plants() if not p.id.startswith("eia-")]
    assert [p for p in written if not p.id.startswith("eia-")] == others


def test_form_860m_gives_plants_of_250_mw_in_our_zones(tmp_path: Path) -> None:
    diablo, sun = eia860m.plants(monthly(tmp_path, MONTHLY))
    assert (diablo.id, diablo.name, diablo.capacity_mw) == ("eia-6099", "Diablo Canyon", 2323.0)
    assert (diablo.commissioning_year, diablo.source, diablo.as_of) == (1985, "EIA-860M 2025-12", "2025-12-01")
    assert (sun.zone, sun.fuel, sun.source_id) == ("US-ERCOT", "solar", "70001")


def test_the_newest_workbook_of_a_folder_counts(tmp_path: Path) -> None:
    monthly(tmp_path, MONTHLY[:2], "january_generator2026.xlsx")
    monthly(tmp_path, MONTHLY)
    newest = eia860m.newest(tmp_path)
    assert newest is not None
    assert eia860m.month_of(newest) == "2026-01"
    assert eia860m.address(date(2026, 11, 22)).endswith("/august_generator2026.xlsx")
    assert eia860m.address(date(2026, 1, 28)).endswith("/november_generator2025.xlsx")


def test_a_workbook_of_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "may_generator2026.xlsx"
    book = openpyxl.Workbook()
    book.save(path)
    with pytest.raises(ValueError, match="no sheet Operating"):
        eia860m.plants(path)
    book.active.title = "Operating"
    book.save(path)
    with pytest.raises(ValueError, match="no column Plant ID"):
        eia860m.plants(path)
    with pytest.raises(FileNotFoundError, match=r"has no \*_generator"):
        refresh.changes(tmp_path / "none", 2026)


def paluel() -> Plant:
    return next(p for p in records.plants() if p.name == "Paluel")


def test_a_review_tells_new_gone_and_changed() -> None:
    one, two = (dataclasses.replace(paluel(), id=name) for name in ("eia-1", "eia-2"))
    moved = dataclasses.replace(one, capacity_mw=5000.0, lon=one.lon + 0.001, owner="another")
    found = review.changes([one, two], [moved, dataclasses.replace(two, id="eia-3")])
    assert [str(change) for change in found] == [
        f"new     FR eia-3 Paluel: 5320 MW nuclear ({one.source})",
        f"gone    FR eia-2 Paluel: 5320 MW nuclear ({one.source})",
        f"changed FR eia-1 Paluel: capacity_mw 5320.0 -> 5000.0 ({one.source})",
    ]
    assert review.table([]) == "kind,source,country,zone,id,name,what\r\n"


def listed(**changes: object) -> Listed:
    row = Listed("Paluel", "FR", frozenset({"nuclear"}), 5320.0, None, 0.6354, 49.8582, frozenset())
    return dataclasses.replace(row, **changes)


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([listed()], []),
        ([listed(capacity_mw=5000.0)], []),
        ([listed(capacity_mw=4000.0)], ["changed FR ppm-fr-paluel-nuclear Paluel: capacity_mw 5320 -> 4000"]),
        ([listed(closes=2024.0)], ["gone    FR ppm-fr-paluel-nuclear Paluel: closed in 2024 by the list"]),
        ([], ["gone    FR ppm-fr-paluel-nuclear Paluel: not in the list"]),
        ([listed(), listed(name="Penly", lat=49.97, lon=1.21)], ["new     FR Penly: 5320 MW nuclear"]),
        ([listed(), listed(name="Old", lat=45.0, closes=1999.0)], []),
        # A closing date that is only announced is no closing.
        ([listed(closes=2040.0), listed(name="New", lat=45.0, closes=2031.0)], ["new     FR New: 5320 MW nuclear"]),
        # A plant is known by its ids, however far a list puts it.
        ([listed(lat=44.0, ids=frozenset({str(paluel().eic)}))], []),
    ],
)
def test_differences_from_the_european_list(rows: list[Listed], lines: list[str]) -> None:
    found = compare.differences([paluel()], rows, 2026)
    assert [str(change) for change in found] == [f"{line} (powerplantmatching)" for line in lines]


def test_both_lists_of_a_folder_are_reviewed_together(tmp_path: Path) -> None:
    monthly(tmp_path, MONTHLY)
    (tmp_path / "powerplants.csv").write_text(EUROPEAN)
    found = refresh.changes(tmp_path, 2026)
    assert {change.source for change in found} == {"EIA-860M 2025-12", "powerplantmatching"}
    kinds = {(change.source, change.kind, change.id) for change in found}
    assert ("EIA-860M 2025-12", "new", "eia-70001") in kinds
    assert ("EIA-860M 2025-12", "gone", "eia-210") in kinds
    assert ("powerplantmatching", "gone", "ppm-fr-blayais-nuclear") in kinds
    assert not [change for change in found if change.id == "ppm-fr-paluel-nuclear"]


EUROPEAN = (
    "id,Name,Fueltype,Technology,Set,Country,Capacity,Efficiency,DateIn,DateRetrofit,DateOut,lat,lon,EIC\n"
    "0,Paluel,Nuclear,Steam Turbine,PP,France,5320.0,,1984.0,,,49.8582,0.6354,{}\n"
    "1,Small,Solar,Pv,PP,France,20.0,,2015.0,,,45.0,1.0,{}\n"
    "2,Foreign,Hard Coal,Steam Turbine,PP,Czechia,900.0,,1980.0,,2030.0,50.0,14.0,{}\n"
)


def test_the_european_list_is_read_by_country_and_size(tmp_path: Path) -> None:
    table = tmp_path / "powerplants.csv"
    table.write_text(EUROPEAN)
    assert compare.read(table) == [listed()]


class _Publisher(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/file.zip" else 404)
        self.end_headers()
        self.wfile.write(b"x" * 1000)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def publisher() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Publisher)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_files_are_fetched_whole_once_or_not_at_all(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [f"{publisher}/file.zip"]
    fetch.fetch(tmp_path, whole)
    assert (tmp_path / "file.zip").read_bytes() == b"x" * 1000
    (tmp_path / "file.zip").write_bytes(b"kept")
    with pytest.raises(requests.HTTPError):
        fetch.fetch(tmp_path, [*whole, f"{publisher}/none.zip"])
    assert (tmp_path / "file.zip").read_bytes() == b"kept"
    assert not (tmp_path / "none.zip").exists()
    monkeypatch.setattr(fetch, "MOST_BYTES", 100)
    (tmp_path / "file.zip").unlink()
    with pytest.raises(ValueError, match="longer than 100 bytes"):
        fetch.fetch(tmp_path, whole)
    assert not (tmp_path / "file.zip").exists()
