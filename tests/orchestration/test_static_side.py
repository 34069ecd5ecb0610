"""Test `emds publish --to`: it writes what the API returns, complete at every moment, in a folder and in a bucket."""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import obstore
import orjson
import pytest
import zstandard

from orchestration.static_side import publish
from orchestration.static_side.publication import (
    KEPT_S,
    POINTER,
    SITE,
    SITE_VERSION,
    StaticFile,
    StaticObject,
    StaticPublication,
    object_key,
    objects_of,
    packed_key,
    place,
)
from orchestration.static_side.publish import PAGES, publish_to, send
from orchestration.static_side.target import Target, open_target
from tests.api.conftest import Rig, copy_everywhere
from tests.stand_ins.buckets import CREDENTIALS, object_store
from warehouse.errors import Conflict, StorageError
from warehouse.store import layout
from warehouse.store.object_store import address, open_store

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMDS_NOW", "2026-03-30T12:10:00Z")
        rig = Rig(tmp_path_factory.mktemp("static") / "home")
        copy_everywhere(tmp_path_factory, rig.home)
        yield rig
        rig.close()


def publication(version: int, text: str, *withheld: str) -> StaticPublication:
    """Return a small publication of two paths; one path changes."""
    files = []
    for path, body in (("/v1/zones", text.encode() * 300), ("/docs", b"the same page" * 300)):
        media = "application/json" if path == "/v1/zones" else "text/html; charset=utf-8"
        plain = StaticObject(object_key(body, media), body, media)
        packed = StaticObject(packed_key(plain.key, "gzip"), gzip.compress(body, mtime=0), media, "gzip")
        files.append(StaticFile(path, "public, max-age=30", (plain, packed)))
    return StaticPublication(version, version, "live", tuple(files), withheld=withheld)


def files_by_name(target: Target) -> dict[str, bytes]:
    """Return what a web server or CDN serves by name, without the compressed files that only a folder has."""
    names = [name for name in target.listing(SITE) if name != SITE_VERSION and not name.endswith(".gz")]
    return {name.removeprefix(SITE): target.get(name) or b"" for name in names}


def manifest_of(get: Callable[[str], bytes | None]) -> dict[str, Any]:
    """Return the manifest that the pointer names; every object in it exists and has its hash."""
    pointer = orjson.loads(get(POINTER) or b"{}")
    body = get(pointer["manifest"])
    assert body is not None
    assert hashlib.sha256(body).hexdigest() == pointer["sha256"]
    stated = orjson.loads(body)
    for file in stated["files"]:
        plain = get(file["object"])
        assert plain is not None, file["path"]
        assert (hashlib.sha256(plain).hexdigest(), len(plain)) == (file["sha256"], file["bytes"])
        for coding, packed in file["encodings"].items():
            assert UNPACK[coding](get(packed["object"]) or b"") == plain
    assert all(get(month["object"]) for month in stated["months"])
    return dict(stated)


@pytest.mark.slow
def test_what_is_put_is_what_the_service_says(filled: Rig, tmp_path: Path) -> None:
    settings = filled.settings()
    target = open_target(str(tmp_path))
    done = publish_to(target, filled.storage, settings)
    assert done["current"]
    stated, client = manifest_of(target.get), filled.client()
    paths = {file["path"] for file in stated["files"]}
    assert {"/", "/v1/zones", "/v1/geo/live", "/v1/geo/zones.fgb", "/catalog", "/openapi.json", "/docs/brief"} <= paths
    assert {"/v1/status", "/v1/bulk", "/problems/not-found", "/v1/geo/live/GB", "/.well-known/x402"} <= paths
    assert not {path for path in paths if path.startswith(("/v1/latest", "/v1/brief", "/v1/price", "/v1/map", "/mcp"))}
    assert PAGES.keys() <= paths
    for file in stated["files"]:
        if file["path"] in PAGES:
            continue
        answer = client.get(file["path"])
        assert answer.data == target.get(file["object"]), file["path"]
        assert answer.headers["Content-Type"] == file["content_type"]
        assert answer.headers["Cache-Control"] == file["cache_control"]
        assert (tmp_path / "site" / place(file["path"], file["content_type"])).read_bytes() == answer.data
        if len(answer.data) > 5000 and file["content_type"].startswith(("application/json", "text/html")):
            assert set(file["encodings"]) == set(UNPACK), file["path"]
    assert stated["months"] == [], "the owner named no public address"
    assert set(stated["rights"]) == {"east", "north", "south"}
    assert stated["withheld"] == ["shut.price"]
    again = publish_to(target, filled.storage, settings)
    assert again["put"] == 1, "only the manifest is new"


def test_a_damaged_month_file_costs_no_other_its_publication(
    filled: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "rendered", lambda asked, kept: ())
    settings, target = filled.settings(public_url="https://files.example/emds"), open_target(str(tmp_path / "one"))
    publish_to(target, filled.storage, settings)
    before = manifest_of(target.get)["months"]
    spoilt = next(month for month in before if month["metric"] != "capacity")  # a year's file has another name
    path = filled.home / layout.series(*(spoilt[name] for name in ("metric", "zone", "month")))
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        publish_to(target, filled.storage, settings)
        assert len(manifest_of(target.get)["months"]) == len(before), "the public copy is whole"
        publish_to(open_target(str(tmp_path / "other")), filled.storage, settings)
        found = {month["object"] for month in manifest_of(open_target(str(tmp_path / "other")).get)["months"]}
        assert found == {month["object"] for month in before if month != spoilt}
    finally:
        path.write_bytes(whole)


@pytest.fixture(params=["folder", "bucket"])
def address_of(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path) if request.param == "folder" else str(request.getfixturevalue("bucket"))


@pytest.mark.parametrize("first", [True, False])
def test_killed_at_every_write_readers_see_whole_files_and_the_next_publication_completes_it(
    address_of: str, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    put, step, killed = Target._put, 0, True
    seen = set[str]()
    while killed:
        old, new = publication(3 * step + 1, f"old{step}"), publication(3 * step + 2, f"new{step}")
        if not first or step:
            send(open_target(address_of), old)
        left = [step]

        def stopping(self: Target, *args: Any, left: list[int] = left) -> None:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            put(self, *args)

        with monkeypatch.context() as patch:
            patch.setattr(Target, "_put", stopping)
            killed = True
            with suppress(KeyboardInterrupt):
                send(open_target(address_of), new)
                killed = False
        target = open_target(address_of)
        if target.get(POINTER):
            seen.add("new" if manifest_of(target.get)["version"] == new.version else "old")
        bodies = {file.forms[0].body for each in (old, new) for file in each.files}
        assert set(files_by_name(target).values()) <= bodies, f"killed at {step}"
        last = publication(3 * step + 3, f"last{step}")
        send(open_target(address_of), last)
        assert manifest_of(target.get)["version"] == last.version
        assert set(files_by_name(target).values()) == {file.forms[0].body for file in last.files}
        step += 1
    assert seen == {"old", "new"}
    assert step > 6


def test_what_is_superseded_stays_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_target(str(tmp_path))
    old, new = publication(1, "old"), publication(2, "new")
    send(target, old)
    send(target, new)
    left = objects_of(orjson.loads(old.manifest.body))
    assert all(target.get(key) for key in left)
    true_time = time.time()
    monkeypatch.setattr(time, "time", lambda: true_time + KEPT_S + 60)
    send(target, replace(new, version=3))
    gone = left - objects_of(orjson.loads(new.manifest.body))
    assert gone
    assert [target.get(key) for key in gone] == [None] * len(gone)
    assert manifest_of(target.get)["version"] == 3


def test_old_objects_of_a_withheld_source_go_where_its_publisher_was_killed_before_it_removed_them(
    address_of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, old = open_target(address_of), publication(1, "old")
    send(target, old)
    with monkeypatch.context() as patch:
        patch.setattr(Target, "sweep", killed)
        with suppress(KeyboardInterrupt):
            send(target, publication(2, "new", "north"))
    send(open_target(address_of), publication(3, "newer", "north"))
    assert open_target(address_of).get(old.files[0].forms[0].key) is None
    assert open_target(address_of).get(old.manifest.key) is None


def killed(*_: object) -> int:
    raise KeyboardInterrupt


def test_damaged_objects_and_manifests_are_made_good_by_the_next_publication(tmp_path: Path) -> None:
    target, old, new = open_target(str(tmp_path)), publication(1, "old"), publication(2, "new")
    send(target, old)
    same = new.files[1].forms[0]
    (tmp_path / same.key).write_bytes(same.body[:-1])
    (tmp_path / old.manifest.key).write_bytes(old.manifest.body[:-1])
    assert send(open_target(str(tmp_path)), new)[2]
    assert files_by_name(target)["docs.html"] == same.body
    assert manifest_of(target.get)["version"] == 2


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with object_store() as endpoint:
        yield f"s3://emds/public?endpoint={endpoint}"


def test_a_bucket_holds_the_same_with_types_and_codings(bucket: str) -> None:
    target = open_target(bucket)
    old, new = publication(1, "old"), publication(2, "new")
    assert send(target, old)[2]
    assert send(target, new)[2]
    assert not send(open_target(bucket), old)[2], "an older one is not shown"
    stated = manifest_of(lambda key: open_target(bucket).get(key))
    assert stated["version"] == 2
    store = open_store(address(bucket))
    packed = obstore.get(store, new.files[0].forms[1].key).attributes
    assert packed["Content-Type"] == "application/json"
    assert packed["Content-Encoding"] == "gzip"
    assert "immutable" in packed["Cache-Control"]
    named = obstore.get(store, "site/v1/zones.json")
    assert bytes(named.bytes()) == new.files[0].forms[0].body
    assert named.attributes["Cache-Control"] == "public, max-age=30"
    assert target.get(old.files[0].forms[0].key) is not None, "kept for a day"
    assert send(open_target(bucket), publication(3, "newer", "north"))[1] > 0
    assert open_target(bucket).get(old.files[0].forms[0].key) is None


def test_a_bucket_that_refuses_every_condition_is_not_asked_for_ever(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, tries, put = open_target(bucket), [], Target._put

    def refuse(self: Target, key: str, item: StaticObject, mode: Any = "overwrite") -> None:
        if key == POINTER:
            tries.append(mode)
            assert len(tries) < 20
            raise Conflict(key)
        put(self, key, item, mode)

    monkeypatch.setattr(Target, "_put", refuse)
    with pytest.raises(StorageError, match=r"another publication won \d+ times"):
        send(target, publication(1, "old"))
    assert set(tries) == {"create"}
