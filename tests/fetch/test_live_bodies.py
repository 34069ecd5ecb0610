"""The live transport's bodies: unpacked, whole, bounded, and of the coding that was asked for."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from assets.fetch.credentials import Credentials
from tests.fetch.stand_in_host import HOST, REQUEST, Publisher, reason, replies, transport
from warehouse.errors import FeedChanged

pytestmark = pytest.mark.usefixtures("example_alone")


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

    assert reason(transport(publisher(script))) == f"{HOST}: the answer broke off"


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
