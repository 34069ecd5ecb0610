"""Test that brief, latest and snapshot are the published bytes and marked if stale, and that damage stays local."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.http.document import Document
from assets.documents import publishers
from assets.documents.publish import publish
from tests.api.conftest import NOW
from tests.stand_ins.shared import made_once
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder
from warehouse.store.stored_bytes import Identity


@pytest.fixture(scope="module")
def _published(_filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(home: Path) -> None:
        shutil.copytree(_filled, home)
        publish(Folder(home), NOW)

    return made_once(tmp_path_factory, "published", make)


@pytest.fixture
def published(rig: Any, _published: Path) -> Any:
    """Return a copy of the market with its documents, which are published once."""
    shutil.copytree(_published, rig.home)
    return rig


@pytest.mark.parametrize(
    ("path", "name"),
    [("/v1/latest/GB", "latest/GB.json"), ("/v1/brief/GB", "brief/GB.json"), ("/v1/map/snapshot", "snapshot.json")],
)
def test_answers_are_the_published_bytes(published: Any, path: str, name: str) -> None:
    client = published.client()
    answer = client.get(path, headers=published.key(client))
    assert answer.data == artefact.get(published.storage, name).body
    assert answer.content_type == "application/json"


def test_a_document_published_again_unchanged_keeps_its_tag(published: Any) -> None:
    client = published.client()
    headers = published.key(client)
    old = client.get("/v1/latest/GB", headers=headers)
    published.put_document("latest/GB.json", orjson.loads(old.data))
    assert client.get("/v1/latest/GB", headers={**headers, "If-None-Match": old.headers["ETag"]}).status_code == 304


def test_past_its_time_a_document_is_marked_stale_and_still_served(
    published: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    published.put_document("latest/GB.json", {"zone": "GB", "metrics": {}, "valid_until": published.now + 60})
    client = published.client()
    assert "X-EMDS-Stale" not in client.get("/v1/latest/GB?sample=true").headers
    monkeypatch.setenv("EMDS_NOW", "2026-03-30T12:11:01Z")
    answer = client.get("/v1/latest/GB?sample=true")
    assert (answer.status_code, answer.headers["X-EMDS-Stale"]) == (200, "true")


def test_simulated_figures_are_marked(rig: Any) -> None:
    rig.mode = "simulated"
    put_prices(rig, [60.0] * 48)
    rig.publish()
    publish(rig.storage, NOW)
    publishers.publish(rig.storage, rig.sources, (), rig.mode, NOW)
    client = rig.client()
    for path in ("/v1/price/GB", "/v1/latest/GB", "/v1/brief/GB", "/v1/map/snapshot", "/v1/publishers"):
        assert client.get(f"{path}?sample=true").headers["X-EMDS-Data"] == "simulated", path
    series = client.get("/v1/price/GB?sample=true").get_json()
    assert (series["license"], series["attribution"]) == ("none: simulated data", "SIMULATED, not market data")


def test_a_sample_of_latest_keeps_the_price_alone_and_is_marked(published: Any) -> None:
    answer = published.client().get("/v1/latest/GB?sample=true")
    assert answer.headers["X-Sample"] == "true"
    whole = artefact.load(published.storage, "latest/GB.json")
    sample = answer.get_json()
    assert sample.pop("sample") is True
    assert sample.pop("metrics") == {"price": whole["metrics"]["price"]}
    assert sample == {name: whole[name] for name in whole if name not in ("metrics", "generation_mix", "carbon_basis")}


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
        (
            [0.0] * 720 + [100.0 + i for i in range(720)] + [0.0],
            0,
            ", a level seen more than a quarter of the time in the past 30 days.",
        ),
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
        "Data covers at least 90% of the past 30 days for price. No ranking for interchange: "
    )
    assert sample["coverage_note"].endswith("No ranking for demand: a sample does not include it.")


def test_what_many_ask_for_at_once_is_made_once() -> None:
    """Check that threads share derived documents, because each takes megabytes while it is generated."""
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


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Fail the test if anything logs a traceback."""
    yield
    assert not [record for record in caplog.records if record.exc_info]


def cut(path: Path) -> None:
    """Keep only the first half of a file, as a full disk or a bad copy does."""
    body = path.read_bytes()
    path.write_bytes(body[: len(body) // 2])


def statuses(client: Any, headers: dict[str, str], *paths: str) -> list[int]:
    return [client.get(path, headers=headers).status_code for path in paths]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("harm", [cut, lambda path: path.write_bytes(b"{}"[:1]), lambda path: path.write_bytes(b"[]")])
def test_a_cut_document_is_503_and_the_others_go_on(everywhere: Any, harm: Any) -> None:
    client = everywhere.client()
    headers = everywhere.key(client)
    for name, path in (("latest/GB.json", "/v1/latest/GB"), ("snapshot.json", "/v1/map/snapshot")):
        harm(everywhere.home / "published" / name)
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.content_type) == (503, "application/problem+json"), path
        problem = answer.get_json()
        assert problem["type"].endswith("/problems/damaged-file")
        assert problem["document"] == name.removesuffix(".json")
        assert int(answer.headers["Retry-After"]) > 0
        assert client.get(f"{path}?sample=true").status_code == 503
    for others in ("/v1/latest/FR", "/v1/brief/GB", "/v1/price/GB", "/v1/zones", "/v1/status", "/catalog"):
        assert client.get(others, headers=headers).status_code == 200, others
    usage = client.get("/v1/usage", headers=headers).get_json()["quota"]
    assert usage["used"] == 3, "an answer that could not be given counts nothing"


@pytest.mark.usefixtures("quiet")
def test_an_unreadable_month_costs_its_zone_and_metric_alone(everywhere: Any) -> None:
    client = everywhere.client()
    headers = everywhere.key(client)
    for path in (everywhere.home / "series").rglob("*.parquet"):
        if "/price/" in str(path).replace("metric=", "") and "GB" in str(path):
            cut(path)
    answer = client.get("/v1/price/GB", headers=headers)
    problem = answer.get_json()
    assert answer.status_code == 503
    assert (problem["zone"], problem["metric"], problem["month"]) == ("GB", "price", "2026-03")
    assert "GB" in problem["detail"]
    assert "price" in problem["detail"]
    assert statuses(client, headers, "/v1/demand/GB", "/v1/price/DE-LU", "/v1/latest/GB") == [200, 200, 200]
    for more in ("interval=1h", "order=desc", "format=csv", "as_of=1774872600"):
        assert client.get(f"/v1/price/GB?{more}", headers=headers).status_code == 503, more


@pytest.mark.usefixtures("quiet")
def test_the_status_goes_on_where_the_record_of_a_source_is_garbage(everywhere: Any) -> None:
    client = everywhere.client()
    for garbage in (b"garbage", b"{}", b'{"feeds": [1]}', b'{"feeds": [{"feed": "x"}]}'):
        everywhere.storage.put(layout.published(layout.health("north")), garbage)
        answer = client.get("/v1/status")
        assert answer.status_code == 200
        states = {(entry["source"], entry["last_error"]) for entry in answer.get_json()["sources"]}
        assert any("cannot be read" in error for source, error in states if source == "north")
        assert not any("cannot be read" in error for source, error in states if source != "north")


@pytest.mark.usefixtures("quiet")
def test_without_a_readable_catalogue_descriptions_and_layers_are_served(everywhere: Any) -> None:
    for garbage in (b"garbage", b"{}", b'{"feeds": 1}'):
        everywhere.storage.put(layout.published(layout.CATALOGUE), garbage)
        client = everywhere.client()
        free = ("/healthz", "/docs", "/openapi.json", "/llms.txt", "/v1/geo/zones", "/", "/robots.txt")
        assert statuses(client, {}, *free) == [200] * len(free)
        closed = ("/readyz", "/v1/zones", "/v1/status", "/catalog", "/v1/price/GB?sample=true")
        assert statuses(client, {}, *closed) == [503] * len(closed)


@pytest.mark.usefixtures("quiet")
def test_it_starts_without_a_readable_mode(everywhere: Any) -> None:
    (everywhere.home / "mode").unlink()
    (everywhere.home / "mode").mkdir()
    assert everywhere.client().get("/v1/zones").status_code == 200
