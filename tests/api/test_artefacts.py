"""Brief, latest and snapshot: the published bytes, one publication at a time, stale ones marked, samples cut."""

from __future__ import annotations

import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.documents.cache import Document, DocumentCache
from assets.documents.publish import publish
from tests.api.conftest import NOW
from warehouse.store import artefact
from warehouse.store.storage import Folder, Identity


@pytest.fixture(scope="module")
def _published(_filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("published") / "home"
    shutil.copytree(_filled, home)
    publish(Folder(home), NOW)
    return home


@pytest.fixture
def published(rig: Any, _published: Path) -> Any:
    """The market with its documents; a copy of one published once."""
    shutil.copytree(_published, rig.home)
    return rig


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/latest/GB", "latest/GB.json"),
        ("/v1/brief/GB", "brief/GB.json"),
        ("/v1/map/snapshot", "snapshot.json"),
    ],
)
def test_answers_are_the_published_bytes(published: Any, path: str, name: str) -> None:
    client = published.client()
    answer = client.get(path, headers=published.key(client))
    assert answer.data == artefact.get(published.storage, name).body
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
            published.put_document(
                "latest/GB.json", {"metrics": {}, "number": number, "filling": str(number) * 3000, "again": number}
            )

    writer = threading.Thread(target=publish_on)
    writer.start()
    try:
        for _ in range(300):
            answer = client.get("/v1/latest/GB?sample=true")
            body = answer.get_json()
            if "number" in body:
                assert body["filling"] == str(body["number"]) * 3000
                assert body["again"] == body["number"]
    finally:
        stop.set()
        writer.join()


def test_past_its_time_a_document_is_marked_stale_and_still_served(
    published: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_sample_of_latest_keeps_the_price_alone_and_is_marked(published: Any) -> None:
    answer = published.client().get("/v1/latest/GB?sample=true")
    assert answer.headers["X-Sample"] == "true"
    whole = artefact.load(published.storage, "latest/GB.json")
    sample = answer.get_json()
    assert sample.pop("sample") is True
    assert sample.pop("metrics") == {"price": whole["metrics"]["price"]}
    assert sample == {name: whole[name] for name in whole if name not in ("metrics", "generation_mix")}


def test_a_sample_of_a_snapshot_keeps_the_prices_alone(published: Any) -> None:
    client = published.client()
    sample = client.get("/v1/map/snapshot?sample=true").get_json()
    assert sample["sample"] is True
    assert len(sample["zones"]) == 25
    assert {metric for zone in sample["zones"].values() for metric in zone["metrics"]} == {"price"}
    assert not any("generation_mix" in zone for zone in sample["zones"].values())
    assert client.get("/v1/map/snapshot?sample=true&metric=price").get_json() == sample
    for metric in ("demand", "generation", "capacity", "heat"):
        assert client.get(f"/v1/map/snapshot?sample=true&metric={metric}").status_code == 400


def brief(metrics: tuple[str, ...]) -> dict[str, Any]:
    block = {
        "percentile": 86,
        "median": 41.25,
        "vs_median_pct": 12.5,
        "unit": "GBP/MWh",
        "confidence": "normal",
        "coverage": 1.0,
        "sample_count": 720,
    }
    parts = {"opening": "Great Britain.", **{m: f"{m} is 47, percentile 86." for m in metrics}}
    return {
        "zone": "GB",
        "zone_name": "Great Britain",
        "as_of": 1,
        "current": {m: {"value": 46.5, "unit": "GBP/MWh", "ts": 1} for m in metrics},
        "context": dict.fromkeys(metrics, block),
        "context_omitted": {},
        "context_window_requested_days": 30,
        "trend_24h": {m: {"direction": "rising", "change_pct": 3.1, "from_value": 45.0} for m in metrics},
        "trend_omitted": {},
        "generation_mix": {},
        "generation_mix_unit": "",
        "summary": " ".join(parts.values()),
        "summary_parts": parts,
        "summary_figures": {"at": "noon", **{m: {"value": 47} for m in metrics}},
        "coverage_note": "",
        "method": "brief/1",
        "attribution": "",
        "license": "",
        "valid_until": 2,
    }


@pytest.mark.parametrize(("metrics", "kept"), [(("price", "demand"), "price"), (("demand", "interchange"), "demand")])
def test_a_sample_of_a_brief_keeps_one_block_and_its_trend(published: Any, metrics: tuple[str, ...], kept: str) -> None:
    published.put_document("brief/GB.json", brief(metrics))
    sample = published.client().get("/v1/brief/GB?sample=true").get_json()
    assert sample["sample"] is True
    assert list(sample["context"]) == list(sample["trend_24h"]) == [kept]
    assert sample["context_omitted"] == sample["trend_omitted"] == {m: "sample" for m in metrics if m != kept}
    numbers = re.findall(r"-?\d+(?:\.\d+)?", sample["summary"])
    assert numbers
    rest = orjson.dumps(
        {name: member for name, member in sample.items() if name not in ("summary", "summary_parts")}
    ).decode()
    assert all(number in rest for number in numbers)
    assert list(sample["summary_figures"]) == ["at", kept]
    assert list(sample["summary_parts"]) == ["opening", kept, "sample"]
    assert sample["summary"] == " ".join(sample["summary_parts"].values())


def test_a_sample_of_a_brief_without_context_says_so(published: Any) -> None:
    sample = published.client().get("/v1/brief/GB?sample=true").get_json()
    assert sample["context"] == {}
    assert "too little history" in sample["summary"]


def sampled_and_whole(rig: Any, now: int) -> tuple[dict[str, Any], dict[str, Any]]:
    rig.publish()
    publish(rig.storage, now)
    whole = orjson.loads((rig.home / "published/brief/GB.json").read_bytes())
    return rig.client().get("/v1/brief/GB?sample=true").get_json(), whole


def put_prices(rig: Any, values: list[float]) -> None:
    step = 1800
    first = rig.now - rig.now % step - step * (len(values) - 1)
    rig.put(
        "north.price", "GB", "price", [(first + i * step, value) for i, value in enumerate(values)], "GBP/MWh", "30m"
    )


def put_demand(rig: Any) -> None:
    start = rig.now - rig.now % 300 - 300 * 8640
    rig.put("north.grid", "GB", "demand", rig.every(start, 300, 8641, lambda i: 30000 + i))


@pytest.mark.parametrize(
    ("prices", "late", "sentence"),
    [
        ([0.0] * 720 + [100.0 + i for i in range(720)] + [0.0], 0, ", as often in the last 30 days."),
        ([60.0] * 1440 + [-5.0], 0, "is negative at minus £5.00 a megawatt-hour"),
        ([60.0] * 1440 + [-5.0], 5 * 86400, "At 13:00 BST (12:00 UTC) the price of power was negative at minus £5.00"),
        ([60.0] * 1440 + [-5.0], 5 * 86400, "A newer value was due by 2026-03-30 14:"),
    ],
)
def test_a_sample_says_of_its_metric_what_the_whole_brief_says(
    rig: Any, prices: list[float], late: int, sentence: str
) -> None:
    put_prices(rig, prices)
    put_demand(rig)
    sample, whole = sampled_and_whole(rig, rig.now + late)
    assert sentence in sample["summary"]
    assert sample["summary_parts"] == {
        **{m: part for m, part in whole["summary_parts"].items() if m != "demand"},
        "sample": sample["summary_parts"]["sample"],
    }
    assert "Demand" not in sample["summary"]
    assert "demand" not in sample["summary_figures"]
    assert sample["coverage_note"].startswith(
        "Nine tenths of the last 30 days or more observed for price. No context for interchange: "
    )
    assert sample["coverage_note"].endswith("No context for demand: a sample leaves it out.")


def test_a_sample_says_what_is_missing_and_that_figures_are_simulated(rig: Any) -> None:
    rig.mode = "simulated"
    put_demand(rig)
    sample, _ = sampled_and_whole(rig, rig.now)
    assert list(sample["context"]) == ["demand"]
    assert "No price is known." in sample["summary"]
    assert "Simulated figures, not market data." in sample["summary"]


def test_a_brief_published_before_its_summary_had_parts_still_gives_a_sample(published: Any) -> None:
    older = {name: member for name, member in brief(("price",)).items() if name != "summary_parts"}
    published.put_document("brief/GB.json", older)
    assert published.client().get("/v1/brief/GB?sample=true").get_json()["summary"].startswith("This is a sample: ")


def test_a_server_sees_a_new_publication_within_the_time_that_it_was_given(
    published: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    documents = DocumentCache(published.storage, ttl_s=0.2)
    first = documents.get("latest/GB.json")
    assert documents.get("latest/GB.json") is first
    body = published.put_document("latest/GB.json", {"new": True})
    assert documents.get("latest/GB.json") is first
    now[0] += 0.21
    document = documents.get("latest/GB.json")
    assert document is not None
    assert document.body == body


def test_what_many_ask_for_at_once_is_made_once() -> None:
    """A compressed catalogue or a description takes megabytes while it is made: not for each thread."""
    document, made, barrier = Document("x", b"1" * 5000, Identity(1, 5000, 1)), [], threading.Barrier(8)

    def make(document: Document) -> int:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return document.derive("inner", lambda _: 7)  # type: ignore[no-any-return]

    def ask(_: int) -> tuple[int, bytes]:
        barrier.wait(10)
        return document.derive("outer", make), document.coded("br")

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert {number for number, _ in results} == {7}
    assert len({id(packed) for _, packed in results}) == 1
