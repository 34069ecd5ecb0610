"""Test CAISO: OASIS zips with their errors, Outlook's labels without a date, both clock changes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from datetime import UTC, date, datetime

import pytest

from assets import sources
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market.clock import instant
from warehouse.market.feeds import Request

LMP_RT, LMP_DA, DEMAND, FUELSOURCE = (
    sources.feed(f"caiso.{name}") for name in ("lmp_rt", "lmp_da", "demand", "fuelsource")
)
HUB = "TH_SP15_GEN-APND"
DAM_COLUMNS = (
    "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,OPR_INTERVAL,NODE_ID_XML,NODE_ID,NODE,MARKET_RUN_ID,LMP_TYPE,"
    "XML_DATA_ITEM,PNODE_RESMRID,GRP_TYPE,POS,MW,GROUP"
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


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (error("1000", "No data returned for the specified selection"), NotPublished),
        *((error(code, "later"), FeedUnavailable) for code in ("1003", "1006", "1007", "1008", "1009", "1012", "1013")),
        (error("1015", "GroupZip in Processing"), FeedUnavailable),
        *((error(code, "never"), FeedChanged) for code in ("1001", "1004", "1005", "1010", "1011", "1014")),
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


def test_half_a_sum_is_none():
    rows = read(FUELSOURCE, OUTLOOK + "00:00,1,2,3,287,,191,4,5,6,,7,8,9\r\n", date(2023, 1, 1))
    assert not [r for r in rows if r.fuel in ("biomass", "hydro")]
    assert [(r.metric, r.value) for r in rows if r.fuel == "gas"] == [("generation", 6.0), ("mix", 6.0)]


@pytest.mark.parametrize(("cell", "estimated"), [("5", True), ("50", False), ("n/a", True)])
def test_an_unknown_column_is_no_row_of_the_mix_and_output_of_unknown_origin(cell, estimated):
    """Check that unknown output above 15% of generation prevents an estimate of carbon intensity."""
    header = OUTLOOK.replace("Other", "Other,Avalon")
    rows = read(FUELSOURCE, f"{header}00:00,10,20,30,28,1,19,4,50,60,1,7,8,9,{cell}\r\n", date(2023, 1, 1))
    mix = {row.fuel: row.value for row in rows if row.metric == "mix"}
    assert mix == {row.fuel: row.value for row in rows if row.metric == "generation"}
    assert (len(mix), mix["hydro"], mix["biomass"]) == (10, 20.0, 29.0)
    assert {member.name for member in rows.unknown} == {"fuel 'avalon'"}
    assert ("carbon_estimate" in {row.metric for row in rows}) == estimated


def demand(*lines: tuple[str, object]) -> str:
    return "Time,Day ahead forecast,Hour ahead forecast,Current demand\r\n" + "".join(
        f"{t},1,2,{v}\r\n" for t, v in lines
    )


def test_the_next_days_first_label_at_the_end_is_dropped_and_blanks_are_no_rows():
    labels = demand(("00:00", 10), ("12:00", ""), ("23:55", 12), ("00:00", 13), ("", ""))
    rows = read(DEMAND, labels, date(2026, 7, 14))
    midnight = instant("2026-07-14T07:00:00Z")
    assert [(r.ts, r.value) for r in rows] == [(midnight, 10.0), (midnight + 86100, 12.0)]
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
    with pytest.raises(FeedChanged):  # impossible in the evening, so something else is wrong
        read(DEMAND, saturday, date(2026, 3, 8), requested_at="2026-03-09T06:50:00Z")
    running = demand(*((label, 1) for label in day_of() if label < "02:00" or "03:00" <= label <= "04:05"))
    assert len(read(DEMAND, running, date(2026, 3, 8), requested_at="2026-03-08T11:06:00Z")) == 24 + 14
