"""MISO: Eastern Standard Time all year, interval ends, strings, daily files after a preamble, both workbooks."""

from __future__ import annotations

import json
import struct
from datetime import date

import pytest

from assets import sources
from assets.sources.miso import SOURCE
from assets.sources.miso.prices import LARGE
from warehouse import clock
from warehouse.clock import MarketDay, instant, market_days
from warehouse.errors import FeedChanged, FeedError, NotPublished
from warehouse.market import Request

LMP_RT, LMP_RT_DAILY, LMP_DA, LOAD, LOAD_DAILY, NSI = (
    sources.feed(f"miso.{name}") for name in ("lmp_rt", "lmp_rt_daily", "lmp_da", "load", "load_daily", "nsi")
)
SPRING, AUTUMN, ORDINARY = date(2026, 3, 8), date(2026, 11, 1), date(2026, 9, 23)
HOURS = ",".join(f"HE {h}" for h in range(1, 25))


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def read(feed, body):
    body = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, ""))


@pytest.mark.parametrize(
    "file",
    [
        "miso/GetRealTimeFiveMinExPost_Rolling_EXCERPT.json",
        "miso/Interchange_GetNsi_FiveMinute_EXCERPT.json",
        "miso/RealTimeTotalLoad.json",
        "miso/da_expost_lmp_20260714_TRIMMED.csv",
    ],
)
def test_recorded_answers_give_their_expected_rows(file, parsed, expected, stated):
    assert stated(parsed(file)) == expected(file)


def test_a_recorded_workbook_gives_its_expected_rows(parsed, expected, stated):
    """Its sums are kept in binary: one hour reads 68131.29000000001."""
    file = "miso/df_al_20250310.xls"
    assert {(r[3], round(float(str(r[4])), 2)) for r in stated(parsed(file))} == {(r[3], r[4]) for r in expected(file)}


def test_an_interval_is_stamped_by_its_end_and_columns_are_found_by_name():
    rows = read(
        LMP_RT,
        {
            "headers": ["CPNODE", "LMP", "INTERVAL"],
            "data": [
                ["INDIANA.HUB", "27.13", "2026-10-02T00:00:00"],
                ["ILLINOIS.HUB", "24.71", "2026-10-02T00:00:00"],
                ["INDIANA.HUB", "-.4", "2026-10-02T00:05:00"],
                ["INDIANA.HUB", "9", "2026-10-02T00:07:00"],
            ],
        },
    )
    midnight = instant("2026-10-02T05:00:00Z")
    assert [(r.ts, r.value, r.resolution) for r in rows] == [(midnight - 300, 27.13, "5m"), (midnight, -0.4, "5m")]
    assert rows.dropped == {"off the five-minute grid": 1}


@pytest.mark.parametrize(
    "answer",
    [
        {"headers": ["INTERVAL", "CPNODE"], "data": [["2026-10-02T00:00:00", "INDIANA.HUB"]]},
        {"headers": ["INTERVAL", "CPNODE", "LMP"], "data": [["2026-10-02T00:00:00", "INDIANA.HUB"]]},
        {"headers": ["INTERVAL", "CPNODE", "LMP"], "data": [["2026-10-02T00:00:00", "INDIANA.HUB", None]]},
        {"headers": ["INTERVAL", "CPNODE", "LMP"], "data": [["today", "INDIANA.HUB", "1"]]},
        {"headers": ["INTERVAL", "CPNODE", "LMP", "LMP"], "data": [["2026-10-02T00:00:00", "INDIANA.HUB", "1", "2"]]},
        {"LoadInfo": {}},
    ],
)
def test_what_is_no_live_price_is_a_changed_feed(answer):
    with pytest.raises(FeedChanged):
        read(LMP_RT, answer)


def report(
    title: str = "Day Ahead Market ExPost LMPs", day: str = "07/14/2026", gap: str = "\n", lines: tuple[str, ...] = ()
) -> str:
    hub = "INDIANA.HUB,Hub,LMP," + ",".join(f"{h}.5" for h in range(1, 25))
    note = ",,,All Hours-Ending are Eastern Standard Time (EST)\n"
    return (
        f"{title}\n{day}\n{gap}{note}Node,Type,Value,{HOURS}\n"
        + "\n".join(lines or (hub, hub.replace("LMP", "MCC")))
        + "\n"
    )


@pytest.mark.parametrize(("day", "shown"), [(SPRING, "3/8/2026"), (AUTUMN, "11/1/2026"), (ORDINARY, "09/23/2026")])
@pytest.mark.parametrize("gap", ["", "\n", "\r\n"])
def test_daily_files_have_24_hours_of_standard_time_whatever_the_clocks_do(day, shown, gap):
    start = MarketDay(day, "Etc/GMT+5").start
    rows = read(LMP_DA, report(day=shown, gap=gap))
    assert [(r.ts, r.value) for r in rows] == [(start + (h - 1) * 3600, h + 0.5) for h in range(1, 25)]
    assert {(r.metric, r.resolution) for r in rows} == {("price_day_ahead", "1h")}


def test_values_below_one_lack_their_zero_and_a_blank_hour_is_missing():
    rows = read(LMP_DA, report(lines=("INDIANA.HUB,Hub,LMP,.6,-.37,," + ",".join("1" * 21),)))
    assert [r.value for r in rows][:3] == [0.6, -0.37, 1.0]
    assert len(rows) == 23


@pytest.mark.parametrize("title", ["Real-Time Final Market LMPs", "Real Time Market Prelim LMPs"])
@pytest.mark.parametrize("feed", [LMP_RT, LMP_RT_DAILY])
def test_real_time_files_are_hourly_prices(title, feed):
    rows = read(feed, report(title))
    assert len(rows) == 24
    assert {(r.metric, r.resolution) for r in rows} == {("price", "1h")}


@pytest.mark.parametrize(
    ("feed", "text"),
    [
        (LMP_DA, report("Day Ahead Market ExAnte LMPs")),
        (LMP_DA, report("Real-Time Final Market LMPs")),
        (LMP_RT, report()),
        (LMP_DA, report(day="soon")),
        (LMP_DA, report(day="07/14/2026 07/15/2026")),
        (LMP_DA, report().replace("HE 24", "HE 25")),
        (LMP_DA, report().replace("HE 24", "24")),
        (LMP_DA, report().replace("Node,Type,Value", "Name,Type,Value")),
        (LMP_DA, report(lines=("INDIANA.HUB,Hub,LMP,1,2",))),
        (LMP_DA, report(lines=("INDIANA.HUB,Hub,LMP,x" + ",1" * 23,))),
        (LMP_DA, "<html>Just a moment...</html>"),
        (LMP_DA, "<Error><Code>AuthenticationFailed</Code></Error>"),
    ],
)
def test_another_report_is_a_changed_feed(feed, text):
    with pytest.raises(FeedChanged):
        read(feed, text)


@pytest.mark.parametrize("feed", [LMP_DA, LMP_RT_DAILY, LOAD_DAILY])
def test_a_file_that_is_not_there_is_not_published(feed):
    with pytest.raises(NotPublished):
        read(feed, '<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code></Error>')


def test_a_file_cut_in_its_last_figure_does_not_show_a_shorter_one():
    whole = report()
    good = set(read(LMP_DA, whole))
    for end in range(0, len(whole), 3):
        try:
            assert set(read(LMP_DA, whole[:end])) <= good
        except FeedError:
            continue


def test_load_is_dated_by_its_reference_only():
    rows = read(
        LOAD,
        {
            "LoadInfo": {
                "RefId": "02-Oct-2026 - Interval 16:45 EST",
                "FiveMinTotalLoad": [
                    {"Load": {"Time": "00:00", "Value": "75757"}},
                    {"Load": {"Time": "16:45", "Value": "83,808"}},
                    {"Load": {"Time": "16:50", "Value": ""}},
                ],
            }
        },
    )
    midnight = instant("2026-10-02T05:00:00Z")
    assert [(r.ts, r.value) for r in rows] == [(midnight, 75757.0), (midnight + (16 * 12 + 9) * 300, 83808.0)]


@pytest.mark.parametrize(
    "change",
    [
        {"RefId": "2026-10-02"},
        {"RefId": "02-Okt-2026 - Interval"},
        {"RefId": None},
        {"FiveMinTotalLoad": {}},
        {"FiveMinTotalLoad": [{"Time": "00:00"}]},
        {"FiveMinTotalLoad": [{"Load": {"Time": "noon", "Value": "1"}}]},
    ],
)
def test_another_load_layout_is_a_changed_feed(change):
    with pytest.raises(FeedChanged):
        read(LOAD, {"LoadInfo": {"RefId": "02-Oct-2026 - Interval 16:45 EST", "FiveMinTotalLoad": [], **change}})


def test_minus_is_import_and_neighbours_are_named():
    rows = read(
        NSI,
        {
            "instance": [
                {
                    "timestamp": "2026-10-02 16:05:00",
                    "MISO": "-421",
                    "PJM": "2057",
                    "SWPP": "-867",
                    "TVA": "0",
                    "NEWBA": "5",
                    "ONT": "",
                },
            ]
        },
    )
    start = instant("2026-10-02T21:05:00Z")
    assert [(r.counterparty, r.link, r.ts, r.value) for r in rows.sorted()] == [
        (None, None, start, 421.0),
        ("NEWBA", None, start, -5.0),
        ("Tennessee Valley Authority", None, start, 0.0),
        ("US-PJM", "pjm-miso-ac", start, -2057.0),
        ("US-SPP", "miso-spp-ac", start, 867.0),
    ]


@pytest.mark.parametrize(
    "reading",
    [
        {"timestamp": "2026-10-02 16:05:00", "PJM": "1"},
        {"timestamp": "2026-10-02 16:05:00", "MISO": "1", "not an area": "1"},
        {"MISO": "1"},
        {"timestamp": "16:05", "MISO": "1"},
        {"timestamp": "2026-10-02 16:05:00", "MISO": "none"},
        "MISO",
    ],
)
def test_another_interchange_layout_is_a_changed_feed(reading):
    with pytest.raises(FeedChanged):
        read(NSI, {"instance": [reading]})


@pytest.mark.parametrize(
    ("feed", "body"),
    [
        (LMP_RT, {"headers": [], "data": []}),
        (NSI, {"instance": []}),
        (LMP_RT, ""),
        (LOAD_DAILY, b""),
    ],
)
def test_nothing_yet_is_not_published(feed, body):
    with pytest.raises(NotPublished):
        read(feed, body)


# The workbook: OLE2 around BIFF8, with only the records that a sheet of texts and numbers needs.


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def cell(row: int, column: int, value: object) -> bytes:
    if isinstance(value, str):
        return record(0x204, struct.pack("<HHHHB", row, column, 0, len(value), 0) + value.encode("latin-1"))
    return record(0x203, struct.pack("<HHHd", row, column, 0, float(value)))


def workbook(rows: list[list[object]], error_at: tuple[int, int] | None = None) -> bytes:
    end = record(0x0A, b"")
    cells = b"".join(cell(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row) if value != "")
    if error_at:
        cells += record(0x205, struct.pack("<HHHBB", *error_at, 0, 42, 1))
    sheet = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0)) + cells + end
    name = b"Sheet1"
    beginning = record(0x809, struct.pack("<HHHHII", 0x600, 0x05, 0, 0, 0, 0))
    bound = record(0x85, struct.pack("<IHBB", len(beginning) + 4 + 8 + len(name) + len(end), 0, len(name), 0) + name)
    return ole(beginning + bound + end + sheet)


def ole(stream: bytes) -> bytes:
    size = max(4096, len(stream))
    stream = stream.ljust(-(-size // 512) * 512, b"\0")
    count = len(stream) // 512
    chain = [-3, -2, *range(3, count + 2), -2]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<iiiiiiiii", 0, 1, 1, 0, 4096, -2, 0, -2, 0) + struct.pack("<109i", 0, *[-1] * 108)
    fat = struct.pack("<128i", *chain, *[-1] * (128 - len(chain)))

    def entry(name: str, kind: int, child: int, start: int, length: int) -> bytes:
        text = name.encode("utf-16-le") + b"\0\0" if name else b""
        return text.ljust(64, b"\0") + struct.pack("<HBBiii36xiQ", len(text), kind, 1, -1, -1, child, start, length)

    directory = entry("Root Entry", 5, 1, -2, 0) + entry("Workbook", 2, -1, 2, size) + entry("", 0, -1, 0, 0) * 2
    return header + fat + directory + stream


OLD_HEADER = [
    "Market Day",
    "HourEnding",
    "LRZ1 MTLF (MWh)",
    "LRZ1 ActualLoad (MWh)",
    "MISO MTLF (MWh)",
    "MISO ActualLoad (MWh)",
]
NEW_HEADER = ["Market Day", "", "HourEnding", "", "MISO MTLF (MWh)", "", "", "MISO ActualLoad (MWh)", ""]
MARCH_9 = 45725


def hours(day: object, actual: bool) -> list[list[object]]:
    return [[day, h, 1, 2, 60_000 + h, 59_000.25 + h if actual else ""] for h in range(1, 25)]


OLD = [
    ["FORECASTED AND"],
    ["ACTUAL LOAD REPORT"],
    ["Published Date:", MARCH_9 + 1],
    [],
    OLD_HEADER,
    ["March 09, 2025"],
    *hours(MARCH_9, True),
    OLD_HEADER,
    ["March 10, 2025"],
    *hours(MARCH_9 + 1, False),
    ["MISO MAKES NO REPRESENTATIONS"],
]
NEW = [
    ["FORECASTED AND"],
    [],
    ["ACTUAL LOAD REPORT"],
    [],
    ["Published Date:", "", "03/10/2025"],
    [],
    NEW_HEADER,
    ["", "March 09, 2025"],
    *[["03/09/2025" if h == 1 else "", "", h, "", 1, "", "", "", 59_000.25 + h] for h in range(1, 25)],
    NEW_HEADER,
    *[["3/10/2025", "", str(h), "", 1] for h in range(1, 25)],
]


@pytest.mark.parametrize("sheet", [OLD, NEW], ids=["until April 2026", "since"])
def test_both_workbooks_give_the_actual_hours_of_standard_time(sheet):
    start = MarketDay(date(2025, 3, 9), "Etc/GMT+5").start
    rows = read(LOAD_DAILY, workbook(sheet))
    assert [(r.ts, r.value) for r in rows] == [(start + (h - 1) * 3600, 59_000.25 + h) for h in range(1, 25)]
    assert {(r.metric, r.resolution, r.unit) for r in rows} == {("demand", "1h", "MW")}


@pytest.mark.parametrize(
    "body",
    [
        workbook(OLD[:4]),
        workbook([["Market Day", "HourEnding", "MISO MTLF (MWh)"], *hours(MARCH_9, True)]),
        workbook([OLD_HEADER, [MARCH_9, 25, 1, 2, 3, 4]]),
        workbook([OLD_HEADER, ["", 1, 1, 2, 3, 4]]),
        workbook([OLD_HEADER, [-1, 1, 1, 2, 3, 4]]),
        workbook([OLD_HEADER, ["9 March", 1, 1, 2, 3, 4]]),
        workbook([OLD_HEADER, [MARCH_9, 1, 1, 2, 3, "n/a"]]),
        workbook([OLD_HEADER, [MARCH_9, 1, 1, 2, 3]], error_at=(1, 5)),
        workbook(OLD)[:3000],
        b"\xd0\xcf\x11\xe0" + bytes(4000),
        b"PK\x03\x04",
        b"Market Day,HourEnding",
        b"<html></html>",
    ],
)
def test_what_is_no_such_workbook_is_a_changed_feed(body):
    with pytest.raises(FeedChanged):
        read(LOAD_DAILY, body)


def test_a_broken_row_number_does_not_fill_the_memory():
    broken = OLD_HEADER, [MARCH_9, 1, 1, 2, 3, 4]
    body = workbook([*broken]).replace(struct.pack("<HHHd", 1, 5, 0, 4.0), struct.pack("<HHHd", 65535, 255, 0, 4.0))
    assert not len(read(LOAD_DAILY, body))


def test_real_time_prices_are_the_newest_interval_or_for_a_fill_two_days(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")
    today = MarketDay(date(2026, 11, 20), LMP_RT.tz)
    for days, names in (
        ([today], ["Current"]),
        ([today.next(-1), today], ["Previous", "Rolling"]),
        ([today.next(-1)], ["Previous"]),
        ([today.next(-2)], []),
    ):
        requests = LMP_RT.requests(days, clock.now())
        assert [r.url.rpartition("/GetRealTimeFiveMinExPost/")[2] for r in requests] == names


def test_of_a_large_live_answer_only_the_hubs_rows_are_decoded():
    rows = [[f"2026-11-20T00:{m:02}:00", node, "27.13", "0", "0"] for m in (5, 10) for node in ("A" * 9, "INDIANA.HUB")]
    padding = [["2026-11-20T00:05:00", f"NODE.{i}", "1", "0", "0"] for i in range(30_000)]
    body = json.dumps({"headers": ["INTERVAL", "CPNODE", "LMP", "MLC", "MCC"], "data": [*rows, *padding]}).encode()
    assert len(body) > LARGE
    body = body.replace(b'"data": [', b'"data":[')
    assert [r.value for r in read(LMP_RT, body)] == [27.13, 27.13]
    with pytest.raises(FeedChanged, match="cut short"):
        read(LMP_RT, body[:-2])


@pytest.mark.parametrize(
    ("feed", "path"),
    [
        (LOAD, "RealTimeTotalLoad"),
        (NSI, "Interchange/GetNsi/FiveMinute"),
    ],
)
def test_live_answers_are_asked_for_once_whatever_the_days(feed, path):
    for first, last in (
        (SPRING, SPRING),
        (AUTUMN, AUTUMN),
        (ORDINARY, ORDINARY),
        (date(2026, 10, 1), date(2026, 10, 31)),
    ):
        (request,) = feed.requests(market_days(first, last, feed.tz), clock.now())
        assert request.url == f"https://public-api.misoenergy.org/api/{path}"
        assert request.params == ()
        assert len(request.days) == (last - first).days + 1


@pytest.mark.parametrize(
    ("feed", "day", "name"),
    [
        (LMP_DA, SPRING, "20260308_da_expost_lmp.csv"),
        (LMP_DA, AUTUMN, "20261101_da_expost_lmp.csv"),
        (LMP_DA, ORDINARY, "20260923_da_expost_lmp.csv"),
        (LMP_DA, date(2026, 11, 21), "20261121_da_expost_lmp.csv"),
        (LOAD_DAILY, SPRING, "20260309_df_al.xls"),
        (LOAD_DAILY, AUTUMN, "20261102_df_al.xls"),
        (LOAD_DAILY, ORDINARY, "20260924_df_al.xls"),
        (LMP_RT_DAILY, SPRING, "20260308_rt_lmp_final.csv"),
        (LMP_RT_DAILY, AUTUMN, "20261101_rt_lmp_final.csv"),
        (LMP_RT_DAILY, date(2026, 11, 15), "20261115_rt_lmp_final.csv"),
        (LMP_RT_DAILY, date(2026, 11, 16), "20261116_rt_lmp_prelim.csv"),
        (LMP_RT_DAILY, date(2026, 11, 19), "20261119_rt_lmp_prelim.csv"),
    ],
)
def test_daily_files_are_asked_for_by_name(feed, day, name):
    (request,) = feed.requests([MarketDay(day, feed.tz)], clock.now())
    assert request.url == f"https://docs.misoenergy.org/marketreports/{name}"
    assert request.days == (day,)
    month = feed.requests(market_days(date(2026, 10, 1), date(2026, 10, 31), feed.tz), clock.now())
    assert len({r.url for r in month}) == 31


@pytest.mark.parametrize(
    "file",
    [
        "miso/Interchange_GetNsi_FiveMinute_EXCERPT.json",
        "miso/RealTimeTotalLoad.json",
        "miso/da_expost_lmp_20260714_TRIMMED.csv",
        "miso/df_al_20250310.xls",
    ],
)
def test_requests_are_those_that_were_recorded(file, recorded):
    entry = recorded(file)
    feed = sources.feed(entry["feed"])
    (request,) = feed.requests([MarketDay(date.fromisoformat(entry["day"]), feed.tz)], clock.now())
    assert request.url == entry["request_url"]


def test_what_miso_forbids_to_publish_is_withheld():
    assert SOURCE.withheld
    assert SOURCE.redistributable == "no"
