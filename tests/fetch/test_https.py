"""Test the live transport: faulty hosts and TLS, complete and limited bodies, redirects, secrets."""

from __future__ import annotations

import gzip
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest
import trustme

from assets.fetch import https
from assets.fetch.credentials import Credentials
from assets.fetch.https import Live
from tests.fetch.stand_in_host import (
    HOST,
    LIMITS,
    MIRROR,
    REQUEST,
    SECRET,
    SOURCE,
    Publisher,
    reason,
    replies,
    transport,
)
from warehouse.errors import FeedChanged

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
    monkeypatch.setattr(https, "source", lambda code: replace(SOURCE, user_agent="Mozilla/5.0"))
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
    assert reason(transport(host)) == f"{HOST}: no response before the timeout"
    assert time.monotonic() - began < 30
    done.set()


def test_header_bytes_that_drip_are_given_up_at_the_deadline(publisher: Callable[..., Publisher]) -> None:
    """Send each byte before the read time-out, so that only the deadline for the whole exchange applies."""
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
        assert reason(transport(publisher(drip))) == f"{HOST}: the response took too long"
        assert LIMITS.whole <= time.monotonic() - began < 30
    finally:
        done.set()


def test_a_certificate_that_does_not_verify_is_refused(publisher: Callable[..., Publisher]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(HOST, "127.0.0.1").configure_cert(context)
    host = publisher(replies(200, b"rows"), context)
    assert reason(transport(host)) == f"{HOST}: TLS certificate verification failed"
    assert not host.received


def test_a_gzipped_answer_is_unpacked(publisher: Callable[..., Publisher]) -> None:
    body = gzip.compress(b"rows" * 1000)
    host = publisher(replies(200, body, Content_Encoding="gzip"))
    assert transport(host)(REQUEST, Credentials()).body == b"rows" * 1000


def test_half_a_chunked_body_is_no_answer(publisher: Callable[..., Publisher]) -> None:
    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"8\r\nhalf")
        handler.close_connection = True

    assert reason(transport(publisher(script))) == f"{HOST}: the response was cut off"


def test_an_answer_beyond_the_feeds_size_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, b"x" * 1_000_001))
    assert "larger than 1000000 bytes" in reason(transport(host), error=FeedChanged)


def test_a_small_body_that_unpacks_into_a_large_one_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip"))
    assert "larger than 1000000 bytes" in reason(transport(host), error=FeedChanged)


def test_a_coding_that_was_not_asked_for_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, b"rows", Content_Encoding="br"))
    assert "coding 'br'" in reason(transport(host))
    assert host.received[0].headers["Accept-Encoding"] == "gzip"
    assert host.received[0].headers["Accept"] == "*/*", "as curl and requests send it: firewalls miss it"


def test_gzip_in_two_members_is_one_answer(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, gzip.compress(b"ro") + gzip.compress(b"ws"), Content_Encoding="gzip"))
    assert transport(host)(REQUEST, Credentials()).body == b"rows"


def test_a_redirect_to_the_publishers_other_host_is_followed(publisher: Callable[..., Publisher]) -> None:
    mirror = publisher(replies(200, b"rows"))
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    live = Live("", LIMITS, {HOST: host.base, MIRROR: mirror.base})
    assert live(REQUEST, Credentials((("key", SECRET),))).body == b"rows"
    assert mirror.received[0].path == "/new"


@pytest.mark.parametrize(
    ("location", "reason_part"),
    [
        ("https://evil.example.net/x", "redirects to evil.example.net, which is not a host of this publisher"),
        (f"http://{HOST}/x", "redirects from https to http"),
        ("file:///etc/passwd", "which is not a host of this publisher"),
        ("https://[", "redirects to an invalid URL"),
        ("/round", "redirects in a loop"),
    ],
)
def test_a_redirect_elsewhere_is_refused(publisher: Callable[..., Publisher], location: str, reason_part: str) -> None:
    host = publisher(replies(302, Location=location))
    assert reason_part in reason(transport(host))


def test_a_redirected_post_is_not_repeated_elsewhere(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    assert transport(host)(replace(REQUEST, method="POST"), Credentials()).status == 302
    assert len(host.received) == 1


def test_no_log_line_holds_a_secret(publisher: Callable[..., Publisher], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    transport(publisher(replies(200)))(REQUEST, Credentials((("key", SECRET),)))
    reason(transport(publisher(replies(200, b"half", Content_Length="8"))))
    assert SECRET not in caplog.text


def test_netrc_is_not_read(
    publisher: Callable[..., Publisher], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w") as file:
        file.write("machine 127.0.0.1 login someone password something\n")
    monkeypatch.setenv("NETRC", netrc)
    host = publisher(replies(200))
    transport(host)(REQUEST, Credentials())
    assert "Authorization" not in host.received[0].headers
