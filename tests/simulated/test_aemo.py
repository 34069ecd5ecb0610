"""Simulated AEMO: model values by every route, directories and bundles over time, files shaped as recorded."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import date, datetime, timedelta

import numpy as np
import pytest

from assets.simulated import aemo, grid
from assets.simulated.aemo import nemweb, reports, tables
from assets.simulated.aemo.model import Block, block
from assets.sources import feed
from assets.sources.aemo.files import monthly_url
from assets.sources.aemo.rows import REGIONS, TIES
from warehouse.clock import MarketDay, instant, iso, local_date
from warehouse.market import Request

TZ = "Australia/Brisbane"
DAYS = [MarketDay(date(2026, 11, 18), TZ), MarketDay(date(2026, 4, 5), TZ), MarketDay(date(2026, 10, 4), TZ)]
"""An ordinary day, and two on which the southern states' clocks change: market days always have 24 hours."""
NOON = "2026-11-21T12:02:00+10:00"
TODAY = MarketDay(date(2026, 11, 21), TZ)


def starts(day, step=300):
    return np.arange(day.start, day.end, step)


def answered(path, now=NOON, method="GET"):
    url = path if path.startswith("https") else f"https://nemweb.com.au{path}"
    return aemo.answer(Request("aemo.dispatch", url, method=method), instant(now))


def names(body):
    return re.findall(r'HREF="[^"]*/([^/"]+)"', body.decode())


def series_of(rows, day, metric, zone, other=None, link=None):
    """Instants and values of a series in a market day, ascending."""
    points, window = [], day.window
    for key, readings in rows.readings.items():
        if (key.zone, key.metric, key.counterparty, key.link) == (zone, metric, other, link):
            points += [(ts, value) for ts, value in zip(readings.ts, readings.values, strict=True) if ts in window]
    return [ts for ts, _ in sorted(points)], [value for _, value in sorted(points)]


def check(rows, day, metrics=("price", "demand", "interchange"), cents=False):
    """The figures of all regions over a whole day against the grid."""
    truth = {"price": grid.price, "demand": grid.demand, "interchange": grid.interchange}
    for zone in REGIONS.values():
        for metric in metrics:
            ts, values = series_of(rows, day, metric, zone)
            assert ts == starts(day).tolist()
            exact = metric == "price" and not cents
            assert values == pytest.approx(truth[metric](zone, starts(day)), abs=0.51e-5 if exact else 0.501e-2)


def check_ties(rows, day):
    for tie in {*grid.ties("AU-NSW"), *grid.ties("AU-VIC")}:
        for zone, other in ((tie.a, tie.b), (tie.b, tie.a)):
            ts, values = series_of(rows, day, "interchange", zone, other, tie.id)
            assert ts == starts(day).tolist()
            assert values == pytest.approx(grid.inflow(zone, tie, starts(day)), abs=0.51e-5)


NOWS = {
    "single reports": lambda day: day.next().start + 7200,
    "bundles": lambda day: day.next(20).start + 7200,
    "monthly archive": lambda day: day.next(50).start,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", NOWS)
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_dispatch_is_the_grids_whichever_way_it_lies(day, way, ask):
    rows, refused = ask("aemo.dispatch", [day], iso(NOWS[way](day)))
    assert not refused
    check(rows, day)
    check_ties(rows, day)
    month = [day.day.replace(day=1) + timedelta(days=n) for n in range(30)] if way == "monthly archive" else [day.day]
    assert bool(rows.dropped["intervention run"]) == any(map(reports.intervened, month))


@pytest.mark.parametrize("way", NOWS)
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_trading_is_the_grids_to_cents(day, way, ask):
    rows, refused = ask("aemo.trading", [day], iso(NOWS[way](day)))
    assert not refused
    check(rows, day, ["price"], cents=True)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_the_dashboard_is_the_grids(day, ask):
    rows, refused = ask("aemo.five_minute", [day], iso(day.end + 600))
    assert not refused
    assert len(rows) == 576 * 5 * 3
    check(rows, day)


@pytest.mark.parametrize("day", DAYS, ids=str)
def test_price_and_demand_are_the_grids(day, ask):
    rows, refused = ask("aemo.price_and_demand", [day], iso(day.end + 6 * 3600))
    assert not refused
    check(rows, day, ["price", "demand"], cents=True)
    assert max(r.ts for r in rows) == day.end - 300


def test_trading_was_half_hourly_before_october_2021(ask):
    days = [MarketDay(date(2021, 9, 30), TZ), MarketDay(date(2021, 10, 1), TZ)]
    for product in ("aemo.trading", "aemo.price_and_demand"):
        rows, refused = ask(product, days, NOON)
        assert not refused
        for day, step, resolution in zip(days, (1800, 300), ("30m", "5m"), strict=True):
            ts, values = series_of(rows, day, "price", "AU-SA")
            assert ts == starts(day, step).tolist()
            assert values == pytest.approx(grid.price("AU-SA", starts(day, step), step), abs=0.501e-2)
            assert any(key.resolution == resolution and ts[0] in readings.ts for key, readings in rows.readings.items())


def test_an_intervention_doubles_lines_and_changes_no_row(ask):
    """Prices and demand are those of run 0, flows those of run 1."""
    day = next(day for day in (DAYS[0].next(-n) for n in range(60)) if reports.intervened(day.day))
    rows, _ = ask("aemo.dispatch", [day], iso(NOWS["bundles"](day)))
    assert rows.dropped == {"intervention run": 12 * (5 + 5), "pricing run of an intervention": 12 * (5 + 6)}
    check(rows, day)


@pytest.mark.slow
def test_the_running_intervals_report_is_out_within_seconds(ask):
    for second, last in ((15, "2026-11-21T00:35:00+10:00"), (5, "2026-11-21T00:30:00+10:00")):
        for product in ("aemo.dispatch", "aemo.trading"):
            assert max(r.ts for r in ask(product, [TODAY], f"2026-11-21T00:35:{second:02d}+10:00")[0]) == instant(last)
    assert max(r.ts for r in ask("aemo.five_minute", [TODAY], NOON)[0]) == instant("2026-11-21T11:55:00+10:00")
    rows, _ = ask("aemo.price_and_demand", [TODAY], NOON)
    assert max(r.ts for r in rows) == TODAY.start - 300
    assert (
        max(r.ts for r in ask("aemo.price_and_demand", [TODAY], "2026-11-21T04:59:00+10:00")[0])
        == TODAY.next(-1).start - 300
    )


def test_names_never_change():
    early, late = (
        names(answered("/Reports/Current/DispatchIS_Reports/", now).body) for now in (NOON, "2026-11-22T00:02:00+10:00")
    )
    assert len(early) == len(late) == 577
    assert early[-1].startswith("PUBLIC_DISPATCHIS_202611211205_")
    assert early[144:] == late[:-144]
    assert early == sorted(early)
    once, again = (
        answered(f"/{folder}/DispatchIS_Reports/{early[-1]}") for folder in ("Reports/Current", "REPORTS/CURRENT")
    )
    assert once.status == 200
    assert once.body == again.body


def test_a_file_that_is_not_there_is_not_found():
    current = names(answered("/Reports/Current/DispatchIS_Reports/").body)
    tomorrow = current[-1].replace("20261121", "20261122")
    other_number = re.sub(r"\d\.zip", "x.zip", current[-1])
    for path in (
        f"/Reports/Current/DispatchIS_Reports/{tomorrow}",
        f"/Reports/Current/DispatchIS_Reports/{other_number}",
        "/Reports/Current/DispatchIS_Reports/PUBLIC_DISPATCHIS_202613991205_0000000000000001.zip",
        "/Reports/Current/Nothing/",
        "/Reports/ARCHIVE/DispatchIS_Reports/PUBLIC_DISPATCHIS_20261121.zip",
        "/Reports/OLD/DispatchIS_Reports/",
        "/Reports/ARCHIVE/DispatchIS_Reports/PUBLIC_DISPATCHIS_20240101.zip",
        monthly_url("DISPATCHPRICE", 2026, 11),
        monthly_url("DISPATCHPRICE", 2026, 10).replace("DISPATCHPRICE", "NONE"),
        "https://aemo.com.au/",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_202612_NSW1.csv",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_199811_NSW1.csv",
        "https://aemo.com.au/aemo/data/nem/priceanddemand/PRICE_AND_DEMAND_202610_WA1.csv",
    ):
        assert answered(path).status == 404, path
    assert answered("https://visualisations.aemo.com.au/aemo/apps/api/report/5MIN").status == 405


def test_the_monthly_archive_comes_on_the_eighth():
    url = monthly_url("DISPATCHINTERCONNECTORRES", 2026, 10)
    assert answered(url, "2026-11-08T11:00:00+10:00").status == 404
    body = answered(url, "2026-11-08T11:30:00+10:00").body
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.namelist() == ["PUBLIC_ARCHIVE#DISPATCHINTERCONNECTORRES#FILE01#202610010000.CSV"]
    with zipfile.ZipFile(io.BytesIO(answered(monthly_url("TRADINGPRICE", 2024, 7)).body)) as archive:
        assert archive.namelist() == ["PUBLIC_DVD_TRADINGPRICE_202407010000.CSV"]


@pytest.mark.parametrize("day", [14, 15, 16, 21])
def test_between_bundles_and_single_reports_no_trading_day_is_missing(day):
    """A week, Sunday to Saturday, is bundled on the Sunday eight days after; until then its reports lie in Current."""
    now = f"2026-11-{day:02d}T12:00:00+10:00"
    product = feed("aemo.trading")
    params = tuple(local_date(instant(now), TZ) - timedelta(days=n) for n in range(1, 36))
    days = set()
    for place in ("ARCHIVE", "Current"):
        url = f"https://nemweb.com.au/Reports/{place}/TradingIS_Reports/"
        files = product.follow(answered(url, now).body, Request("aemo.trading", url, days=params, kind="listing"))
        here = {day for file in files for day in file.days}
        assert not days & here
        days |= here
    assert set(params) <= days


# Compared with recordings


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


def test_the_regions_ties_have_the_models_lines():
    for name, (origin, target, link) in TIES.items():
        [tie] = [tie for tie in grid.TIES if tie.id == link]
        assert (tie.a, tie.b) == (origin, target), name
