"""`/v1/publishers`: the measured publishers as published, whole or by source, feed and month."""

from __future__ import annotations

from assets.documents import publishers
from tests.api.conftest import NOW, Rig, fill
from warehouse.documents import attempts


def measured(rig: Rig) -> None:
    fill(rig)
    attempts.note(rig.storage, "north.price", NOW - 60, 4, {"server": 2}, 900)
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)


def test_every_feed_that_has_rows_is_told_free_and_without_a_key(rig: Rig) -> None:
    measured(rig)
    answer = rig.client().get("/v1/publishers")
    assert answer.status_code == 200
    body = answer.get_json()
    assert {"as_of", "method", "docs", "months", "count", "publishers", "scores"} == set(body)
    assert body["count"] == len(body["publishers"]) > 5
    assert body["docs"] == "/docs/publishers"
    assert answer.headers["ETag"]
    assert rig.client().get("/v1/publishers", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    price = next(e for e in body["publishers"] if e["feed"] == "north.price" and e["month"] == "2026-03")
    assert price["failures"] == {"total": 2, "by_kind": {"server": 2}}


def test_filters_keep_what_fits_all_of_them_and_name_what_is_allowed(rig: Rig) -> None:
    measured(rig)
    client = rig.client()
    whole = client.get("/v1/publishers").get_json()["publishers"]
    for query, wanted in (
        ("source=south", {"source": "south"}),
        ("feed=north.mix", {"feed": "north.mix"}),
        ("month=2026-03&source=north", {"month": "2026-03", "source": "north"}),
        ("month=1999-01", {"month": "1999-01"}),
    ):
        part = client.get(f"/v1/publishers?{query}").get_json()
        assert part["publishers"] == [entry for entry in whole if wanted.items() <= entry.items()], query
        assert part["count"] == len(part["publishers"])
    for query, allowed in (
        ("source=nowhere", "north, shut, south"),
        ("feed=north", "north.price"),
        ("month=2026-13", "a month such as 2026-11"),
    ):
        answer = client.get(f"/v1/publishers?{query}")
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json"), query
        assert allowed in answer.text, query
