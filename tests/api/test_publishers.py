"""`/v1/publishers`: the measured publishers as published, whole or by source, feed and month."""

from __future__ import annotations

import pytest

from assets.documents import publishers
from tests.api.conftest import NOW, Rig, fill
from warehouse.documents import attempts
from warehouse.store import layout


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


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ("source=south", lambda e: e["source"] == "south"),
        ("feed=north.mix", lambda e: e["feed"] == "north.mix"),
        ("month=2026-03&source=north", lambda e: e["month"] == "2026-03" and e["source"] == "north"),
        ("month=1999-01", lambda e: False),
    ],
)
def test_filters_keep_what_fits_all_of_them(rig: Rig, query: str, fits) -> None:
    measured(rig)
    client = rig.client()
    whole, part = (client.get(path).get_json() for path in ("/v1/publishers", f"/v1/publishers?{query}"))
    assert part["publishers"] == [entry for entry in whole["publishers"] if fits(entry)]
    assert part["count"] == len(part["publishers"])


@pytest.mark.parametrize(
    ("query", "allowed"),
    [
        ("source=nowhere", "north, shut, south"),
        ("feed=north", "north.price"),
        ("month=2026-13", "a month such as 2026-11"),
        ("month=", "a month such as 2026-11"),
        ("zone=GB", "unknown parameter"),
        ("feed=north.mix&feed=north.grid", "more than once"),
    ],
)
def test_a_wrong_parameter_names_what_is_allowed(rig: Rig, query: str, allowed: str) -> None:
    measured(rig)
    answer = rig.client().get(f"/v1/publishers?{query}")
    assert answer.status_code == 400
    assert answer.content_type == "application/problem+json"
    assert allowed in answer.get_data(as_text=True)


def test_its_definitions_are_a_page(rig: Rig) -> None:
    fill(rig)
    page = rig.client().get("/docs/publishers")
    assert page.status_code == 200
    assert "nearest rank" in page.get_data(as_text=True)


def test_before_the_first_measurement_it_is_not_available_yet(rig: Rig) -> None:
    fill(rig)
    answer = rig.client().get("/v1/publishers")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]


def test_a_damaged_document_is_503_and_measured_anew(rig: Rig) -> None:
    measured(rig)
    rig.storage.put(layout.published(layout.PUBLISHERS), b'{"publishers": [')
    assert rig.client().get("/v1/publishers").status_code == 503
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)
    assert rig.client().get("/v1/publishers").status_code == 200


def test_simulated_figures_are_marked(rig: Rig) -> None:
    rig.mode = "simulated"
    measured(rig)
    assert rig.client().get("/v1/publishers").headers["X-EMDS-Data"] == "simulated"
