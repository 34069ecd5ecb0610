"""Rebuild of the plants: Form 860 in its published layout, corrections, comparison of Europe, downloads."""

from __future__ import annotations

import csv
import dataclasses
import io
import threading
import zipfile
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openpyxl
import pytest
import requests

from geo_data import build, compare, eia860, eia860m, fetch, mending, records, refresh, review
from geo_data.compare import Listed
from geo_data.records import Mend, Plant

SITES = [
    # Utility Name, Plant Code, Plant Name, State, Latitude, Longitude, Balancing Authority Code
    ("Pacific  Gas & Electric Co.", 6099, "Diablo Canyon", "CA", 35.211541, -120.855537, "CISO"),
    ("Dynegy", 260, "Moss Landing", "CA", 36.80484, -121.78224, "CISO"),
    ("Somebody", 7, "Small", "CA", 36.0, -121.0, "CISO"),
    ("Western", 8, "Large in the West", "CO", 39.0, -105.0, "SWPW"),
    ("Gone", 9, "Retired", "TX", 31.0, -97.0, "ERCO"),
]
UNITS = [
    # Plant Code, Generator ID, Technology, Nameplate Capacity (MW), Operating Year, Status
    (6099, "1", "Nuclear", 1159.0, 1985, "OP"),
    (6099, "2", "Nuclear", 1164.0, 1986, "OP"),
    (260, "A", "Natural Gas Fired Combined Cycle", 699.0, 2002, "OP"),
    (260, "B", "Natural Gas Fired Combined Cycle", 699.0, 2002, "SB"),
    (260, "C", "Batteries", 400.0, 2021, "OP"),
    (260, "D", "Petroleum Liquids", 2.5, 1999, "OA"),
    (260, "E", "Batteries", 90.0, 2025, "RE"),
    (7, "1", "Solar Photovoltaic", 249.9, 2015, "OP"),
    (8, "1", "Conventional Steam Coal", 900.0, 1980, "OP"),
    (9, "1", "Conventional Steam Coal", 900.0, 1980, "RE"),
]


def workbook(sheet: str, heading: list[str], rows: list[tuple[object, ...]]) -> bytes:
    """A sheet as EIA publishes it: a title line, the heading, the rows, a note."""
    book = openpyxl.Workbook()
    page = book.active
    page.title = sheet
    for line in (["2022 Form EIA-860 Data"], heading, *rows, ["NOTE: made up for a test"]):
        page.append(list(line))
    body = io.BytesIO()
    book.save(body)
    return body.getvalue()


SITE_HEADING = [
    "Utility ID",
    "Utility Name",
    "Plant Code",
    "Plant Name",
    "State",
    "Latitude",
    "Longitude",
    "Balancing Authority Code",
]
UNIT_HEADING = [
    "Utility ID",
    "Utility Name",
    "Plant Code",
    "Generator ID",
    "Technology",
    "Nameplate Capacity (MW)",
    "Operating Year",
    "Status",
]


def form(folder: Path, units: list[tuple[object, ...]] = UNITS) -> Path:
    sites = workbook("Plant", SITE_HEADING, [(1, *site) for site in SITES])
    generators = workbook("Operable", UNIT_HEADING, [(1, "x", *unit) for unit in units])
    target = folder / "eia8602022.zip"
    with zipfile.ZipFile(target, "w") as bundle:
        bundle.writestr("LayoutY2022.xlsx", b"")
        bundle.writestr("2___Plant_Y2022.xlsx", sites)
        bundle.writestr("3_1_Generator_Y2022.xlsx", generators)
    return target


def test_form_860_gives_plants_of_250_mw_in_our_zones(tmp_path: Path) -> None:
    moss, diablo = eia860.plants(form(tmp_path))
    assert (diablo.id, diablo.zone, diablo.fuel) == ("eia-6099", "US-CAISO", "nuclear")
    assert (diablo.capacity_mw, diablo.commissioning_year) == (2323.0, 1985)
    assert (diablo.owner, diablo.source, diablo.as_of) == ("Pacific Gas & Electric Co.", "EIA-860 2022", "2022-12-31")
    assert (diablo.lon, diablo.lat) == (-120.85554, 35.21154)
    assert moss.shares() == [("gas", 1398.0), ("battery", 400.0), ("oil", 2.5)]
    assert moss.commissioning_year == 1999


def test_an_unknown_technology_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="technology that we do not know: 'Fusion'"):
        eia860.plants(form(tmp_path, [(6099, "3", "Fusion", 300.0, 2030, "OP")]))


def test_another_bundle_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "eia8602022.zip", "w") as bundle:
        bundle.writestr("readme.txt", "nothing")
    with pytest.raises(ValueError, match="no plant sheet"):
        eia860.plants(tmp_path / "eia8602022.zip")


def test_corrections_set_fields_and_leave_rows_out(tmp_path: Path) -> None:
    moss, diablo = eia860.plants(form(tmp_path))
    mends = [
        Mend("eia-260", "zone", "US-ERCOT", "a list", "2026-01-01", "why"),
        Mend("eia-260", "commissioning_year", "2002", "a list", "2026-01-01", "why"),
        Mend("eia-6099", "drop", None, "a list", "2026-01-01", "why"),
        Mend("eia-1", "drop", None, "a list", "2026-01-01", "the source lists it no more"),
    ]
    assert mending.mended([moss, diablo], mends) == [
        dataclasses.replace(moss, zone="US-ERCOT", commissioning_year=2002)
    ]
    bare = dataclasses.replace(moss, commissioning_year=None)
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
    form(tmp_path)
    build.review_plants(tmp_path)
    shown = capsys.readouterr().out.splitlines()
    assert not target.exists()
    assert "changed US-CAISO eia-260 Moss Landing: " in "\n".join(shown)
    gone = sum(p.id.startswith("eia-") for p in records.plants()) - 2
    assert sum(line.startswith("gone ") for line in shown) == gone
    assert shown[-1] == f"0 new, {gone} gone, 1 changed: {tmp_path / 'plants_review.csv'}"
    kept = list(csv.DictReader((tmp_path / "plants_review.csv").read_text().splitlines()))
    assert [row["kind"] for row in kept].count("gone") == gone
    assert {row["source"] for row in kept} == {"EIA-860 2022"}
    build.review_plants(tmp_path, take=True)
    written = records.read(Plant, target)
    assert [p.id for p in written if p.id.startswith("eia-")] == ["eia-6099", "eia-260"]
    others = [p for p in records.plants() if not p.id.startswith("eia-")]
    assert [p for p in written if not p.id.startswith("eia-")] == others


MONTHLY_HEADING = [
    "Entity ID", "Entity Name", "Plant ID", "Plant Name", "Plant State", "County", "Balancing Authority Code", "Sector",
    "Generator ID", "Unit Code", "Nameplate Capacity (MW)", "Technology", "Operating Month", "Operating Year", "Status",
    "Latitude", "Longitude",
]  # fmt: skip


def monthly(folder: Path, units: list[tuple[object, ...]], name: str = "december_generator2025.xlsx") -> Path:
    """A workbook laid out as EIA-860M: two titles, a heading, units, a note."""
    import openpyxl

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
    import openpyxl

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


def test_a_plant_that_was_left_out_before_says_why() -> None:
    amer = listed(name="Amer", country="NL", fuels=frozenset({"coal"}), capacity_mw=600.0, lon=4.8, lat=51.7)
    [change] = compare.differences([], [amer], 2026, records.mends())
    assert change.what.startswith("600 MW coal; left out before: the same 600 MW unit as ppm-nl-amer-biomass")


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


def test_the_command_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["plants", str(tmp_path)]) == 2
    assert "has no *_generator*.xlsx" in capsys.readouterr().err


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


def test_addresses_are_the_publishers_own() -> None:
    named = fetch.addresses(date(2026, 11, 22))
    assert "https://www.eia.gov/electricity/data/eia860/xls/eia8602025.zip" in named
    assert fetch.lists(date(2026, 11, 22)) == named[-2:]
    assert named[-2].endswith("/august_generator2026.xlsx")
    assert named[-1].endswith("/powerplants.csv")
    assert all(address.startswith("https://") for address in named)
    assert len(named) == len(set(named))
