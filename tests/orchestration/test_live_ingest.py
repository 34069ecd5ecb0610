"""`emds ingest` in live mode, every publisher's host a stand-in on loopback that fails in its own way."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from assets.fetch import live
from assets.fetch.live import Live, TransferLimits
from assets.fetch.session import Session
from assets.fetch.turns import Turns
from assets.sources import sources
from orchestration import cli
from orchestration.jobs import recording
from orchestration.work import backfill, resources
from tests.stand_ins.publishers import KEYCLOAK, Clock
from warehouse.documents import health
from warehouse.market.clock import now
from warehouse.store.storage import Folder

Script = Callable[[BaseHTTPRequestHandler], None]
CREDENTIALS = (
    "ENTSOE_API_TOKEN",
    "ENTSOE_USERNAME",
    "ENTSOE_PASSWORD",
    "EIA_API_KEY",
    "PJM_API_KEY",
    "ISONE_USERNAME",
    "ISONE_PASSWORD",
    "ERCOT_API_KEY",
    "ERCOT_USERNAME",
    "ERCOT_PASSWORD",
)
FAKE = "no-real-credential"
POSTED = {"isone.flows", "aemo.five_minute", "entsoe_files.price", "entsoe_files.load", "entsoe_files.flows"}
"""Feeds that are asked by POST, which is not sent on to where a redirect leads."""
NOT_SENT_ON = "redirects instead of answering"


def replies(status: int, body: bytes = b"", **headers: str) -> Script:
    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return script


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts a stand-in and gives its base address."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(script: Script, context: ssl.SSLContext | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                script(self)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """No log."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.block_on_close = True, False
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        running.append((server, thread))
        return f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}"

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def failing(serve: Callable[..., str]) -> dict[str, tuple[str, str]]:
    """Host -> base address of its stand-in, and what must be reported of it; the seven ways to fail in turn."""
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("elsewhere.example").configure_cert(unverified)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
    over = threading.Event()
    ways = [
        (closed, "connection refused"),
        (serve(lambda handler: over.wait(3) and None), "silent: no answer in time"),
        (serve(replies(200), unverified), "its TLS certificate does not verify"),
        (serve(replies(429, Retry_After="600")), "answers 429"),
        (serve(replies(503, b"<html>busy</html>")), "answers 503"),
        (serve(replies(200, b'{"data": [', Content_Length="4000")), "the answer broke off"),
        (
            serve(replies(302, Location="https://elsewhere.example/login")),
            "redirects to elsewhere.example, which is not its own",
        ),
    ]
    hosts = sorted([KEYCLOAK, *(host for one in sources().values() for host in one.hosts)])
    return {host: ways[i % len(ways)] for i, host in enumerate(hosts)}


@pytest.mark.slow
def test_every_failure_is_told_and_nothing_is_written(
    failing: dict[str, tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "EMDS_NOW"):
        monkeypatch.delenv(name, raising=False)
    for name in CREDENTIALS:
        monkeypatch.setenv(name, FAKE)
    monkeypatch.setenv("EMDS_HOME", str(tmp_path))
    monkeypatch.setenv("EMDS_FEEDS", "live")
    stand_ins = {host: base for host, (base, _) in failing.items()}
    monkeypatch.setattr(
        live, "Live", lambda contact: Live(contact, TransferLimits(connect=1, silence=1, whole=5), stand_ins)
    )
    monkeypatch.setattr(backfill, "run", partial(backfill.run, workers=1))  # here, where the stand-ins are known
    monkeypatch.setattr(recording, "instance", lambda home: None)  # Dagster's record has tests of its own
    pauses: list[float] = []
    monkeypatch.setattr(resources, "Session", partial(Session, sleep=pauses.append))
    clock = Clock()
    monkeypatch.setattr(resources, "turns_of", lambda settings: Turns(now=clock.tick, sleep=clock.sleep))

    assert cli.main(["ingest"]) == 1
    assert pauses, "what may pass by itself is asked again, after a pause"
    assert max(pauses) <= 60

    printed = capfd.readouterr()
    assert FAKE not in printed.out + printed.err
    storage = Folder(tmp_path)
    assert not list(storage.keys("series/"))
    assert not list(storage.keys("raw/"))
    for code, source in sources().items():
        reports = health.load(storage, code)
        assert reports, f"{code} reported nothing"
        asked = {*source.hosts, KEYCLOAK} if code == "entsoe_files" else source.hosts
        reasons = {reason for host, (_, reason) in failing.items() if host in asked}
        for one in reports:
            feed = source.feed(one.feed)
            assert health.state(one, feed.publication, feed.tz, feed.resolution, now()) in ("late", "down"), one
            if one.feed in POSTED:
                reasons = {NOT_SENT_ON if reason.startswith("redirects") else reason for reason in reasons}
            reasons.add(f"{code} is asked again in")  # a feed behind one whose host failed
            assert any(reason in one.last_error for reason in reasons), one
            assert FAKE not in json.dumps(one.last_error)
