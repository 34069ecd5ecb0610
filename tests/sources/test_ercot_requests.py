"""What ERCOT is asked: listings that lead to zips, the pages of its keyed API, and dashboards."""

from __future__ import annotations

import json
from datetime import date

import pytest

from tests.sources.ercot_reports import (
    AUTUMN,
    ORDINARY,
    SPP_DA,
    SPP_RT,
    SPRING,
    day_ahead,
    read,
)
from warehouse.errors import FeedChanged, FeedUnavailable, NotPublished
from warehouse.market import clock
from warehouse.market.clock import MarketDay, market_days
from warehouse.market.market import Request


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


def test_a_listing_leads_to_the_csv_documents_of_the_days_asked_for(recordings):
    body = (recordings / "ercot/mis_doclist_12331.json").read_bytes()
    assert followed(SPP_DA, body, date(2026, 10, 4)) == [("1282050068", (date(2026, 10, 4),))]
    assert followed(SPP_DA, body, date(2026, 10, 3), date(2026, 10, 4), date(2026, 10, 5)) == [
        ("1281661396", (date(2026, 10, 3),)),
        ("1282050068", (date(2026, 10, 4),)),
    ]
    assert not len(SPP_DA.parse(body, Request(SPP_DA.id, "", kind="listing")))


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


def test_recent_days_are_listed_and_older_ones_asked_with_a_key():
    for product, report, listed in ((SPP_RT, "12301", 5), (SPP_DA, "12331", 20)):
        request, *keyed = product.requests(market_days(AUTUMN, date(2026, 11, 20), product.tz), clock.now())
        assert request.url == "https://www.ercot.com/misapp/servlets/IceDocListJsonWS"
        assert request.params == (("reportTypeId", report), ("_", str(clock.now())))
        assert request.nonce == ("_",)
        assert (request.kind, len(request.days), request.secrets) == ("listing", listed, ())
        assert [(len(r.days), bool(r.secrets)) for r in keyed] == ([(15, True)] if listed < 20 else [])


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
