"""The live transport against stand-ins on loopback: hosts that refuse, hang, lie, break off, or lead elsewhere."""

from __future__ import annotations

import gzip
import logging
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
import trustme

from assets.fetch import live as live_module
from assets.fetch import session as session_module
from assets.fetch.credentials import Credentials
from assets.fetch.live import Live, TransferLimits
from assets.fetch.session import Session
from warehouse.errors import FeedChanged, FeedError, FeedUnavailable
from warehouse.market import Feed, Metric, Publication, Request, Secret, Source
from warehouse.schema import Rows

HOST, MIRROR = "api.example.org", "files.example.org"
FEED = Feed(
    "example.price",
    "",
    ("GB",),
    (Metric.PRICE,),
    1,
    "30m",
    "start",
    "Europe/London",
    date(2020, 1, 1),
    Publication(),
    lambda days: [],
    lambda body, request: Rows(),
    30,
    max_bytes=1_000_000,
)
SOURCE = Source("example", "Example", "", (HOST, MIRROR), 60_000, "", "", "", "yes", (FEED,))
REQUEST = Request("example.price", f"https://{HOST}/price", (("day[]", "2026-03-29"),))
LIMITS = TransferLimits(connect=1.0, silence=0.4, whole=1.0)
SECRET = "s3cret-and-long"

Script = Callable[[BaseHTTPRequestHandler], None]


class StandIn(BaseHTTPRequestHandler):
    """Answers as the test's script says."""

    script: ClassVar[Script]
    received: ClassVar[list[BaseHTTPRequestHandler]]

    def do_GET(self) -> None:
        self.received.append(self)
        type(self).script(self)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """No log."""


class Publisher:
    """One stand-in host: where it listens, and the requests it received."""

    def __init__(self, script: Script, context: ssl.SSLContext | None = None) -> None:
        self.received: list[BaseHTTPRequestHandler] = []
        handler = type("Handler", (StandIn,), {"script": staticmethod(script), "received": self.received})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.base = f"{'https' if context else 'http'}://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(autouse=True)
def _example(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (live_module, session_module):
        monkeypatch.setattr(module, "source", lambda code: SOURCE)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def publisher() -> Iterator[Callable[..., Publisher]]:
    """Starts stand-ins and ends them."""
    running: list[Publisher] = []

    def start(script: Script, context: ssl.SSLContext | None = None) -> Publisher:
        running.append(Publisher(script, context))
        return running[-1]

    yield start
    for one in running:
        one.close()


def replies(status: int, body: bytes = b"", **headers: str) -> Script:
    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return script


def transport(publisher: Publisher, **more: str) -> Live:
    return Live("ops@example.org", LIMITS, {HOST: publisher.base, **more})


def reason(live: Live, request: Request = REQUEST, error: type[FeedError] = FeedUnavailable) -> str:
    with pytest.raises(error) as caught:
        live(request, Credentials((("key", SECRET),)))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    return str(caught.value)


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


def test_a_doubly_escaped_path_stays_so(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200))
    transport(host)(Request("example.price", f"https://{HOST}/PUBLIC%2523FILE01.zip"), Credentials())
    assert host.received[0].path == "/PUBLIC%2523FILE01.zip"


def test_a_publisher_that_refuses_unknown_agents_gets_its_own(
    publisher: Callable[..., Publisher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "source", lambda code: replace(SOURCE, user_agent="Mozilla/5.0"))
    host = publisher(replies(200))
    transport(host)(REQUEST, Credentials())
    assert host.received[0].headers["User-Agent"] == "Mozilla/5.0"


def test_a_contact_that_no_header_can_carry_breaks_nothing(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200))
    Live("Łódź\r\nX-Evil: 1", LIMITS, {HOST: host.base})(REQUEST, Credentials())
    assert "X-Evil" not in host.received[0].headers


def test_a_gzipped_answer_is_unpacked(publisher: Callable[..., Publisher]) -> None:
    body = gzip.compress(b"rows" * 1000)
    host = publisher(replies(200, body, Content_Encoding="gzip"))
    assert transport(host)(REQUEST, Credentials()).body == b"rows" * 1000


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


def test_an_answer_that_drips_is_given_up(publisher: Callable[..., Publisher]) -> None:
    done = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not done.wait(0.1):
            try:
                handler.wfile.write(b"x")
            except OSError:
                return

    began = time.monotonic()
    assert "takes too long" in reason(transport(publisher(drip)))
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


def test_redirects_share_one_deadline(publisher: Callable[..., Publisher]) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.3)
        replies(302, Location=f"{handler.path}x")(handler)

    host = publisher(slow)
    patient = Live("ops@example.org", replace(LIMITS, silence=30.0), {HOST: host.base})
    assert reason(patient) == f"{HOST}: an answer that takes too long"
    assert len(host.received) <= 4, "0.3 s each, one second in all"


def test_a_connection_is_used_again_after_a_deadline_that_was_kept(publisher: Callable[..., Publisher]) -> None:
    def kept_open(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.close_connection = False
        replies(200, b"rows")(handler)

    host = publisher(kept_open)
    live = transport(host)
    for _ in range(2):
        assert live(REQUEST, Credentials()).body == b"rows"
        time.sleep(LIMITS.whole * 0.6)
    assert len({handler.client_address for handler in host.received}) == 1


def test_a_certificate_that_does_not_verify_is_refused(publisher: Callable[..., Publisher]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(HOST, "127.0.0.1").configure_cert(context)
    host = publisher(replies(200, b"rows"), context)
    assert reason(transport(host)) == f"{HOST}: its TLS certificate does not verify"
    assert not host.received


def test_a_host_that_speaks_no_tls(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200))
    assert reason(Live("", LIMITS, {HOST: host.base.replace("http:", "https:")})) == f"{HOST}: TLS fails"


def test_half_a_body_is_no_answer(publisher: Callable[..., Publisher]) -> None:
    assert reason(transport(publisher(replies(200, b"half", Content_Length="8")))) == f"{HOST}: the answer broke off"


def test_half_a_chunked_body_is_no_answer(publisher: Callable[..., Publisher]) -> None:
    def script(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"8\r\nhalf")
        handler.close_connection = True

    assert reason(transport(publisher(script))) == f"{HOST}: the answer broke off"


def test_half_a_gzipped_body_is_no_answer(publisher: Callable[..., Publisher]) -> None:
    body = gzip.compress(bytes(range(256)) * 400)[:-200]
    assert reason(transport(publisher(replies(200, body, Content_Encoding="gzip")))) == f"{HOST}: the answer broke off"


def test_a_body_that_is_no_gzip_is_no_answer(publisher: Callable[..., Publisher]) -> None:
    assert "decompress" in reason(transport(publisher(replies(200, b"rows", Content_Encoding="gzip"))))


def test_a_connection_closed_without_an_answer(publisher: Callable[..., Publisher]) -> None:
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True

    assert reason(transport(publisher(hang_up))) == f"{HOST}: the connection was closed without an answer"


def test_an_answer_beyond_the_feeds_size_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, b"x" * 1_000_001))
    assert "longer than 1000000 bytes" in reason(transport(host), error=FeedChanged)


def test_a_small_body_that_unpacks_into_a_large_one_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, gzip.compress(b"x" * 50_000_000), Content_Encoding="gzip"))
    assert "longer than 1000000 bytes" in reason(transport(host), error=FeedChanged)


def test_a_coding_that_was_not_asked_for_is_refused(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, b"rows", Content_Encoding="br"))
    assert "coding 'br'" in reason(transport(host))
    assert host.received[0].headers["Accept-Encoding"] == "gzip"
    assert host.received[0].headers["Accept"] == "*/*", "as curl and requests send it: firewalls miss it"


def test_gzip_in_two_members_is_one_answer(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(200, gzip.compress(b"ro") + gzip.compress(b"ws"), Content_Encoding="gzip"))
    assert transport(host)(REQUEST, Credentials()).body == b"rows"


# Redirects


def test_a_redirect_to_the_publishers_other_host_is_followed(publisher: Callable[..., Publisher]) -> None:
    mirror = publisher(replies(200, b"rows"))
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    live = Live("", LIMITS, {HOST: host.base, MIRROR: mirror.base})
    assert live(REQUEST, Credentials((("key", SECRET),))).body == b"rows"
    assert mirror.received[0].path == "/new"


def test_a_relative_redirect_is_followed(publisher: Callable[..., Publisher]) -> None:
    def script(handler: BaseHTTPRequestHandler) -> None:
        (replies(200, b"rows") if handler.path == "/b" else replies(301, Location="/b"))(handler)

    assert transport(publisher(script))(REQUEST, Credentials()).body == b"rows"


@pytest.mark.parametrize(
    ("location", "reason_part"),
    [
        ("https://evil.example.net/x", "redirects to evil.example.net, which is not its own"),
        (f"http://{HOST}/x", "redirects to an unencrypted address"),
        ("file:///etc/passwd", "which is not its own"),
        ("https://[", "redirects to an invalid address"),
        ("/round", "redirects in a circle"),
    ],
)
def test_a_redirect_elsewhere_is_refused(publisher: Callable[..., Publisher], location: str, reason_part: str) -> None:
    host = publisher(replies(302, Location=location))
    assert reason_part in reason(transport(host))


def test_a_redirected_post_is_not_repeated_elsewhere(publisher: Callable[..., Publisher]) -> None:
    host = publisher(replies(302, Location=f"https://{MIRROR}/new"))
    assert transport(host)(replace(REQUEST, method="POST"), Credentials()).status == 302
    assert len(host.received) == 1


# Secrets


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


def test_the_session_over_the_live_transport(publisher: Callable[..., Publisher]) -> None:
    scripts = iter([replies(503, Retry_After="0"), replies(200, SECRET.encode() + b" rows")])
    host = publisher(lambda handler: next(scripts)(handler))
    session = Session(transport(host), {"K": SECRET}, sleep=lambda seconds: None)
    answer = session.ask(replace(REQUEST, secrets=(Secret("query", "key", ("K",)),)))
    assert answer.body == b"REDACTED rows"
    assert len(host.received) == 2
