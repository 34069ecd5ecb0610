"""CAISO: OASIS zips with their errors, Outlook's labels without a date, both changes of clocks."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from datetime import UTC, date, datetime

import pytest

from assets import sources
from assets.sources.caiso.oasis import parse_lmp
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.clock import instant, market_days
from warehouse.market.market import Request
from warehouse.rows.schema import SeriesKey

LMP_RT, LMP_DA, DEMAND, FUELSOURCE = (
    sources.feed(f"caiso.{name}") for name in ("lmp_rt", "lmp_da", "demand", "fuelsource")
)
HUB = "TH_SP15_GEN-APND"
DAM_COLUMNS = (
    "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,OPR_INTERVAL,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,"
    "XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS,MW,GROUP"
)
RTM_COLUMNS = (
    "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,XML_DATA_ITEM,"
    "PNODE_RESMRID,GRP_TYPE,POS,VALUE,OPR_INTERVAL,GROUP"
)
OUTLOOK = (
    "Time,Solar,Wind,Geothermal,Biomass,Biogas,Small hydro,Coal,Nuclear,Natural Gas,Large Hydro,"
    "Batteries,Imports,Other\r\n"
)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def zipped(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("_dot_", "."), text)
    return out.getvalue()


def stamp(ts: int) -> str:
    return datetime.fromtimestamp(ts, UTC).strftime("%Y-%m-%dT%H:%M:%S-00:00")


def dam(start: int, price: str, kind: str = "LMP", node: str = HUB, run: str = "DAM", seconds: int = 3600) -> str:
    end = stamp(start + seconds)
    return (
        f"{stamp(start)},{end},2026-05-10,7,0,{node},{node},{node},{run},{kind},LMP_PRC,{node},ALL_APNODES,1,{price},1"
    )


def rtm(start: int, price: str, kind: str = "LMP") -> str:
    end = stamp(start + 300)
    return f"{stamp(start)},{end},2026-05-10,7,{HUB},{HUB},{HUB},RTM,{kind},LMP_PRC,{HUB},ALL_APNODES,0,{price},1,5"


def csv(columns: str, lines: Iterable[str]) -> str:
    return "\n".join([columns, *lines]) + "\n"


def read(feed, body: bytes | str, day: date | None = None, requested_at: str = ""):
    params = (("_", str(instant(requested_at))),) if requested_at else ()
    body = body.encode() if isinstance(body, str) else body
    return feed.parse(body, Request(feed.id, "", params, (day,) if day else ()))


def error(code: str, words: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<m:OASISReport xmlns:m="http://www.caiso.com/soa/OASISReport_v1.xsd"><m:MessagePayload>'
        f"<m:RTO><m:name>CAISO</m:name><m:ERROR><m:ERR_CODE>{code}</m:ERR_CODE><m:ERR_DESC>{words}</m:ERR_DESC></m:ERROR></m:RTO>"
        "</m:MessagePayload></m:OASISReport>"
    )


T = instant("2026-05-10T07:00:00Z")


def test_a_recorded_autumn_day_of_another_node_has_25_hours(recordings):
    body = (recordings / "caiso/20191012_20191106_PRC_LMP_DAM_20200511_15_31_06_v1.csv").read_bytes()
    day = market_days(date(2019, 11, 3), date(2019, 11, 3), LMP_DA.tz)[0]
    key = SeriesKey("US-CAISO", "price_day_ahead", "USD/MWh", "1h")
    rows = parse_lmp("0096WD_7_N001", "DAM", key, body, Request(LMP_DA.id, ""))
    starts = sorted(row.ts for row in rows)
    assert len(starts) == 601
    assert [ts for ts in starts if ts in day.window] == list(range(day.start, day.end, 3600))
    with pytest.raises(FeedChanged, match="no price of TH_SP15"):
        read(LMP_DA, body)


@pytest.mark.parametrize(
    ("feed", "columns", "line", "step"), [(LMP_DA, DAM_COLUMNS, dam, 3600), (LMP_RT, RTM_COLUMNS, rtm, 300)]
)
def test_lmp_rows_only_out_of_a_zip_in_any_order(feed, columns, line, step):
    text = csv(columns, [line(T + step, "-3.5"), line(T, "1.0", "MCE"), line(T, "29.18319"), line(T, "28.0", "MCC")])
    rows = read(feed, zipped(a_dot_csv=text))
    assert [(r.ts, r.value, r.unit) for r in rows.sorted()] == [(T, 29.18319, "USD/MWh"), (T + step, -3.5, "USD/MWh")]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (error("1000", "No data returned for the specified selection"), NotPublished),
        (error("1015", "GroupZip in Processing"), FeedUnavailable),
        (error("1004", "Date range exceeds 31 days"), FeedChanged),
        ("<m:OASISReport xmlns:m='x'/>", FeedChanged),
        ("<html><body>Sorry</body></html>", FeedChanged),
        (
            "<html><body><p>CAISO Acceptable Use Policy Violation. Please retry your request after 5 seconds.</p>"
            "</body></html>",
            FeedUnavailable,
        ),
    ],
)
def test_errors_come_as_xml_in_a_zip_with_status_200(text, failure):
    for body in (zipped(error_dot_xml=text), text.encode()):
        with pytest.raises(FeedError) as caught:
            read(LMP_RT, body)
        assert type(caught.value) is failure
    assert "Acceptable" not in text or caught.value.retry_after == 5.0


@pytest.mark.parametrize(
    "text",
    [
        csv(DAM_COLUMNS, [dam(T, "1", run="RTM")]),
        csv(DAM_COLUMNS, [dam(T, "1", seconds=900)]),
        csv(DAM_COLUMNS, [dam(T + 60, "1")]),
        csv(DAM_COLUMNS.replace("LMP_TYPE", "TYPE"), []),
        csv(DAM_COLUMNS, [dam(T, "1")])[:-40],
    ],
)
def test_another_market_run_interval_or_column_is_a_changed_feed(text):
    with pytest.raises(FeedChanged):
        read(LMP_DA, text)


@pytest.mark.parametrize(
    ("feed", "first", "last", "spans"),
    [
        (LMP_RT, date(2026, 3, 8), date(2026, 3, 8), [("20260308T08:00-0000", "20260309T07:00-0000")]),
        (LMP_RT, date(2026, 11, 1), date(2026, 11, 1), [("20261101T07:00-0000", "20261102T08:00-0000")]),
        (LMP_DA, date(2026, 7, 14), date(2026, 7, 14), [("20260714T07:00-0000", "20260715T07:00-0000")]),
        (LMP_DA, date(2026, 10, 1), date(2026, 10, 31), [("20261001T07:00-0000", "20261101T07:00-0000")]),
        # With its repeated hour this span is longer than the 31 days that OASIS answers.
        (
            LMP_RT,
            date(2026, 10, 15),
            date(2026, 11, 14),
            [
                ("20261015T07:00-0000", "20261114T08:00-0000"),
                ("20261114T08:00-0000", "20261115T08:00-0000"),
            ],
        ),
    ],
)
def test_oasis_is_asked_for_spans_of_at_most_31_days(feed, first, last, spans):
    requests = feed.requests(market_days(first, last, feed.tz), clock.now())
    assert [(r.params[-2][1], r.params[-1][1]) for r in requests] == spans
    assert {r.url for r in requests} == {"https://oasis.caiso.com/oasisapi/SingleZip"}
    query = ("PRC_INTVL_LMP", "3", "RTM") if feed is LMP_RT else ("PRC_LMP", "12", "DAM")
    for request in requests:
        assert tuple(value for _, value in request.params[:5]) == ("6", *query, HUB)
        assert request.ext == "zip"
    assert [d for r in requests for d in r.days] == [d.day for d in market_days(first, last, feed.tz)]


def test_fuels_are_summed_and_imports_are_interchange():
    rows = read(
        FUELSOURCE, OUTLOOK + "00:00,-37,3193,905,287,212,191,4,2245,8225,1477,-200,-6129,0\r\n", date(2023, 1, 1)
    )
    assert {(r.metric, r.fuel, r.value) for r in rows} == {
        ("interchange", None, -6129.0),
        ("generation", "solar", -37.0),
        ("generation", "wind", 3193.0),
        ("generation", "geothermal", 905.0),
        ("generation", "biomass", 499.0),
        ("generation", "hydro", 1668.0),
        ("generation", "coal", 4.0),
        ("generation", "nuclear", 2245.0),
        ("generation", "gas", 8225.0),
        ("generation", "battery", -200.0),
        ("generation", "other", 0.0),
    }
    assert {r.ts for r in rows} == {instant("2023-01-01T08:00:00Z")}


def test_half_a_sum_is_none():
    rows = read(FUELSOURCE, OUTLOOK + "00:00,1,2,3,287,,191,4,5,6,,7,8,9\r\n", date(2023, 1, 1))
    assert not [r for r in rows if r.fuel in ("biomass", "hydro")]
    assert [r.value for r in rows if r.fuel == "gas"] == [6.0]


def demand(*lines: tuple[str, object]) -> str:
    return "Time,Day ahead forecast,Hour ahead forecast,Current demand\r\n" + "".join(
        f"{t},1,2,{v}\r\n" for t, v in lines
    )


def test_the_next_days_first_label_at_the_end_is_dropped_and_blanks_are_no_rows():
    rows = read(
        DEMAND,
        demand(("00:00", 10), ("00:05", 11), ("12:00", ""), ("23:55", 12), ("00:00", 13), ("", "")),
        date(2026, 7, 14),
    )
    midnight = instant("2026-07-14T07:00:00Z")
    assert [(r.ts, r.value) for r in rows] == [(midnight, 10.0), (midnight + 300, 11.0), (midnight + 86100, 12.0)]
    assert rows.dropped == {"next day": 1}


def test_lines_out_of_order_keep_their_places_unless_two_midnights_differ():
    rows = read(DEMAND, demand(("23:55", 12), ("00:05", 11), ("00:00", 10), ("00:00", "")), date(2026, 7, 14))
    assert sorted(r.value for r in rows) == [10.0, 11.0, 12.0]
    with pytest.raises(FeedChanged, match="two readings"):
        read(DEMAND, demand(("00:00", 13), ("23:55", 12), ("00:05", 11), ("00:00", 10)), date(2026, 7, 14))


def test_labels_with_a_date_name_their_own_day():
    rows = read(DEMAND, demand(("07/14/2026 23:55", 1), ("07/15/2026 00:00", 2)))
    assert [r.ts for r in rows] == [instant("2026-07-15T06:55:00Z"), instant("2026-07-15T07:00:00Z")]


def day_of(step: int = 5) -> list[str]:
    return [f"{m // 60:02d}:{m % 60:02d}" for m in range(0, 1440, step)]


def test_the_autumn_hour_that_is_published_once_is_the_first_one():
    (day,) = market_days(date(2019, 11, 3), date(2019, 11, 3), DEMAND.tz)
    rows = read(DEMAND, demand(*((label, 1) for label in day_of())), day.day)
    second = range(day.start + 2 * 3600, day.start + 3 * 3600)
    assert [r.ts for r in rows] == [ts for ts in range(day.start, day.end, 300) if ts not in second]
    assert not rows.dropped


def test_the_spring_hour_is_blank_and_never_filled():
    (day,) = market_days(date(2019, 3, 10), date(2019, 3, 10), DEMAND.tz)
    labels = [(label, "" if label.startswith("02:") else 1) for label in day_of()]
    assert [r.ts for r in read(DEMAND, demand(*labels), day.day)] == list(range(day.start, day.end, 300))
    with pytest.raises(FeedChanged, match="02:00"):
        read(DEMAND, demand(("02:00", 1)), day.day)


def test_after_midnight_yesterdays_file_is_refused():
    whole, partial = demand(*((label, 1) for label in day_of())), demand(("00:00", 1), ("00:05", 2), ("00:10", ""))
    with pytest.raises(NotPublished, match="yesterday"):
        read(DEMAND, whole, date(2026, 11, 20), requested_at="2026-11-20T08:06:00Z")
    assert len(read(DEMAND, partial, date(2026, 11, 20), requested_at="2026-11-20T08:06:00Z")) == 2
    assert len(read(DEMAND, whole, date(2026, 11, 19), requested_at="2026-11-20T08:06:00Z")) == 288


def test_yesterdays_file_is_refused_on_the_night_that_skips_an_hour_too():
    saturday = demand(*((label, 1) for label in day_of()))
    with pytest.raises(NotPublished, match="yesterday"):
        read(DEMAND, saturday, date(2026, 3, 8), requested_at="2026-03-08T08:05:00Z")
    with pytest.raises(FeedChanged):  # in the evening it cannot be: something else is wrong
        read(DEMAND, saturday, date(2026, 3, 8), requested_at="2026-03-09T06:50:00Z")
    running = demand(*((label, 1) for label in day_of() if label < "02:00" or "03:00" <= label <= "04:05"))
    assert len(read(DEMAND, running, date(2026, 3, 8), requested_at="2026-03-08T11:06:00Z")) == 24 + 14
