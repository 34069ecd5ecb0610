"""Test nginx over a published folder: free paths without Python, ranges, ready gzip, and other paths by proxy."""

from __future__ import annotations

import contextlib
import hashlib
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import requests

from orchestration.static_side.publication import POINTER
from orchestration.static_side.publish import PAGES, publish_to
from orchestration.static_side.target import open_target
from tests.api.conftest import Rig
from tests.stand_ins.web_server import program, web_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="nginx IS NOT INSTALLED: its configuration is not tested here"),
]
COMPARED = (
    "Content-Type",
    "Cache-Control",
    "Content-Security-Policy",
    "Referrer-Policy",
    "Access-Control-Allow-Origin",
)


class Front:
    """An nginx server before a running API over one warehouse."""

    def __init__(self, url: str, api: Any, public: Path, rig: Rig) -> None:
        self.url, self.api, self.public, self.rig = url, api, public, rig

    def get(self, path: str, **headers: str) -> requests.Response:
        sent = {"Accept-Encoding": "identity"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.get(self.url + path, headers=sent, timeout=30)

    def manifest(self) -> dict[str, Any]:
        pointer = orjson.loads(open_target(str(self.public)).get(POINTER) or b"")
        return dict(orjson.loads(open_target(str(self.public)).get(pointer["manifest"]) or b""))


@pytest.fixture
def front(everywhere: Rig, serve: Callable[..., Any], tmp_path: Path) -> Iterator[Front]:
    rig = everywhere
    public = tmp_path / "public"
    settings = rig.settings(public_url="http://127.0.0.1/emds")
    publish_to(open_target(str(public)), rig.storage, settings)
    api = serve(rig)
    with web_server(api.url.removeprefix("http://"), public, tmp_path / "nginx") as url:
        yield Front(url, api, public, rig)


def test_free_paths_come_from_the_folder_and_the_rest_from_the_api(front: Front) -> None:
    manifest = front.manifest()
    assert len(manifest["files"]) > 100
    for file in manifest["files"]:
        if file["path"] in ("/v1/status", *PAGES):
            continue
        answer = front.get(file["path"])
        assert "X-Served-From" not in answer.headers, file["path"]
        assert hashlib.sha256(answer.content).hexdigest() == file["sha256"], file["path"]
        asked = requests.get(front.api.url + file["path"], headers={"Accept-Encoding": "identity"}, timeout=30)
        for name in COMPARED:
            assert answer.headers.get(name) == asked.headers.get(name), (file["path"], name)
    for path in ("/v1/status", "/v1/geo/zones?detail=high", "/v1/zones?sample=true", "/v1/usage", "/nowhere"):
        assert front.get(path).headers["X-Served-From"] == "api", path
    assert front.get("/v1/geo/plants", Accept="text/csv").headers["Content-Type"].startswith("text/csv")
    assert front.get("/v1/latest/GB").status_code == 402
    assert requests.post(f"{front.url}/v1/zones", timeout=30).status_code == 405
    key = requests.post(f"{front.url}/v1/keys/signup", json={"email": "a@example.org"}, timeout=30).json()["api_key"]
    paid = front.get("/v1/latest/GB", Authorization=f"Bearer {key}")
    assert (paid.status_code, paid.headers["X-Served-From"]) == (200, "api")
    assert front.get("/v1/latest/GB").status_code == 402, "nobody gets what a key's holder was given"
    assert requests.head(f"{front.url}/v1/latest/GB", headers={"Authorization": f"Bearer {key}"}, timeout=30).ok
    used = front.get("/v1/usage", Authorization=f"Bearer {key}").json()["quota"]["used"]
    assert used == 2
    assert "X-Served-From" not in front.get("/v1/bulk").headers
    assert "signed_until" in front.get("/v1/bulk", X_API_Key=key).json()
    for name in (manifest["months"][0]["object"], "emds.duckdb"):
        assert front.get(f"/{name}", Range="bytes=0-3").status_code == 206, name
    headers = {"Authorization": f"Bearer {key}", "If_None_Match": paid.headers["ETag"]}
    assert front.get("/v1/latest/GB", **headers).status_code == 304
    window = "/v1/price/GB?start=2026-03-29T00:00:00Z&end=2026-03-30T00:00:00Z"
    whole = front.get(window, Authorization=f"Bearer {key}")
    assert front.get(window, Authorization=f"Bearer {key}", If_None_Match=whole.headers["ETag"]).status_code == 304
    used = front.get("/v1/usage", Authorization=f"Bearer {key}").json()["quota"]["used"]
    assert used == 3, "a 304 costs nothing"
    _request_ids(front)
    _ranges_tags_and_forms(front)
    _months(front, manifest)
    _without_the_api(front)


def _request_ids(front: Front) -> None:
    """Check that each client gets its own ID from a file, the cache and the API, and a new ID for an invalid one."""
    for path in ("/v1/zones", "/v1/zones?sample=true", "/v1/status", "/v1/latest/GB"):
        for name in ("first-caller", "second-caller"):
            assert front.get(path, X_Request_Id=name).headers["X-Request-Id"] == name, path
        new = {front.get(path, **sent).headers["X-Request-Id"] for sent in ({}, {}, {"X_Request_Id": "EMDS_secret"})}
        assert len(new) == 3, path
        assert all(re.fullmatch("[0-9a-f]{32}", name) for name in new), path
    refused = front.get("/v1/latest/NOWHERE?x=1", X_Request_Id="third")
    assert refused.json()["instance"] == refused.headers["X-Request-Id"] == "third"


def _ranges_tags_and_forms(front: Front) -> None:
    plain = front.get("/v1/geo/zones.geojson")
    part = front.get("/v1/geo/zones.geojson", Range="bytes=10-19")
    assert (part.status_code, part.content) == (206, plain.content[10:20])
    layer = front.get("/v1/geo/zones.fgb?detail=high", Range="bytes=0-7")
    assert (layer.status_code, layer.content[:3], len(layer.content)) == (206, b"fgb", 8), "a part from the API too"
    tag = plain.headers["ETag"]
    assert not tag.startswith("W/")
    assert front.get("/v1/geo/zones.geojson", If_None_Match=tag).status_code == 304
    packed = requests.get(
        f"{front.url}/v1/geo/zones.geojson", headers={"Accept-Encoding": "gzip"}, stream=True, timeout=30
    )
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert packed.headers["ETag"] != tag
    raw = packed.raw.read(decode_content=False)
    tree = front.public / "site" / "v1" / "geo" / "zones.geojson.gz"
    assert raw == tree.read_bytes(), "the ready form, not one made for the request"


def _months(front: Front, manifest: dict[str, Any]) -> None:
    month = manifest["months"][0]
    answer = front.get(f"/{month['object']}")
    assert hashlib.sha256(answer.content).hexdigest() == month["sha256"]
    assert "immutable" in answer.headers["Cache-Control"]
    assert front.get(f"/{month['object']}", Range="bytes=0-3").content == b"PAR1"
    import polars

    assert polars.scan_parquet(f"{front.url}/{month['object']}").collect().height == month["rows"]
    secret = front.get("/lock")
    assert (secret.status_code, secret.headers["Content-Type"]) == (404, "application/problem+json")


def _without_the_api(front: Front) -> None:
    """Stop the API: files and cached responses remain, and all other requests get a problem."""
    query = "/v1/geo/zones?detail=high"
    before = front.get(query).content
    front.api.process.send_signal(signal.SIGTERM)
    front.api.process.wait(60)
    assert front.get("/v1/zones").status_code == 200
    assert front.get(query).content == before
    status = front.get("/v1/status")
    assert (status.status_code, status.headers["X-EMDS-Stale"]) == (200, "true")
    assert status.json()["sources"]
    away = front.get("/v1/latest/GB")
    assert (away.status_code, away.headers["Content-Type"]) == (503, "application/problem+json")
    assert away.headers["Retry-After"] == "5"
    assert "may have been counted" in away.json()["detail"], "a call may be cut off after it was"
    assert away.json()["status"] == 503


SLOW_HEAD = b"GET /v1/zones HTTP/1.1\r\nHost: a\r\nX-Slow: "
SLOW_BODY = (
    b"POST /v1/keys/signup HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
)


def test_slow_heads_slow_bodies_and_idle_connections_stop_nobody(
    market: Rig, serve: Callable[..., Any], tmp_path: Path
) -> None:
    """Open more connections of each kind than a worker has threads. Without nginx, the calls below would fail."""
    api = serve(market)
    with (
        web_server(api.url.removeprefix("http://"), tmp_path / "public", tmp_path / "nginx") as url,
        contextlib.ExitStack() as stack,
    ):
        port = int(url.rsplit(":", 1)[1])

        def connect(first: bytes) -> socket.socket:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            client.sendall(first)
            return client

        slow = [connect(first) for first in (SLOW_HEAD, SLOW_BODY) for _ in range(140)]
        for _ in range(300):
            connect(b"")
        for _ in range(20):
            for client in slow:
                client.sendall(b"x")
            answer = requests.get(f"{url}/v1/price/GB?sample=true", timeout=4)
            assert (answer.status_code, answer.headers["X-Served-From"]) == (200, "api")
        for client in slow:
            client.setblocking(False)
            with pytest.raises(BlockingIOError):  # neither closed nor with a response, so they were slow all the time
                client.recv(1)


def test_calls_of_one_client_are_limited_and_files_are_not(
    everywhere: Rig, serve: Callable[..., Any], tmp_path: Path
) -> None:
    publish_to(open_target(str(tmp_path / "public")), everywhere.storage, everywhere.settings())
    api = serve(everywhere).url.removeprefix("http://")
    with (
        web_server(api, tmp_path / "public", tmp_path / "nginx", rate=(1, 10)) as url,
        requests.Session() as session,
    ):
        answers = [session.get(f"{url}/v1/price/GB?sample=true&limit={n}", timeout=30) for n in range(1, 21)]
        assert [answer.status_code for answer in answers[:11]] == [200] * 11
        refused = [answer for answer in answers if answer.status_code == 429]
        assert len(refused) >= 5
        for answer in (
            refused[-1],
            session.get(f"{url}/v1/status", timeout=30),
            session.post(f"{url}/mcp", timeout=30),
        ):
            assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert answer.json()["type"] == "/problems/too-many-calls"
        assert {session.get(f"{url}/v1/zones", timeout=30).status_code for _ in range(40)} == {200}
