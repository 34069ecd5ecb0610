"""Test ERCOT: listings that lead to zips, pages of the keyed API, renamed columns, dashboards with their DC ties."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import date

import pytest

from assets import sources
from warehouse.errors import FeedChanged, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.clock import instant, market_days
from warehouse.market.feeds import Request

SPP_RT, SPP_DA, PRICES, LOAD, HOURLY, TIES = (
    sources.feed(f"ercot.{name}")
    for name in ("spp_rt", "spp_da", "system_wide_prices", "load", "load_hourly", "dc_ties")
)
SPRING, AUTUMN, ORDINARY = date(2026, 3, 8), date(2026, 11, 1), date(2026, 9, 23)
DA_COLUMNS = "DeliveryDate,HourEnding,SettlementPoint,SettlementPointPrice,DSTFlag"
RT_COLUMNS = (
    "DeliveryDate,DeliveryHour,DeliveryInterval,SettlementPointName,SettlementPointType,SettlementPointPrice,DSTFlag"
)


def read(feed, body, kind="rows"):
    """Return the rows that a feed reads from bytes, or from an object encoded as JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return feed.parse(body, Request(feed.id, "", kind=kind))


def zipped(text: str) -> bytes:
    """Return a zip of one CSV file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cdr.00012331.csv", text)
    return out.getvalue()


def day_ahead(day: date, hours: list[tuple[int, str]], columns: str = DA_COLUMNS, node: str = "HB_HUBAVG") -> bytes:
    """Return a day-ahead report; `hours` contains (hour ending, flag of the repeated hour)."""
    lines = [f"{day:%m/%d/%Y},{hour:02d}:00,{node}, {hour + len(flag) / 100:.2f},{flag}" for hour, flag in hours]
    return zipped("\n".join([columns, *lines]) + "\n")


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


def test_an_hour_has_four_quarters_and_spring_no_third_hour():
    with pytest.raises(FeedChanged, match="quarter"):
        read(SPP_RT, zipped(f"{RT_COLUMNS}\n11/01/2026,1,5,HB_HUBAVG,AH,1,N\n"))
    with pytest.raises(FeedChanged, match="02:00"):
        read(SPP_DA, day_ahead(SPRING, [(3, "N")]))


T = instant("2026-09-05T05:00:00Z")


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


def flows(ts: int, **ties: object) -> dict[str, object]:
    return {"currentFrequency": 60, **ties, "epoch": ts * 1000, "interval": "00:00:00"}


def test_a_tie_that_is_named_without_a_figure_leaves_no_net():
    """Check Eagle Pass as well, which the response may omit."""
    ties = {"dcE": 0, "dcN": -218, "dcL": 70, "dcR": 0}
    rows = read(TIES, {"data": [flows(T, **ties, dcS=-30), flows(T + 300, **ties, dcS=None), flows(T + 600, **ties)]})
    assert [(r.ts, r.value) for r in rows if r.counterparty is None] == [(T, 178.0), (T + 600, 148.0)]
    assert rows.dropped == {"a tie is missing": 1}


@pytest.mark.parametrize("reading", [flows(T, dcX=1), flows(T), {"dcE": 1, "interval": "00:00:00"}, "dcE"])
def test_readings_of_no_known_tie_are_a_changed_feed(reading):
    with pytest.raises(FeedChanged):
        read(TIES, {"data": [reading]})


@pytest.mark.parametrize(
    ("feed", "reading"),
    [
        (LOAD, {"demand": 50_000, "forecast": 0}),
        (TIES, {"dcE": 1, "dcN": 1, "dcL": 1, "dcR": 1}),
    ],
)
def test_what_begins_after_the_dashboard_was_made_is_no_reading(feed, reading):
    body = {"data": [{**reading, "epoch": (T + at) * 1000} for at in (0, 300, 600)]}
    for updated, last in (
        ("2026-09-05 00:05:00-0500", T + 300),
        ("2026-09-05 00:09:59-0500", T + 300),
        (None, T + 600),
    ):
        rows = read(feed, {**body, **({"lastUpdated": updated} if updated else {})})
        assert max(r.ts for r in rows) == last
        assert rows.dropped["after the dashboard's own time"] == (last < T + 600)


def test_prices_of_the_day_ahead_are_known_before_the_dashboard_was_made():
    entry = {"hbHubAvg": 30, "interval": (T + 7200) * 1000}
    rows = read(PRICES, {"lastUpdated": "2026-09-05 00:05:00-0500", "rtSppData": [entry], "damSppData": [entry]})
    assert [r.metric for r in rows] == ["price_day_ahead"]
    for missing in ("rtSppData", "damSppData"):
        with pytest.raises(FeedChanged, match=missing):
            read(PRICES, {name: [entry] for name in ("rtSppData", "damSppData") if name != missing})
    with pytest.raises(FeedChanged, match="systemLoad"):
        read(HOURLY, {day: {"data": [{"epoch": T, "currentLoadForecast": 1}]} for day in ("previousDay", "currentDay")})


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")


def document(name: str, published: str, number: str = "1") -> dict[str, object]:
    return {"Document": {"FriendlyName": name, "PublishDate": published, "DocID": number, "Extension": "zip"}}


def listing(*documents: dict[str, object]) -> bytes:
    return json.dumps({"ListDocsByRptTypeRes": {"DocumentList": documents}}).encode()


def followed(feed, body: bytes, *days: date) -> list[tuple[str, tuple[date, ...]]]:
    requests = feed.follow(body, Request(feed.id, "", days=days, kind="listing"))
    assert all(r.url == "https://www.ercot.com/misdownload/servlets/mirDownload" and r.kind == "rows" for r in requests)
    return [(dict(r.params)["doclookupId"], r.days) for r in requests]


def archived(*entries: tuple[str, str, int]) -> bytes:
    listed = [{"friendlyName": name, "postDatetime": posted, "docId": number} for name, posted, number in entries]
    return json.dumps({"_meta": {"totalPages": 1, "currentPage": 1}, "archives": listed}).encode()


def test_the_archive_is_asked_for_each_day_before_the_keyed_api_began():
    days = market_days(date(2023, 12, 9), date(2023, 12, 12), SPP_RT.tz)
    first, second, third = SPP_RT.requests(days, clock.now())
    assert (third.url.endswith("/archive/np6-905-cd"), third.kind, third.days) == (True, "listing", (days[1].day,))
    assert second.days == (days[0].day,)
    assert first.days == (days[2].day, days[3].day)
    assert dict(second.params)["postDatetimeFrom"] == "2023-12-09T00:00:00"
    auction = SPP_DA.requests(days[:1], clock.now())[0]
    assert dict(auction.params)["postDatetimeFrom"] == "2023-12-08T06:00:00"


def test_the_archives_list_leads_to_the_files_of_its_day():
    (request,) = SPP_RT.requests(market_days(date(2021, 4, 15), date(2021, 4, 15), SPP_RT.tz), clock.now())
    body = archived(
        ("SPPHLZNP6905_20210415_0015", "2021-04-15T00:17:21", 1),
        ("SPPHLZNP6905_retry_20210415_0015", "2021-04-15T00:30:00", 2),
        ("SPPHLZNP6905_20210415_0000", "2021-04-15T00:02:00", 3),
        ("SPPHLZNP6905_20210416_0000", "2021-04-16T00:02:00", 4),
        ("SPPHLZNP6905_20210415_0030_xml", "2021-04-15T00:32:00", 5),
    )
    files = SPP_RT.follow(body, request)
    assert [dict(file.params)["download"] for file in files] == ["4", "2"]
    assert all(file.once and file.kind == "rows" and file.days == request.days for file in files)
    assert SPP_RT.follow(b"PK", files[0]) == []
    more = SPP_RT.follow(body.replace(b'"totalPages": 1', b'"totalPages": 2'), request)
    assert dict(more[-1].params)["page"] == "2"
    with pytest.raises(FeedChanged, match="postDatetime"):
        SPP_RT.follow(archived(("a", "yesterday", 1)), request)


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


def page(current: int, pages: int) -> bytes:
    return json.dumps({"_meta": {"currentPage": current, "totalPages": pages}, "fields": [], "data": []}).encode()


def test_pages_are_followed_to_the_last():
    (first,) = SPP_RT.requests(market_days(SPRING, SPRING, SPP_RT.tz), clock.now())
    (second,) = SPP_RT.follow(page(1, 2), first)
    assert second.params == (*first.params, ("page", "2"))
    assert second.secrets == first.secrets
    assert SPP_RT.follow(page(2, 2), second) == []
    assert SPP_RT.follow(day_ahead(ORDINARY, []), first) == [], "a zip leads nowhere"
    with pytest.raises(FeedUnavailable, match="got page 1; expected 2"):
        SPP_RT.follow(page(1, 2), second)
    with pytest.raises(NotPublished):
        read(SPP_RT, page(1, 1))


def ties(*seconds, **flows):
    start = 1000 * instant("2026-09-05T05:00Z")
    entries = [{"dcE": 1, "dcN": 2, "dcL": 3, "dcR": 4, "epoch": start + 1000 * at, **flows} for at in seconds]
    return {"lastUpdated": "2026-09-05 12:00:00-0500", "data": entries}


def test_ties_without_a_usable_reading_are_no_success():
    assert len(read(TIES, ties(0, 10))) == 5
    with pytest.raises(NotPublished):
        read(TIES, ties(10, 20))
    with pytest.raises(NotPublished):
        read(TIES, ties(0, **dict.fromkeys(("dcE", "dcN", "dcL", "dcR"))))
    with pytest.raises(FeedChanged):
        read(TIES, ties(*range(1, 400, 10)))
