"""`/v1/geo/*` while layers are not published yet, copied, damaged, or published anew."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from api.access.gate import Gate
from api.settings import Settings
from assets.documents import geo_layers
from tests.api.geo_answers import app_of
from warehouse.store import artefact, layout
from warehouse.store.storage import Folder


def test_nothing_published_is_503_and_a_new_publication_is_seen(tmp_path: Path) -> None:
    gate = Gate.open(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite"), "simulated")
    client = app_of(tmp_path, gate).test_client()
    early = client.get("/v1/geo/interconnectors")
    assert (early.status_code, early.content_type) == (503, "application/problem+json")
    assert int(early.headers["Retry-After"]) > 0
    assert "nothing has been published" in early.get_json()["detail"], "no feed fills a layer"
    geo_layers.publish(Folder(tmp_path), ["interconnectors"])
    assert client.get("/v1/geo/interconnectors").status_code == 200
    gate.close()


@pytest.mark.slow
def test_a_plain_copy_of_a_warehouse_answers_every_format(tmp_path: Path) -> None:
    """`cp -r`, or a restore without times: each file has a time of its own, and the same bytes."""
    settings = Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite")
    gate = Gate.open(settings, "simulated")
    storage = Folder(tmp_path)
    geo_layers.ensure(storage)
    for number, path in enumerate(sorted((tmp_path / "published" / "geo").iterdir())):
        os.utime(path, ns=(number * 10**9, number * 10**9))
    client = app_of(tmp_path, gate).test_client()
    cuts = ("plants?zone=GB&format=csv", "plants?zone=GB&format=fgb", "zones?bbox=0,50,1,51&format=parquet")
    for cut in cuts:
        assert client.get(f"/v1/geo/{cut}").status_code == 200, cut
    path = tmp_path / "published" / "geo" / "plants.csv"
    path.write_bytes(path.read_bytes()[:-100])
    problem = client.get(f"/v1/geo/{cuts[0]}")
    assert (problem.status_code, problem.headers["Retry-After"]) == (503, "60")
    assert "next publication" in problem.get_json()["detail"]
    assert client.get(f"/v1/geo/{cuts[1]}").status_code == 200, "the other formats go on"
    geo_layers.ensure(storage)
    assert client.get(f"/v1/geo/{cuts[0]}").status_code == 200
    gate.close()


def test_a_cut_never_joins_documents_of_two_publications(tmp_path: Path) -> None:
    """Which bytes belong together follows from their hash: file times may be equal, or set back."""
    storage = Folder(tmp_path)
    geo_layers.publish(storage, ["plants"])
    gate = Gate.open(Settings(home=str(tmp_path), database_url=f"sqlite:///{tmp_path}/accounts.sqlite"), "simulated")
    client = app_of(tmp_path, gate).test_client()
    assert client.get("/v1/geo/plants.csv?zone=GB").status_code == 200
    lines = geo_layers.documents("plants")["geo/plants.csv"].splitlines(keepends=True)
    (tmp_path / "published" / "geo" / "plants.csv").write_bytes(b"".join(lines[:1] + lines[:0:-1]))
    answer = client.get("/v1/geo/plants.csv?zone=GB")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    gate.close()


def test_while_another_releases_layer_is_published_each_document_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    """At each step, so that a publisher may be killed there."""
    old, new = b'{"of": "another release"}', geo_layers.documents("plants")
    for name in new:
        artefact.put(Folder(tmp_path), name, old, 1)
    hashes = artefact.encode({"documents": dict.fromkeys(new, sha256(old).hexdigest())})
    artefact.put(Folder(tmp_path), layout.geo_hashes("plants"), hashes, 1)
    read = []

    class Watched(Folder):
        def update(self, *args: Any, **named: Any) -> bool:
            done = super().update(*args, **named)
            for name, body in new.items():
                document = artefact.get(Folder(tmp_path), name)
                assert document is not None
                assert document.body in (old, body)
                read.append(document.body == body)
            return done

    geo_layers.publish(Watched(tmp_path), ["plants"])
    assert {*read} == {False, True}
    assert artefact.load(Folder(tmp_path), layout.geo_hashes("plants")) == {"documents": geo_layers.hashes("plants")}
