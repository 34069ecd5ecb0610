"""The stand-in of an S3 server: it answers as moto's does, and one that was killed has its objects again."""

from __future__ import annotations

import http.client
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.bench.servers import ROOT
from tests.stand_ins.buckets import CREDENTIALS, make_bucket
from tests.stand_ins.object_store import Objects
from tests.stand_ins.ports import free_port
from warehouse.store.bucket import Bucket
from warehouse.store.storage import Stored

KEYS = ("a/one", "a/two", "a=b/c", "b")
TOLD = ("etag", "content-length", "content-range", "cache-control", "x-amz-meta-emdsput")
_LISTED = re.compile(r"<Key>([^<]*)</Key>.*?<ETag>([^<]*)</ETag>.*?<Size>(\d+)</Size>", re.DOTALL)


def questions(chance: random.Random, count: int, etags: list[str]) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """Requests at random as the warehouse makes them: method, path, body, headers. `etags`: of the puts till then."""
    for number in range(count):
        key, other = chance.choice(KEYS), chance.choice(KEYS)
        etag = chance.choice(etags or ['"none"'])
        first = chance.randrange(40)
        match chance.choice(("put", "put", "copy", "get", "get", "head", "delete", "list", "several")):
            case "put":
                condition: dict[str, str] = chance.choice(({}, {"If-None-Match": "*"}, {"If-Match": etag}))
                kept = {"Cache-Control": "max-age=30", "x-amz-meta-emdsput": str(number)}
                yield "PUT", f"/compared/{key}", b"%d" % number * chance.randrange(20), condition | kept
            case "copy":
                yield "PUT", f"/compared/{key}", b"", {"x-amz-copy-source": f"/compared/{other}"}
            case "get":
                span = {"Range": f"bytes={first}-{first + 10}"}
                asked = chance.choice(({}, {"If-None-Match": etag}, {"If-Match": etag}, span))
                yield "GET", f"/compared/{key}", b"", asked
            case "head":
                yield "HEAD", f"/compared/{key}", b"", {}
            case "delete":
                yield "DELETE", f"/compared/{key}", b"", {}
            case "list":
                after = chance.choice(("", f"&start-after={other.replace('=', '%3D')}"))
                yield "GET", f"/compared?list-type=2&prefix={chance.choice(('', 'a', 'a/', 'x'))}{after}", b"", {}
            case _:
                named = "".join(f"<Object><Key>{each}</Key></Object>" for each in (key, other))
                yield "POST", "/compared?delete", f"<Delete>{named}</Delete>".encode(), {}


def said(place: str, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
    """What a server answers, as far as anybody asks: status, headers, the body, or what an answer in XML names."""
    with closing(http.client.HTTPConnection(place, timeout=60)) as connection:
        connection.request(method, path, body, {"Authorization": "any", **headers})
        answer = connection.getresponse()
        read = answer.read()
    if answer.status >= 400:
        return answer.status, re.findall(b"<Code>([^<]*)</Code>", read)
    told = {name: answer.headers[name] for name in TOLD if name in answer.headers}
    if path.startswith("/compared?"):
        return answer.status, _LISTED.findall(read.decode())
    if method in ("GET", "HEAD"):
        return answer.status, told, read
    return answer.status, None if "x-amz-copy-source" in headers else told.get("etag")


def test_the_stand_in_answers_as_motos_server_does(s3_endpoint: str, object_store_endpoint: str) -> None:
    places = [url.removeprefix("http://") for url in (s3_endpoint, object_store_endpoint)]
    make_bucket(int(places[0].rpartition(":")[2]), "compared")
    etags: list[str] = []
    statuses = set()
    for question in questions(random.Random(3), 600, etags):
        judge, stand_in = (said(place, *question) for place in places)
        assert stand_in == judge, question
        statuses.add(judge[0])
        etags += [judge[1]] if question[0] == "PUT" and judge[0] == 200 and judge[1] else []
    assert statuses == {200, 204, 206, 304, 400, 404, 412, 416}


def start(folder: Path, port: int) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.stand_ins.object_store", str(folder), str(port)]
    return subprocess.Popen(argv, cwd=ROOT)


def test_a_store_that_was_killed_has_its_objects_and_keeps_conditions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    port = free_port()
    address = f"s3://emds/a/place?endpoint=http://127.0.0.1:{port}"

    def opened(name: str) -> Bucket:
        return Bucket(address, tmp_path / name, fresh_s=0.0)

    child = start(tmp_path / "objects", port)
    first, other = opened("one"), opened("two")
    first.require_conditions()
    first.put("raw/a=b/c", b"one", version=5)
    assert first.get("raw/a=b/c") == other.get("raw/a=b/c") == b"one"
    seen = []

    def loses_once(stored: Stored | None) -> bytes | None:
        seen.append(stored and stored.body)
        if len(seen) == 1:
            other.put("raw/a=b/c", b"two", version=6)
            return b"three"
        return None

    assert not first.update("raw/a=b/c", loses_once)
    assert seen == [b"one", b"two"]
    large = bytes(range(256)) * 40_000
    first.put("raw/large", large)
    assert opened("three").get("raw/large") == large
    child.send_signal(signal.SIGKILL)
    child.wait(20)
    objects = Objects(tmp_path / "objects")
    for number in range(1200):
        objects.put(f"emds/a/place/many/{number:04}/x", b"", {})
    child = start(tmp_path / "objects", port)
    again = opened("four")
    identity = again.stat("raw/a=b/c")
    assert identity is not None
    assert (identity.version, identity.size, again.get("raw/a=b/c")) == (6, 3, b"two")
    assert len(again.keys("many/")) == 1200
    assert again.keys_within("many/", ["1199"]) == ["many/1199/x"]
    again.move("raw/a=b/c", "raw/d")
    assert again.keys("raw/") == ["raw/d", "raw/large"]
    again.delete("raw/large")
    assert again.get("raw/large") is None
    child.kill()
    child.wait(20)
