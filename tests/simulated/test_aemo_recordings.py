"""Simulated AEMO's files have the shape of recorded ones: reports, monthly tables, directories, the dashboard."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import datetime

import numpy as np
import pytest

from assets.simulated.aemo import nemweb, reports, tables
from assets.simulated.aemo.model import Block, block
from assets.sources.aemo.files import monthly_url
from tests.simulated.aemo_answers import answered, names
from warehouse.clock import instant


def recorded_report(recordings, file):
    body = (recordings / "aemo" / file).read_bytes()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return archive.namelist()[0], archive.read(archive.namelist()[0])


def cells(line):
    return line.replace('"', "").split(",")


def test_a_trading_report_is_written_as_recorded(recordings):
    name, body = recorded_report(recordings, "PUBLIC_TRADINGIS_202308301800_0000000395916754.zip")
    lines = body.decode().split("\r\n")
    ties = {cells(line)[6]: cells(line) for line in lines if line.startswith("D,TRADING,INTER")}
    prices = {cells(line)[6]: float(cells(line)[8]) for line in lines if line.startswith("D,TRADING,PRICE")}
    end = instant("2023-08-30T18:00:00+10:00")
    flow, metered = (
        {name: np.array([float(published[place])]) for name, published in ties.items()} for place in (9, 8)
    )
    part = Block(
        np.array([end]), 300, {region: np.array([price]) for region, price in prices.items()}, {}, {}, flow, metered
    )
    filled = [
        (table, next(reports.lines_of(table, part, '"')))
        for table in (tables.TRADING_INTERCONNECTORRES, tables.TRADING_PRICE)
    ]
    made = reports.render_report("TRADINGIS", end - 300 + 8, 395916754, filled).decode().split("\r\n")
    published = [re.sub(r"17:55:0\d", "17:55:04", line) for line in (",".join(line.split(",")[:14]) for line in lines)]
    ours = [re.sub(r"17:55:0\d", "17:55:04", line) for line in (",".join(line.split(",")[:14]) for line in made)]
    losses = re.compile(r"^(D,TRADING,INTERCONNECTORRES,.*),[-\d.]+,(\"[^\"]*\")$")
    # Losses and ancillary services are not among the expected rows.
    assert [losses.sub(r"\1,\2", line).split(",262.4,132")[0] for line in ours][:9] == [
        losses.sub(r"\1,\2", line) for line in published
    ][:9]
    assert [line.split(",")[:13] for line in ours[9:]] == [line.split(",")[:13] for line in published[9:]]
    assert [line.count(",") for line in made] == [line.count(",") for line in lines]
    assert [line for line in made if line[:1] in "IC"][1:] == [line for line in lines if line[:1] in "IC"][1:]
    assert re.sub(r"\d+:\d+:\d+,|\d{16}", "", made[0]) == re.sub(r"\d+:\d+:\d+,|\d{16}", "", lines[0])
    assert name == "PUBLIC_TRADINGIS_202308301800_0000000395916754.CSV"


@pytest.mark.parametrize(
    ("file", "table", "key"),
    [
        ("mmsdm_DISPATCHPRICE_2026-04_filtered.zip", tables.PRICE, "RRP"),
        ("mmsdm_DISPATCHREGIONSUM_2026-04_filtered.zip", tables.REGIONSUM, "TOTALDEMAND NETINTERCHANGE"),
        (
            "mmsdm_DISPATCHINTERCONNECTORRES_2026-04_filtered.zip",
            tables.INTERCONNECTORRES,
            "METEREDMWFLOW MWFLOW EXPORTLIMIT IMPORTLIMIT",
        ),
    ],
)
def test_monthly_tables_are_written_as_recorded(file, table, key, recordings):
    name, body = recorded_report(recordings, file)
    first, header, *rows, last = body.decode().split("\n")
    assert table.header == header
    assert name == monthly_url(table.name, 2026, 4).rpartition("/")[2].replace("%2523", "#").replace(".zip", ".CSV")
    columns = header.split(",")
    published = [dict(zip(columns, row.split(","), strict=True)) for row in rows]
    made = [table.row % row for row in published]
    for row, ours in zip(published, made, strict=True):
        mine = dict(zip(columns, ours.split(","), strict=True))
        wanted = ("D", "SETTLEMENTDATE", "RUNNO", table.key, "DISPATCHINTERVAL", "INTERVENTION", *key.split())
        assert [mine[column] for column in wanted if column in mine] == [
            row[column] for column in wanted if column in row
        ]
    document = reports.render_monthly(table, instant("2026-05-08T11:24:36+10:00"), made).decode().split("\n")
    assert document[0] == re.sub(
        r",\d\d:\d\d:\d\d,\d{12}\d{3},(.*),\d{15}$", r",11:24:36,001778203476799,\1,001778203476799", first
    )
    assert document[-1] == f'C,"END OF REPORT",{len(document)}'
    assert last.rpartition(",")[0] == document[-1].rpartition(",")[0]


def test_stamps_and_numbers_of_intervals_are_those_of_the_recorded_table(recordings):
    _, body = recorded_report(recordings, "mmsdm_DISPATCHREGIONSUM_2026-04_filtered.zip")
    rows = [line.split(",") for line in body.decode().split("\n")[2:-1]]
    published = {(row[4], row[7]) for row in rows if row[6] == "SA1"}  # the recording holds only half of the lines
    month = block(instant("2026-04-01T00:00:00+10:00"), instant("2026-05-01T00:00:00+10:00"))
    ours = [(reports.stamp(end), reports.dispatch_interval(end)) for end in month.ends.tolist()]
    assert len(published & set(ours)) == len(published) == 1440
    written = [line.split(",") for lines in reports.lines_of(tables.REGIONSUM, month) for line in lines]
    assert [(row[4], row[7]) for row in written if row[6] == "SA1" and row[8] == "0"] == ours


def test_price_and_demand_are_written_as_recorded(recorded):
    body, rows = recorded("aemo/PRICE_AND_DEMAND_202608_NSW1_slice.csv")
    ts = sorted({r.ts for r in rows})
    demand, price = (
        [next(r.value for r in rows if (r.ts, r.metric) == (at, metric)) for at in ts] for metric in ("demand", "price")
    )
    made = reports.render_price_and_demand("NSW1", [at + 300 for at in ts], demand, price)

    def trimmed(text):  # the recorded prices keep some of their trailing zeros
        return re.sub(rb"(\.\d*?)0+,TRADE", rb"\1,TRADE", text).replace(b".,", b",")

    assert trimmed(made) == trimmed(body)


def test_the_dashboard_is_written_as_recorded(recordings):
    body = (recordings / "aemo/visualisations_5MIN_2021-10-06.json").read_bytes()
    names = ("RRP", "TOTALDEMAND", "NETINTERCHANGE", "SCHEDULEDGENERATION", "SEMISCHEDULEDGENERATION")
    entries = json.loads(body)["5MIN"]
    rows = [
        (instant(entry["SETTLEMENTDATE"] + "+10:00"), entry["REGIONID"], *(entry[name] for name in names))
        for entry in entries
    ]
    assert reports.render_five_minute(rows) == body.strip()
    ours = json.loads(answered("https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN", method="POST").body)[
        "5MIN"
    ]
    assert [entry["REGIONID"] for entry in ours] == [entry["REGIONID"] for entry in entries]


@pytest.mark.parametrize(
    ("file", "path", "host"),
    [
        ("dirlisting_TradingIS_ARCHIVE_2023-09.html", "/Reports/ARCHIVE/TradingIS_Reports/", "nemweb.com.au"),
        ("dirlisting_Dispatch_SCADA_2021-09.html", "/Reports/CURRENT/Dispatch_SCADA/", "www.nemweb.com.au"),
    ],
)
def test_directories_are_written_as_recorded(file, path, host, recordings):
    body = (recordings / "aemo" / file).read_bytes()
    published = re.findall(
        r"(\w+day, \w+ \d+, \d+ +\d+:\d+ [AP]M) +(\d+|&lt;dir&gt;) <A HREF=\"[^\"]*\">([^<]*)</A>", body.decode()
    )
    entries = [
        (
            int(datetime.strptime(f"{when} +1000", "%A, %B %d, %Y %I:%M %p %z").timestamp()),
            name,
            int(size) if size.isdigit() else 0,
        )
        for when, size, name in published
    ]
    assert len(entries) > 50
    assert nemweb.listing(path, entries, host) == body


def test_the_weeks_of_the_recorded_archive_are_ours(recordings):
    body = (recordings / "aemo/dirlisting_TradingIS_ARCHIVE_2023-09.html").read_bytes()
    ours = names(answered("/Reports/ARCHIVE/TradingIS_Reports/", "2023-09-02T12:00:00+10:00").body)
    published = names(body)
    assert ours[-50:] == published[-50:]
