"""The live transport against hosts that refuse, hang, drip, lie about TLS, or break off."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest
import trustme

from assets.fetch import live as live_module
from assets.fetch.credentials import Credentials
from assets.fetch.live import Live
from tests.fetch.stand_in_host import HOST, LIMITS, REQUEST, SECRET, SOURCE, Publisher, reason, replies, transport

pytestmark = pytest.mark.usefixtures("example_alone")


def test_a_question_travels_as_it_was_asked(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, b"rows", X_Kind="csv"))
    reply = transport(host)(
        replace(REQUEST, headers=(("Accept", "text/csv"),)), Credentials((("key", SECRET),), (("X-Key", "k"),))
    )
    assert (reply.status, reply.body, reply.headers["x-kind"]) == (200, b"rows", "csv")
    [received] = host.received
    assert received.path == f"/price?day%5B%5D=2026-03-29&key={SECRET}"
    assert received.headers["Host"] == HOST
    assert received.headers["X-Key"] == "k"
    assert received.headers["Accept"] == "text/csv"
    assert received.headers["User-Agent"].startswith("emds/")
    assert received.headers["User-Agent"].endswith("(+ops@example.org)")


def test_a_form_is_posted(publisher: Callable[..., Publisher]) -> None:
    bodies = []

    def script(handler: BaseHTTPRequestHandler) -> None:
        bodies.append((handler.headers["Content-Type"], handler.rfile.read(int(handler.headers["Content-Length"]))))
        replies(200)(handler)

    host = publisher(script)
    transport(host)(
        replace(REQUEST, method="POST", body='{"a": 1}', headers=(("Content-Type", "application/json"),)),
        Credentials(),
    )
    transport(host)(replace(REQUEST, method="POST"), Credentials(form=(("password", "a b&c"),)))
    assert bodies == [("application/json", b'{"a": 1}'), ("application/x-www-form-urlencoded", b"password=a+b%26c")]


def test_a_publisher_that_refuses_unknown_agents_gets_its_own(
    publisher: Callable[..., Publisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "source", lambda code: replace(SOURCE, user_agent="Mozilla/5.0"))
    host = publisher(replies(200))
    transport(host)(REQUEST, Credentials())
    assert host.received[0].headers["User-Agent"] == "Mozilla/5.0"


def test_a_refused_connection_says_so() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{closed.getsockname()[1]}"
        assert reason(Live("", LIMITS, {HOST: base})) == f"{HOST}: connection refused"


def test_a_silent_host_is_given_up(publisher: Callable[..., Publisher]) -> None:
    done = threading.Event()
    host = publisher(lambda handler: done.wait(60) and None)
    began = time.monotonic()
    assert reason(transport(host)) == f"{HOST}: silent: no answer in time"
    assert time.monotonic() - began < 30
    done.set()


def test_header_bytes_that_drip_are_given_up_at_the_deadline(publisher: Callable[..., Publisher]) -> None:
    """Each byte comes before the time-out of a read: only a deadline over the whole exchange ends this."""
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not done.wait(LIMITS.silence / 4):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return

    began = time.monotonic()
    try:
        assert reason(transport(publisher(drip))) == f"{HOST}: an answer that takes too long"
        assert LIMITS.whole <= time.monotonic() - began < 30
    finally:
        done.set()


def test_a_certificate_that_does_not_verify_is_refused(publisher: Callable[..., Publisher]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(HOST, "127.0.0.1").configure_cert(context)
    host = publisher(replies(200, b"rows"), context)
    assert reason(transport(host)) == f"{HOST}: its TLS certificate does not verify"
    assert not host.received
