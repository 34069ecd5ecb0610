"""ERCOT: listings that lead to zips, keyed pages, the flag of the repeated hour, and what dashboards' epochs mean."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date

import pytest

from assets import sources
from warehouse import clock
from warehouse.clock import MarketDay, instant, market_days
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable, NotPublished
from warehouse.market import Request

SPP_RT, SPP_DA, PRICES, LOAD, HOURLY, TIES = (
    sources.feed(f"ercot.{name}")
    for name in ("spp_rt", "spp_da", "system_wide_prices", "load", "load_hourly", "dc_ties")
)
SPRING, AUTUMN, ORDINARY = date(2026, 3, 8), date(2026, 11, 1), date(2026, 9, 23)
DA_COLUMNS = "DeliveryDate,HourEnding,SettlementPoint,SettlementPointPrice,DSTFlag"
RT_COLUMNS = (
    "DeliveryDate,DeliveryHour,DeliveryInterval,SettlementPointName,SettlementPointType,SettlementPointPrice,DSTFlag"
)


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def read(feed, body, kind="rows"):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, "", kind=kind))


def zipped(text: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cdr.00012331.csv", text)
    return out.getvalue()


def day_ahead(day: date, hours: list[tuple[int, str]], columns: str = DA_COLUMNS, node: str = "HB_HUBAVG") -> bytes:
    lines = [f"{day:%m/%d/%Y},{hour:02d}:00,{node}, {hour + len(flag) / 100:.2f},{flag}" for hour, flag in hours]
    return zipped("\n".join([columns, *lines]) + "\n")


@pytest.mark.parametrize(
    "file",
    [
        "ercot/dam_spp_12331_20260823_EXCERPT.csv",
        "ercot/loadForecastVsActual_20230201.json",
        "ercot/np4-190-cd_dam_spp_HB_HUBAVG_20260308.json",
        "ercot/np4-190-cd_dam_spp_HB_HUBAVG_20260923.json",
        "ercot/system-wide-prices_20260905_EXCERPT.json",
    ],
)
def test_recorded_answers_give_their_expected_rows(file, parsed, expected, stated):
    assert stated(parsed(file)) == expected(file)


def test_the_second_pass_of_the_autumn_hour_is_the_flagged_one_wherever_it_stands():
    (day,) = market_days(AUTUMN, AUTUMN, SPP_DA.tz)
    hours = [(1, "N"), (2, "Y"), (2, "N"), *((h, "N") for h in range(3, 25))]
    rows = read(SPP_DA, day_ahead(AUTUMN, hours)).sorted()
    assert [r.ts for r in rows] == list(range(day.start, day.end, 3600))
    assert len(rows) == 25
    fields = [
        {"name": name} for name in ("deliveryDate", "hourEnding", "settlementPoint", "settlementPointPrice", "DSTFlag")
    ]
    keyed = read(
        SPP_DA,
        {
            "fields": fields,
            "data": [
                ["2026-11-01", "02:00", "HB_HUBAVG", 48.25, True],
                ["2026-11-01", "02:00", "HB_HUBAVG", 47, False],
            ],
        },
    )
    assert [(r.ts, r.value) for r in keyed.sorted()] == [(day.start + 3600, 47.0), (day.start + 7200, 48.25)]


def test_the_spring_day_has_no_third_hour():
    (day,) = market_days(SPRING, SPRING, SPP_DA.tz)
    hours = [(h, "N") for h in range(1, 25) if h != 3]
    assert [r.ts for r in read(SPP_DA, day_ahead(SPRING, hours))] == list(range(day.start, day.end, 3600))
    with pytest.raises(FeedChanged, match="02:00"):
        read(SPP_DA, day_ahead(SPRING, [(3, "N")]))


@pytest.mark.parametrize(
    "columns",
    [
        DA_COLUMNS.replace("DSTFlag", "RepeatedHourFlag"),
        DA_COLUMNS.replace("SettlementPoint,", "SettlementPointName,"),
        "delivery_date,hour_ending,settlement_point,settlement_point_price,repeated_hour_flag",
    ],
)
def test_columns_have_been_renamed(columns):
    assert len(read(SPP_DA, day_ahead(ORDINARY, [(1, "N")], columns))) == 1


def test_other_settlement_points_give_no_rows():
    assert not len(read(SPP_DA, day_ahead(ORDINARY, [(1, "N")], node="HB_BUSAVG")))


@pytest.mark.parametrize(
    "body",
    [
        day_ahead(ORDINARY, [(1, "N")], DA_COLUMNS.replace("DSTFlag", "Flag")),
        day_ahead(ORDINARY, [(1, "maybe")]),
        day_ahead(ORDINARY, [(25, "N")]),
        day_ahead(ORDINARY, [(0, "N")]),
        zipped(DA_COLUMNS + "\n2026-09-23,01:00,HB_HUBAVG,1,N\n"),
        zipped(RT_COLUMNS + "\n"),
        b"PK\x03\x04",
        b"{}",
        b'{"fields": [], "data": [[1]]}',
        b'{"ListDocsByRptTypeRes": {"DocumentList": []}}',
    ],
)
def test_what_is_no_day_ahead_report_is_a_changed_feed(body):
    with pytest.raises(FeedChanged):
        read(SPP_DA, body)


def test_real_time_quarters_are_labelled_by_hour_and_number():
    lines = [
        f"11/01/2026,{h},{q},HB_HUBAVG,AH,{h}.{q},{flag}"
        for h, flag in [(1, "N"), (2, "N"), (2, "Y"), (3, "N")]
        for q in range(1, 5)
    ]
    start = MarketDay(AUTUMN, SPP_RT.tz).start
    rows = read(SPP_RT, zipped("\n".join([RT_COLUMNS, *lines]) + "\n"))
    assert [r.ts for r in rows] == list(range(start, start + 4 * 3600, 900))
    assert [r.value for r in rows][4:12] == [2.1, 2.2, 2.3, 2.4] * 2
    assert {(r.metric, r.resolution) for r in rows} == {("price", "15m")}
    with pytest.raises(FeedChanged, match="quarter"):
        read(SPP_RT, zipped(RT_COLUMNS + "\n11/01/2026,1,5,HB_HUBAVG,AH,1,N\n"))


def document(name: str, published: str, number: str = "1") -> dict[str, object]:
    return {"Document": {"FriendlyName": name, "PublishDate": published, "DocID": number, "Extension": "zip"}}


def listing(*documents: dict[str, object]) -> bytes:
    return json.dumps({"ListDocsByRptTypeRes": {"DocumentList": documents}}).encode()


def followed(feed, body: bytes, *days: date) -> list[tuple[str, tuple[date, ...]]]:
    requests = feed.follow(body, Request(feed.id, "", days=days, kind="listing"))
    assert all(r.url == "https://www.ercot.com/misdownload/servlets/mirDownload" and r.kind == "rows" for r in requests)
    return [(dict(r.params)["doclookupId"], r.days) for r in requests]


def test_a_listing_leads_to_the_csv_documents_of_the_days_asked_for(recordings):
    body = (recordings / "ercot/mis_doclist_12331.json").read_bytes()
    assert followed(SPP_DA, body, date(2026, 10, 4)) == [("1282050068", (date(2026, 10, 4),))]
    assert followed(SPP_DA, body, date(2026, 10, 3), date(2026, 10, 4), date(2026, 10, 5)) == [
        ("1281661396", (date(2026, 10, 3),)),
        ("1282050068", (date(2026, 10, 4),)),
    ]
    assert not len(SPP_DA.parse(body, Request(SPP_DA.id, "", kind="listing")))


def test_of_twins_the_newest_and_late_auctions_are_still_for_their_day():
    body = listing(
        document("DAMSPNP4190_csv", "2026-10-03T12:32:39-05:00", "1"),
        document("DAMSPNP4190_csv", "2026-10-03T15:00:00-05:00", "2"),
        document("DAMSPNP4190_csv", "2026-10-05T01:10:00-05:00", "3"),
        document("DAMSPNP4190_xml", "2026-10-03T16:00:00-05:00", "4"),
    )
    assert followed(SPP_DA, body, date(2026, 10, 4), date(2026, 10, 5)) == [
        ("2", (date(2026, 10, 4),)),
        ("3", (date(2026, 10, 5),)),
    ]


def test_real_time_documents_bear_the_end_of_their_quarter_and_come_in_twins():
    body = listing(
        document("SPPHLZNP6905_20261101_0015_csv", "2026-11-01T00:17:00-05:00", "first"),
        document("SPPHLZNP6905_20261102_0000_csv", "2026-11-02T00:02:00-06:00", "last"),
        document("SPPHLZNP6905_20261101_0000_csv", "2026-11-01T00:02:00-05:00", "eve"),
        document("SPPHLZNP6905_20261101_0130_csv", "2026-11-01T01:32:00-05:00", "summer"),
        document("SPPHLZNP6905_20261101_0130xhr_csv", "2026-11-01T01:32:00-06:00", "winter"),
        document("SPPHLZNP6905_retry_20261101_0015_csv", "2026-11-01T00:40:00-05:00", "again"),
    )
    documents = followed(SPP_RT, body, AUTUMN)
    assert sorted(number for number, _ in documents) == ["again", "last", "summer", "winter"]
    assert {days for _, days in documents} == {(AUTUMN,)}


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"<html></html>",
        listing({"Document": {"FriendlyName": "DAMSPNP4190_csv", "PublishDate": "yesterday", "DocID": "1"}}),
        listing({"Document": {"FriendlyName": "DAMSPNP4190_csv", "PublishDate": "2026-10-03T12:32:39"}}),
        listing({}),
    ],
)
def test_a_listing_that_we_cannot_read_is_a_changed_feed(body):
    with pytest.raises(FeedChanged):
        SPP_DA.follow(body, Request(SPP_DA.id, "", days=(ORDINARY,), kind="listing"))


def test_recent_days_are_listed_and_older_ones_asked_with_a_key():
    for product, report, listed in ((SPP_RT, "12301", 5), (SPP_DA, "12331", 20)):
        request, *keyed = product.requests(market_days(AUTUMN, date(2026, 11, 20), product.tz), clock.now())
        assert request.url == "https://www.ercot.com/misapp/servlets/IceDocListJsonWS"
        assert request.params == (("reportTypeId", report), ("_", str(clock.now())))
        assert request.nonce == ("_",)
        assert (request.kind, len(request.days), request.secrets) == ("listing", listed, ())
        assert [(len(r.days), bool(r.secrets)) for r in keyed] == ([(15, True)] if listed < 20 else [])


def test_days_before_the_keyed_api_are_out_of_reach():
    today = date(2026, 11, 20)
    for product in (SPP_RT, SPP_DA):
        assert "begins on 2023-12-11" in str(product.out_of_reach(date(2023, 12, 10), today))
        assert product.out_of_reach(date(2023, 12, 11), today) is None


def test_a_day_that_a_listing_passed_over_is_asked_of_the_keyed_api():
    body = listing(
        *(
            {"Document": {"FriendlyName": "DAMSPNP4190_csv", "PublishDate": f"2026-11-{d}T12:32:39-06:00", "DocID": d}}
            for d in ("15", "17")
        )
    )
    days = tuple(date(2026, 11, d) for d in (16, 17, 18, 19))
    requests = SPP_DA.follow(body, Request(SPP_DA.id, "", days=days, kind="listing"))
    assert [(r.days, bool(r.secrets)) for r in requests] == [
        ((date(2026, 11, 16),), False),
        ((date(2026, 11, 18),), False),
        ((date(2026, 11, 17),), True),
    ]


def test_an_answer_of_no_pages_is_no_fault():
    (request,) = SPP_RT.requests(market_days(SPRING, SPRING, SPP_RT.tz), clock.now())
    body = json.dumps({"_meta": {"totalPages": 0, "currentPage": 0}, "fields": [{"name": "x"}], "data": []}).encode()
    assert SPP_RT.follow(body, request) == []
    with pytest.raises(NotPublished):
        SPP_RT.parse(body, request)


@pytest.mark.parametrize(
    ("feed", "path", "first", "last", "size"),
    [
        (SPP_DA, "np4-190-cd/dam_stlmnt_pnt_prices", SPRING, SPRING, "100"),
        (SPP_DA, "np4-190-cd/dam_stlmnt_pnt_prices", ORDINARY, ORDINARY, "100"),
        (SPP_DA, "np4-190-cd/dam_stlmnt_pnt_prices", date(2026, 8, 1), date(2026, 8, 31), "775"),
        (SPP_RT, "np6-905-cd/spp_node_zone_hub", date(2025, 11, 2), date(2025, 11, 2), "100"),
    ],
)
def test_the_keyed_api_is_asked_for_runs_of_days(feed, path, first, last, size):
    (request,) = feed.requests(market_days(first, last, feed.tz), clock.now())
    assert request.url == f"https://api.ercot.com/api/public-reports/{path}"
    assert request.params == (
        ("deliveryDateFrom", str(first)),
        ("deliveryDateTo", str(last)),
        ("settlementPoint", "HB_HUBAVG"),
        ("size", size),
    )
    assert [s.where for s in request.secrets] == ["header", "ercot"]
    assert len(request.days) == (last - first).days + 1


def test_a_month_across_the_end_of_the_listings_is_asked_for_in_two():
    requests = SPP_DA.requests(market_days(date(2026, 10, 1), date(2026, 10, 31), SPP_DA.tz), clock.now())
    assert [(r.kind, len(r.days)) for r in requests] == [("listing", 11), ("rows", 20)]


@pytest.mark.parametrize(
    "file", ["ercot/np4-190-cd_dam_spp_HB_HUBAVG_20260308.json", "ercot/np4-190-cd_dam_spp_HB_HUBAVG_20260923.json"]
)
def test_requests_are_those_that_were_recorded(file, recorded):
    entry = recorded(file)
    (request,) = SPP_DA.requests([MarketDay(date.fromisoformat(entry["day"]), SPP_DA.tz)], clock.now())
    assert request.url + "?" + "&".join("=".join(pair) for pair in request.params) == entry["request_url"]


def page(current: int, pages: int) -> bytes:
    return json.dumps({"_meta": {"currentPage": current, "totalPages": pages}, "fields": [], "data": []}).encode()


def test_pages_are_followed_to_the_last():
    (first,) = SPP_RT.requests(market_days(SPRING, SPRING, SPP_RT.tz), clock.now())
    (second,) = SPP_RT.follow(page(1, 2), first)
    assert second.params == (*first.params, ("page", "2"))
    assert second.secrets == first.secrets
    assert SPP_RT.follow(page(2, 2), second) == []
    assert SPP_RT.follow(day_ahead(ORDINARY, []), first) == [], "a zip leads nowhere"
    with pytest.raises(FeedUnavailable, match="page 1 instead of 2"):
        SPP_RT.follow(page(1, 2), second)
    with pytest.raises(NotPublished):
        read(SPP_RT, page(1, 1))


T = instant("2026-09-05T05:00:00Z")


def test_dashboard_prices_are_labelled_by_their_end():
    body = {
        "rtSppData": [
            {"hbHubAvg": 37.1, "hbBusAvg": 1, "interval": (T + 900) * 1000},
            {"hbHubAvg": None, "interval": (T + 1800) * 1000},
        ],
        "damSppData": [{"hbHubAvg": 30, "interval": (T + 3600) * 1000}],
    }
    assert [(r.metric, r.ts, r.value, r.resolution) for r in read(PRICES, body)] == [
        ("price", T, 37.1, "15m"),
        ("price_day_ahead", T, 30.0, "1h"),
    ]
    for name in body:
        with pytest.raises(FeedChanged, match=name):
            read(PRICES, {k: v for k, v in body.items() if k != name})


def test_demand_stands_at_its_stamp_and_rows_that_are_forecasts_are_left():
    rows = [
        {"demand": 50_000 + i, "forecast": int(i > 1), "epoch": (T + 300 * i) * 1000, "capacity": 1} for i in range(4)
    ]
    assert [(r.ts, r.value, r.resolution) for r in read(LOAD, {"data": rows})] == [
        (T, 50_000.0, "5m"),
        (T + 300, 50_001.0, "5m"),
    ]
    with pytest.raises(FeedChanged, match="forecast"):
        read(LOAD, {"data": [{"demand": 1, "forecast": 2, "epoch": T * 1000}]})
    with pytest.raises(NotPublished):
        read(LOAD, {"data": []})


@pytest.mark.parametrize(("day", "hours"), [(SPRING, 23), (AUTUMN, 25), (ORDINARY, 24)])
def test_hourly_demand_of_days_of_any_length(day, hours):
    (market_day,) = market_days(day, day, HOURLY.tz)
    over = [
        {"hourEnding": 0, "systemLoad": 42_015.44, "epoch": (ts + 3600) * 1000}
        for ts in range(market_day.start, market_day.end, 3600)
    ]
    ahead = [{"hourEnding": 1, "currentLoadForecast": 1, "epoch": (market_day.end + 3600) * 1000}]
    for feed in (HOURLY, LOAD):
        rows = read(feed, {"previousDay": {"data": over}, "currentDay": {"data": ahead}})
        assert [r.ts for r in rows] == list(range(market_day.start, market_day.end, 3600))
        assert len(rows) == hours
    with pytest.raises(FeedChanged, match="systemLoad"):
        read(HOURLY, {"previousDay": {"data": ahead}, "currentDay": {"data": ahead}})


def flows(ts: int, **ties: object) -> dict[str, object]:
    return {"currentFrequency": 60, **ties, "epoch": ts * 1000, "interval": "00:00:00"}


def test_minus_is_import_over_the_ties_and_only_five_minute_instants_stay():
    rows = read(
        TIES,
        {
            "data": [
                flows(T, dcE=0, dcN=-218, dcL=70, dcR=0),
                flows(T + 10, dcE=0, dcN=-218, dcL=70, dcR=0),
                flows(T + 300, dcE=-74, dcN=None, dcL=19, dcR=0),
            ]
        },
    )
    assert [(r.counterparty, r.link, r.ts, r.value) for r in rows.sorted()] == [
        (None, None, T, 148.0),
        ("Mexico (CENACE)", "DC_L", T, -70.0),
        ("Mexico (CENACE)", "DC_R", T, 0.0),
        ("US-SPP", "spp-ercot-east", T, 0.0),
        ("US-SPP", "spp-ercot-north", T, 218.0),
        ("Mexico (CENACE)", "DC_L", T + 300, -19.0),
        ("Mexico (CENACE)", "DC_R", T + 300, 0.0),
        ("US-SPP", "spp-ercot-east", T + 300, 74.0),
    ]
    assert rows.dropped == {"between five-minute instants": 1, "a tie is missing": 1}


def test_a_recorded_excerpt_of_the_ties(recordings):
    rows = read(TIES, (recordings / "ercot/dc-tie-flows_20260905_EXCERPT.json").read_bytes())
    assert [(r.ts, r.value) for r in rows if r.counterparty is None] == [(1788584400, 148.0)]


@pytest.mark.parametrize("reading", [flows(T, dcX=1), flows(T), {"dcE": 1, "interval": "00:00:00"}, "dcE"])
def test_an_unknown_tie_is_a_changed_feed(reading):
    with pytest.raises(FeedChanged):
        read(TIES, {"data": [reading]})


@pytest.mark.parametrize(
    ("feed", "name"),
    [
        (PRICES, "system-wide-prices"),
        (LOAD, "supply-demand"),
        (HOURLY, "system-wide-demand"),
        (TIES, "dc-tie-flows"),
    ],
)
def test_a_dashboard_is_asked_once_whatever_the_days(feed, name):
    for first, last in (
        (SPRING, SPRING),
        (AUTUMN, AUTUMN),
        (ORDINARY, ORDINARY),
        (date(2026, 10, 1), date(2026, 10, 31)),
    ):
        (request,) = feed.requests(market_days(first, last, feed.tz), clock.now())
        assert request.url == f"https://www.ercot.com/api/1/services/read/dashboards/{name}.json"
        assert request.params == ()
        assert len(request.days) == (last - first).days + 1
    assert feed.requests([], clock.now()) == []


@pytest.mark.parametrize("feed", [PRICES, LOAD, HOURLY, TIES])
@pytest.mark.parametrize("epoch", [None, "1788584400000", True, -1, 10**20, 1e300, 0])
def test_an_epoch_that_is_none_is_a_changed_feed(feed, epoch):
    reading = {"epoch": epoch, "interval": epoch, "forecast": 0, "demand": 1, "systemLoad": 1, "hbHubAvg": 1, "dcE": 1}
    body = {
        "data": [reading],
        "rtSppData": [reading],
        "damSppData": [],
        "previousDay": {"data": [reading]},
        "currentDay": {"data": []},
    }
    with pytest.raises(FeedError):
        read(feed, body)
