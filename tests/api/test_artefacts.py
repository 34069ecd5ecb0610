"""Brief, latest and snapshot: the published bytes, one publication at a time, stale ones marked, samples cut."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import orjson
import pytest

from api.published import Shelf
from assets.publish import publish


@pytest.fixture
def published(market: Any) -> Any:
    publish(market.storage, market.now)
    return market


@pytest.mark.parametrize(("path", "name"), [
    ("/v1/latest/GB", "latest/GB.json"), ("/v1/brief/GB", "brief/GB.json"), ("/v1/map/snapshot", "snapshot.json"),
])
def test_answers_are_the_published_bytes(published: Any, path: str, name: str) -> None:
    client = published.client()
    answer = client.get(path, headers=published.key(client))
    assert answer.data == (published.home / "published" / name).read_bytes()
    assert answer.content_type == "application/json"


def test_a_new_publication_is_served_at_once(published: Any) -> None:
    client = published.client()
    headers = published.key(client)
    old = client.get("/v1/latest/GB", headers=headers)
    body = published.put_document("latest/GB.json", {**old.get_json(), "updated": published.now + 1})
    new = client.get("/v1/latest/GB", headers=headers)
    assert new.data == body
    assert new.headers["ETag"] != old.headers["ETag"]


def test_a_document_published_again_unchanged_keeps_its_tag(published: Any) -> None:
    client = published.client()
    headers = published.key(client)
    old = client.get("/v1/latest/GB", headers=headers)
    published.put_document("latest/GB.json", orjson.loads(old.data))
    assert client.get("/v1/latest/GB", headers={**headers, "If-None-Match": old.headers["ETag"]}).status_code == 304


def test_readers_never_see_a_torn_document(published: Any) -> None:
    client = published.client()
    stop = threading.Event()

    def publish_on() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            published.put_document("latest/GB.json", {"metrics": {}, "number": number, "filling": str(number) * 3000, "again": number})

    writer = threading.Thread(target=publish_on)
    writer.start()
    try:
        for _ in range(300):
            answer = client.get("/v1/latest/GB?sample=true")
            found = answer.get_json()
            if "number" in found:
                assert found["filling"] == str(found["number"]) * 3000
                assert found["again"] == found["number"]
    finally:
        stop.set()
        writer.join()


def test_past_its_time_a_document_is_marked_stale_and_still_served(published: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"price": {"expected_by": published.now + 60}}
    published.put_document("latest/GB.json", {"zone": "GB", "metrics": metrics, "valid_until": published.now + 900})
    client = published.client()
    assert "X-EMDS-Stale" not in client.get("/v1/latest/GB?sample=true").headers
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:11:01Z")
    answer = client.get("/v1/latest/GB?sample=true")
    assert (answer.status_code, answer.headers["X-EMDS-Stale"]) == (200, "true")


def test_simulated_documents_are_marked(published: Any) -> None:
    published.mode = "simulated"
    published.publish()
    assert published.client().get("/v1/map/snapshot?sample=true").headers["X-EMDS-Data"] == "simulated"


def test_a_sample_of_latest_is_whole_and_marked(published: Any) -> None:
    answer = published.client().get("/v1/latest/GB?sample=true")
    assert answer.headers["X-Sample"] == "true"
    assert answer.get_json() == {**orjson.loads((published.home / "published/latest/GB.json").read_bytes()), "sample": True}


def test_a_sample_of_a_snapshot_keeps_one_metric_of_every_zone(published: Any) -> None:
    client = published.client()
    found = client.get("/v1/map/snapshot?sample=true").get_json()
    assert found["sample"] is True
    assert len(found["zones"]) == 25
    assert {metric for zone in found["zones"].values() for metric in zone["metrics"]} == {"price"}
    demand = client.get("/v1/map/snapshot?sample=true&metric=demand").get_json()
    assert {metric for zone in demand["zones"].values() for metric in zone["metrics"]} == {"demand"}
    assert client.get("/v1/map/snapshot?metric=demand").status_code == 400
    assert client.get("/v1/map/snapshot?sample=true&metric=heat").status_code == 400


def brief(metrics: tuple[str, ...]) -> dict[str, Any]:
    block = {"percentile": 86, "median": 41.25, "vs_median_pct": 12.5, "unit": "GBP/MWh"}
    return {
        "zone": "GB", "zone_name": "Great Britain", "as_of": 1,
        "current": {m: {"value": 46.5, "unit": "GBP/MWh", "ts": 1} for m in metrics},
        "context": dict.fromkeys(metrics, block), "context_omitted": {}, "context_window_requested_days": 30,
        "trend_24h": {m: {"direction": "rising", "change_pct": 3.1, "from_value": 45.0} for m in metrics}, "trend_omitted": {},
        "generation_mix": {}, "generation_mix_unit": "", "summary": "Long.", "summary_figures": {"price": {"value": 47}},
        "coverage_note": "", "method": "brief/1", "attribution": "", "license": "", "valid_until": 2,
    }


@pytest.mark.parametrize(("metrics", "kept"), [(("price", "demand"), "price"), (("demand", "interchange"), "demand")])
def test_a_sample_of_a_brief_keeps_one_block_and_its_trend(published: Any, metrics: tuple[str, ...], kept: str) -> None:
    published.put_document("brief/GB.json", brief(metrics))
    found = published.client().get("/v1/brief/GB?sample=true").get_json()
    assert found["sample"] is True
    assert list(found["context"]) == list(found["trend_24h"]) == [kept]
    assert found["context_omitted"] == found["trend_omitted"] == {m: "sample" for m in metrics if m != kept}
    numbers = re.findall(r"-?\d+(?:\.\d+)?", found["summary"])
    assert numbers
    rest = orjson.dumps({name: member for name, member in found.items() if name != "summary"}).decode()
    assert all(number in rest for number in numbers)


def test_a_sample_of_a_brief_without_context_says_so(published: Any) -> None:
    published.put_document("brief/GB.json", {**brief(()), "context": {}, "trend_24h": {}})
    assert "too little history" in published.client().get("/v1/brief/GB?sample=true").get_json()["summary"]


def test_a_server_sees_a_new_publication_within_the_time_that_it_was_given(published: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shelf = Shelf(published.storage, trust_s=0.2)
    first = shelf.get("latest/GB.json")
    assert shelf.get("latest/GB.json") is first
    body = published.put_document("latest/GB.json", {"new": True})
    assert shelf.get("latest/GB.json") is first
    now[0] += 0.21
    found = shelf.get("latest/GB.json")
    assert found is not None
    assert found.body == body
