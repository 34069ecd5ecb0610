"""Simulated ERCOT: listings, zips, pages and dashboards hold the model's values, on time, shaped as recorded."""

from __future__ import annotations

import csv
import io
import json
import time
import zipfile
from datetime import date, timedelta

import numpy as np
import pytest

from assets.simulated import ercot, grid
from assets.simulated.ercot import dashboards, prices
from assets.simulated.ercot import documents as document_list
from assets.sources import feed
from assets.sources.ercot import TIES, TZ
from warehouse import clock
from warehouse.clock import DAY, HOUR, MarketDay, instant, iso, local_date
from warehouse.errors import NotPublished
from warehouse.market import Request

ZONE = "US-ERCOT"
ORDINARY, SPRING, AUTUMN = (MarketDay(day, TZ) for day in (date(2026, 11, 20), date(2026, 3, 8), date(2026, 11, 1)))
DAYS = [ORDINARY, SPRING, AUTUMN]
POINTS = prices.POINTS
days = pytest.mark.parametrize("day", DAYS, ids=str)


def starts(day, step):
    return np.arange(day.start, day.end, step)


def same(readings, day, step, truth, digits):
    assert [r.ts for r in readings] == starts(day, step).tolist()
    assert [r.value for r in readings] == np.round(truth, digits).tolist()


@days
@pytest.mark.parametrize("later", [DAY // 2, 60 * DAY], ids=["listed", "keyed"])
def test_prices_are_the_grids_from_listings_and_from_the_keyed_api(day, later, ask, inside):
    now = iso(day.end + later)
    rows, refused = ask("ercot.spp_rt", [day], now)
    same(inside(rows, day, "price", ZONE), day, 900, grid.price(ZONE, starts(day, 900), 900), 2)
    assert len(rows) == len(starts(day, 900))
    rows, more = ask("ercot.spp_da", [day], now)
    same(
        inside(rows, day, "price_day_ahead", ZONE), day, HOUR, grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"), 2
    )
    assert not refused + more


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


@days
def test_a_whole_day_of_dashboards_is_the_grids(day, ask, inside):
    rows, _ = ask("ercot.system_wide_prices", [day], iso(day.end + 5 * 60))
    same(inside(rows, day, "price", ZONE), day, 900, grid.price(ZONE, starts(day, 900), 900), 2)
    same(
        inside(rows, day, "price_day_ahead", ZONE), day, HOUR, grid.price(ZONE, starts(day, HOUR), HOUR, "day_ahead"), 2
    )
    rows, _ = ask("ercot.load", [day], iso(day.end - 60))
    rows.merge(ask("ercot.load", [day.next()], iso(day.end + 5 * 60))[0])
    same(inside(rows, day, "demand", ZONE), day, 300, grid.demand(ZONE, starts(day, 300)), 0)
    rows, _ = ask("ercot.load_hourly", [day], iso(day.end + 11 * HOUR))
    same(inside(rows, day, "demand", ZONE), day, HOUR, grid.demand(ZONE, starts(day, HOUR), HOUR), 2)


@days
def test_ties_and_their_net_are_the_grids(day, ask, inside):
    rows, _ = ask("ercot.dc_ties", [day], iso(day.end + 140))
    ties = {tie.id: np.round(grid.inflow(ZONE, tie, starts(day, 300))) for tie in grid.ties(ZONE)}
    same(inside(rows, day, "interchange", ZONE), day, 300, sum(ties.values()), 0)
    assert {r.link for r in rows} - {None} == set(ties) == {link for name, (_, link) in TIES.items() if name != "dcS"}
    for link, truth in ties.items():
        assert [r.value for r in rows if r.link == link] == truth.tolist()


def test_a_running_day_says_what_is_out(ask):
    now = "2026-11-20T12:07:30-06:00"
    newest = {
        name: max(r.ts for r in ask(f"ercot.{name}", [ORDINARY], now)[0] if r.metric != "price_day_ahead")
        for name in (
            "spp_rt",
            "system_wide_prices",
            "load",
            "load_hourly",
            "dc_ties",
        )
    }
    assert {name: iso(ts) for name, ts in newest.items()} == {
        "spp_rt": "2026-11-20T17:45:00Z",
        "system_wide_prices": "2026-11-20T17:45:00Z",
        "load": "2026-11-20T18:05:00Z",
        "load_hourly": "2026-11-20T16:00:00Z",
        "dc_ties": "2026-11-20T18:05:00Z",
    }


def test_a_new_day_begins_with_its_midnight(ask):
    rows, _ = ask("ercot.load", [ORDINARY], iso(ORDINARY.start + 130))
    assert [r.ts for r in rows] == [ORDINARY.start]
    rows, _ = ask("ercot.dc_ties", [ORDINARY], iso(ORDINARY.start + 150))
    assert {r.ts for r in rows} == {ORDINARY.start}


@pytest.mark.parametrize("later", [0, 60 * DAY], ids=["listed", "keyed"])
def test_the_auction_is_out_half_past_noon_of_the_day_before(later, monkeypatch, ask):
    tomorrow = MarketDay(local_date(ORDINARY.start, TZ), TZ).next()
    if later:  # Only past days are requested from the keyed API: move two months on.
        monkeypatch.setenv("EMDS_NOW", iso(tomorrow.end + later))
        (request,) = feed("ercot.spp_da").requests([tomorrow], clock.now())
        early, late = (ercot.answer(request, instant(f"2026-11-20T12:{m}:00-06:00")).body for m in (32, 33))
        with pytest.raises(NotPublished):
            feed("ercot.spp_da").parse(early, request)
        assert len(feed("ercot.spp_da").parse(late, request)) == 24
    else:
        assert not len(ask("ercot.spp_da", [tomorrow], "2026-11-20T12:32:00-06:00")[0])
        assert len(ask("ercot.spp_da", [tomorrow], "2026-11-20T12:33:00-06:00")[0]) == 24


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


def test_a_zip_is_asked_for_and_read_in_under_two_milliseconds(monkeypatch):
    """A backfill of 35 days asks for some 3,000 of them."""
    monkeypatch.setenv("EMDS_NOW", "2026-11-20T18:00:00Z")
    product, now, started = feed("ercot.spp_rt"), instant("2026-11-20T18:00:00Z"), time.process_time()
    (listing,) = product.requests([ORDINARY.next(-2), ORDINARY.next(-1)], now)
    requests = product.follow(ercot.answer(listing, now).body, listing)
    rows = sum(len(product.parse(ercot.answer(request, now).body, request)) for request in requests)
    assert rows == len(requests) == 192
    assert time.process_time() - started < 192 * 0.002


@pytest.mark.parametrize("number", ["1", "1007963444x", "", "1007963440", "2000000000", "9" * 30])
def test_numbers_that_no_document_bears_are_not_there(number):
    assert fetch(number, instant("2026-11-20T12:07:30-06:00")).status == 404


def test_a_document_is_there_from_its_hour_until_it_expires():
    now = instant("2026-11-20T12:07:30-06:00")
    (number,) = {d["DocID"] for d in documents(now) if d["FriendlyName"] == "SPPHLZNP6905_20261120_1200_csv"}
    at = instant("2026-11-20T12:02:01-06:00")
    assert [fetch(number, ts).status for ts in (at - 1, at, at + 5 * DAY, at + 6 * DAY)] == [404, 200, 200, 404]


def test_other_addresses_are_not_there():
    for path in (
        "/",
        "/api/1/services/read/dashboards/fuel-mix.json",
        "/api/public-reports/np6-345-cd/act_sys_load_by_wzn",
    ):
        assert (
            ercot.answer(Request("ercot.load", f"https://www.ercot.com{path}"), instant("2026-11-20T12:00:00Z")).status
            == 404
        )
    assert documents(instant("2026-11-20T12:00:00Z"), "13060") == []
    assert ercot.answer(Request("ercot.spp_da", f"https://api.ercot.com{next(iter(ercot.KEYED))}"), 0).status == 400


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


def test_the_keyed_api_writes_the_recorded_bodies(recorded):
    for day in ("20260308", "20260923"):
        body, rows = recorded(f"ercot/np4-190-cd_dam_spp_HB_HUBAVG_{day}.json")
        params = f"{day[:4]}-{day[4:6]}-{day[6:]}"
        query = {"deliveryDateFrom": params, "deliveryDateTo": params, "settlementPoint": "HB_HUBAVG"}
        stated = [(prices.label(r.ts), "HB_HUBAVG", r.value) for r in rows]
        made = prices.render_keyed(prices.DAY_AHEAD, query, stated, 1, 100)
        assert json.dumps(json.loads(made)) == json.dumps(json.loads(body))


def test_of_the_repeated_hour_the_keyed_api_lists_the_second_pass_first():
    hours = range(AUTUMN.start + HOUR, AUTUMN.start + 3 * HOUR, HOUR)
    stated = [(prices.label(ts), "HB_HUBAVG", 48.25) for ts in hours]
    body = json.loads(prices.render_keyed(prices.DAY_AHEAD, {}, stated, 1, 100))
    assert body["data"] == [
        ["2026-11-01", "02:00", "HB_HUBAVG", 48.25, True],
        ["2026-11-01", "02:00", "HB_HUBAVG", 48.25, False],
    ]


def test_the_auctions_csv_is_the_recorded_one(recordings):
    body = (recordings / "ercot/dam_spp_12331_20260823_EXCERPT.csv").read_bytes()
    start = MarketDay(date(2026, 8, 23), TZ).start
    made = prices.render_day_ahead([start, start + HOUR], {"HB_NORTH": [30.98, 26.93], "HB_HUBAVG": [31.63, 27.53]})
    assert made == body


def test_listings_look_like_the_recorded_one(recordings):
    listed = json.loads((recordings / "ercot/mis_doclist_12331.json").read_bytes())["ListDocsByRptTypeRes"][
        "DocumentList"
    ]
    ours = documents(instant("2026-10-03T13:00:00-05:00"), "12331")[:4]
    for mine, theirs in zip(ours, (entry["Document"] for entry in listed), strict=True):
        assert list(mine) == list(theirs)
        plain = {"ContentSize", "DocID", "ConstructedName", "PublishDate"}
        assert {k: v for k, v in mine.items() if k not in plain} == {k: v for k, v in theirs.items() if k not in plain}
        assert instant(mine["PublishDate"]) == pytest.approx(instant(theirs["PublishDate"]), abs=3)
        assert mine["PublishDate"][-6:] == theirs["PublishDate"][-6:]
        shapes = [(len(part), part.isdigit()) for part in mine["ConstructedName"].split(".")]
        assert shapes == [(len(part), part.isdigit()) for part in theirs["ConstructedName"].split(".")]


def test_the_page_of_prices_is_the_recorded_one(recordings):
    body = json.loads((recordings / "ercot/system-wide-prices_20260905_EXCERPT.json").read_bytes())
    names = {name: point for point, name in dashboards.IN_PAGE.items()}
    stated = {
        part: (
            [row["interval"] // 1000 for row in body[part]],
            {p: [row[n] for row in body[part]] for n, p in names.items()},
        )
        for part in ("rtSppData", "damSppData")
    }
    made = dashboards.render_prices(instant("2026-09-05T20:02:00-05:00"), stated["rtSppData"], stated["damSppData"])
    assert json.dumps(json.loads(made)) == json.dumps(body)


def test_the_page_of_ties_is_the_recorded_one(recordings):
    body = json.loads((recordings / "ercot/dc-tie-flows_20260905_EXCERPT.json").read_bytes())
    rows = body["data"]
    flows = {name: [row[name] for row in rows] for name in ("dcE", "dcN", "dcL", "dcR")}
    assert list(dashboards.LINES) == list(flows)
    made = dashboards.render_dc_ties(
        [row["epoch"] // 1000 for row in rows],
        flows,
        [row["currentFrequency"] for row in rows],
        [row["currentSystemInertia"] for row in rows],
    )
    assert json.dumps(json.loads(made)) == json.dumps(body)


def test_the_page_of_hourly_demand_is_the_recorded_one_but_for_what_came_later(recordings):
    """Since 2024 stamps have an offset and stand in every row too; `lastUpdate` became `lastUpdated`."""
    body = json.loads((recordings / "ercot/loadForecastVsActual_20230201.json").read_bytes())
    stated = {
        name: [
            {"end": row["epoch"] // 1000}
            | {k: v for k, v in row.items() if k not in ("hourEnding", "dstFlag", "epoch")}
            for row in body[name]["data"]
        ]
        for name in ("previousDay", "currentDay", "nextDay")
    }
    made = json.loads(dashboards.render_hourly_demand(instant("2023-02-02T04:15:06-06:00"), stated))
    assert made.pop("lastUpdated") == body.pop("lastUpdate") + "-0600"
    assert list(made) == list(body)
    for day in made.values():
        day["dayDate"] = day["dayDate"].removesuffix("-0600")
        for row in day["data"]:
            assert instant(row.pop("timestamp")) * 1000 == row["epoch"]
    assert json.dumps(made) == json.dumps(body)


def test_the_page_of_supply_and_demand_has_readings_then_forecasts():
    """As documented, with the counts of 5 September 2026: 241 readings, 48 forecasts and 144 hours at 20:04."""
    body = json.loads(dashboards.page("supply-demand", instant("2026-09-05T20:04:53-05:00")))
    assert body["lastUpdated"] == "2026-09-05 20:00:00-0500"
    assert [row["forecast"] for row in body["data"]] == [0] * 241 + [1] * 48
    assert len(body["forecast"]) == 144
    first, last, hour = body["data"][0], body["data"][-1], body["forecast"][-1]
    assert list(first) == ["capacity", "demand", "forecast", "dstFlag", "interval", "hourEnding", "timestamp", "epoch"]
    assert list(last) == [*list(first)[:6], "available", *list(first)[6:]]
    assert [(r["hourEnding"], r["interval"], r["timestamp"], r["epoch"]) for r in (first, last)] == [
        (0, 0, "2026-09-05 00:00:00-0500", 1788584400000),
        (24, 0, "2026-09-06 00:00:00-0500", 1788670800000),
    ]
    del hour["availCapGen"], hour["forecastedDemand"]
    assert hour == {
        "deliveryDate": "2026-09-11",
        "dstFlag": "N",
        "hourEnding": 24,
        "deliveryDateHrBegin": "2026-09-11 23:00:00",
        "deliveryDateHrEnd": "2026-09-12 00:00:00",
        "timestamp": "2026-09-12 00:00:00-0500",
        "epoch": 1789189200000,
    }


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
