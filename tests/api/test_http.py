"""Test HTTP itself: HEAD, validators, codings, caching, CORS, request IDs, bounds, the log and metrics."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import brotli
import orjson
import pytest
import yaml
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from api.http import middleware, responses
from api.http.codings import choose, pack, pack_well
from api.mcp import endpoint
from api.settings import Settings
from orchestration.servers import serve
from warehouse.documents import failed_runs, health
from warehouse.documents.health import Health
from warehouse.version import __version__

FREE = ["/v1/zones", "/v1/status", "/catalog", "/openapi.json", "/llms.txt", "/docs", "/.well-known/x402.json"]
CODINGS = {
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
    "br": brotli.decompress,
    "gzip": gzip.decompress,
}


def _service(market: Any) -> Any:
    market.put_document(
        "latest/GB.json",
        {
            "zone": "GB",
            "metrics": {"price": {"value": 1.5, "unit": "GBP/MWh", "ts": market.now - 600, "resolution": "30m"}},
            "attribution": "a" * 2000,
            "license": "l",
            "updated": market.now,
            "valid_until": market.now + 60,
        },
    )
    return market.client()


@pytest.fixture(scope="module")
def client(shared_market: Any) -> Any:
    """Return a client of a warehouse that does not change."""
    return _service(shared_market)


@pytest.fixture
def own(market: Any) -> Any:
    """Return a client of a warehouse that the test may change."""
    return _service(market)


@pytest.mark.parametrize(
    "path", [*FREE, "/v1/price/GB?sample=true", "/v1/latest/GB?sample=true", "/healthz", "/problems/not-found"]
)
def test_head_is_get_without_a_body(client: Any, path: str) -> None:
    full, head = client.get(path), client.head(path)
    assert (head.status_code, head.data) == (200, b"")
    assert head.headers["Content-Length"] == str(len(full.data))
    changing = {"X-Request-Id"}
    assert {k: v for k, v in head.headers.items() if k not in changing} == {
        k: v for k, v in full.headers.items() if k not in changing
    }


@pytest.mark.parametrize("path", [*FREE, "/v1/price/GB?sample=true", "/v1/latest/GB?sample=true"])
@pytest.mark.parametrize("coding", [None, *CODINGS])
def test_each_representation_has_a_strong_tag_that_revalidates_it(client: Any, path: str, coding: str | None) -> None:
    headers = {"Accept-Encoding": coding} if coding else {}
    first = client.get(path, headers=headers)
    tag = first.headers["ETag"]
    assert tag.startswith('"')
    assert tag.endswith('"')
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(path, headers={**headers, "If-None-Match": known})
        assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
        assert again.headers["Vary"] == first.headers["Vary"]
        assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
        assert "Content-Type" not in again.headers
    assert client.get(path, headers={**headers, "If-None-Match": '"other"'}).status_code == 200
    if coding and "Content-Encoding" in first.headers:
        assert client.get(path, headers={"If-None-Match": tag}).status_code == 200, (
            "another coding is another representation"
        )


@pytest.mark.parametrize(
    "path", [*FREE, "/v1/demand/GB?sample=true", "/v1/demand/GB?sample=true&format=csv", "/v1/latest/GB?sample=true"]
)
@pytest.mark.parametrize("coding", CODINGS)
def test_bodies_come_in_the_coding_asked_for(client: Any, path: str, coding: str) -> None:
    plain, packed = client.get(path), client.get(path, headers={"Accept-Encoding": coding})
    if len(plain.data) < 1024:
        assert "Content-Encoding" not in packed.headers
        return
    assert packed.headers["Content-Encoding"] == coding
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert CODINGS[coding](packed.data) == plain.data
    assert len(packed.data) < len(plain.data)


def test_a_coded_body_is_given_whole(client: Any) -> None:
    path = "/v1/demand/GB?sample=true&format=csv"
    for coding in CODINGS:
        packed = client.get(path, headers={"Accept-Encoding": coding, "Range": "bytes=0-9"})
        assert (packed.status_code, packed.headers["Content-Encoding"]) == (200, coding)
        assert "Accept-Ranges" not in packed.headers
    assert client.get(path, headers={"Range": "bytes=0-9"}).status_code == 206


@given(st.lists(st.binary(max_size=300).flatmap(lambda part: st.integers(0, 3000).map(part.__mul__)), max_size=8))
def test_a_body_is_packed_to_the_same_bytes_whatever_came_before(bodies: list[bytes]) -> None:
    alone = zstandard.ZstdCompressor(level=1)
    for body in bodies:
        packed = {coding: pack(body, coding) for coding in CODINGS}
        assert packed == {coding: pack(body, coding) for coding in CODINGS}
        assert packed["zstd"] == alone.compress(body)
        for coding, unpack in CODINGS.items():
            assert unpack(packed[coding]) == unpack(pack_well(body, coding)) == body


def test_threads_pack_at_the_same_time() -> None:
    bodies = [bytes([number]) * 200_000 + random.Random(number).randbytes(50_000) for number in range(40)]
    with ThreadPoolExecutor(12) as threads:
        for coding, unpack in CODINGS.items():
            packed = threads.map(partial(pack, coding=coding), bodies)
            assert list(map(unpack, packed)) == bodies


KEEPING = """
import os, random, sys
from api.http.codings import pack
def resident() -> int:
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def body(number: int) -> bytes:
    rng = random.Random(number)
    return rng.randbytes(3000) * rng.randrange(90, 105)
pack(body(0), sys.argv[1])
before, kept = resident(), []
for number in range(300):
    kept += [pack(body(number), sys.argv[1]), bytes(1500), bytearray(700)]
print(sum(map(len, kept)), resident() - before)
"""


@pytest.mark.parametrize("coding", CODINGS)
def test_coded_bodies_that_are_kept_take_no_more_memory_than_their_bytes(coding: str) -> None:
    environ = os.environ | serve.ENVIRONMENT
    run = subprocess.run(
        [sys.executable, "-c", KEEPING, coding], env=environ, capture_output=True, text=True, check=True
    )
    length, taken = map(int, run.stdout.split())
    assert taken < 1.3 * length + 5_000_000, "the plain bodies are 87 MB"


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", "identity"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate, br", "br"),
        ("gzip", "gzip"),
        ("deflate", "identity"),
        ("br;q=0.5, gzip;q=0.9", "gzip"),
        ("*", "zstd"),
        ("zstd;q=0, *;q=0.5", "br"),
        ("GZIP", "gzip"),
        ("identity;q=1, gzip;q=0.5", "identity"),
        ("identity, gzip", "gzip"),
        ("gzip;q=nonsense", "identity"),
        ("br;q=0", "identity"),
    ],
)
def test_the_coding_follows_the_header(header: str, coding: str) -> None:
    assert choose(header) == coding


def test_a_series_tag_changes_with_its_rows_and_only_then(market: Any, own: Any) -> None:
    path = "/v1/price/GB?start=1774800000&end=1774860000&sample=true"
    tag = own.get(path).headers["ETag"]
    market.put("north.grid", "GB", "demand", [(market.now, 5.0)], "MW", "5m", known_at=9)
    assert own.get(path).headers["ETag"] == tag
    market.put("north.price", "GB", "price", [(1774801800, 5.0)], "GBP/MWh", "30m", known_at=9)
    assert own.get(path).headers["ETag"] != tag


def test_free_and_sample_answers_are_public_and_keyed_ones_private(market: Any, own: Any) -> None:
    headers = market.key(own)
    assert own.get("/v1/zones").headers["Cache-Control"].startswith("public")
    assert own.get("/v1/price/GB?sample=true").headers["Cache-Control"].startswith("public")
    keyed = own.get("/v1/price/GB", headers=headers)
    assert keyed.headers["Cache-Control"].startswith("private")
    assert {"Authorization", "X-API-Key", "PAYMENT-SIGNATURE", "Accept", "Accept-Encoding"} <= set(
        keyed.headers["Vary"].split(", ")
    )
    unpaid = own.get("/v1/price/GB")
    assert (unpaid.status_code, unpaid.headers["Cache-Control"]) == (402, "no-store")
    assert own.get("/healthz").headers["Cache-Control"] == "no-store"


def test_browsers_may_read_everything_also_errors_and_options_tell_the_methods(client: Any) -> None:
    for path in ("/v1/zones", "/v1/price/GB", "/v1/price/XX", "/nope"):
        read = client.get(path, headers={"Origin": "https://app.example"}).headers
        assert read["Access-Control-Allow-Origin"] == "*", path
        exposed = read["Access-Control-Expose-Headers"].split(", ")
        assert {"ETag", "Link", "PAYMENT-REQUIRED", "X-Request-Id", "RateLimit"} <= set(exposed), path
    answer = client.options("/v1/brief/GB")
    assert answer.status_code == 200
    assert {"GET", "HEAD", "OPTIONS"} == set(answer.headers["Allow"].split(", "))
    assert "Content-Type" not in answer.headers
    wrong = client.options("/v1/brief/XX")
    assert (wrong.status_code, wrong.content_type) == (404, "application/problem+json")


@pytest.mark.parametrize("path", ["/v1/brief/GB", "/v1/brief/XX", "/nope"])
def test_a_preflight_allows_what_clients_send(client: Any, path: str) -> None:
    """Include unknown paths, so that a page reads the 404 instead of a failed preflight."""
    answer = client.options(path, headers={"Origin": "https://app.example", "Access-Control-Request-Method": "GET"})
    assert answer.status_code == 204
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    allowed = answer.headers["Access-Control-Allow-Headers"].split(", ")
    assert {"Authorization", "PAYMENT-SIGNATURE", "X-PAYMENT", "If-None-Match", "Access-Control-Expose-Headers"} <= set(
        allowed
    )
    assert "Range" in allowed, "what reads Parquet or PMTiles asks for the last bytes first"
    assert answer.headers["Access-Control-Max-Age"] == "86400"
    assert "Content-Type" not in answer.headers


def test_one_json_line_a_request_without_secrets(market: Any) -> None:
    lines: list[bytes] = []
    app = market.client().application
    client = app.test_client()
    key = market.key(client)["Authorization"]
    app.wsgi_app = middleware.wrap(app.wsgi_app, "http://emds.example", lines.append)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    client.get(
        "/v1/price/GB",
        headers={"Authorization": key, "traceparent": trace, "PAYMENT-SIGNATURE": "c2VjcmV0cGF5bWVudA=="},
    )
    client.post("/v1/keys/signup", json={"email": "someone@example.org"})
    client.get("/v1/price/someone@example.org?api_key=emds_123")
    client.get("/v1/price/GB?email=someone@example.org&key=emds_123")
    entries = [orjson.loads(line) for line in lines]
    assert [(line["route"], line["zone"], line["status"]) for line in entries] == [
        ("price", "GB", 200),
        ("sign-up", None, 201),
        ("none", None, 404),
        ("price", "GB", 400),
    ]
    assert entries[0]["trace"] == trace
    assert all({"at", "id", "method", "ms"} <= line.keys() for line in entries)
    whole = b"".join(lines)
    for secret in (key.encode(), b"emds_", b"someone", b"c2VjcmV0", b"example.org"):
        assert secret not in whole


def test_counts_need_the_token(market: Any) -> None:
    assert market.client().get("/metrics").status_code == 401
    client = market.client(metrics_token="open-sesame")
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    client.get("/v1/price/GB?sample=true")
    answer = client.get("/metrics", headers={"Authorization": "bearer open-sesame"})
    assert client.get("/metrics", headers={"Authorization": "Basic open-sesame"}).status_code == 401
    assert answer.status_code == 200
    assert 'emds_answers_total{route="price",status="200"}' in answer.text
    assert "emds_answer_seconds_bucket" in answer.text
    assert re.search(rf'emds_build_info{{build="[0-9a-f]{{12}}",version="{re.escape(__version__)}"}} 1.0', answer.text)


def test_metrics_report_disk_memory_payments_webhooks_and_failed_runs(market: Any) -> None:
    failed_runs.note(market.storage, "live")
    failed_runs.note(market.storage, "live")
    client = market.client(metrics_token="open-sesame")
    lines = client.get("/metrics", headers={"Authorization": "Bearer open-sesame"}).text.splitlines()
    told = {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:5] == "emds_")}
    assert told["emds_disk_free_bytes"] == pytest.approx(shutil.disk_usage(market.home).free, rel=0.1)
    assert 10e6 < told["emds_worker_resident_memory_bytes"] < 10e9
    assert told["emds_webhook_messages_waiting"] == 0
    assert told['emds_failed_runs_total{job="live"}'] == 2
    assert "# TYPE emds_payments gauge" in lines


def test_the_alert_rules_name_metrics_that_exist(market: Any) -> None:
    text = market.client(metrics_token="x").get("/metrics", headers={"Authorization": "Bearer x"}).text
    there = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    file = Path(__file__).resolve().parents[2] / "orchestration" / "deploy" / "prometheus-rules.yaml"
    rules = [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    assert "absent(emds_feed_last_success_timestamp_seconds)" in rules[0]["expr"], "the dead man's switch"
    for rule in rules:
        named = set(re.findall(r"emds_\w+", rule["expr"]))
        assert named
        assert named <= there, rule["alert"]


def test_metrics_tell_how_fresh_each_feed_is(market: Any) -> None:
    """Compare with `/v1/status`, by feed. A feed that never delivered a row has no line."""
    client = market.client(metrics_token="open-sesame")
    health.note(market.storage, "north", [Health("north.grid", "GB", market.now - 60, data_until=market.now - 300)])
    lines = client.get("/metrics", headers={"Authorization": "Bearer open-sesame"}).text.splitlines()
    told = dict(line.rsplit(" ", 1) for line in lines if line.startswith("emds_feed_"))
    [status] = [
        s for s in client.get("/v1/status").get_json()["sources"] if (s["source"], s["zone"]) == ("north", "GB")
    ]
    at = '_timestamp_seconds{feed="north.grid",zone="GB"}'
    assert {name: float(value) for name, value in told.items()} == {
        f"emds_feed_newest_row_end{at}": market.now - 300,
        f"emds_feed_expected_by{at}": status["expected_by"],
        f"emds_feed_last_success{at}": market.now - 60,
    }
    os.remove(market.home / "published" / "catalogue.json")
    assert client.get("/metrics", headers={"Authorization": "Bearer open-sesame"}).status_code == 200


TYPES = ("application/json", "text/csv")
ADMITS = endpoint._origin_policy(Settings())
MOST_BYTES = 2_500_000
"""Bytes that all caches may use together, whatever the calls. urlsplit caches 128 entries of up to 8 kB."""


@pytest.mark.parametrize("length", [100, 400, 8000])
def test_distinct_headers_fill_no_memory(length: int) -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(min(3000, 2_400_000 // length)):  # twice as many as the caches hold, and more of short ones
            text = f"{i:06};q=0.5,".ljust(length, "x")
            choose(text)
            responses.accepted(text, TYPES)
            ADMITS(text, text)
            endpoint._http_fault(text, text)
        assert tracemalloc.get_traced_memory()[0] - before < MOST_BYTES
    finally:
        tracemalloc.stop()
