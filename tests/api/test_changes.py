"""Test `/v1/changes`: the entries that folds write, cursors, filters and pages, bounds, validators and refusals."""

from __future__ import annotations

import time

import pytest

from api.documents import changes
from tests.api.conftest import NOW, Rig
from warehouse.market.clock import DAY
from warehouse.series import change_log
from warehouse.series.change_log import Change

START = NOW - NOW % 3600 - 86400


def put(
    rig: Rig, value: float, zone: str = "GB", metric: str = "demand", feed: str = "north.grid", at: int = 0
) -> None:
    rig.put(feed, zone, metric, [(START + at * 3600, value)], "MW", "1h")


@pytest.fixture
def five_changes(rig: Rig) -> Rig:
    """Return a warehouse with five changes of three series and, as the last one, a correction."""
    for n, zone in enumerate(("GB", "AU-NSW", "GB", "DE-LU")):
        put(rig, n, zone, at=n)
    rig.put("north.auction", "US-NYISO", "price_day_ahead", [(START, 40.0)], "USD/MWh", "1h")
    put(rig, 7, "GB")
    rig.publish()
    return rig


def test_entries_come_in_order_free_and_without_a_key(five_changes: Rig) -> None:
    answer = five_changes.client().get("/v1/changes")
    assert answer.status_code == 200
    body = answer.get_json()
    assert [(e["zone"], e["metric"], e["added"], e["changed"], e["withdrawn"]) for e in body["entries"]] == [
        ("GB", "demand", 1, 0, 0),
        ("AU-NSW", "demand", 1, 0, 0),
        ("GB", "demand", 1, 0, 0),
        ("DE-LU", "demand", 1, 0, 0),
        ("US-NYISO", "price", 1, 0, 0),
        ("GB", "demand", 0, 1, 0),
    ]
    assert body["entries"][4]["market"] == "day_ahead"
    assert body["entries"][0]["feed"] == "north.grid"
    assert body["entries"][2]["first"] == body["entries"][2]["last"] == START + 2 * 3600
    assert body["next"] == body["entries"][-1]["id"]
    assert body["more"] is False
    assert abs(body["entries"][0]["at"] - time.time()) < 3600
    assert answer.headers["Cache-Control"] == "no-cache"
    again = five_changes.client().get("/v1/changes", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_a_cursor_goes_on_behind_the_page(five_changes: Rig) -> None:
    client, seen, page = five_changes.client(), [], "/v1/changes?limit=2&zone=GB,FR,DE-LU,US-NYISO,US-PJM,AU-NSW"
    while page:
        answer = client.get(page)
        body = answer.get_json()
        seen += [entry["id"] for entry in body["entries"]]
        link = answer.headers.get("Link", "")
        assert bool(link) is body["more"]
        page = link.removeprefix("<http://emds.example").removesuffix('>; rel="next"')
        assert not page or page.endswith(f"&since={body['next']}")
    assert seen == [entry["id"] for entry in client.get("/v1/changes").get_json()["entries"]]
    assert client.get(f"/v1/changes?since={seen[3]}").get_json()["count"] == 2
    now = client.get("/v1/changes?since=now").get_json()
    assert now["entries"] == []
    assert now["next"] == seen[-1]


def test_filters_and_what_is_refused(five_changes: Rig) -> None:
    client = five_changes.client()
    every = client.get("/v1/changes").get_json()
    for query, count in (
        ("zone=GB,DE-LU", 4),
        ("metric=price", 1),
        ("feed=north.grid", 5),
        ("zone=AU-NSW&metric=price", 0),
    ):
        body = client.get(f"/v1/changes?{query}").get_json()
        assert len(body["entries"]) == body["count"] == count, query
        assert body["next"] == every["next"], query
    for query in ("since=lately", "since=", "zone=XX", "metric=prices", "feed=none.such", "limit=1001", "start=1"):
        answer = client.get(f"/v1/changes?{query}")
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json"), query


@pytest.mark.parametrize("cursor", ["00000000-3", "{log}-99999", "{log}-7"])
def test_an_unknown_cursor_is_gone(five_changes: Rig, cursor: str) -> None:
    client = five_changes.client()
    log = client.get("/v1/changes").get_json()["next"].partition("-")[0]
    answer = client.get(f"/v1/changes?since={cursor.format(log=log)}")
    assert answer.status_code == 410
    body = answer.get_json()
    assert body["type"].endswith("/problems/cursor-gone")
    assert client.get(f"/v1/changes?since={body['oldest']}").get_json()["count"] == 6


def test_an_empty_warehouse_has_a_cursor_to_begin_with(rig: Rig) -> None:
    rig.publish()
    client = rig.client()
    body = client.get("/v1/changes").get_json()
    assert body["entries"] == []
    put(rig, 1)
    assert client.get(f"/v1/changes?since={body['next']}").get_json()["count"] == 1


def test_an_entry_waits_until_no_cache_holds_older_rows(five_changes: Rig) -> None:
    """Check that a worker that may serve rows up to `lag_s` old reports no younger entry."""
    wanted = changes.ChangeFilter()
    now = int(time.time())
    assert changes.page(five_changes.storage, None, 100, wanted, 0)["count"] == 6
    change_log.append(five_changes.storage, Change("GB", "demand", None, 1, 1, 1, 0, 0), "t", now + 3)
    assert changes.page(five_changes.storage, None, 100, wanted, 0.4)["count"] <= 6
    assert changes.page(five_changes.storage, None, 100, wanted, 0)["count"] == 7
    held = changes.page(five_changes.storage, changes.NOW, 100, wanted, 0.4)["next"]
    assert changes.page(five_changes.storage, held, 100, wanted, 0)["count"] >= 1


def test_documents_that_follow_are_named(five_changes: Rig) -> None:
    """Check documents that follow rows of the last month. NOW is earlier than the real time that dates entries."""
    recent = int(time.time()) // 3600 * 3600
    briefs = ["/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot"]
    of_map = ["/v1/geo/live", "/v1/geo/live/hours", "/v1/geo/live/GB"]
    for zone, metric, ts, published in (
        ("GB", "demand", recent, [*briefs, *of_map]),
        ("GB", "demand", recent - 10 * DAY, briefs),
        ("GB", "demand", recent - 40 * DAY, []),
        ("GB", "price", recent + DAY, [*briefs, *of_map]),
        ("US-NYISO", "price_day_ahead", recent, []),
        ("US-NYISO", "price_day_ahead", recent + DAY, ["/v1/windows/US-NYISO"]),
        ("DE-LU", "capacity", recent, []),
        # A pipeline with more zones writes to the warehouse while this process still covers fewer.
        ("ZZ-9", "demand", recent, []),
    ):
        change_log.append(five_changes.storage, Change(zone, metric, None, ts, ts, 1, 0, 0), "t", int(time.time()))
        entry = five_changes.client().get("/v1/changes").get_json()["entries"][-1]
        assert entry["published"] == published, (zone, metric)


def test_a_log_that_cannot_be_read_is_no_invention(five_changes: Rig) -> None:
    five_changes.storage.put("changes/log/00000000.json", b"spoilt")
    answer = five_changes.client().get("/v1/changes")
    assert answer.status_code == 410
    rest = five_changes.client().get(f"/v1/changes?since={answer.get_json()['oldest']}")
    assert rest.status_code == 200
    assert rest.get_json()["entries"] == []
