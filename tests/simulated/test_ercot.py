"""Simulated ERCOT: listings, zips, pages and dashboards hold the model's values, on time, shaped as recorded."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import date, timedelta

import numpy as np
import pytest

from assets.simulated import ercot, grid
from assets.simulated.ercot import documents as document_list
from assets.simulated.ercot import prices
from assets.sources import feed
from assets.sources.ercot import TZ
from warehouse.market.clock import DAY, HOUR, MarketDay, instant, iso
from warehouse.market.market import Request

ZONE = "US-ERCOT"
ORDINARY, SPRING, AUTUMN = (MarketDay(day, TZ) for day in (date(2026, 11, 20), date(2026, 3, 8), date(2026, 11, 1)))


def starts(day, step):
    return np.arange(day.start, day.end, step)


@pytest.mark.parametrize("day", [date(2021, 4, 15), date(2022, 3, 13), date(2022, 11, 6)], ids=str)
def test_days_before_the_keyed_api_come_out_of_its_archive(day, ask, inside):
    old, now = MarketDay(day, TZ), "2026-11-20T18:00:00Z"
    rows, refused = ask("ercot.spp_rt", [old], now)
    starts = np.arange(old.start, old.end, 900)
    assert [r.ts for r in inside(rows, old, "price", ZONE)] == starts.tolist()
    assert [r.value for r in inside(rows, old, "price", ZONE)] == grid.price(ZONE, starts, 900).round(2).tolist()
    rows, more = ask("ercot.spp_da", [old], now)
    hours = np.arange(old.start, old.end, HOUR)
    assert [r.ts for r in rows.sorted()] == hours.tolist()
    assert [r.value for r in rows.sorted()] == grid.price(ZONE, hours, HOUR, "day_ahead").round(2).tolist()
    assert not refused + more


def documents(now, number="12301"):
    body = ercot.answer(
        Request("ercot.spp_rt", "https://www.ercot.com/misapp/servlets/IceDocListJsonWS", (("reportTypeId", number),)),
        now,
    )
    return [entry["Document"] for entry in json.loads(body.body)["ListDocsByRptTypeRes"]["DocumentList"]]


def fetch(number, now):
    return ercot.answer(
        Request("ercot.spp_rt", "https://www.ercot.com/misdownload/servlets/mirDownload", (("doclookupId", number),)),
        now,
    )


def test_a_listing_keeps_5_days_and_its_documents_their_names_and_numbers():
    now = instant("2026-11-20T12:07:30-06:00")
    first, later = documents(now), documents(now + DAY)
    names = {d["DocID"]: d["FriendlyName"] for d in first}
    assert len(names) == len(first) > 5 * 192
    assert [d["PublishDate"] for d in first] == sorted((d["PublishDate"] for d in first), key=instant, reverse=True)
    oldest, newest = first[-1], first[0]
    assert (oldest["PublishDate"], newest["PublishDate"]) == ("2026-11-15T00:02:01-06:00", "2026-11-20T12:02:01-06:00")
    assert (oldest["ExpiredDate"], newest["FriendlyName"]) == (
        "2026-11-20T23:59:59-06:00",
        "SPPHLZNP6905_20261120_1200_csv",
    )
    kept = {d["DocID"]: d["FriendlyName"] for d in later if d["DocID"] in names}
    assert len(kept) > 4 * 192
    assert kept.items() <= names.items()


def test_names_of_the_repeated_hour_tell_its_passes_apart():
    stamps = [
        d.name.split("_", 1)[1] for d in document_list.documents(prices.REAL_TIME, AUTUMN.day) if d.name.endswith("csv")
    ]
    stamps = [stamp.removesuffix("_csv") for stamp in stamps if "retry" not in stamp]
    assert stamps[3:14] == [
        f"20261101_{clock}"
        for clock in (
            "0045",
            "0100",
            "0115",
            "0130",
            "0145",
            "0100xhr",
            "0115xhr",
            "0130xhr",
            "0145xhr",
            "0200",
            "0215",
        )
    ]
    assert len(set(stamps)) == 100


def test_a_retry_puts_a_wrong_file_right(ask):
    now = instant("2026-11-20T12:07:30-06:00")
    retries = [d for d in documents(now) if "retry" in d["FriendlyName"] and d["FriendlyName"].endswith("csv")]
    assert 0 < len(retries) < 30
    retry = retries[0]
    wrong = next(d for d in documents(now) if d["FriendlyName"] == retry["FriendlyName"].replace("_retry", ""))
    before, after = (cells(fetch(d["DocID"], now).body) for d in (wrong, retry))
    assert [row[:5] for row in before] == [row[:5] for row in after]
    assert [row[5] for row in before] != [row[5] for row in after]
    day = MarketDay.at(instant(retry["PublishDate"]) - 3000, TZ)
    readings = [r.value for r in ask("ercot.spp_rt", [day], iso(day.end + HOUR))[0].sorted()]
    assert readings == grid.price(ZONE, starts(day, 900), 900).round(2).tolist()


def cells(body):
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        (name,) = archive.namelist()
        assert name.startswith("cdr.00012301.0000000000000000.2026")
        return list(csv.reader(archive.read(name).decode().splitlines()))


@pytest.mark.parametrize("number", ["1", "1007963444x", "", "1007963440", "2000000000", "9" * 30])
def test_numbers_that_no_document_bears_are_not_there(number):
    assert fetch(number, instant("2026-11-20T12:07:30-06:00")).status == 404


def test_a_document_is_there_from_its_hour_until_it_expires():
    now = instant("2026-11-20T12:07:30-06:00")
    (number,) = {d["DocID"] for d in documents(now) if d["FriendlyName"] == "SPPHLZNP6905_20261120_1200_csv"}
    at = instant("2026-11-20T12:02:01-06:00")
    assert [fetch(number, ts).status for ts in (at - 1, at, at + 5 * DAY, at + 6 * DAY)] == [404, 200, 200, 404]


def test_pages_of_the_keyed_api_follow_each_other():
    request = Request(
        "ercot.spp_da",
        f"https://api.ercot.com{next(iter(ercot.KEYED))}",
        (
            ("deliveryDateFrom", "2026-09-01"),
            ("deliveryDateTo", "2026-09-03"),
            ("settlementPoint", "HB_HUBAVG"),
            ("size", "50"),
        ),
    )
    pages, queue = [], [request]
    while queue:
        pages.append(ercot.answer(queue[0], instant("2026-11-20T12:00:00Z")).body)
        queue = feed("ercot.spp_da").follow(pages[-1], queue[0])
    assert [len(json.loads(page)["data"]) for page in pages] == [50, 22]
    assert [json.loads(page)["_meta"]["totalPages"] for page in pages] == [2, 2]


# Compared with recordings


def test_before_the_keyed_api_began_a_page_is_empty_and_no_fault():
    began = date(2023, 12, 11)
    product = feed("ercot.spp_da")
    for day, count in ((began, 24), (began - timedelta(days=1), 0)):
        params = (
            ("deliveryDateFrom", str(day)),
            ("deliveryDateTo", str(day)),
            ("settlementPoint", "HB_HUBAVG"),
            ("size", "1000"),
        )
        request = Request(
            product.id, "https://api.ercot.com/api/public-reports/np4-190-cd/dam_stlmnt_pnt_prices", params
        )
        body = json.loads(ercot.answer(request, instant("2026-11-20T18:00:00Z")).body)
        assert (len(body["data"]), body["_meta"]["totalPages"], body["_meta"]["currentPage"]) == (
            count,
            int(count > 0),
            int(count > 0),
        )
