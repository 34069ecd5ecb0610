"""Damaged files cost their own answers alone: 503 that names zone and metric, never a wrong figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warehouse.store import layout

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Fails where anything logs a traceback."""
    yield
    assert not [record for record in caplog.records if record.exc_info]


def cut(path: Path) -> None:
    """Leaves the first half of a file, as a full disk or a bad copy does."""
    body = path.read_bytes()
    path.write_bytes(body[: len(body) // 2])


def statuses(client: Any, headers: dict[str, str], *paths: str) -> list[int]:
    return [client.get(path, headers=headers).status_code for path in paths]


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


def test_the_status_goes_on_where_the_record_of_a_source_is_garbage(everywhere: Any) -> None:
    client = everywhere.client()
    for garbage in (b"garbage", b"{}", b'{"feeds": [1]}', b'{"feeds": [{"feed": "x"}]}'):
        everywhere.storage.put(layout.published(layout.health("north")), garbage)
        answer = client.get("/v1/status")
        assert answer.status_code == 200
        states = {(entry["source"], entry["last_error"]) for entry in answer.get_json()["sources"]}
        assert any("cannot be read" in error for source, error in states if source == "north")
        assert not any("cannot be read" in error for source, error in states if source != "north")


def test_without_a_readable_catalogue_descriptions_and_layers_are_served(everywhere: Any) -> None:
    for garbage in (b"garbage", b"{}", b'{"feeds": 1}'):
        everywhere.storage.put(layout.published(layout.CATALOGUE), garbage)
        client = everywhere.client()
        free = ("/healthz", "/docs", "/openapi.json", "/llms.txt", "/v1/geo/zones", "/", "/robots.txt")
        assert statuses(client, {}, *free) == [200] * len(free)
        closed = ("/readyz", "/v1/zones", "/v1/status", "/catalog", "/v1/price/GB?sample=true")
        assert statuses(client, {}, *closed) == [503] * len(closed)


def test_an_unreadable_file_is_told_like_a_damaged_one(everywhere: Any, unprivileged: Any) -> None:
    unprivileged(everywhere)
    (everywhere.home / "published" / "latest" / "GB.json").chmod(0)
    client = everywhere.client()
    assert client.get("/v1/latest/GB?sample=true").status_code == 503


def test_it_starts_without_a_readable_mode(everywhere: Any) -> None:
    (everywhere.home / "mode").unlink()
    (everywhere.home / "mode").mkdir()
    assert everywhere.client().get("/v1/zones").status_code == 200
